"""The mountain car, alone and with a driver."""

from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant.core.verbs import observation, reset, step
from expectant.domains import mountain_car
from expectant.domains.mountain_car import sample_returns


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("velocity", [0.0, 0.02])
def test_every_step_is_that_of_gymnasium(velocity):
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("MountainCar-v0", goal_velocity=velocity)
    rng = np.random.default_rng(1)
    part = ex.MountainCar(goal_velocity=velocity).build(rng)
    ended = 0
    for episode in range(20):
        reset(part, episode, rng)
        env.reset(seed=episode)
        part.car[0] = env.unwrapped.state[0]
        action, terminated, truncated, steps = 2, False, False, 0
        while not (terminated or truncated):
            # most episodes push the way the car rolls, which gets it out; the others are random
            action = int(rng.integers(3)) if episode % 4 == 0 else 2 * int(part.car[1] >= 0)
            seen, reward, terminated, truncated, _ = env.step(action)
            part_reward, alive = step(part, action, rng)
            steps += 1
            assert (part_reward, alive == 0.0) == (reward, terminated)
            assert tuple(part.car) == tuple(env.unwrapped.state)  # to the bit
            assert (observation(part).astype(np.float32) == seen).all()
        ended += terminated
        assert terminated or steps == ex.MountainCar().step_limit
    assert ended >= 10


def test_the_wall_stops_the_car(rng):
    part = ex.MountainCar().build(rng)
    part.car[:] = -1.19, -0.05
    step(part, 0, rng)
    assert part.car.tolist() == [-1.2, 0.0]


@pytest.mark.parametrize(
    ("position", "speed", "alive"), [(0.5, 0.01, 0.0), (0.499, 0.01, 1.0), (0.5, 0.009, 1.0)]
)
def test_the_goal_needs_position_and_speed(position, speed, alive, rng, monkeypatch):
    monkeypatch.setattr(mountain_car, "GRAVITY", 0.0)
    flat = ex.MountainCar(goal_velocity=0.01).build(rng)
    flat.car[:] = position - speed, speed  # it rolls on, at the same speed
    assert step(flat, 1, rng) == (-1.0, alive)
    assert flat.car.tolist() == [position, speed]


def test_starts_lie_in_their_range(rng):
    part, starts = ex.MountainCar().build(rng), []
    for episode in range(300):
        reset(part, episode, rng)
        starts.append(part.car.copy())
    positions, speeds = np.array(starts).T
    assert (speeds == 0).all()
    assert -0.6 <= positions.min() < -0.59
    assert -0.41 < positions.max() <= -0.4


@pytest.mark.parametrize(("speed", "push"), [(0.01, 2), (0.0, 2), (-0.01, 0)])
def test_the_driver_pushes_the_way_the_car_moves(speed, push, rng):
    driven, alone = ex.domains.DrivenCar(noise=0.0).build(rng), ex.MountainCar().build(rng)
    for car in (observation(driven), observation(alone)):
        car[:] = -0.5, speed
    assert step(driven, 0, rng) == step(alone, push, rng) == (-1.0, 1.0)
    np.testing.assert_array_equal(observation(driven), observation(alone))


def test_a_tenth_of_the_pushes_are_random(rng, monkeypatch):
    """From rest in the valley: two thirds of the random ones are not to the right."""
    monkeypatch.setattr(mountain_car, "GRAVITY", 0.0)
    part, other = ex.domains.DrivenCar().build(rng), 0
    for _ in range(4500):
        reset(part, 0, rng)
        step(part, 0, rng)
        other += observation(part)[1] <= 0.0
    assert 225 < other < 375  # 300, with a standard deviation of 17


def test_monte_carlo_returns(rng, monkeypatch):
    """Without gravity and noise the speed grows by 0.001 a step: n (n + 1) / 2 thousandths."""
    monkeypatch.setattr(mountain_car, "GRAVITY", 0.0)
    car = ex.domains.DrivenCar(noise=0.0)
    starts = np.array([[0.5 - 0.0095, 0.0], [0.5 - 0.0005, 0.0]])
    assert sample_returns(car, starts, 1.0, rng).tolist() == [-4.0, -1.0]
    assert sample_returns(car, starts, 0.5, rng).tolist() == [-1.875, -1.0]
