"""Two feature maps side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.features.memory import BASE
from expectant.features.vector import Binary, Weighted, empty_state, state_bytes
from expectant.parts import Domain, Features, Need, Shape, Site, needs_of
from expectant.verbs import check_restored, encode, index, put, size, value


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


@check_restored.register(JoinedPart)
def _(features, built, site):
    sizes = (features.offset, site.shape.size - features.offset)
    for names, own in zip((("first", "left"), ("second", "right")), sizes, strict=True):
        inner = dataclasses.replace(site, shape=site.shape._replace(size=own))
        for name in names:
            check_restored(getattr(features, name), getattr(built, name), inner)


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

    def estimate_memory(self, site: Site) -> Sequence[Need]:
        shapes = [base.shape(site.domain) for base in (self.first, self.second)]
        own = Need("features side by side", sum(map(state_bytes, shapes)))
        return [own, *needs_of(self.first, site), *needs_of(self.second, site)]

    def build(self, domain: Domain, rng: np.random.Generator) -> JoinedPart:
        first, second = self.first.shape(domain), self.second.shape(domain)
        return JoinedPart(
            self.first.build(domain, rng),
            self.second.build(domain, rng),
            empty_state(first),
            empty_state(second),
            first.size,
        )
