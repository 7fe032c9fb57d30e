from __future__ import annotations

import numpy as np
import pytest
from scripted import Scripted

import expectant as ex
from expectant.domains.loca import (
    INSIDE,
    LEFT_EXIT,
    RIGHT_EXIT,
    exit_of,
    place_in,
)
from expectant.verbs import cut, phase, reset, step


def part_at(position: float, speed: float, **options):
    part = ex.LocaMountainCar(**options).build(np.random.default_rng(0))
    part.car[:] = position, speed
    return part


@pytest.mark.parametrize(
    ("position", "speed", "reached"),
    [
        (0.5, 0.0, RIGHT_EXIT),
        (0.5, -0.001, INSIDE),  # rolling back
        (0.499, 0.07, INSIDE),
        (-0.52, 0.0069, LEFT_EXIT),
        (-0.52, 0.0071, INSIDE),  # 100 speed² > 0.0049
        (-0.451, 0.0, LEFT_EXIT),
        (-0.449, 0.0, INSIDE),
    ],
)
def test_exits(position, speed, reached):
    part = part_at(position, speed)
    assert exit_of(part.exits, part.car) == reached


def test_the_zone_pushes_right_whatever_the_action():
    cars = []
    for action in range(3):
        part = part_at(0.4, 0.0)
        step(part, action, np.random.default_rng(0))
        cars.append(part.car.tolist())
    speed = 0.001 - 0.0025 * np.cos(1.2)
    assert cars[0] == cars[1] == cars[2] == pytest.approx([0.4 + speed, speed])
    outside = part_at(0.399, 0.0)
    step(outside, 0, np.random.default_rng(0))
    assert outside.car[1] < 0.0


def test_rewards_by_phase_and_zone_starts():
    rng = np.random.default_rng(3)
    part = ex.LocaMountainCar(phase_steps=(3000, 500, 3000)).build(rng)
    reset(part, 0, rng)
    starts: dict[int, list[np.ndarray]] = {0: [], 1: [], 2: []}
    pays: dict[int, set[float]] = {0: set(), 1: set(), 2: set()}
    length = 0
    starts[0].append(part.car.copy())
    for number in range(6500):
        reward, alive = step(part, 2 * int(part.car[1] >= 0), rng)
        now, length = phase(part), length + 1
        assert now == (0 if number < 3000 else 1 if number < 3500 else 2)
        if alive == 0.0:
            pays[now].add(reward)
        else:
            assert reward == 0.0
        if alive == 0.0 or cut(part) or length == 500:
            reset(part, 0, rng)
            starts[phase(part)].append(part.car.copy())
            length = 0
    assert pays[0] <= {4.0, 2.0}
    assert 4.0 in pays[0]
    assert pays[1] == {1.0}
    assert pays[2] <= {1.0, 2.0}
    zone = np.array(starts[1])
    assert zone[:, 0].min() >= 0.4
    assert zone[:, 1].min() >= 0.0
    whole = np.array(starts[0])
    assert whole[:, 0].min() < -1.0
    assert whole[:, 1].min() < -0.05
    assert all(exit_of(part.exits, car) != LEFT_EXIT for car in whole)


def test_starts_fill_the_whole_box():
    box, car = np.array([[-1.0, 1.0], [0.0, 4.0]]), np.zeros(2)
    place_in(box, car, Scripted([0.0, 0.75]))
    assert car.tolist() == [-1.0, 3.0]
    place_in(box, car, Scripted([0.75, 0.0]))
    assert car.tolist() == [0.5, 0.0]
