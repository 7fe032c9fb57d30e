"""Discrete feature maps, joined maps and estimated bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv

import expectant as ex
from expectant.core.vectors import dense, empty_state
from expectant.core.verbs import encode


def test_random_binary_vectors_have_the_ones_asked_for_and_differ_between_runs():
    domain, features = ex.Corridor(), ex.RandomBinary(14, 5)
    first = ex.exact.feature_matrix(domain, features, seed=3, run=0)
    again = ex.exact.feature_matrix(domain, features, seed=3, run=0)
    other = ex.exact.feature_matrix(domain, features, seed=3, run=1)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(np.unique(first)) == {0.0, 1.0}
    np.testing.assert_array_equal(first.sum(axis=1), 5.0)  # without replacement


def test_one_hot_is_the_identity():
    np.testing.assert_array_equal(ex.exact.feature_matrix(ex.Corridor(), ex.OneHot()), np.eye(9))


def test_one_draw_for_all_runs():
    """With a number the vectors are those of that number, whatever the run draws."""
    domain = ex.Corridor()
    parts = [
        ex.RandomBinary(14, 5, draw=draw).build(domain, np.random.default_rng(run)).active.tolist()
        for draw, run in ((3, 0), (3, 1), (4, 0), (None, 0), (None, 1))
    ]
    assert parts[0] == parts[1]
    assert len({str(part) for part in parts}) == 4


class Box(ex.Domain):
    """Vectors within bounds, or numbers of states that are made of several."""

    actions = 2

    def __init__(self, *bounds, states=None, counts=()):
        self._bounds, self._states, self._counts = bounds or None, states, counts

    bounds = property(lambda self: self._bounds)
    states = property(lambda self: self._states)
    counts = property(lambda self: self._counts)


def vector(features: Any, domain: Any, seen: Any) -> list[float]:
    shape = features.shape(domain)
    state = empty_state(shape)
    encode(features.build(domain, np.random.default_rng(0)), np.array(seen), -1, state)
    assert len(state.active) == shape.active
    return dense(state, shape.size).tolist()


def test_identity_by_hand():
    domain = Box((0.0, 4.0), (-1.0, 1.0))
    assert ex.features.Identity().shape(domain) == ex.extend.Shape(3, 3, weighted=True, bias=2)
    assert vector(ex.features.Identity(), domain, [3.0, -0.25]) == [0.5, -0.25, 1.0]
    assert vector(ex.features.Identity(), domain, [9.0, -7.0]) == [1.0, -1.0, 1.0]  # at the bound
    assert vector(ex.features.Identity([(0, 2), (0, 4)]), domain, [2.0, 1.0]) == [1.0, -0.5, 1.0]
    with pytest.raises(ValueError, match=r"Identity: dimension 1 .* ex\.features\.bounds_of"):
        ex.features.Identity().shape(Box((0.0, 1.0), (0.0, np.inf)))


def test_categories_of_vectors_by_hand():
    domain = Box((0.0, 2.0), (5.0, 6.0))
    assert ex.features.Categorical().shape(domain) == ex.extend.Shape(5, 2)
    assert vector(ex.features.Categorical(), domain, [1.0, 6.0]) == [0, 1, 0, 0, 1]
    assert vector(ex.features.Categorical(), domain, [9.0, -3.0]) == [0, 0, 1, 1, 0]


def test_digits_of_numbered_states_by_hand():
    features = ex.features.Categorical(counts=(2, 3, 2))
    assert features.shape(Box(states=12)) == ex.extend.Shape(7, 3)
    found = [vector(features, Box(states=12), [n]) for n in range(12)]
    for n, row in enumerate(found):
        expected = np.zeros(7)
        expected[[n // 6, 2 + n // 2 % 3, 5 + n % 2]] = 1.0
        assert row == expected.tolist()


def test_taxi_by_its_digits():
    """Row, column, passenger and destination; four digits tell every state apart."""
    taxi, features = ex.Gym(TaxiEnv), ex.features.Categorical((5, 5, 5, 4))
    made: Any = taxi.make()
    env = made.unwrapped
    for number in (0, 3, 123, 499):
        row, column, passenger, destination = env.decode(number)
        expected = np.zeros(19)
        expected[[row, 5 + column, 10 + passenger, 15 + destination]] = 1.0
        assert vector(features, taxi, [number]) == expected.tolist()


# --------------------------------------------------------------------------------------- subsets


def test_tiles_of_some_dimensions_are_those_of_a_smaller_observation():
    whole = Box((0.0, 1.0), (0.0, np.inf), (2.0, 3.0), (0.0, 4.0))
    small = Box((0.0, 4.0), (0.0, 1.0))
    some = ex.Tiles(4, (3, 5), dimensions=(3, 0), wrap=(0,))
    alike = ex.Tiles(4, (3, 5), wrap=(1,))
    assert some.shape(whole) == alike.shape(small)
    for seen in np.random.default_rng(0).uniform(0, 4, (50, 4)):
        assert vector(some, whole, seen) == vector(alike, small, seen[[3, 0]])


def test_joined_maps_stand_side_by_side():
    domain = Box((0.0, 1.0), (0.0, 1.0))
    tiles, plain = ex.Tiles(2, 3, dimensions=(1,)), ex.features.Identity()
    both = ex.features.Joined(tiles, ex.features.Joined(plain, tiles))
    assert both.shape(domain) == ex.extend.Shape(8 + 3 + 8, 2 + 3 + 2, weighted=True, bias=10)
    seen = [0.3, 0.8]
    left, right = vector(tiles, domain, seen), vector(plain, domain, seen)
    assert vector(both, domain, seen) == left + right + left
    assert ex.features.Joined(tiles, tiles).shape(domain) == ex.extend.Shape(16, 4)
    assert both == ex.features.Joined.from_dict(both.to_dict())
    with pytest.raises(ValueError, match="Joined: second must be a feature map"):
        ex.features.Joined(tiles, 3)  # type: ignore[arg-type]


def test_joined_maps_remember_as_their_parts_do():
    features = ex.features.Joined(ex.OneHot(), ex.features.History(ex.OneHot(), 2))
    corridor = ex.Corridor(cells=3)
    assert features.shape(corridor).remembers
    part, state = (
        features.build(corridor, np.random.default_rng(0)),
        empty_state(features.shape(corridor)),
    )
    for action, cell in ((-1, 0), (1, 1)):
        encode(part, np.array([cell]), action, state)
    assert dense(state, 9).tolist() == [0, 1, 0, 0, 1, 0, 1, 0, 0]


# ---------------------------------------------------------------------------------------- bounds


def test_bounds_that_are_known_stay_as_they_are(capsys):
    assert ex.features.bounds_of(ex.MountainCar()) == [(-1.2, 0.6), (-0.07, 0.07)]
    assert capsys.readouterr().err == ""


def test_bounds_of_an_environment_without(capsys):
    found = ex.features.bounds_of("CartPole-v1", episodes=30, margin=0.5)
    (_, far), (low, high), (_, angle), (_, turning) = found
    assert far == pytest.approx(4.8) and angle == pytest.approx(0.418, abs=1e-3)
    assert 1.0 < high < 6.0 and low == pytest.approx(-high, rel=0.9) and 1.0 < turning < 8.0
    said = capsys.readouterr().err
    assert "bounds_of: components without bounds in Gym('CartPole-v1'), estimated from 30" in said
    assert "1: " in said and "3: " in said and "2: " not in said
    assert found == ex.features.bounds_of(ex.Gym("CartPole-v1"), episodes=30, margin=0.5)
    tiles = ex.Tiles(4, 2, bounds=found)
    assert ex.run(ex.Gym("CartPole-v1"), tiles, ex.QLearning.paper(0.1), episodes=1, runs=1,
                  compiled=False, progress=False).lengths[0, 0] > 0  # fmt: skip
