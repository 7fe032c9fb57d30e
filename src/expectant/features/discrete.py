"""Features of discrete observations: one-hot, random binary, interpolated and categorical."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Domain, Features, Shape
from expectant.core.memory import claim
from expectant.core.rng import generator
from expectant.core.rules import or_none, whole
from expectant.core.vectors import BinaryTable, Table, empty_state, empty_table
from expectant.core.verbs import encode, save
from expectant.features.bounds import known_bounds
from expectant.features.tiles import LARGEST, wholes


class TablePart(NamedTuple):
    """``active`` (S, k) are the ones of every state's vector."""

    active: np.ndarray


@encode.register(TablePart)
def _(features, observation, action, state):
    row = observation[0]
    for n in range(features.active.shape[1]):
        state.active[n] = features.active[row, n]


def require_states(domain: Domain, owner: str) -> int:
    """Return the number of states of a domain; raise ValueError if its states are vectors."""
    if domain.states is None:
        raise ValueError(
            f"{owner}: needs a domain with numbered states, {domain!r} has none "
            "(ex.Tiles takes vectors)"
        )
    return int(domain.states)


class OneHot(Features):
    """One feature per state: the tabular case."""

    def shape(self, domain: Domain) -> Shape:
        return Shape(require_states(domain, "OneHot"), 1)

    def build(self, domain: Domain, rng: np.random.Generator) -> TablePart:
        states = require_states(domain, "OneHot")
        claim(8 * states)
        return TablePart(np.arange(states, dtype=np.int64).reshape(states, 1))


class RandomBinary(Features):
    """``active`` random ones among ``size`` bits for every state.

    They are drawn anew for every run, or for all runs alike with the seed ``draw``.
    """

    size: int = parameter(whole(1), meaning="length of the feature vectors")
    active: int = parameter(whole(1), meaning="ones in every state's vector")
    draw: int | None = parameter(or_none(whole(0)), default=None, kw_only=True)

    def validate(self) -> None:
        if self.active > self.size:
            raise ValueError(
                f"RandomBinary: active must be at most size, got active={self.active} "
                f"with size={self.size}"
            )

    def shape(self, domain: Domain) -> Shape:
        require_states(domain, "RandomBinary")
        return Shape(self.size, self.active)

    def build(self, domain: Domain, rng: np.random.Generator) -> TablePart:
        states = require_states(domain, "RandomBinary")
        rng = rng if self.draw is None else generator(self.draw, 0)
        claim(2 * 8 * states * self.active)  # the list and the table
        rows = np.array([rng.choice(self.size, self.active, False) for _ in range(states)])
        return TablePart(np.sort(rows, axis=1))


def feature_table(context: BuildContext, owner: str = "an exact model") -> Table:
    """Return the feature vectors of all states in order."""
    if context.shape.remembers:
        raise ValueError(
            f"{owner}: needs features of the present state alone, these remember earlier ones"
        )
    states = require_states(context.domain, owner)
    table = empty_table(context.shape, states)
    part = context.features_part
    if isinstance(part, TablePart) and isinstance(table, BinaryTable):  # at once
        table.active[:] = part.active[:states]
        table.state_indices[:] = np.arange(states)
        return table
    state = empty_state(context.shape)
    for number in range(states):
        encode(part, np.array([number]), -1, state)
        state.state_index[0] = number
        save(table, number, state)
    return table


class InterpolatedPart(NamedTuple):
    """``lower`` (S,) is the knot below every state, ``shares`` (S,) the weight of the next one."""

    lower: np.ndarray
    shares: np.ndarray


@encode.register(InterpolatedPart)
def _(features, observation, action, state):
    lower, share = features.lower[observation[0]], features.shares[observation[0]]
    state.active[0], state.values[0] = lower, 1.0 - share
    state.active[1], state.values[1] = lower + 1, share


class Interpolated(Features):
    """Linear interpolation between ``size`` evenly spaced states, from the first to the last.

    Functions that are linear in the state's number are linear in these features. On
    ``BoyanChain(length=13)`` four of them are Boyan's.
    """

    size: int = parameter(whole(2), meaning="length of the feature vectors")

    def shape(self, domain: Domain) -> Shape:
        states = require_states(domain, "Interpolated")
        if states < self.size:
            raise ValueError(
                f"Interpolated: size must be at most the {states} states of the domain, "
                f"got {self.size}"
            )
        return Shape(self.size, 2, weighted=True)

    def build(self, domain: Domain, rng: np.random.Generator) -> InterpolatedPart:
        states = require_states(domain, "Interpolated")
        positions = np.arange(states) * (self.size - 1) / (states - 1)
        lower = np.minimum(positions.astype(np.int64), self.size - 2)
        return InterpolatedPart(lower, positions - lower)


class CategoriesPart(NamedTuple):
    """Component n has ``counts[n]`` values from ``low[n]`` on, and features from ``starts[n]``."""

    low: np.ndarray
    counts: np.ndarray
    starts: np.ndarray


class DigitsPart(NamedTuple):
    """Digit n of a state's number has ``counts[n]`` values, and features from ``starts[n]`` on."""

    strides: np.ndarray
    counts: np.ndarray
    starts: np.ndarray


@encode.register(CategoriesPart)
def _(features, observation, action, state):
    for n in range(features.counts.shape[0]):
        value = math.floor(float(observation[n]) - features.low[n] + 0.5)
        last = features.counts[n] - 1
        value = 0 if value < 0 else last if value > last else int(value)
        state.active[n] = features.starts[n] + value


@encode.register(DigitsPart)
def _(features, observation, action, state):
    for n in range(features.counts.shape[0]):
        digit = observation[0] // features.strides[n] % features.counts[n]
        state.active[n] = features.starts[n] + digit


class Categorical(Features):
    """One feature for every value of every component of an observation.

    Components of vectors of whole numbers (such as ``ex.Gym(..., numbered=False)``) range over the
    domain's bounds; values beyond count as the nearest. The number of a state is split into digits,
    each below its entry of ``counts``, the last changing fastest: the 500 states of a taxi are
    ``counts=(5, 5, 5, 4)``. None: those of the environment.
    """

    counts: Sequence[int] | None = parameter(or_none(wholes(1)), default=None)

    def shape(self, domain: Domain) -> Shape:
        counts = self._counts(domain)
        size = sum(counts)
        if size > LARGEST:
            raise ValueError(f"Categorical: {size:,} features are too many to be numbered")
        return Shape(size, len(counts))

    def build(self, domain: Domain, rng: np.random.Generator) -> CategoriesPart | DigitsPart:
        counts = self._counts(domain)
        starts = np.cumsum([0, *counts[:-1]], dtype=np.int64)
        if domain.states is None:
            low = [low for low, _ in known_bounds("Categorical", domain, None)]
            return CategoriesPart(np.array(low), np.array(counts, np.int64), starts)
        strides = [math.prod(counts[n + 1 :]) for n in range(len(counts))]
        return DigitsPart(np.array(strides, np.int64), np.array(counts, np.int64), starts)

    def _counts(self, domain: Domain) -> tuple[int, ...]:
        """Return the number of values of every component."""
        if domain.states is None:
            return self._counts_of_vectors(domain)
        counts = self.counts or domain.counts
        if self.counts is None and len(counts) <= 1:
            raise ValueError(
                f"Categorical: the {domain.states:,} states of {type(domain).__name__} are single "
                "numbers: give counts=, how many values each of their digits has"
            )
        if math.prod(counts) != domain.states:
            raise ValueError(
                f"Categorical: counts must multiply to the {domain.states:,} states of "
                f"{type(domain).__name__}, got {tuple(counts)!r}, {math.prod(counts):,}"
            )
        return tuple(counts)

    def _counts_of_vectors(self, domain: Domain) -> tuple[int, ...]:
        bounds = known_bounds("Categorical", domain, None)
        for dimension, (low, high) in enumerate(bounds):
            if low % 1.0 != 0.0 or high % 1.0 != 0.0:
                raise ValueError(
                    f"Categorical: dimension {dimension} of {type(domain).__name__} has bounds "
                    f"({low:g}, {high:g}), which must be whole numbers: use Tiles or Identity"
                )
        counts = tuple(int(high - low) + 1 for low, high in bounds)
        if self.counts is not None and tuple(self.counts) != counts:
            raise ValueError(
                f"Categorical: counts must be those of the domain's bounds, {counts!r}, or None, "
                f"got {tuple(self.counts)!r}"
            )
        return counts
