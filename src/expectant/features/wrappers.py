"""Features around other features: the last few observations, two maps joined.

Memory is part of the state, s' = u(s, a, o); the action −1 marks the start of an episode, where
memory is empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Domain, Features, Shape
from expectant.core.memory import zeros
from expectant.core.rules import flag, instance_of, whole
from expectant.core.vectors import Vector, empty_state
from expectant.core.verbs import encode, function, index, put, size, value

BASE = instance_of(Features, "a feature map, such as OneHot()")


class HistoryPart(NamedTuple):
    """``active``, ``values`` (n, e) are the e entries of the last n steps, the present one first.

    ``base`` encodes into ``present``. A step has ``features`` features: ``observed`` of the base,
    then one per action, if actions are remembered.
    """

    base: object
    present: Vector
    active: np.ndarray
    values: np.ndarray
    features: int
    observed: int


@function
def shift_steps(active, values):
    """Move every remembered step back by one; the last is dropped."""
    for step in range(values.shape[0] - 1, 0, -1):
        for n in range(values.shape[1]):
            active[step, n] = active[step - 1, n]
            values[step, n] = values[step - 1, n]


@encode.register(HistoryPart)
def _(features, observation, action, state):
    active, values, present = features.active, features.values, features.present
    if action < 0:
        values[:] = 0.0
    else:
        shift_steps(active, values)
    encode(features.base, observation, action, present)
    entries = size(present)
    for n in range(entries):
        active[0, n] = index(present, n)
        values[0, n] = value(present, n)
    if entries < values.shape[1]:  # actions are remembered too
        active[0, entries] = features.observed + (action if action >= 0 else 0)
        values[0, entries] = 1.0 if action >= 0 else 0.0
    entry = 0
    for step in range(values.shape[0]):
        for n in range(values.shape[1]):
            state.active[entry] = step * features.features + active[step, n]
            state.values[entry] = values[step, n]
            entry += 1


class History(Features):
    """The features of the last ``steps`` observations, the present one first.

    ``actions`` adds the action that led to each. Steps before the episode are zero.
    """

    base: Features = parameter(BASE, meaning="the features of one observation")
    steps: int = parameter(whole(1))
    actions: bool = parameter(flag(), default=False)

    def shape(self, domain: Domain) -> Shape:
        base = self.base.shape(domain)
        return Shape(
            self.steps * self._features(domain),
            self.steps * (base.active + self.actions),
            weighted=True,
            bias=base.bias,
            remembers=True,
        )

    def build(self, domain: Domain, rng: np.random.Generator) -> HistoryPart:
        base = self.base.shape(domain)
        entries = (self.steps, base.active + self.actions)
        return HistoryPart(
            base=self.base.build(domain, rng),
            present=empty_state(base),
            active=zeros(entries, np.int64),
            values=zeros(entries),
            features=self._features(domain),
            observed=base.size,
        )

    def _features(self, domain: Domain) -> int:
        """Return the number of features of a step."""
        return self.base.shape(domain).size + (domain.actions if self.actions else 0)


class JoinedPart(NamedTuple):
    """``first`` encodes into ``left``, ``second`` into ``right``, with features from ``offset``."""

    first: object
    second: object
    left: Vector
    right: Vector
    offset: int


@encode.register(JoinedPart)
def _(features, observation, action, state):
    left, right = features.left, features.right
    encode(features.first, observation, action, left)
    encode(features.second, observation, action, right)
    entries = size(left)
    for n in range(entries):
        put(state, n, index(left, n), value(left, n))
    for n in range(size(right)):
        put(state, entries + n, features.offset + index(right, n), value(right, n))


class Joined(Features):
    """The features of two maps side by side.

    ``Joined(ex.Tiles(8, 8, dimensions=(0, 1)), ex.Tiles(8, 8, dimensions=(2, 3)))`` tiles two pairs
    of dimensions where tiles of all four would be too many.
    """

    first: Features = parameter(BASE, meaning="the map whose features come first")
    second: Features = parameter(BASE, meaning="the map whose features come after them")

    def shape(self, domain: Domain) -> Shape:
        first, second = self.first.shape(domain), self.second.shape(domain)
        bias = first.bias
        if bias < 0 <= second.bias:
            bias = first.size + second.bias
        return Shape(
            first.size + second.size,
            first.active + second.active,
            weighted=first.weighted or second.weighted,
            bias=bias,
            remembers=first.remembers or second.remembers,
        )

    def build(self, domain: Domain, rng: np.random.Generator) -> JoinedPart:
        first, second = self.first.shape(domain), self.second.shape(domain)
        return JoinedPart(
            self.first.build(domain, rng),
            self.second.build(domain, rng),
            empty_state(first),
            empty_state(second),
            first.size,
        )
