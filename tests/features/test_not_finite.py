from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from outside_worlds import Troubled

import expectant as ex
from expectant.features.basis import Fourier
from expectant.features.tiles import Tiles
from expectant.features.wrappers import History, Traces
from features.plane import Plane

EVERYTHING = History(Traces(Tiles(4, 3, hash_size=40, bias=True), 0.7), 3, actions=True)


@pytest.mark.parametrize("features", [EVERYTHING, Fourier(2)], ids=["tiles", "fourier"])
def test_a_run_stops_at_an_observation_that_is_not_finite(features):
    message = "observation: component 1 must be a finite number, got nan, in run 0, episode 0"
    with pytest.raises(ValueError, match=message):
        ex.run(Plane(breaks_at=3), features, ex.QLearning(0.05), episodes=5, runs=1, compiled=False)


class Unbounded(Troubled):
    """The same without bounds, which have to be estimated."""

    def __init__(self) -> None:
        super().__init__("nan")
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))


def test_bounds_are_not_estimated_from_what_is_no_number():
    message = "observation: must be finite numbers, got .* in run 0, episode 0, step 3"
    with pytest.raises(ex.WorldError, match=message):
        ex.bounds_of(Unbounded)
