"""The mountain car with a driver: how it is steered, and what its states are worth."""

from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant.domains.mountain_car import trips
from expectant.verbs import observation, reset, step


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(("speed", "push"), [(0.01, 2), (0.0, 2), (-0.01, 0)])
def test_the_driver_pushes_the_way_the_car_moves(speed, push, rng):
    driven, alone = ex.DrivenCar(noise=0.0).build(rng), ex.MountainCar().build(rng)
    for car in (observation(driven), observation(alone)):
        car[:] = -0.5, speed
    assert step(driven, 0, rng) == step(alone, push, rng) == (-1.0, 1.0)
    np.testing.assert_array_equal(observation(driven), observation(alone))


def test_a_tenth_of_the_pushes_are_any(rng):
    """From rest in the valley: two thirds of the random ones are not to the right."""
    part, other = ex.DrivenCar(gravity=0.0).build(rng), 0
    for _ in range(9000):
        reset(part, 0, rng)
        step(part, 0, rng)
        other += observation(part)[1] <= 0.0
    assert 500 < other < 700  # 600, with a standard deviation of 24


def test_what_trips_earn(rng):
    """Without gravity and noise the speed grows by 0.001 a step: n (n + 1) / 2 thousandths."""
    car = ex.DrivenCar(gravity=0.0, noise=0.0)
    starts = np.array([[0.5 - 0.0095, 0.0], [0.5 - 0.0005, 0.0]])
    assert trips(car, starts, 1.0, rng).tolist() == [-4.0, -1.0]
    assert trips(car, starts, 0.5, rng).tolist() == [-1.875, -1.0]
