"""Two feature maps side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.features.memory import BASE
from expectant.features.vector import Binary, Weighted, empty_state
from expectant.parts import Domain, Features, Shape
from expectant.verbs import encode, index, put, size, value


class JoinedPart(NamedTuple):
    """``first`` and ``second`` encode into ``left`` and ``right``, whose features come after the
    ``offset`` features of the first."""

    first: object
    second: object
    left: Binary | Weighted
    right: Binary | Weighted
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


@description
class Joined(Features):
    """The features of two maps side by side; one of them may be joined again.

    ``ex.Joined(ex.Tiles(8, 8, dimensions=(0, 1)), ex.Tiles(8, 8, dimensions=(2, 3)))`` has tiles
    for two pairs of dimensions where tiles of all four would be too many.
    """

    first: Features = option(BASE)
    second: Features = option(BASE)

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
