"""The textbook's domains against numbers worked by hand and exact solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.core.verbs import phase, reset, state_index, step
from expectant.domains.grids import DOWN, LEFT, RIGHT, UP
from expectant.exact import optimal_values, start_return


def at(domain: Any, row: int, column: int) -> int:
    """The state in a cell."""
    return domain.sketch.cells.index((column, row))


def follow(domain: Any, moves: str, phase: int = 0) -> int:
    """The state after moves, the first letters of up, right, down and left, from the start."""
    table = domain.mdp().outcomes
    state = int(table.start.argmax())
    for move in moves:
        action = "urdl".index(move)
        chosen = int(table.probabilities[phase, state, action].argmax())
        state = int(table.successors[state, action, chosen])
    return state


def steps_to_goal(domain: Any, phase: int = 0) -> int:
    """The length of the shortest way from the start."""
    value = start_return(domain, optimal_values(domain, discount=0.5, phase=phase))
    return round(1 - np.log2(value))  # γ^(n − 1) for a reward of 1 at step n


def test_the_dyna_maze_by_hand():
    maze = ex.domains.DynaMaze()
    assert (maze.states, maze.actions) == (46, 4)
    assert maze.mdp().outcomes.start[at(maze, 2, 0)] == 1.0
    assert follow(maze, "r") == at(maze, 2, 1)
    assert follow(maze, "rr") == at(maze, 2, 1)  # the wall
    assert follow(maze, "l") == at(maze, 2, 0)  # the edge
    assert steps_to_goal(maze) == 14
    assert follow(maze, "ddrrrrrr") == at(maze, 4, 4)  # the wall in row 4
    assert follow(maze, "ddrrrrurrrruu") == at(maze, 1, 8)
    table = maze.mdp().outcomes
    goal = table.successors[at(maze, 1, 8), UP, 0]
    assert (goal, table.rewards[0, at(maze, 1, 8), UP, 0]) == (-1, 1.0)
    assert table.rewards.sum() == 1.0  # the goal can be entered from below only


def test_a_finer_maze():
    maze = ex.domains.DynaMaze(resolution=2)
    assert (maze.states, ex.domains.DynaMaze(resolution=(8, 16)).states) == (46 * 4, 46 * 128)
    assert int(maze.mdp().outcomes.start.argmax()) == at(maze, 4, 0)
    # two steps where there was one, less what the nearer cells of start and goal save
    assert steps_to_goal(maze) == 28 - 1
    exits = {(exit.x, exit.y) for exit in maze.sketch.exits}
    assert exits == {(16, 0), (17, 0), (16, 1), (17, 1)}


def test_the_changing_mazes_by_hand():
    blocking, shortcut = ex.domains.BlockingMaze(), ex.domains.ShortcutMaze()
    assert (blocking.states, shortcut.states) == (46, 46)
    # 5 to the right and 5 up; or 3 to the left, 5 up and 8 to the right
    assert [steps_to_goal(blocking, n) for n in (0, 1)] == [10, 16]
    assert [steps_to_goal(shortcut, n) for n in (0, 1)] == [16, 10]
    for maze, moves in ((blocking, "urrrrru"), (shortcut, "ulllu")):
        assert follow(maze, moves, 0) == at(maze, 3, 8 if maze is blocking else 0)
    assert follow(blocking, "urrrrru", 1) == at(blocking, 4, 8)
    assert follow(shortcut, "urrrrru", 1) == at(shortcut, 3, 8)


def test_a_maze_changes_after_a_number_of_steps():
    maze, rng = ex.domains.BlockingMaze(change_after=3), np.random.default_rng(0)
    part = maze.build(rng)
    reset(part, 0, rng)
    phases = []
    for action in (UP, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, UP):
        step(part, action, rng)
        phases.append(int(phase(part)))
    assert phases == [0, 0, 1, 1, 1, 1, 1]
    assert state_index(part) == at(maze, 4, 8)  # closed by now
    reset(part, 8, rng)
    assert phase(part) == 1  # a new episode does not bring the old wall back


def test_an_agent_in_the_new_wall_can_leave_it():
    maze, rng = ex.domains.BlockingMaze(change_after=1), np.random.default_rng(0)
    part = maze.build(rng)
    reset(part, 0, rng)
    step(part, UP, rng)
    part.now[0] = at(maze, 3, 8)
    step(part, UP, rng)
    assert state_index(part) == at(maze, 2, 8)
    step(part, DOWN, rng)
    assert state_index(part) == at(maze, 2, 8)  # and not return


def test_the_cliff_by_hand():
    cliff = ex.domains.Cliff()
    assert cliff.states == 37
    values = optimal_values(cliff)
    start = at(cliff, 3, 0)
    assert values[start] == -13.0  # up, eleven to the right, down
    table = cliff.mdp().outcomes
    assert (table.successors[start, RIGHT, 0], table.rewards[0, start, RIGHT, 0]) == (start, -100.0)
    edge = at(cliff, 2, 5)
    assert (table.successors[edge, DOWN, 0], table.rewards[0, edge, DOWN, 0]) == (start, -100.0)
    assert (table.successors[at(cliff, 2, 11), DOWN, 0]) == -1
    assert (table.successors[start, LEFT, 0], table.rewards[0, start, LEFT, 0]) == (start, -1.0)


def test_branching_tasks_are_drawn_from_their_seed():
    task = ex.domains.Branching(states=50, branches=3, task_seed=7)
    table = task.mdp().outcomes
    assert table.probabilities.shape == (1, 50, 2, 4)
    np.testing.assert_allclose(
        table.probabilities, np.broadcast_to([0.3, 0.3, 0.3, 0.1], (1, 50, 2, 4))
    )
    assert (table.successors[..., -1] == -1).all()
    assert (table.rewards[..., -1] == 0.0).all()
    inner = np.sort(table.successors[..., :-1], axis=-1)
    assert (np.diff(inner) > 0).all()  # three different ones
    other = ex.domains.Branching(states=50, branches=3, task_seed=8).mdp().outcomes
    assert (other.rewards != table.rewards)[..., :-1].all()
    rewards = ex.domains.Branching(states=50, branches=3, ends_pay=True).mdp().outcomes.rewards
    assert abs(rewards.mean()) < 4 / np.sqrt(rewards.size)
    assert abs(rewards.var() - 1) < 4 * np.sqrt(2 / rewards.size)


def test_garnet_tasks_are_drawn_from_their_seed():
    task = ex.domains.Garnet(paying=0.25, task_seed=7)
    table = task.mdp().outcomes
    assert table.probabilities.shape == (1, 50, 4, 4)
    np.testing.assert_allclose(table.probabilities.sum(axis=-1), 1.0)
    assert (table.probabilities[..., -1] == 0.03).all() and (table.successors[..., -1] == -1).all()
    assert (np.diff(np.sort(table.successors[..., :-1], axis=-1)) > 0).all()
    assert (np.ptp(table.rewards, axis=-1) == 0.0).all()  # without noise
    assert abs((table.rewards[..., 0] != 0.0).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 200)
    noisy = task.replace(noise=2.0).mdp().outcomes
    np.testing.assert_array_equal(noisy.probabilities, table.probabilities)
    differences = (noisy.rewards - table.rewards) / 2.0
    assert abs(differences.var() - 1.0) < 4 * np.sqrt(2 / differences.size)
    per_run = task.replace(task_per_run=True).for_run(2)
    assert per_run == task.replace(task_seed=9)


def test_changing_garnet_tasks_differ_in_their_rewards_alone():
    fixed = ex.domains.Garnet(task_seed=7)
    changing = fixed.replace(switch_every=3).mdp()
    table = changing.outcomes
    assert changing.phases == len(table.rewards) == 4
    assert (table.probabilities == fixed.mdp().outcomes.probabilities).all()
    np.testing.assert_array_equal(table.rewards[0], fixed.mdp().outcomes.rewards[0])
    means = table.rewards[..., 0].reshape(4, -1)
    assert np.abs(np.corrcoef(means) - np.eye(4)).max() < 4 / np.sqrt(means.shape[1])


def test_inventory_by_hand():
    """Two units at most and half a customer on average: e^(−1/2) of no customer."""
    mdp: Any = ex.domains.Inventory(capacity=2, demand=0.5).mdp()
    probabilities, rewards, none = mdp.probabilities[0, 1], mdp.rewards[0, 1], np.exp(-0.5)
    np.testing.assert_allclose(probabilities, [1.0 - none, none, 0.0])
    np.testing.assert_allclose(rewards, [4.0 - 2.0 - 2.0, -2.0 - 2.0 - 0.2, 0.0])
    np.testing.assert_allclose(mdp.probabilities[1, 2], [1.0 - 1.5 * none, 0.5 * none, none])
    np.testing.assert_allclose(mdp.rewards[2, 2], [8.0, 4.0 - 0.2, -0.4])  # no room, no order
    assert (np.asarray(mdp.probabilities).sum(axis=-1) == pytest.approx(1.0)) and mdp.endless


def test_a_lottery_pays_one_of_its_prizes():
    table = ex.domains.Lottery(prizes=4, task_seed=1).mdp().outcomes
    assert table.probabilities.tolist() == [[[[0.25] * 4]]]
    assert (table.successors == -1).all()
    np.testing.assert_allclose(
        ex.domains.Lottery(4).sampling_error(np.array([1, 2, 300])), [0.75, 0.375, 0.0025]
    )
    assert np.isnan(ex.domains.Lottery(4).sampling_error(np.array([0]))[0])


def test_boyans_chain_is_worth_twice_the_number_of_the_state():
    np.testing.assert_allclose(optimal_values(ex.domains.BoyanChain()), -2.0 * np.arange(98))


def test_interpolated_features_are_boyans_own_on_his_chain():
    features = ex.exact.feature_matrix(
        ex.domains.BoyanChain(length=13), ex.features.Interpolated(4)
    )
    np.testing.assert_allclose(features[12], [0, 0, 0, 1])
    np.testing.assert_allclose(features[11], [0, 0, 0.25, 0.75])
    np.testing.assert_allclose(features[4], [0, 1, 0, 0])
    np.testing.assert_allclose(features.sum(axis=1), 1.0)
    values = np.linalg.lstsq(features, -2.0 * np.arange(13), rcond=None)[0]
    np.testing.assert_allclose(features @ values, -2.0 * np.arange(13), atol=1e-9)
    with pytest.raises(ValueError, match="size must be at most the 3 states of the domain, got 4"):
        ex.features.Interpolated(4).shape(ex.domains.BoyanChain(length=3))


def test_access_control_by_hand():
    after = (
        ex.domains.AccessControl(servers=2, priorities=(1.0, 8.0), free_chance=0.5).mdp().outcomes
    )
    dense = np.zeros((6, 2, 6))
    np.add.at(
        dense, (*np.indices(after.successors.shape)[:2], after.successors), after.probabilities[0]
    )
    # one server free, one busy; priorities are drawn evenly
    np.testing.assert_allclose(dense[2, 0], [0, 0, 0.25, 0.25, 0.25, 0.25])
    np.testing.assert_allclose(dense[2, 1], [0.125, 0.125, 0.25, 0.25, 0.125, 0.125])
    np.testing.assert_allclose(dense[0, 1], dense[0, 0])  # none free: nobody is accepted
    assert after.rewards[0, 0, 1].max() == 0.0
    assert after.rewards[0, 3, 1].max() == 8.0
    before = ex.domains.AccessControl(
        servers=2, priorities=(1.0, 8.0), free_chance=0.5, freed="before"
    )
    assert before.next_free(1, 1).tolist() == [0.5, 0.5, 0.0]  # the one just given away stays so
    assert before.next_free(2, 1).tolist() == [0.0, 1.0, 0.0]
    assert ex.domains.AccessControl().states == 44
    assert ex.domains.AccessControl().endless


def test_two_choice_by_hand():
    table = ex.domains.TwoChoice().mdp().outcomes
    assert table.successors[:, :, 0].tolist() == [
        [1, 5], [2, 2], [3, 3], [4, 4], [0, 0], [6, 6], [7, 7], [8, 8], [0, 0],
    ]  # fmt: skip
    assert table.rewards[0, 0, :, 0].tolist() == [1.0, 0.0]
    assert table.rewards[0, 8, :, 0].tolist() == [2.0, 2.0]
    assert table.rewards.sum() == 5.0


def test_river_swim_by_hand():
    river = ex.domains.RiverSwim()
    probabilities, rewards = np.asarray(river.mdp().probabilities), np.asarray(river.mdp().rewards)
    np.testing.assert_allclose(probabilities[0, 1], [0.7, 0.3, 0, 0, 0, 0])
    np.testing.assert_allclose(probabilities[2, 1], [0, 0.1, 0.6, 0.3, 0, 0])
    np.testing.assert_allclose(probabilities[5, 1], [0, 0, 0, 0, 0.7, 0.3])
    np.testing.assert_allclose(probabilities[3, 0], [0, 0, 1, 0, 0, 0])
    assert rewards[0, 0, 0] == 5.0
    assert rewards[5, 1, 5] == 10_000.0
    assert np.asarray(river.mdp().start).tolist() == [0, 0.5, 0.5, 0, 0, 0]


def test_the_transient_chain_by_hand():
    table = ex.domains.TransientChain().mdp().outcomes
    assert table.successors[:, :, 0].tolist() == [[0, 1], [1, 2], [2, 3], [3, 3]]
    assert table.rewards[0, :, :, 0].tolist() == [[0, 0], [0, 0], [0, 0], [0, 1]]
