# mypy: disable-error-code="arg-type,call-arg"
from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.core.vectors import empty_state
from expectant.core.verbs import encode
from expectant.features.tiles import FREE, Tiles, find_tile_slot, first_slot
from features.plane import Plane


class Box(ex.Domain):
    """So many components, each between 0 and its own number of tiles."""

    actions = 2

    def __init__(self, *bounds):
        self._bounds = bounds

    bounds = property(lambda self: self._bounds)


def built(features: Tiles, domain: Any = None) -> Any:
    return features.build(domain or Plane(), np.random.default_rng(0))


def active(features: Tiles, seen: Any, domain: Any = None, part: Any = None) -> list[int]:
    state: Any = empty_state(features.shape(domain or Plane()))
    encode(part or built(features, domain), np.array(seen, float), -1, state)
    return state.active.tolist()


# ---------------------------------------------------------------------------------- by hand


@pytest.mark.parametrize(("seen", "expected"), [
    # two tilings of 5 × 3 tiles of size 1, the second displaced by half a tile in both dimensions;
    # tile (i, j) has number 3 i + j, and those of the second tiling begin at 15
    ((1.6, 0.3), [3 * 1 + 0, 15 + 3 * 2 + 0]),
    ((1.2, 1.7), [3 * 1 + 1, 15 + 3 * 1 + 2]),
    ((0.0, 0.0), [0, 15]),
    ((4.0, 2.0), [3 * 3 + 1, 15 + 3 * 4 + 2]),  # the bound itself is in the outermost tile
    ((9.0, -5.0), [3 * 3 + 0, 15 + 3 * 4 + 0]),  # and so is what lies beyond
])  # fmt: skip
def test_two_tilings_by_hand(seen, expected):
    features = Tiles(2, (4, 2))
    assert features.shape(Plane()) == ex.extend.Shape(30, 2)
    assert active(features, seen) == expected


def test_numbered_states_are_one_dimension_if_bounds_are_given():
    features = Tiles(2, 3, bounds=[(0, 9)])
    assert active(features, (4,), ex.Corridor()) == [1, 4 + 1]
    assert active(features, (5,), ex.Corridor()) == [1, 4 + 2]


# ------------------------------------------------------------------------------- properties


@st.composite
def maps(draw, powers_of_two=False):
    """A tile coding of one to three dimensions whose tiles have size 1, from 0 on."""
    tilings = draw(st.sampled_from([1, 2, 4, 8] if powers_of_two else [1, 2, 3, 5, 8]))
    tiles = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    wrap = tuple(i for i in range(len(tiles)) if draw(st.booleans()))
    domain = Box(*((0.0, float(n)) for n in tiles))
    return Tiles(tilings, tiles, wrap=wrap), domain


def points(draw, domain, beyond=0):
    """A point in whole 1/64 of tiles, at which nothing is rounded."""
    return [
        draw(st.integers(-64 * beyond, 64 * (int(high) + beyond) - 1)) / 64
        for _, high in domain.bounds
    ]


def reference(features: Tiles, domain: Box, seen: list[float]) -> list[int]:
    """The definition, in fractions: floor(u + displacement), row-major."""
    n, numbers = features.tilings, []
    for tiling in range(n):
        number = 0
        for i, (_, high) in enumerate(domain.bounds):
            u, tiles, wraps = Fraction(seen[i]), int(high), i in features.wrap
            last = tiles - Fraction(1, 10**9)
            u = u % tiles if wraps else min(max(u, Fraction(0)), last)
            row = math.floor(u + Fraction((2 * i + 1) * tiling % n, n))
            rows = tiles if wraps or n == 1 else tiles + 1
            number = number * rows + (row % tiles if wraps else row)
        numbers.append(number)
    return numbers


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_tiles_are_what_the_definition_says(data):
    features, domain = data.draw(maps())
    seen, shape = points(data.draw, domain, beyond=3), features.shape(domain)
    found, n = active(features, seen, domain), features.tilings
    each = shape.size // n
    assert len(found) == shape.active == n
    assert [number - t * each for t, number in enumerate(found)] == reference(
        features, domain, seen
    )
    assert all(t * each <= number < (t + 1) * each for t, number in enumerate(found))


# ----------------------------------------------------------------------------------- hashing


@given(st.integers(1, 40), st.data())
@settings(deadline=None, max_examples=50)
def test_hashed_features_stay_in_range_and_distinct(share, data):
    features, domain = data.draw(maps())
    features = features.replace(hash_size=share * features.tilings)
    part, shape = built(features, domain), features.shape(domain)
    for _ in range(5):
        seen = points(data.draw, domain)
        found = active(features, seen, domain, part)
        assert all(
            t * share <= number < (t + 1) * share
            for t, number in enumerate(found[: features.tilings])
        )
        assert len(set(found)) == shape.active
        assert found == active(features, seen, domain, part)  # a tile stays where it is


def test_a_tile_looks_on_from_the_first_slot_after_the_last():
    owners = np.full((1, 16), FREE, np.int64)
    at_the_end = [tile for tile in range(2000) if first_slot(tile, 16) == 15][:10]
    slots = [int(find_tile_slot(owners, 0, tile)) for tile in at_the_end]
    assert slots == [15, 0, 1, 2, 3, 4, 5, 6, 15, 15]  # eight places are tried
    assert int(find_tile_slot(owners, 0, at_the_end[3])) == 2  # it has kept its place


# ------------------------------------------------------------------------------------ errors


def test_huge_observations_are_clipped_and_wrapped():
    assert active(Tiles(2, (4, 2)), (1e200, -1e200)) == [9, 27]
    assert len(active(Tiles(2, (4, 2), wrap=(0, 1)), (1e200, -1e200))) == 2


def test_tiles_begin_at_the_lower_bound():
    places = [-9.0, -2.0, -1.01, -1.0, 0.0, 1.99, 2.0, 9.0]
    found = [active(Tiles(1, 4, bounds=[(-2.0, 2.0)]), [x], Box((-2.0, 2.0))) for x in places]
    assert found == [[0], [0], [0], [1], [2], [3], [3], [3]]
    far = [active(Tiles(1, 4, bounds=[(10.0, 14.0)]), [x], Box((10.0, 14.0))) for x in (10.5, 13.0)]
    assert far == [[0], [3]]
