"""Dense features of vectors: the Fourier basis and the scaled observation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Domain, Features, Shape
from expectant.core.rules import flag, or_none, whole
from expectant.core.verbs import encode
from expectant.domains.external import LIMITS
from expectant.features.bounds import known_bounds

LARGEST = 10_000  # a dense linear model of these takes 800 MB per action


class FourierPart(NamedTuple):
    """d cosines of m components with ``frequencies`` (d, m), times ``gains`` (d,).

    ``low``, ``range`` (m,) are the bounds; ``unit`` (m,) is scratch for components in [0, 1].
    """

    low: np.ndarray
    range: np.ndarray
    frequencies: np.ndarray
    gains: np.ndarray
    unit: np.ndarray


@encode.register(FourierPart)
def _(features, observation, action, state):
    low, extent, unit = features.low, features.range, features.unit
    frequencies, gains = features.frequencies, features.gains
    active, values = state.active, state.values
    for dimension in range(low.shape[0]):
        offset = float(observation[dimension]) - float(low[dimension])
        share = offset / float(extent[dimension])
        unit[dimension] = 0.0 if share < 0.0 else 1.0 if share > 1.0 else share
    for n in range(frequencies.shape[0]):
        phase = 0.0
        for dimension in range(low.shape[0]):
            phase += frequencies[n, dimension] * unit[dimension]
        active[n] = n
        values[n] = gains[n] * math.cos(math.pi * phase)


class Fourier(Features):
    """cos(π c·x) for all integer vectors c up to ``order`` (Konidaris et al. 2011).

    x is the observation, scaled from its ``bounds`` (None: the domain's) to [0, 1] and clipped.
    Feature 0 is the constant 1. ``scaled`` divides every feature by √‖c‖, which is equivalent to
    their step sizes α / ‖c‖.
    """

    order: int = parameter(whole(1), meaning="the highest frequency in every dimension")
    bounds: Sequence[tuple[float, float]] | None = parameter(or_none(LIMITS), default=None)
    scaled: bool = parameter(flag(), default=False)

    def shape(self, domain: Domain) -> Shape:
        dimensions = len(known_bounds("Fourier", domain, self.bounds))
        size = (self.order + 1) ** dimensions
        if size > LARGEST:
            raise ValueError(
                f"Fourier: order must leave at most {LARGEST:,} features, got order={self.order}, "
                f"which makes {size:,} in {dimensions} dimensions"
            )
        return Shape(size, size, weighted=True, bias=0)

    def build(self, domain: Domain, rng: np.random.Generator) -> FourierPart:
        size, bounds = self.shape(domain).size, known_bounds("Fourier", domain, self.bounds)
        low, high = np.array(bounds, float).T.copy()
        waves = list(itertools.product(range(self.order + 1), repeat=len(bounds)))
        frequencies = np.array(waves, float)
        lengths = np.maximum(np.sqrt((frequencies**2).sum(axis=1)), 1.0)
        return FourierPart(
            low=low,
            range=high - low,
            frequencies=frequencies,
            gains=1.0 / np.sqrt(lengths) if self.scaled else np.ones(size),
            unit=np.zeros(len(bounds)),
        )


class IdentityPart(NamedTuple):
    """``middle`` and ``half`` (m,) are the centres and half the widths of the bounds."""

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


class Identity(Features):
    """The observation, scaled from its ``bounds`` (None: the domain's) to [−1, 1] and clipped.

    The last feature is the constant 1.
    """

    bounds: Sequence[tuple[float, float]] | None = parameter(or_none(LIMITS), default=None)

    def shape(self, domain: Domain) -> Shape:
        size = len(known_bounds("Identity", domain, self.bounds)) + 1
        return Shape(size, size, weighted=True, bias=size - 1)

    def build(self, domain: Domain, rng: np.random.Generator) -> IdentityPart:
        low, high = np.array(known_bounds("Identity", domain, self.bounds), float).T
        return IdentityPart((low + high) / 2.0, (high - low) / 2.0)
