"""Linear prediction and planning: LSTD, least-squares models, spectral radii."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.exact import least_squares_model, lstd, model_values


def test_by_hand():
    """Two states, 0 → 1 → end, rewards 1 and 2: values 1 + γ 2 and 2."""
    phi, next_phi = np.eye(2), np.array([[0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(lstd(phi, [1, 2], next_phi, discount=0.5), [2.0, 2.0])
    model = least_squares_model(phi, [1, 2], next_phi)
    np.testing.assert_allclose(model.matrix, [[0, 0], [1, 0]], atol=1e-12)
    np.testing.assert_allclose(model.rewards, [1, 2])
    np.testing.assert_allclose(model_values(model, discount=0.5), [2.0, 2.0])


def test_weights_count_transitions():
    rng = np.random.default_rng(0)
    phi, next_phi, rewards = rng.normal(size=(6, 3)), rng.normal(size=(6, 3)), rng.normal(size=6)
    twice = [0, 0, 1, 2, 3, 3, 3, 4]
    weights = np.array([2.0, 1, 1, 3, 1, 0])
    for solve in (lambda *data, **more: lstd(*data, discount=0.9, **more),
                  lambda *data, **more: least_squares_model(*data, **more).matrix):  # fmt: skip
        expected = solve(phi[twice], rewards[twice], next_phi[twice])
        np.testing.assert_allclose(solve(phi, rewards, next_phi, weights=weights), expected)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(0.0, 1.0))
def test_the_values_of_the_least_squares_model_are_the_lstd_solution(seed, size, discount):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(4 * size + 4, size))
    next_phi = 0.5 * rng.normal(size=phi.shape) * (rng.random(len(phi)) < 0.8)[:, None]
    rewards, weights = rng.normal(size=len(phi)), rng.random(len(phi)) + 0.1
    model = least_squares_model(phi, rewards, next_phi, weights=weights)
    if np.linalg.cond(np.eye(size) - discount * model.matrix.T) > 1e6:
        return
    direct = lstd(phi, rewards, next_phi, discount=discount, weights=weights)
    np.testing.assert_allclose(model_values(model, discount=discount), direct, atol=1e-6, rtol=1e-6)


def test_values_that_are_linear_in_the_features_are_found_exactly():
    """Boyan's chain: state n is worth −2 n, and its features interpolate."""
    chain = ex.domains.BoyanChain()
    matrix = ex.exact.feature_matrix(chain, ex.features.Interpolated(25))
    dynamics = ex.exact.dynamic_programming.get_dynamics(chain)
    expected = ex.exact.dynamic_programming.expected_next(dynamics, matrix)[:, 0]
    weights = lstd(matrix, dynamics.rewards[:, 0], expected)
    np.testing.assert_allclose(matrix @ weights, -2.0 * np.arange(98), atol=1e-6)
