"""Feature maps of numbered states: one-hot, random binary vectors, and interpolation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import claim
from expectant.descriptions import description, option
from expectant.features.vector import BinaryTable, WeightedTable, empty_state, empty_table
from expectant.parts import Domain, Features, Shape, Site
from expectant.rules import or_none, whole
from expectant.seeds import generator
from expectant.verbs import encode, encode_all


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
    table.places[:] = np.arange(states)


def numbered_states(domain: Domain, owner: str) -> int:
    """How many states a domain numbers; an error where observations are not numbers."""
    if domain.states is None:
        raise ValueError(
            f"{owner}: needs a domain with numbered states, {type(domain).__name__} has none"
        )
    return int(domain.states)


@description
class OneHot(Features):
    """One feature per state: the tabular case."""

    def shape(self, domain: Domain) -> Shape:
        return Shape(numbered_states(domain, "OneHot"), 1)

    def build(self, domain: Domain, rng: np.random.Generator) -> TablePart:
        states = numbered_states(domain, "OneHot")
        claim(8 * states)
        return TablePart(np.arange(states, dtype=np.int64).reshape(states, 1))


@description
class RandomBinary(Features):
    """``active`` ones among ``size`` bits for every state, drawn without replacement, per run.

    With a number for ``draw`` all runs have the same vectors, drawn from that number.
    """

    size: int = option(whole(1))
    active: int = option(whole(1))
    draw: int | None = option(or_none(whole(0)), default=None, kw_only=True)

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


def feature_table(site: Site) -> BinaryTable | WeightedTable:
    """The feature vectors of all states, in the order of their numbers."""
    if site.shape.remembers:
        raise ValueError(
            "an exact model needs features of the present state alone, these remember earlier ones"
        )
    states = numbered_states(site.domain, "an exact model")
    table = empty_table(site.shape, states)
    encode_all(site.features_part, states, table, empty_state(site.shape))
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


@description
class Interpolated(Features):
    """``size`` features at evenly spaced states, from the first to the last; others share two.

    A state between two knots has them in proportion to how near it is to each, so that every
    function that is linear in the number of the state is linear in the features. On
    ``BoyanChain(length=13)`` four of them are Boyan's own.
    """

    size: int = option(whole(2))

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
