"""Linear prediction and planning: LSTD and spectral radii."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.exact import lstd, planning_radius


def test_by_hand():
    """Two states, 0 → 1 → end, rewards 1 and 2: values 1 + γ 2 and 2."""
    phi, next_phi = np.eye(2), np.array([[0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(lstd(phi, [1, 2], next_phi, discount=0.5), [2.0, 2.0])


def test_weights_count_transitions():
    rng = np.random.default_rng(0)
    phi, next_phi, rewards = rng.normal(size=(6, 3)), rng.normal(size=(6, 3)), rng.normal(size=6)
    twice = [0, 0, 1, 2, 3, 3, 3, 4]
    weights = np.array([2.0, 1, 1, 3, 1, 0])
    expected = lstd(phi[twice], rewards[twice], next_phi[twice], discount=0.9)
    found = lstd(phi, rewards, next_phi, discount=0.9, weights=weights)
    np.testing.assert_allclose(found, expected)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(0.0, 1.0))
def test_the_values_of_the_least_squares_model_are_the_lstd_solution(seed, size, discount):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(4 * size + 4, size))
    next_phi = 0.5 * rng.normal(size=phi.shape) * (rng.random(len(phi)) < 0.8)[:, None]
    rewards, weights = rng.normal(size=len(phi)), rng.random(len(phi)) + 0.1
    root = np.sqrt(weights)[:, None]
    model = np.linalg.lstsq(phi * root, np.column_stack([next_phi, rewards]) * root, rcond=None)[0]
    left = np.eye(size) - discount * model[:, :-1]  # of θ = b + γ Fᵀ θ
    if np.linalg.cond(left) > 1e6:
        return
    direct = lstd(phi, rewards, next_phi, discount=discount, weights=weights)
    values = np.linalg.solve(left, model[:, -1])
    np.testing.assert_allclose(values, direct, atol=1e-6, rtol=1e-6)


def test_values_that_are_linear_in_the_features_are_found_exactly():
    """Boyan's chain: state n is worth −2 n, and its features interpolate."""
    chain = ex.domains.BoyanChain()
    matrix = ex.exact.feature_matrix(chain, ex.features.Interpolated(25))
    dynamics = ex.exact.dynamic_programming.get_dynamics(chain)
    expected = ex.exact.dynamic_programming.expected_next(dynamics, matrix)[:, 0]
    weights = lstd(matrix, dynamics.rewards[:, 0], expected)
    np.testing.assert_allclose(matrix @ weights, -2.0 * np.arange(98), atol=1e-6)


@pytest.mark.parametrize(("discount", "radius", "largest"), [(0.9, 1.08, 0.0), (0.25, 0.95, 4.0)])
def test_the_radius_by_hand(discount, radius, largest):
    """One feature, s̄ = 2 s: the error is multiplied by 1 − α (1 − 2 γ) at every backup."""
    planning = planning_radius([[1.0]], [[2.0]], value_step=0.1, discount=discount)
    assert planning.radius == pytest.approx(radius)
    assert planning.largest_step == pytest.approx(largest)


def test_the_distribution_of_planned_states_decides():
    states, expected = np.eye(2), np.diag([2.0, 0.0])
    for shares, converges in (([1.0, 1.0], False), ([0.0, 1.0], True)):
        found = planning_radius(states, expected, value_step=0.1, state_weights=shares)
        assert (found.radius < 1.0) == converges


def test_errors_that_turn_as_they_shrink_allow_smaller_steps():
    """F turns by a right angle: λ = (1 ± i) / 2, and |1 − α λ| is 1 at α = 2 Re λ / |λ|² = 2."""
    turned = np.array([[0.0, 1.0], [-1.0, 0.0]])
    planning = planning_radius(np.eye(2), turned, value_step=2.0)
    assert planning.largest_step == pytest.approx(2.0)
    assert planning.radius == pytest.approx(1.0)
    assert planning_radius(np.eye(2), turned, value_step=1.0).radius == pytest.approx(0.5**0.5)
