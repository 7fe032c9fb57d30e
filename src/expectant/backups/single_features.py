"""Planning from single features e_j, and prioritized sweeping over them.

Linear Dyna (Sutton, Szepesvári, Geramifard & Bowling 2008): a linear model predicts b_j + γ wᵀF e_j
for feature j even if no state has that feature alone, and planning from single features has the
fixed point of planning from states, θ* = (I − γ Fᵀ)⁻¹ b.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.heap import HeapPart, empty_heap, pop, set_priority
from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext
from expectant.core.rules import at_least
from expectant.core.verbs import function, index, size, value

FEATURE, LINK = 0, 1  # positions in RowSweepingPart.cursor


class SingleFeaturesPart(NamedTuple):
    """The number of features."""

    features: int


class FeatureSweepingPart(NamedTuple):
    """``heap`` holds the features to back up."""

    model: object
    heap: HeapPart
    threshold: float


class RowSweepingPart(NamedTuple):
    """``heap`` holds the features whose predecessors are to be backed up.

    ``cursor`` (2,) is the present one and the link to its next predecessor (−1: none left).
    """

    model: object
    heap: HeapPart
    threshold: float
    cursor: np.ndarray


@function
def write_feature(state, feature):
    """Make ``state`` a single feature."""
    state.active[0] = feature
    state.state_index[0] = -1


@function
def raise_priority(heap, feature, priority, threshold):
    if priority > heap.priorities[feature]:
        set_priority(heap, feature, priority, threshold)


@verbs.remember.register(SingleFeaturesPart)
@verbs.remember.register(FeatureSweepingPart)
@verbs.remember.register(RowSweepingPart)
def _(backups, transition):
    pass


@verbs.draw.register(SingleFeaturesPart)
def _(backups, state, rng):
    write_feature(state, int(rng.random() * backups.features))
    return -1


@verbs.on_priority.register(FeatureSweepingPart)
def _(backups, state, moved, left):
    """Raise priorities of features j that lead to a changed feature i to |δ x_i F^{ij}|."""
    error = moved + left
    for n in range(size(state)):
        i, amount = index(state, n), abs(error * value(state, n))
        link = verbs.next_predecessor(backups.model, i, -1) if amount > 0.0 else -1
        while link >= 0:
            j, weight = verbs.predecessor(backups.model, i, link)
            raise_priority(backups.heap, j, amount * abs(weight), backups.threshold)
            link = verbs.next_predecessor(backups.model, i, link)


@verbs.draw.register(FeatureSweepingPart)
def _(backups, state, rng):
    """Draw the feature with the highest priority; a random one if none waits."""
    heap = backups.heap
    if heap.length[0] > 0:
        write_feature(state, pop(heap, backups.threshold))
    else:
        write_feature(state, int(rng.random() * heap.order.shape[0]))
    return -1


@verbs.on_priority.register(RowSweepingPart)
def _(backups, state, moved, left):
    """Raise priorities of the features i of a state with error δ to |δ x_i|."""
    error = moved + left
    for n in range(size(state)):
        priority = abs(error * value(state, n))
        raise_priority(backups.heap, index(state, n), priority, backups.threshold)


@verbs.draw.register(RowSweepingPart)
def _(backups, state, rng):
    """Draw the next predecessor of the feature with the highest priority; else a random one."""
    heap, cursor = backups.heap, backups.cursor
    while cursor[LINK] < 0 and heap.length[0] > 0:
        cursor[FEATURE] = pop(heap, backups.threshold)
        cursor[LINK] = verbs.next_predecessor(backups.model, cursor[FEATURE], -1)
    if cursor[LINK] < 0:
        write_feature(state, int(rng.random() * heap.order.shape[0]))
    else:
        j, _ = verbs.predecessor(backups.model, cursor[FEATURE], cursor[LINK])
        write_feature(state, j)
        cursor[LINK] = verbs.next_predecessor(backups.model, cursor[FEATURE], cursor[LINK])
    return -1


@verbs.has_more_draws.register(RowSweepingPart)
def _(backups):
    return backups.cursor[LINK] >= 0


class SingleFeatures(Backups):
    """Single features, all equally likely."""

    short_name: ClassVar[str] = "features"
    draws_features: ClassVar[bool] = True
    knows_state_index: ClassVar[bool] = False

    def build(self, context: BuildContext) -> SingleFeaturesPart:
        return SingleFeaturesPart(context.shape.size)


class _FeatureSweeping(Backups, abstract=True):
    draws_features: ClassVar[bool] = True
    knows_state_index: ClassVar[bool] = False
    traces_back: ClassVar[bool] = True
    threshold: float = parameter(at_least(0.0), default=0.0)

    def build(self, context: BuildContext) -> object:
        raise ValueError(f"{type(self).__name__}: needs a model to trace back")


class FeatureSweeping(_FeatureSweeping):
    """Single features by prioritized sweeping after Peng & Williams and Moore & Atkeson (PWMA).

    When feature i has error δ, every feature j with F^{ij} ≠ 0 waits for a backup with priority
    |F^{ij} δ|, if that exceeds ``threshold``. If none waits, a random feature is drawn.
    """

    short_name: ClassVar[str] = "pwma"

    def build_with(self, context: BuildContext, model: object) -> FeatureSweepingPart:
        return FeatureSweepingPart(model, empty_heap(context.shape.size), self.threshold)


class RowSweeping(_FeatureSweeping):
    """Single features by prioritized sweeping after McMahan & Gordon (MG).

    A feature i with error δ waits with priority |δ|. A planning step takes the first one and backs
    up all features j with F^{ij} ≠ 0, which then wait in turn: it makes as many backups as that
    feature has predecessors, counted per action.
    """

    short_name: ClassVar[str] = "mg"

    def build_with(self, context: BuildContext, model: object) -> RowSweepingPart:
        heap = empty_heap(context.shape.size)
        return RowSweepingPart(model, heap, self.threshold, np.array([0, -1], np.int64))
