"""Feature maps of whole numbers: one-hot, random binary, interpolated and categorical."""

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
from expectant.core.vectors import BinaryTable, WeightedTable, empty_state, empty_table
from expectant.core.verbs import encode, encode_all
from expectant.features.bounds import known_bounds
from expectant.features.tiles import LARGEST, wholes


class TablePart(NamedTuple):
    """``active`` (S, k): the ones of every state's vector."""

    active: np.ndarray


@encode.register(TablePart)
def _(features, observation, action, state):
    row = observation[0]
    for n in range(features.active.shape[1]):
        state.active[n] = features.active[row, n]


@encode_all.register(TablePart)
def _(features, states, table, state):
    table.active[:] = features.active[:states]
    table.state_indices[:] = np.arange(states)


def numbered_states(domain: Domain, owner: str) -> int:
    """How many states a domain numbers; an error where observations are not numbers."""
    if domain.states is None:
        raise ValueError(
            f"{owner}: needs a domain with numbered states, {type(domain).__name__} has none"
        )
    return int(domain.states)


class OneHot(Features):
    """One feature per state: the tabular case."""

    def shape(self, domain: Domain) -> Shape:
        return Shape(numbered_states(domain, "OneHot"), 1)

    def build(self, domain: Domain, rng: np.random.Generator) -> TablePart:
        states = numbered_states(domain, "OneHot")
        claim(8 * states)
        return TablePart(np.arange(states, dtype=np.int64).reshape(states, 1))


class RandomBinary(Features):
    """``active`` ones among ``size`` bits for every state, drawn without replacement, per run.

    With a number for ``draw`` all runs have the same vectors, drawn from that number.
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
        numbered_states(domain, "RandomBinary")
        return Shape(self.size, self.active)

    def build(self, domain: Domain, rng: np.random.Generator) -> TablePart:
        states = numbered_states(domain, "RandomBinary")
        rng = rng if self.draw is None else generator(self.draw, 0)
        claim(2 * 8 * states * self.active)  # vectors one by one, then the table
        rows = np.array([rng.choice(self.size, self.active, False) for _ in range(states)])
        return TablePart(np.sort(rows, axis=1))


def feature_table(
    context: BuildContext, owner: str = "an exact model"
) -> BinaryTable | WeightedTable:
    """The feature vectors of all states, in the order of their numbers."""
    if context.shape.remembers:
        raise ValueError(
            f"{owner}: needs features of the present state alone, these remember earlier ones"
        )
    states = numbered_states(context.domain, owner)
    table = empty_table(context.shape, states)
    encode_all(context.features_part, states, table, empty_state(context.shape))
    return table


class InterpolatedPart(NamedTuple):
    """``lower`` (S,) is the knot below every state, ``shares`` (S,) how near it is to the next."""

    lower: np.ndarray
    shares: np.ndarray


@encode.register(InterpolatedPart)
def _(features, observation, action, state):
    lower, share = features.lower[observation[0]], features.shares[observation[0]]
    state.active[0], state.values[0] = lower, 1.0 - share
    state.active[1], state.values[1] = lower + 1, share


class Interpolated(Features):
    """``size`` features at evenly spaced states, from the first to the last; others share two.

    A state between two knots has them in proportion to how near it is to each, so that every
    function that is linear in the number of the state is linear in the features. On
    ``BoyanChain(length=13)`` four of them are Boyan's own.
    """

    size: int = parameter(whole(2), meaning="length of the feature vectors")

    def validate_for(self, domain: Domain) -> int:
        """How many states the domain has; an error where they are too few."""
        states = numbered_states(domain, "Interpolated")
        if states < self.size:
            raise ValueError(
                f"Interpolated: size must be at most the {states} states of the domain, "
                f"got {self.size}"
            )
        return states

    def shape(self, domain: Domain) -> Shape:
        self.validate_for(domain)
        return Shape(self.size, 2, weighted=True)

    def build(self, domain: Domain, rng: np.random.Generator) -> InterpolatedPart:
        states = self.validate_for(domain)
        positions = np.arange(states) * (self.size - 1) / (states - 1)
        lower = np.minimum(positions.astype(np.int64), self.size - 2)
        return InterpolatedPart(lower, positions - lower)


class CategoriesPart(NamedTuple):
    """Component n is one of ``counts`` (m,) whole numbers from ``low`` (m,) on; its features begin
    at ``starts`` (m,)."""

    low: np.ndarray
    counts: np.ndarray
    starts: np.ndarray


class DigitsPart(NamedTuple):
    """The components are the digits of a state's number: those of ``strides`` (m,), each below its
    ``counts`` (m,); the features of each begin at ``starts`` (m,)."""

    strides: np.ndarray
    counts: np.ndarray
    starts: np.ndarray


@encode.register(CategoriesPart)
def _(features, observation, action, state):
    for n in range(features.counts.shape[0]):
        place = math.floor(float(observation[n]) - features.low[n] + 0.5)
        last = features.counts[n] - 1
        place = 0 if place < 0 else last if place > last else int(place)
        state.active[n] = features.starts[n] + place


@encode.register(DigitsPart)
def _(features, observation, action, state):
    for n in range(features.counts.shape[0]):
        digit = observation[0] // features.strides[n] % features.counts[n]
        state.active[n] = features.starts[n] + digit


class Categorical(Features):
    """A feature for every value of every component of an observation: a sum of one-hot vectors.

    Vectors of whole numbers (such as a grid of cells seen, with ``ex.Gym(..., numbered=False)``)
    are read component by component, from the low to the high of the domain's bounds. A number of a
    state is taken apart into digits, below ``counts``, the last of which changes fastest: 500
    states of a taxi are ``counts=(5, 5, 5, 4)``. Environments whose observations are several whole
    numbers say so themselves. What is out of range counts as the nearest value.
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
        """How many values every component has."""
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
