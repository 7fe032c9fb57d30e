"""Feature-wise planning: the states to plan from are single features e_j (Sutton, Szepesvári,
Geramifard & Bowling 2008, linear Dyna).

A linear model promises b_j + γ wᵀF e_j for feature j whether or not a state has that feature alone,
and planning from single features ends where planning from states does: θ* = (I − γ Fᵀ)⁻¹ b.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.heap import HeapPart, empty_heap, rank
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext
from expectant.core.rules import at_least
from expectant.core.verbs import (
    draw,
    function,
    has_more_draws,
    index,
    next_predecessor,
    on_priority,
    predecessor,
    remember,
    size,
    value,
)

FEATURE, LINK = 0, 1  # places in what MG is at


class AnyFeaturePart(NamedTuple):
    """``features`` is how many there are."""

    features: int


class SweptPart(NamedTuple):
    """Prioritized sweeping over features as PWMA does it: ``heap`` has those to be backed up."""

    model: object
    heap: HeapPart
    threshold: float


class SweptRowsPart(NamedTuple):
    """The same as MG does it: ``heap`` has features whose predecessors are to be backed up, ``at``
    (2,) the present one and the next link to a predecessor, −1 between planning steps."""

    model: object
    heap: HeapPart
    threshold: float
    at: np.ndarray


@function
def be_single(state, feature):
    """Make a vector with one entry a single feature."""
    state.active[0] = feature
    state.state_index[0] = -1


@function
def promote(heap, feature, priority, threshold):
    """Raise the priority of a feature."""
    if priority > heap.priorities[feature]:
        rank(heap, feature, priority, threshold)


@function
def pop(heap, threshold):
    """Take the feature of the highest priority out of the heap."""
    feature = heap.order[0]
    rank(heap, feature, 0.0, threshold)
    return feature


@remember.register(AnyFeaturePart)
@remember.register(SweptPart)
@remember.register(SweptRowsPart)
def _(backups, transition):
    pass


@draw.register(AnyFeaturePart)
def _(backups, state, rng):
    be_single(state, int(rng.random() * backups.features))
    return -1


@on_priority.register(SweptPart)
def _(backups, state, moved, left):
    """Features j that lead to a changed feature i gain |δ x_i F^{ij}|."""
    error = moved + left
    for n in range(size(state)):
        i, amount = index(state, n), abs(error * value(state, n))
        link = next_predecessor(backups.model, i, -1) if amount > 0.0 else -1
        while link >= 0:
            j, weight = predecessor(backups.model, i, link)
            promote(backups.heap, j, amount * abs(weight), backups.threshold)
            link = next_predecessor(backups.model, i, link)


@draw.register(SweptPart)
def _(backups, state, rng):
    """The feature with the highest priority; any, if none has one."""
    heap = backups.heap
    if heap.length[0] > 0:
        be_single(state, pop(heap, backups.threshold))
    else:
        be_single(state, int(rng.random() * heap.order.shape[0]))
    return -1


@on_priority.register(SweptRowsPart)
def _(backups, state, moved, left):
    """Features of a state that was wrong by δ gain |δ x_i|."""
    error = moved + left
    for n in range(size(state)):
        promote(backups.heap, index(state, n), abs(error * value(state, n)), backups.threshold)


@draw.register(SweptRowsPart)
def _(backups, state, rng):
    """The next predecessor of the feature with the highest priority; any, if there is none."""
    heap, at = backups.heap, backups.at
    while at[LINK] < 0 and heap.length[0] > 0:
        at[FEATURE] = pop(heap, backups.threshold)
        at[LINK] = next_predecessor(backups.model, at[FEATURE], -1)
    if at[LINK] < 0:
        be_single(state, int(rng.random() * heap.order.shape[0]))
    else:
        j, _ = predecessor(backups.model, at[FEATURE], at[LINK])
        be_single(state, j)
        at[LINK] = next_predecessor(backups.model, at[FEATURE], at[LINK])
    return -1


@has_more_draws.register(SweptRowsPart)
def _(backups):
    return backups.at[LINK] >= 0


class SingleFeatures(Backups):
    """Single features, all equally likely."""

    draws_features: ClassVar[bool] = True
    knows_state_index: ClassVar[bool] = False

    def build(self, context: BuildContext) -> AnyFeaturePart:
        return AnyFeaturePart(context.shape.size)


class _Swept(Backups, abstract=True):
    draws_features: ClassVar[bool] = True
    knows_state_index: ClassVar[bool] = False
    traces_back: ClassVar[bool] = True
    threshold: float

    def build(self, context: BuildContext) -> object:
        raise ValueError(f"{type(self).__name__}: is built with the model that it traces back")


class FeatureSweeping(_Swept):
    """Single features by prioritized sweeping as PWMA does it (Peng & Williams, Moore & Atkeson).

    When feature i is found wrong by δ, every feature j with F^{ij} ≠ 0 waits for a backup with
    priority |F^{ij} δ|, if that exceeds ``threshold``. Where none waits, any feature is drawn.
    """

    threshold: float = parameter(at_least(0.0), default=0.0)

    def build_with(self, context: BuildContext, model: object) -> SweptPart:
        return SweptPart(model, empty_heap(context.shape.size), self.threshold)


class RowSweeping(_Swept):
    """Single features by prioritized sweeping as MG does it (McMahan & Gordon).

    A feature i that was found wrong by δ waits with priority |δ|. A planning step takes the first
    of them and backs up all features j with F^{ij} ≠ 0, which then wait in turn: one planning step
    is as many backups as that feature has predecessors (by every action that leads there).
    """

    threshold: float = parameter(at_least(0.0), default=0.0)

    def build_with(self, context: BuildContext, model: object) -> SweptRowsPart:
        at = np.array([0, -1], np.int64)
        return SweptRowsPart(model, empty_heap(context.shape.size), self.threshold, at)
