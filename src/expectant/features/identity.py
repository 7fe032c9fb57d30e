"""The observation itself as the feature vector: the least that a linear agent can work with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.features.bounds import PAIRS, known_bounds
from expectant.parts import Domain, Features, Shape
from expectant.rules import or_none
from expectant.verbs import encode


class IdentityPart(NamedTuple):
    """``middle``, ``half`` (m,): where the components lie, and half of how far they reach."""

    middle: np.ndarray
    half: np.ndarray


@encode.register(IdentityPart)
def _(features, observation, action, state):
    last = features.middle.shape[0]
    for n in range(last):
        share = (float(observation[n]) - features.middle[n]) / features.half[n]
        state.active[n] = n
        state.values[n] = -1.0 if share < -1.0 else 1.0 if share > 1.0 else share
    state.active[last], state.values[last] = last, 1.0


@description
class Identity(Features):
    """The components of an observation, scaled so that their ``bounds`` are −1 and 1, and a one.

    ``bounds`` are the domain's own if none are given. What lies beyond is taken to be at the bound.
    The one, a feature that is always on, is the last.
    """

    bounds: Sequence[tuple[float, float]] | None = option(or_none(PAIRS), default=None)

    def shape(self, domain: Domain) -> Shape:
        size = len(known_bounds("Identity", domain, self.bounds)) + 1
        return Shape(size, size, weighted=True, bias=size - 1)

    def build(self, domain: Domain, rng: np.random.Generator) -> IdentityPart:
        low, high = np.array(known_bounds("Identity", domain, self.bounds), float).T
        return IdentityPart((low + high) / 2.0, (high - low) / 2.0)
