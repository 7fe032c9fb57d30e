"""Features proposed for an environment from its observations and some random play."""

from __future__ import annotations

import math

from expectant.features.basis import Identity
from expectant.features.categorical import Categorical
from expectant.features.joined import Joined
from expectant.features.random_play import RandomPlay, is_bounded, widen_bounds
from expectant.features.table import OneHot
from expectant.features.tiles import Tiles
from expectant.parts import Domain, Features

MOST_STATES = 5_000  # with one feature each
MOST_CATEGORIES = 100_000
MOST_TILED = 8  # components


def propose(domain: Domain, play: RandomPlay) -> Features:
    """A table for numbered states, tiles for a few numbers, the numbers themselves for many."""
    if domain.states is not None:
        several = domain.states > MOST_STATES and len(domain.counts) > 1
        return Categorical() if several else OneHot()
    if _count_categories(domain, play) <= MOST_CATEGORIES:
        return Categorical()
    bounds = widen_bounds(domain, play)
    if len(bounds) > MOST_TILED:
        return Identity(bounds)
    if len(bounds) < 4:
        return Tiles(8, {1: 10, 2: 8, 3: 5}[len(bounds)], bounds)
    return _join_tilings(bounds)


def _join_tilings(bounds: list[tuple[float, float]]) -> Features:
    """Coarse tiles of all components and fine ones of pairs of neighbours."""
    components = len(bounds)
    features: Features
    features = Tiles(8, 3, bounds) if components == 4 else Tiles(8, 2, bounds, hash_size=8_192)
    for first in range(0, components, 2):
        pair = tuple(range(first, min(first + 2, components)))
        features = Joined(features, Tiles(4, 6, bounds, dimensions=pair))
    return features


def _count_categories(domain: Domain, play: RandomPlay) -> float:
    """One feature for every value of every component; infinite unless all are whole numbers."""
    total = 0.0
    for low, high in domain.bounds or ():
        if not play.integral or not is_bounded(low, high) or low % 1 or high % 1:
            return math.inf
        total += high - low + 1
    return total
