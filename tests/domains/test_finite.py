from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant.domains.finite import PHASE, STATE
from expectant.domains.outcomes import END
from expectant.verbs import outcome, phase, reset, reward_now, step

# two states, two actions: action 0 moves on, action 1 stays or ends
PROBABILITIES = np.array([[[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0], [0.25, 0.75, 0.0]]])
REWARDS = np.array([[-1.0, -2.0], [5.0, 0.0]])


def changed(array, where, value):
    array = array.copy()
    array[where] = value
    return array


BAD = [
    (
        dict(probabilities=changed(PROBABILITIES, (1, 1, 0), 0.1)),
        r"state 1, action 1, phase 0: the probabilities must sum to 1, got 0.85",
    ),
    (
        dict(probabilities=changed(PROBABILITIES, (0, 1), [1.5, -0.5, 0.0])),
        "state 0, action 1, outcome 1, phase 0: a probability must be 0 or more, got -0.5",
    ),
    (
        dict(probabilities=changed(PROBABILITIES, (0, 1, 0), np.nan)),
        "state 0, action 1, outcome 0, phase 0: a probability must be 0 or more, got nan",
    ),
    (
        dict(rewards=changed(REWARDS, (1, 0), np.inf)),
        "state 1, action 0, outcome 2, phase 0: a reward must be finite, got inf",
    ),
    (
        dict(rewards=np.zeros((3, 2))),
        r"rewards must have the shape \(2, 2\), \(2, 2, 3\) or .* got \(3, 2\)",
    ),
    (dict(probabilities=np.ones((2, 2))), r"probabilities must have the shape .* got \(2, 2\)"),
    (dict(probabilities=np.ones((2, 2, 5)) / 5), "5 outcomes for 2 states: give successors"),
    (
        dict(successors=np.zeros((2, 2, 2), int)),
        r"successors must have the shape \(2, 2, 3\), got \(2, 2, 2\)",
    ),
    (dict(successors=np.full((2, 2, 3), 7)), "state 0, action 0: outcome 0 leads to state 7"),
    (dict(successors=np.full((2, 2, 3), -2)), "state 0, action 0: outcome 0 leads to state -2"),
    (dict(successors=np.full((2, 2, 3), 2)), "state 0, action 0: outcome 0 leads to state 2"),
    (dict(successors=np.zeros((2, 2, 3))), "successors must be an array of whole numbers"),
    (dict(probabilities=[[["a"]]]), "probabilities must be an array of numbers"),
    (dict(start=[0.5, 0.6]), r"start must sum to 1, got 1.1"),
    (dict(start=[1.5, -0.5]), "start: state 1 has probability -0.5"),
    (dict(start=[1.0]), r"start must have the shape \(2,\), got \(1,\)"),
    (dict(terminal=[5]), "terminal state 5 does not exist"),
    (dict(terminal=[1], start=[0.0, 1.0]), "state 1 is terminal, an episode cannot start there"),
    (dict(terminal=[0, 1]), "every state is terminal"),
    (dict(switch_every=10), "switch_every=10 needs several phases"),
    (dict(rewards=np.zeros((2, 2, 2, 3))), "there are 2 phases: switch_every must say"),
    (dict(rewards=np.zeros((2, 2, 2, 3)), switch_every=0), "switch_every must be a whole number"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[m[:50] for _, m in BAD])
def test_bad_arrays_name_the_state_and_action(change, message):
    with pytest.raises(ValueError, match=message):
        ex.FiniteMDP(**{"probabilities": PROBABILITIES, "rewards": REWARDS, **change})


def test_states_that_never_reach_an_end_are_named_unless_allowed():
    trap = np.zeros((3, 2, 4))
    trap[0, 0, 3] = trap[0, 1, 2] = 1.0  # state 0: end, or the trap 2
    trap[1, :, 0] = 1.0
    trap[2, :, 2] = 1.0
    with pytest.raises(
        ValueError, match="state 0, action 1, phase 0: leads to state 2, from which"
    ):
        ex.FiniteMDP(trap, np.zeros((3, 2)))
    with pytest.raises(
        ValueError, match=r"\(terminal=\[2\] says that an episode ends there; endless"
    ):
        ex.FiniteMDP(trap, np.zeros((3, 2)))
    trap[1:] = 0.0
    trap[1, :, 2] = trap[2, :, 1] = 1.0  # now 1 and 2 lead to one another
    with pytest.raises(ValueError, match=r"reaches an end \(endless=True"):
        ex.FiniteMDP(trap, np.zeros((3, 2)))
    assert ex.FiniteMDP(trap, np.zeros((3, 2)), endless=True).states == 3


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


def test_large_dense_mdps_work():
    rng = np.random.default_rng(0)
    states = 120
    probabilities = rng.random((states, 3, states + 1))
    probabilities /= probabilities.sum(axis=2, keepdims=True)
    domain = ex.FiniteMDP(probabilities, rng.normal(size=(states, 3)))
    result = ex.run(domain, ex.OneHot(), ex.QLearning(0.1), episodes=20, runs=2, threads=1)
    assert np.isfinite(result.returns).all()
