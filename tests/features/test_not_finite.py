from __future__ import annotations

import pytest

import expectant as ex
from expectant.features.basis import Fourier
from expectant.features.memory import History, Traces
from expectant.features.tiles import Tiles
from features.plane import Plane

EVERYTHING = History(Traces(Tiles(4, 3, hash_size=40, bias=True), 0.7), 3, actions=True)


@pytest.mark.parametrize(("features", "compiled"), [
    (EVERYTHING, True), (EVERYTHING, False), (Fourier(2), False),
], ids=["compiled", "plain", "fourier"])  # fmt: skip
def test_a_run_stops_at_an_observation_that_is_not_finite(features, compiled):
    message = "observation: component 1 must be a finite number, got nan, in run 0, episode 0"
    with pytest.raises(ValueError, match=message):
        ex.run(
            Plane(breaks_at=3), features, ex.QLearning(0.05), episodes=5, runs=1, compiled=compiled
        )
