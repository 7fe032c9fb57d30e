"""Finite MDPs from arrays, the paper's domains, MDPs under a policy, and rooms."""

from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant import exact
from expectant.core.verbs import outcome, phase, reset, reward_now, step
from expectant.domains.corridor import LEFT, RIGHT
from expectant.domains.finite import END, PHASE, STATE

# two states, two actions: action 0 moves on, action 1 stays or ends
PROBABILITIES = np.array([[[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0], [0.25, 0.75, 0.0]]])
REWARDS = np.array([[-1.0, -2.0], [5.0, 0.0]])


def test_the_three_ways_to_write_an_end_agree():
    last_column = ex.FiniteMDP(PROBABILITIES, REWARDS)
    successors = np.broadcast_to([0, 1, END], (2, 2, 3))
    explicit = ex.FiniteMDP(PROBABILITIES, REWARDS, successors)
    padded = np.concatenate([PROBABILITIES, np.zeros((1, 2, 3))])
    padded[2, :, 2] = 1.0
    terminal = ex.FiniteMDP(padded, np.vstack([REWARDS, [9.0, 9.0]]), terminal=[2])
    expected = ex.exact.optimal_values(last_column)
    np.testing.assert_allclose(ex.exact.optimal_values(explicit), expected)
    np.testing.assert_allclose(ex.exact.optimal_values(terminal)[:2], expected)
    for mdp in (explicit, terminal):  # entering a terminal state ends the episode
        assert (mdp.outcomes.successors[:2] == last_column.outcomes.successors).all()
    assert terminal.outcomes.start.tolist() == [0.5, 0.5, 0.0]
    assert last_column.outcomes.probabilities.shape == (1, 2, 2, 2)  # unused outcomes dropped


def test_steps_follow_the_probabilities():
    domain = ex.FiniteMDP(PROBABILITIES, REWARDS, start=[0.25, 0.75])
    rng = np.random.default_rng(0)
    part = domain.build(rng)
    starts, ends, stays = [], 0, 0
    for _ in range(10_000):
        reset(part, 0, rng)
        starts.append(part.now[STATE])
        part.now[STATE] = 0
        reward, alive = step(part, 1, rng)
        assert reward == -2.0
        ends += alive == 0.0
        part.now[STATE] = 1
        step(part, 1, rng)
        stays += part.now[STATE] == 1
    assert abs(np.mean(starts) - 0.75) < 0.022
    assert abs(ends / 10_000 - 0.5) < 0.025
    assert abs(stays / 10_000 - 0.75) < 0.022


def test_phases_cycle_and_outcomes_can_be_relabelled():
    rewards = np.stack([np.full((2, 2, 3), float(n)) for n in range(3)])
    domain = ex.FiniteMDP(PROBABILITIES, rewards, switch_every=10)
    rng = np.random.default_rng(0)
    part = domain.build(rng)
    seen = []
    for episode in range(0, 70, 10):
        reset(part, episode, rng)
        seen.append(int(phase(part)))
    assert seen == [0, 1, 2, 0, 1, 2, 0]
    reset(part, 5, rng)
    reward, _ = step(part, 0, rng)
    assert (reward, reward_now(part, outcome(part))) == (0.0, 0.0)
    part.now[PHASE] = 2
    assert reward_now(part, outcome(part)) == 2.0


def test_outcome_indices_identify_rewards():
    rng = np.random.default_rng(0)
    rewards = np.arange(24.0).reshape(2, 2, 2, 3)  # all different, in two phases
    part = ex.FiniteMDP(np.full((2, 2, 3), 1 / 3), rewards, switch_every=1).build(rng)
    seen = {}
    for episode in range(0, 400, 2):
        reset(part, episode, rng)
        alive = 1.0
        while alive:
            reward, alive = step(part, int(rng.integers(2)), rng)
            seen[int(outcome(part))] = reward
    assert seen == {number: float(number) for number in range(12)}
    reset(part, 1, rng)
    assert [reward_now(part, number) for number in range(12)] == [12.0 + n for n in range(12)]


def test_corridor_is_what_the_paper_describes():
    table = ex.Corridor(cells=3, slip=0.25, switch_every=7).mdp().outcomes
    # outcome 0 is the move asked for, 1 the slip
    np.testing.assert_array_equal(table.probabilities[0, 1, LEFT], [0.75, 0.25])
    assert table.successors[1].tolist() == [[0, 2], [2, 0]]
    assert table.successors[0].tolist() == [[-1, 1], [1, -1]]
    assert table.rewards[0, 2, RIGHT].tolist() == [20.0, -1.0]
    assert table.rewards[0, 0, LEFT].tolist() == [0.0, -1.0]
    assert table.rewards[1, 2, RIGHT].tolist() == [0.0, -1.0]  # the other phase: goal on the left
    assert table.rewards[1, 0, LEFT].tolist() == [20.0, -1.0]
    np.testing.assert_allclose(table.start, 1 / 3)


def test_counterexample_is_what_the_paper_describes():
    table = ex.Counterexample(exit_reward=-2.0).mdp().outcomes
    assert table.successors[0].tolist() == [[1, 2], [-1, -1]]
    np.testing.assert_array_equal(table.probabilities[0, 0, 0], [0.5, 0.5])
    expected = (table.probabilities * table.rewards).sum(axis=-1)[0]
    assert expected.tolist() == [[0.0, -2.0], [0.0, -5.0], [-5.0, 0.0]]
    assert table.start.tolist() == [1.0, 0.0, 0.0]


TINY = """
#####
#S.G#
#PA.#
#####
"""


def start_of(domain: ex.domains.Rooms) -> int:
    return int(domain.mdp().outcomes.start.argmax())


def test_rooms_by_hand():
    rooms = ex.domains.Rooms(TINY)
    assert "".join(rooms.letters) == "S.PA."
    drawing = rooms.sketch
    assert drawing.cells == ((1, 1), (2, 1), (1, 2), (2, 2), (3, 2))  # column and row
    assert drawing.exits == (ex.extend.Exit(3.0, 1.0, (1.0,)),)
    assert rooms.named_states == {"A": 3}
    table = rooms.mdp().outcomes
    assert table.start.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    # every action has one outcome, as nothing slips: up, right, down, left
    assert table.successors[:, :, 0].tolist() == [
        [0, 1, 2, 0],
        [1, -1, 3, 0],
        [0, 3, 2, 2],
        [1, 4, 3, 2],
        [-1, 4, 4, 3],
    ]
    rewards = (table.probabilities * table.rewards).sum(axis=-1)[0]
    assert rewards.tolist() == [
        [0, 0, -1, 0],
        [0, 1, 0, 0],
        [0, 0, -1, -1],  # to stay in a pit costs as much as to arrive in it
        [0, 0, 0, -1],
        [1, 0, 0, 0],
    ]


def test_a_slip_goes_any_other_way():
    table = ex.domains.Rooms(TINY, slip=0.3).mdp().outcomes
    np.testing.assert_allclose(table.probabilities[0, 1, 1], [0.1, 0.7, 0.1, 0.1])
    assert table.successors[1, 1].tolist() == [1, -1, 3, 0]


def test_two_rooms_are_those_of_the_paper():
    domain = ex.domains.TwoRooms()
    assert domain.states == 72 and domain.named_states == {"H": 30}
    # 12 moves around the pits to the hallway, six more to the goal
    assert exact.optimal_values(domain, discount=0.99)[start_of(domain)] == pytest.approx(0.99**17)


def test_four_rooms_are_those_of_the_paper():
    domain = ex.domains.FourRooms()
    assert domain.states == 103 and sorted(domain.named_states) == ["1", "2", "3", "4"]
    table = domain.mdp().outcomes
    probabilities = table.probabilities[0, start_of(domain), 0]
    np.testing.assert_allclose(sorted(probabilities), [1 / 9, 1 / 9, 1 / 9, 2 / 3])
    ex.check(domain, episodes=3)
