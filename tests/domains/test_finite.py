from __future__ import annotations

import numpy as np

import expectant as ex
from expectant.domains.finite import END, PHASE, STATE
from expectant.verbs import outcome, phase, reset, reward_now, step

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
    for one in (explicit, terminal):  # entering it is the end, not a step before the end
        assert (one.outcomes.successors[:2] == last_column.outcomes.successors).all()
    assert terminal.outcomes.start.tolist() == [0.5, 0.5, 0.0]
    ended = terminal.outcomes  # a step from where nobody can be is the end, for nothing
    assert (ended.successors[2, :, 0] == END).all() and not ended.rewards[:, 2].any()
    assert ended.probabilities[0, 2, :, 0].tolist() == [1.0, 1.0]
    assert last_column.outcomes.probabilities.shape == (1, 2, 2, 2)  # needless columns dropped


def test_steps_follow_the_probabilities():
    domain = ex.FiniteMDP(PROBABILITIES, REWARDS, start=[0.25, 0.75])
    rng = np.random.default_rng(0)
    part = domain.build(rng)
    starts, ends, stays = [], 0, 0
    for _ in range(20_000):
        reset(part, 0, rng)
        starts.append(part.now[STATE])
        part.now[STATE] = 0
        reward, alive = step(part, 1, rng)
        assert reward == -2.0
        ends += alive == 0.0
        part.now[STATE] = 1
        step(part, 1, rng)
        stays += part.now[STATE] == 1
    assert abs(np.mean(starts) - 0.75) < 0.015
    assert abs(ends / 20_000 - 0.5) < 0.018
    assert abs(stays / 20_000 - 0.75) < 0.015


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


def test_rewards_of_one_phase_are_those_of_all():
    chances = np.stack([PROBABILITIES, PROBABILITIES[:, ::-1]])
    rewards = np.arange(12.0).reshape(1, 2, 2, 3)
    once = ex.FiniteMDP(chances, rewards, switch_every=10)
    both = ex.FiniteMDP(chances, np.repeat(rewards, 2, axis=0), switch_every=10)
    for phase_number in (0, 1):
        first, second = (
            ex.exact.optimal_values(mdp, discount=0.9, phase=phase_number) for mdp in (once, both)
        )
        assert np.array_equal(first, second)


def test_every_outcome_has_a_number_of_its_own_by_which_it_is_relabelled():
    rng = np.random.default_rng(0)
    rewards = np.arange(24.0).reshape(2, 2, 2, 3)  # all different, in two phases
    chances = np.full((2, 2, 3), 1 / 3)
    part = ex.FiniteMDP(chances, rewards, switch_every=1).build(rng)
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
