from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant import exact


def random_mdp(seed: int, states: int = 5, actions: int = 3) -> ex.FiniteMDP:
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(states + 1, 0.5), size=(states, actions))
    probabilities = 0.9 * probabilities
    probabilities[..., -1] += 0.1
    return ex.FiniteMDP(probabilities, rng.normal(size=(states, actions)))


@pytest.mark.parametrize(
    ("slip", "optimum", "wrong_way"),
    [(0.0, 15.390, -4.36), (0.1, 13.924, -5.21), (0.3, 7.875, -8.20), (1 / 3, 6.278, -8.87)],
)
def test_the_corridor_table(slip, optimum, wrong_way):
    domain = ex.Corridor(slip=slip)
    assert exact.epsilon_greedy_optimal_return(domain, 0.1) == pytest.approx(optimum, abs=5e-4)
    left = exact.epsilon_greedy_policy(np.eye(2)[np.zeros(9, int)], 0.1)
    value = exact.start_return(domain, exact.policy_values(domain, left))
    assert value == pytest.approx(wrong_way, abs=5e-3)


def test_counterexample():
    domain = ex.Counterexample()
    assert exact.epsilon_greedy_optimal_return(domain, 0.1) == pytest.approx(-0.2875, abs=1e-12)
    np.testing.assert_allclose(exact.optimal_values(domain), 0.0, atol=1e-12)
    for update in ("avi", "aavi"):
        valid = exact.fixed_point(domain, update)
        assert valid.start_return == pytest.approx(-0.2875, abs=1e-12)
    invalid = exact.fixed_point(domain, "invalid")
    # the mean of states 2 and 3 looks like −2.5 whatever is done there, so B (−1) seems better
    np.testing.assert_allclose(invalid.action_values[0], [-2.5, -1.0])
    assert invalid.policy[0].tolist() == [0.0, 1.0]
    assert invalid.start_return == pytest.approx(0.95 * -1.0 + 0.05 * -0.25)


def test_the_planning_gap_of_the_corridor():
    for slip in (0.0, 0.1, 0.3):
        assert exact.planning_gap(ex.Corridor(slip=slip)).max() < 1e-9
    gap = exact.planning_gap(ex.Corridor(slip=1 / 3))
    # cells 0 and 2 want to go opposite ways, cell 1 lies between them: worked from q*
    q = exact.optimal_action_values(ex.Corridor(slip=1 / 3))
    means = 2 / 3 * q[0] + 1 / 3 * q[2]
    assert gap[1, 0] == pytest.approx(2 / 3 * q[0].max() + 1 / 3 * q[2].max() - means.max())
    assert gap.max() == pytest.approx(0.2681, abs=5e-5)
    assert np.count_nonzero(gap > 1e-9) == 2


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), discount=st.floats(0.0, 1.0))
def test_optimal_values_satisfy_the_optimality_equation(seed, discount):
    domain = random_mdp(seed)
    values = exact.optimal_values(domain, discount=discount)
    q = exact.action_values_of(domain, values, discount=discount)
    np.testing.assert_allclose(q.max(axis=1), values, atol=1e-9)
    policy = exact.greedy_policy(q)
    np.testing.assert_allclose(
        exact.policy_values(domain, policy, discount=discount), values, atol=1e-9
    )
    for update in ("avi", "aavi"):
        fixed = exact.fixed_point(domain, update, discount=discount)
        np.testing.assert_allclose(fixed.action_values, q, atol=1e-8)
    below = exact.fixed_point(domain, "invalid", discount=discount).action_values
    assert (below <= q + 1e-8).all()  # the gap is never negative, so the invalid values lie below


def test_sparse_and_dense_solutions_agree(monkeypatch):
    domain = random_mdp(7, states=30)
    policy = np.full((30, 3), 1 / 3)
    dense = exact.policy_values(domain, policy)
    monkeypatch.setattr("expectant.exact.dynamic_programming.DENSE_STATES", 0)
    np.testing.assert_allclose(exact.policy_values(domain, policy), dense)


def test_independent_features_do_not_change_the_fixed_points():
    domain = ex.Corridor(slip=1 / 3)
    features = exact.feature_matrix(domain, ex.RandomBinary(14, 5), seed=0)
    assert np.linalg.matrix_rank(features) == 9
    for update in ("avi", "aavi", "invalid"):
        tabular = exact.fixed_point(domain, update)
        linear = exact.fixed_point(domain, update, features=features)
        np.testing.assert_allclose(linear.action_values, tabular.action_values, atol=1e-6)


def test_the_fixed_point_of_aliased_features_is_a_projection():
    domain = ex.Corridor(slip=0.1)
    features = np.repeat(np.eye(3), 3, axis=0)
    values = features @ exact.fixed_point(domain, "avi", features=features, discount=0.9).weights
    targets = exact.action_values_of(domain, values, discount=0.9).max(axis=1)
    np.testing.assert_allclose(features.T @ (targets - values), 0.0, atol=1e-8)


def two_ends(*rewards) -> ex.FiniteMDP:
    """Two states with one action, which ends the episode; (2,) rewards for every phase."""
    table = np.array(rewards, float).reshape(-1, 2, 1, 1)
    ends = np.full((2, 1, 1), -1)
    every = 1 if len(rewards) > 1 else None
    return ex.FiniteMDP(np.ones((2, 1, 1)), table, ends, start=[0.25, 0.75], switch_every=every)


@pytest.mark.parametrize("update", ["avi", "aavi", "invalid"])
def test_state_weights_are_frequencies_of_backups(update):
    domain, aliased = two_ends([4.0, 8.0]), np.ones((2, 1))
    for weights, mean in ((None, 6.0), (np.array([3.0, 1.0]), 5.0)):
        fixed = exact.fixed_point(domain, update, features=aliased, state_weights=weights)
        assert fixed.weights.ravel() == pytest.approx([mean])
    fixed = exact.fixed_point(domain, update, features=aliased, state_weights=np.array([0.0, 1.0]))
    assert fixed.weights.ravel() == pytest.approx([8.0])


def test_solutions_of_each_phase():
    domain = two_ends([0.0, 8.0], [4.0, 2.0])
    for phase, rewards in enumerate([[0.0, 8.0], [4.0, 2.0]]):
        mean = 0.25 * rewards[0] + 0.75 * rewards[1]
        for update in ("avi", "aavi", "invalid"):
            fixed = exact.fixed_point(domain, update, phase=phase)
            assert fixed.action_values[:, 0].tolist() == rewards
            assert fixed.start_return == pytest.approx(mean)
        assert exact.optimal_values(domain, phase=phase).tolist() == rewards
        assert exact.optimal_action_values(domain, phase=phase)[:, 0].tolist() == rewards
        assert exact.action_values_of(domain, np.zeros(2), phase=phase)[:, 0].tolist() == rewards
        assert exact.policy_values(domain, [0, 0], phase=phase).tolist() == rewards
        assert exact.epsilon_greedy_optimal_return(domain, phase=phase) == pytest.approx(mean)
        assert exact.linear_model(domain, np.eye(2), phase=phase)[1].tolist() == [rewards]


def test_the_planning_gap_of_given_values():
    values = np.array([[0.0, 0.0], [0.0, -1.0], [-3.0, 0.0]])
    gap = exact.planning_gap(ex.Counterexample(), values)
    assert gap[0, 0] == 0.5  # mean of the maxima 0 and 0, maximum of the means −3/2 and −1/2
    phases = [exact.planning_gap(ex.Corridor(slip=1 / 3, switch_every=9), phase=n) for n in (0, 1)]
    np.testing.assert_allclose(phases[0], phases[1][::-1, ::-1], atol=1e-12)


def test_values_are_discounted_once_a_step():
    chain = ex.Corridor(cells=3, slip=0.0, goal_reward=8.0, step_reward=0.0)
    expected = [2.0, 4.0, 8.0]
    assert exact.optimal_values(chain, discount=0.5).tolist() == expected
    assert exact.policy_values(chain, [1, 1, 1], discount=0.5).tolist() == expected
    for update in ("avi", "aavi", "invalid"):
        fixed = exact.fixed_point(chain, update, discount=0.5, epsilon=0.0)
        assert fixed.action_values[:, 1].tolist() == expected
        assert fixed.start_return == pytest.approx(14 / 3)
    assert exact.action_values_of(chain, expected, discount=0.5)[1].tolist() == [1.0, 4.0]


def test_differences_by_rounding_are_ties():
    values = np.array([[1.0, 1.0 + 1e-12, 0.0], [1.0, 1.0 + 1e-8, 0.0]])
    assert exact.greedy_policy(values).tolist() == [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]


def test_linear_model_is_aligned_or_refused():
    domain = ex.Corridor()
    features = exact.feature_matrix(domain, ex.RandomBinary(14, 5))
    model, rewards = exact.linear_model(domain, features)
    dynamics = exact.dynamic_programming.get_dynamics(domain)
    expected = exact.dynamic_programming.expected_next(dynamics, features)
    for a in (0, 1):
        np.testing.assert_allclose(features @ model[a].T, expected[:, a], atol=1e-9)
        np.testing.assert_allclose(features @ rewards[a], dynamics.rewards[:, a], atol=1e-9)
    with pytest.raises(ValueError, match="no linear model is aligned with these features: state"):
        exact.linear_model(domain, np.repeat(np.eye(3), 3, axis=0))


def test_the_optimal_policy_may_never_end():
    """In state 0 staying costs nothing; state 1 leads there for 2, the end costs 1 everywhere."""
    mdp = ex.FiniteMDP(
        probabilities=np.ones((2, 2, 1)),
        rewards=np.array([[[0.0], [-1.0]], [[2.0], [-1.0]]]),
        successors=np.array([[[0], [-1]], [[0], [-1]]]),
        start=np.array([1.0, 0.0]),
    )
    assert exact.optimal_values(mdp).tolist() == [0.0, 2.0]


def test_an_end_of_probability_zero_is_no_end():
    chances, successors = [[[1.0, 0.0], [1.0, 0.0]]], [[[0, -1], [-1, -1]]]
    mdp = ex.FiniteMDP(np.array(chances), np.zeros((1, 2, 2)), np.array(successors))
    with pytest.raises(ValueError, match="never ends"):
        exact.policy_values(mdp, [0])


def test_endless_mdps_with_a_discount():
    domain = ex.FiniteMDP(np.ones((1, 1, 1)), [[1.0]], endless=True)
    assert exact.optimal_values(domain, discount=0.5)[0] == pytest.approx(2.0)
