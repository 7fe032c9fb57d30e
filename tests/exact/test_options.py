from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant import exact

RIGHT = 1
LINE = ex.Corridor(cells=3, slip=0.0, goal_reward=20.0, other_reward=0.0, step_reward=-1.0)


def random_option(seed: int):
    """A random MDP, an option on it."""
    rng = np.random.default_rng(seed)
    probabilities = 0.9 * rng.dirichlet(np.full(6, 0.5), size=(5, 3))
    probabilities[..., -1] += 0.1
    domain = ex.FiniteMDP(probabilities, rng.normal(size=(5, 3)))
    return domain, rng.dirichlet(np.ones(3), size=5), rng.random(5)


def test_to_the_right_until_the_last_cell():
    """From cell 0 two steps of −1, the second discounted; from the last cell out of the goal."""
    rewards, successors = exact.option_model(LINE, np.full(3, RIGHT), [0.0, 0.0, 1.0], 0.5)
    assert rewards.tolist() == [-1.5, -1.0, 20.0]
    assert successors.tolist() == [[0, 0, 0.25], [0, 0, 0.5], [0, 0, 0]]
    durations = exact.option_durations(LINE, np.full(3, RIGHT), [0.0, 0.0, 1.0])
    assert durations.tolist() == [2.0, 1.0, 1.0]


def test_the_bonus_replaces_the_value_of_its_state():
    """Cell 0: −1 and half of the bonus of 30. Cell 1 goes on: −1 and half of 20, out of cell 2."""
    high = exact.solve_subtask(LINE, [5.0, 30.0, 9.0], 0.5)
    assert high.values.tolist() == [14.0, 9.0, 20.0]
    assert high.stop.tolist() == [0.0, 1.0, 0.0]
    low = exact.solve_subtask(LINE, [5.0, -30.0, 9.0], 0.5)
    assert low.stop[1] == 0.0


def test_an_option_stops_where_going_on_is_just_as_good():
    """Cell 2 leaves with 20; a bonus of 20 there is a tie, one of 19 is not worth stopping for."""
    for bonus, stops in ((20.0, 1.0), (19.0, 0.0)):
        option = exact.solve_subtask(LINE, [0.0, 0.0, bonus], 0.5, where=[False, False, True])
        assert option.values[2] == 20.0 and option.stop.tolist() == [0.0, 0.0, stops]


def test_stopping_halfway_with_probability_one_half():
    rewards, successors = exact.option_model(LINE, np.full(3, RIGHT), [0.0, 0.5, 1.0], 0.5)
    # from cell 0: −1, then with probability one half another −1 discounted
    assert rewards[0] == -1.25
    assert successors[0].tolist() == [0.0, 0.25, 0.125]


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_models_are_sums_over_steps(seed):
    domain, policy, stop = random_option(seed)
    dynamics = exact.dynamic_programming.get_dynamics(domain)
    per_action = exact.dynamic_programming.expected_next(dynamics, np.eye(5))  # (S, A, S)
    here, rewards = np.eye(5), np.zeros(5)
    successors, durations = np.zeros((5, 5)), np.zeros(5)
    for _ in range(400):
        rewards += here @ (policy * dynamics.rewards).sum(axis=1)
        durations += here.sum(axis=1)
        arrived = 0.9 * here @ (policy[:, :, None] * per_action).sum(axis=1)
        successors += arrived * stop
        here = arrived * (1.0 - stop)
    model = exact.option_model(domain, policy, stop, 0.9)
    np.testing.assert_allclose(model[0], rewards, atol=1e-12)
    np.testing.assert_allclose(model[1], successors, atol=1e-12)
    np.testing.assert_allclose(
        exact.option_durations(domain, policy, stop, 0.9), durations, atol=1e-12
    )


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_options_beside_actions_do_not_change_what_is_optimal(seed):
    domain, policy, stop = random_option(seed)
    model = exact.option_model(domain, policy, stop, 0.9)
    best = exact.optimal_values(domain, discount=0.9)
    assert (model[0] + model[1] @ best <= best + 1e-9).all()


def test_the_hallway_of_two_rooms():
    """Around the pits in 12 steps; the shortest path takes 6 and falls into four pits."""
    domain = ex.domains.TwoRooms()
    start, hallway = 24, domain.named_states["H"]
    here = np.arange(domain.states) == hallway
    kept = exact.solve_subtask(domain, here, 0.99, where=here)
    assert kept.values[start] == pytest.approx(0.99**12)
    assert np.flatnonzero(kept.stop).tolist() == [hallway]
    rewards, successors = exact.option_model(domain, kept.policy, kept.stop, 0.99)
    assert rewards[start] == pytest.approx(0.0)
    assert successors[start, hallway] == pytest.approx(0.99**12)
    short = exact.solve_subtask(domain, here, 0.99, where=here, rewarded=False)
    rewards, successors = exact.option_model(domain, short.policy, short.stop, 0.99)
    assert successors[start, hallway] == pytest.approx(0.99**6)
    assert rewards[start] == pytest.approx(-sum(0.99**k for k in range(4)))
