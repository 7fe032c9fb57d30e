"""The domains of the local-change adaptation test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scripted import Scripted

import expectant as ex
from expectant.core.verbs import outcome, phase, reset, reward_now, step, truncated
from expectant.domains.grids import DOWN, LEFT, RIGHT, UP
from expectant.domains.loca import INSIDE, LEFT_EXIT, RIGHT_EXIT, draw_car, exit_of
from expectant.exact import optimal_values


def walk(grid, steps: int, seed: int = 0):
    """(phase, True at the first step of an episode, truncated) of random steps."""
    rng = np.random.default_rng(seed)
    part, rows, first, episode, length = grid.build(rng), [], True, 0, 0
    reset(part, 0, rng)
    for _ in range(steps):
        _, alive = step(part, int(rng.integers(4)), rng)
        length += 1
        rows.append((phase(part), first, bool(truncated(part))))
        first = alive == 0.0 or bool(truncated(part)) or length == grid.step_limit
        if first:
            episode, length = episode + 1, 0
            reset(part, episode, rng)
    return rows


def test_moves_by_hand():
    table = ex.domains.LocaGrid().mdp().outcomes
    np.testing.assert_allclose(table.probabilities[0, 7, RIGHT], [0.0625, 0.8125, 0.0625, 0.0625])
    assert table.successors[0, UP].tolist() == [0, 1, 25, -1]  # the corner of row 0, column 0
    assert table.successors[24, UP].tolist() == [24, -1, 49, 24]  # left does not lead out of here
    assert table.successors[99, LEFT].tolist() == [74, -1, 99, 99]
    assert table.successors[23 + 25, DOWN].tolist() == [23, 24 + 25, 23 + 50, 22 + 25]
    ends = table.successors == -1
    assert set(table.rewards[0][ends]) == {2.0, 4.0}
    assert set(table.rewards[1][ends]) == set(table.rewards[2][ends]) == {2.0, 1.0}
    assert (table.rewards[:, ~ends] == 0.0).all()
    assert table.rewards[0, 24, UP, RIGHT] == 4.0
    assert table.rewards[0, 25, UP, LEFT] == 2.0


def test_the_end_of_a_phase_truncates_the_episode():
    phases, firsts, truncations = np.array(
        walk(ex.domains.LocaGrid(phase_steps=(2000, 1000, 500)), 4000)
    ).T
    assert (phases == np.repeat([0, 1, 2], [2000, 1000, 1000])).all()
    assert np.flatnonzero(truncations).tolist() == [1999, 2999]
    assert firsts[[2000, 3000]].all()


def test_start_distributions_by_hand():
    """Two rows and three columns; the zone is the last column."""
    starts = ex.domains.LocaGrid(rows=2, columns=3).start_distributions()
    uniform, zone = [1 / 6] * 6, [0.0, 0.0, 0.5] * 2
    np.testing.assert_allclose(starts, [uniform, zone, uniform])


def test_outcomes_can_be_relabelled():
    rng = np.random.default_rng(0)
    part = ex.domains.LocaGrid(noise=0.0, phase_steps=(1, 5, 5)).build(rng)
    part.now[0] = 24
    assert step(part, RIGHT, rng) == (4.0, 0.0)
    assert truncated(part)
    exit_right = outcome(part)
    reset(part, 1, rng)
    assert not truncated(part)
    assert reward_now(part, exit_right) == 1.0


def test_optimal_values_of_each_phase():
    grid = ex.domains.LocaGrid(noise=0.0)
    assert optimal_values(grid, discount=0.97, phase=0)[24] == pytest.approx(4.0)
    assert optimal_values(grid, discount=0.97, phase=1)[24] == pytest.approx(1.0)
    assert optimal_values(grid, discount=0.97, phase=2)[0] == pytest.approx(2.0)
    assert optimal_values(grid, discount=0.97, phase=0)[10] == pytest.approx(4 * 0.97**14)


def part_at(position: float, speed: float, **options):
    part = ex.domains.LocaMountainCar(**options).build(np.random.default_rng(0))
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
    assert exit_of(part.car) == reached


def test_the_zone_pushes_right_whatever_the_action():
    cars = []
    for action in range(3):
        part = part_at(0.4, 0.0)
        step(part, action, np.random.default_rng(0))
        cars.append(part.car.tolist())
    speed = 0.001 - 0.0025 * np.cos(1.2)
    assert cars[0] == cars[1] == cars[2] == pytest.approx([0.4 + speed, speed])
    part = part_at(0.399, 0.0)
    step(part, 0, np.random.default_rng(0))
    assert part.car[1] < 0.0


def test_noise_replaces_the_action():
    """Two draws, of which the first decides if the second chooses: 0.9 is to the right."""
    for draws, speed in (([0.29, 0.9], 0.001), ([0.3], -0.001)):
        part = part_at(-math.pi / 6, 0.0, noise=0.3)  # the bottom, where nothing pulls
        step(part, 0, Scripted(draws))
        assert part.car[1] == pytest.approx(speed, abs=1e-12)


def test_rewards_by_phase_and_zone_starts():
    rng = np.random.default_rng(3)
    part = ex.domains.LocaMountainCar(phase_steps=(3000, 500, 3000)).build(rng)
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
        if alive == 0.0 or truncated(part) or length == 500:
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
    assert all(exit_of(car) != LEFT_EXIT for car in whole)


def test_starts_are_uniform_over_the_box():
    box, car = np.array([[-1.0, 1.0], [0.0, 4.0]]), np.zeros(2)
    for draws, start in (([0.0, 0.75], [-1.0, 3.0]), ([0.75, 0.0], [0.5, 0.0])):
        draw_car(box, car, Scripted(draws))
        assert car.tolist() == start
