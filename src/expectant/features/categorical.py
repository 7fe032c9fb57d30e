"""Observations of several whole numbers, each of which says which of some things it is.

The vector is the sum of one-hot vectors, one for every component: values are then sums over
components, which says less than a feature for every combination but is learned much sooner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.features.bounds import known_bounds
from expectant.features.tiles import LARGEST, wholes
from expectant.parts import Domain, Features, Shape
from expectant.rules import or_none
from expectant.verbs import encode


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


@description
class Categorical(Features):
    """A feature for every value of every component of an observation: a sum of one-hot vectors.

    Vectors of whole numbers (such as a grid of cells seen, with ``ex.Gym(..., numbered=False)``)
    are read component by component, from the low to the high of the domain's bounds. A number of a
    state is taken apart into digits, below ``counts``, the last of which changes fastest: 500
    states of a taxi are ``counts=(5, 5, 5, 4)``. Environments whose observations are several whole
    numbers say so themselves. What is out of range counts as the nearest value.
    """

    counts: Sequence[int] | None = option(or_none(wholes(1)), default=None)

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
