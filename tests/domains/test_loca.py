"""The domains of the local-change adaptation test."""

from __future__ import annotations

import numpy as np
import pytest
from scripted import Scripted

import expectant as ex
from expectant.core.verbs import outcome, phase, reset, reward_now, state_index, step, truncated
from expectant.domains.grids import DOWN, LEFT, RIGHT, UP
from expectant.domains.loca import INSIDE, LEFT_EXIT, RIGHT_EXIT, draw_car, exit_of
from expectant.exact import optimal_values


def walk(grid, steps: int, seed: int = 0):
    """(phase, start or −1, state, action, reward, alive, cut) of random steps."""
    rng = np.random.default_rng(seed)
    part, found, start, episode, length = grid.build(rng), [], -1, 0, 0
    reset(part, 0, rng)
    start = state_index(part)
    for _ in range(steps):
        state, action = state_index(part), int(rng.integers(4))
        reward, alive = step(part, action, rng)
        length += 1
        found.append((phase(part), start, state, action, reward, alive, bool(truncated(part))))
        start = -1
        if alive == 0.0 or truncated(part) or length == grid.step_limit:
            episode, length = episode + 1, 0
            reset(part, episode, rng)
            start = state_index(part)
    return found


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


def test_phases_go_by_steps_and_cut_the_episode():
    found = walk(ex.domains.LocaGrid(phase_steps=(2000, 1000, 500)), 4000)
    phases = np.array([row[0] for row in found])
    assert (phases == np.repeat([0, 1, 2], [2000, 1000, 1000])).all()
    assert [n for n, row in enumerate(found) if row[-1]] == [1999, 2999]  # and never again
    assert found[2000][1] >= 0  # a new episode begins
    assert found[3000][1] >= 0


def test_the_chances_of_starts_by_hand():
    """Of two rows and three columns; the zone is the last column."""
    found = ex.domains.LocaGrid(rows=2, columns=3).start_distributions()
    even, zone = [1 / 6] * 6, [0.0, 0.0, 0.5] * 2
    np.testing.assert_allclose(found, [even, zone, even])


def test_outcomes_can_be_relabelled():
    rng = np.random.default_rng(0)
    part = ex.domains.LocaGrid(noise=0.0, phase_steps=(1, 5, 5)).build(rng)
    part.now[0] = 24
    assert step(part, RIGHT, rng) == (4.0, 0.0)
    assert truncated(part)
    exit_right = outcome(part)
    reset(part, 1, rng)
    assert not truncated(part)  # the episode that begins is another one
    assert reward_now(part, exit_right) == 1.0


def test_exact_tools_take_every_phase():
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
    assert all(exit_of(part.exits, car) != LEFT_EXIT for car in whole)


def test_starts_fill_the_whole_box():
    box, car = np.array([[-1.0, 1.0], [0.0, 4.0]]), np.zeros(2)
    draw_car(box, car, Scripted([0.0, 0.75]))
    assert car.tolist() == [-1.0, 3.0]
    draw_car(box, car, Scripted([0.75, 0.0]))
    assert car.tolist() == [0.5, 0.0]
