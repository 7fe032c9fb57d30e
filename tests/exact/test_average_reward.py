"""Gains, differential values and the best ε-soft policies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant import exact


def random_endless(seed: int, states: int = 4, actions: int = 2) -> ex.FiniteMDP:
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(states, 0.7), size=(states, actions))
    return ex.FiniteMDP(probabilities, rng.normal(size=(states, actions)), endless=True)


def every_policy(states: int, actions: int) -> np.ndarray:
    return np.stack(np.meshgrid(*[range(actions)] * states), axis=-1).reshape(-1, states)


def test_two_choice_by_hand():
    domain = ex.domains.TwoChoice()
    first, second = np.zeros(9, int), np.ones(9, int)
    assert exact.gain(domain, first) == pytest.approx(0.2)
    assert exact.gain(domain, second) == pytest.approx(0.4)
    assert exact.gain(domain, np.full((9, 2), 0.5)) == pytest.approx(0.3)
    assert exact.optimal_gain(domain) == pytest.approx(0.4, abs=1e-10)
    assert exact.best_epsilon_soft_gain(domain, 0.1) == pytest.approx(0.39, abs=1e-10)
    # around the second loop: 0.4 is missing at every step until 2 is paid
    values = exact.differential_values(domain, second)
    np.testing.assert_allclose(np.diff(values[[0, 5, 6, 7, 8]]), 0.4)
    np.testing.assert_allclose(values[[0, 5, 6, 7, 8]].sum(), 0.0, atol=1e-12)
    assert values[8] == pytest.approx(2.0 - 0.4 + values[0])
    assert values[4] == pytest.approx(-0.4 + values[0])  # a transient state
    visits = exact.stationary_distribution(domain, second)
    np.testing.assert_allclose(visits, [0.2, 0, 0, 0, 0, 0.2, 0.2, 0.2, 0.2], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), epsilon=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_the_best_gains_are_the_best_of_all_policies(seed, epsilon):
    domain = random_endless(seed)
    policies = [np.eye(2)[policy] for policy in every_policy(4, 2)]
    gains = [exact.gain(domain, exact.epsilon_greedy_policy(p, epsilon)) for p in policies]
    assert exact.best_epsilon_soft_gain(domain, epsilon) == pytest.approx(max(gains), abs=1e-9)
    if epsilon == 0.0:
        assert exact.optimal_gain(domain) == pytest.approx(max(gains), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_differential_values_solve_their_equation(seed):
    domain, rng = random_endless(seed), np.random.default_rng(seed)
    policy = rng.dirichlet(np.ones(2), size=4)
    values, rate = exact.differential_values(domain, policy), exact.gain(domain, policy)
    ahead = (policy * exact.action_values_of(domain, values)).sum(axis=1)
    np.testing.assert_allclose(ahead - rate, values, atol=1e-9)
    assert exact.stationary_distribution(domain, policy) @ values == pytest.approx(0.0, abs=1e-9)


def test_transient_states_do_not_count():
    domain = ex.domains.TransientChain(length=3)
    assert exact.gain(domain, np.ones(4, int)) == pytest.approx(1.0)
    np.testing.assert_allclose(exact.stationary_distribution(domain, np.ones(4, int)), [0, 0, 0, 1])
    np.testing.assert_allclose(exact.differential_values(domain, np.ones(4, int)), [-3, -2, -1, 0])


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    epsilon=st.sampled_from([0.0, 0.1, 0.7]),
    discount=st.sampled_from([0.9, 1.0]),
)
def test_the_best_soft_return_is_the_best_of_all_soft_policies(seed, epsilon, discount):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(4), size=(3, 2))
    domain = ex.FiniteMDP(probabilities, rng.normal(size=(3, 2)))
    policies = [
        exact.epsilon_greedy_policy(np.eye(2)[policy], epsilon) for policy in every_policy(3, 2)
    ]
    values = [exact.policy_values(domain, policy, discount=discount) for policy in policies]
    best = exact.best_epsilon_soft_values(domain, epsilon, discount=discount)
    np.testing.assert_allclose(best, np.max(values, axis=0), atol=1e-9)
    greedy = exact.greedy_policy(exact.action_values_of(domain, best, discount=discount))
    policy = exact.epsilon_greedy_policy(greedy, epsilon)
    policy_values = exact.policy_values(domain, policy, discount=discount)
    np.testing.assert_allclose(policy_values, best, atol=1e-7)
    on_optimal = exact.epsilon_greedy_optimal_return(domain, epsilon, discount=discount)
    assert on_optimal <= exact.best_epsilon_soft_return(domain, epsilon, discount=discount) + 1e-9


def test_acting_epsilon_greedily_on_optimal_values_is_not_the_best_near_a_cliff():
    cliff = ex.domains.Cliff()
    assert exact.epsilon_greedy_optimal_return(cliff, 0.1) == pytest.approx(-50.80, abs=5e-3)
    assert exact.best_epsilon_soft_return(cliff, 0.1) == pytest.approx(-20.71, abs=5e-3)
    q = exact.action_values_of(cliff, exact.best_epsilon_soft_values(cliff, 0.1))
    cells = list(cliff.sketch.cells or ())
    along = [cells.index((column, 2)) for column in range(1, 10)]
    assert q[along].argmax(axis=1).tolist() == [0] * 9  # up, away from the edge
