# mypy: disable-error-code="arg-type"
"""Feature maps that remember, and observations that are not finite."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from hall_env import Troubled

import expectant as ex
from expectant.features.basis import Fourier
from expectant.features.tiles import Tiles
from expectant.features.wrappers import History
from features.plane import Plane, vectors

THREE = ex.Corridor(cells=3)


# ----------------------------------------------------------------------------------- by hand


def test_the_last_observations_side_by_side():
    found = vectors(History(ex.OneHot(), 3), THREE, [[0], [1], [1], [2]])
    assert found.tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 1, 0, 1, 0, 0],
        [0, 0, 1, 0, 1, 0, 0, 1, 0],
    ]


def test_with_the_actions_that_led_to_them():
    features = History(ex.OneHot(), 2, actions=True)
    assert features.shape(THREE) == ex.extend.Shape(10, 4, weighted=True, remembers=True)
    found = vectors(features, THREE, [[0], [1], [2]], [-1, 1, 0])
    assert found.tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 0],  # no action led to the first
        [0, 1, 0, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 0, 1, 0, 0, 1],
    ]


@pytest.mark.parametrize(
    "features",
    [History(ex.OneHot(), 3, actions=True), History(History(ex.OneHot(), 2), 2)],
    ids=repr,
)
def test_an_episode_begins_with_an_empty_memory(features):
    found = vectors(features, THREE, [[0], [1], [2], [0], [1], [2]], [-1, 1, 1, -1, 1, 1])
    np.testing.assert_array_equal(found[:3], found[3:])
    assert not np.array_equal(found[2], vectors(features, THREE, [[2]])[0])  # it does remember


def test_weighted_vectors_are_remembered_with_their_values():
    seen = np.random.default_rng(0).random((5, 2)) * (4.0, 2.0)
    plain = vectors(Fourier(2), Plane(), seen)
    found = vectors(History(Fourier(2), 2), Plane(), seen)
    np.testing.assert_array_equal(found[1:, :9], plain[1:])
    np.testing.assert_array_equal(found[1:, 9:], plain[:-1])


# ------------------------------------------------------------------------- shapes and errors


def test_shapes():
    assert History(ex.RandomBinary(14, 5), 3).shape(THREE) == ex.extend.Shape(
        42, 15, True, -1, True
    )
    features = History(ex.features.Identity(), 2)
    assert features.shape(Plane()).bias == 2
    found = vectors(features, Plane(), [(1.0, 1.0), (2.0, 0.1), (3.0, 1.9)])
    np.testing.assert_array_equal(found[:, 2], 1.0)


EVERYTHING = History(Tiles(4, 3, hash_size=40), 3, actions=True)


@pytest.mark.parametrize("features", [EVERYTHING, Fourier(2)], ids=["tiles", "fourier"])
def test_a_run_stops_at_an_observation_that_is_not_finite(features):
    message = "observation: component 1 must be a finite number, got nan, in run 0, episode 0"
    agent = ex.QLearning.paper(0.05)
    with pytest.raises(ValueError, match=message):
        ex.run(Plane(breaks_at=3), features, agent, episodes=5, runs=1, compiled=False)


class Unbounded(Troubled):
    """The same without bounds, which have to be estimated."""

    def __init__(self) -> None:
        super().__init__("nan")
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))


def test_bounds_are_not_estimated_from_what_is_no_number():
    message = "observation: must be finite numbers, got .* in run 0, episode 0, step 3"
    with pytest.raises(ex.EnvError, match=message):
        ex.features.bounds_of(Unbounded)
