"""Online LSPI: improvements worked by hand, against NumPy's solver and against exact values."""

from __future__ import annotations

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.agents.lspi import solve
from expectant.core.vectors import dot
from expectant.core.verbs import learn

LEFT, RIGHT = 0, 1


def test_two_improvements_by_hand():
    """With a ridge of 1 and γ = 0.5; each improvement is about the greedy policy before it.

    First that is left everywhere (the first of equals), whose value in cell 1 is unknown, 0:
    2 q(1, right) = 20 and 2 q(0, right) = 0.5 · 0. Then it is right in cell 1, and all transitions
    count again: 3 q(1, right) = 40 and 3 q(0, right) = 2 · 0.5 q(1, right).
    """
    agent = ex.agents.LSPI(2, 1.0, discount=0.5)
    b = Built(ex.Corridor(cells=2, slip=0.0), ex.OneHot(), agent)
    for values in ((0.0, 10.0), (40 / 9, 40 / 3)):
        learn(b.agent, b.transition(0, RIGHT, 0.0, 1), b.rng)
        before = b.agent.weights.copy()
        learn(b.agent, b.transition(1, RIGHT, 20.0, None), b.rng)
        assert not np.array_equal(b.agent.weights, before)
        assert b.agent.weights[RIGHT, :2] == pytest.approx(values, abs=1e-14)
        assert not b.agent.weights[LEFT].any()


def test_the_ridge_pulls_towards_the_initial_value():
    agent = ex.agents.LSPI(1, 3.0, initial_value=8.0)
    b = Built(ex.Corridor(cells=2, slip=0.0), ex.OneHot(), agent)
    learn(b.agent, b.transition(1, RIGHT, 20.0, None), b.rng)
    assert b.agent.weights[:, :2].tolist() == [[8.0, 8.0], [8.0, (3 * 8 + 20) / 4]]


def test_solutions_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 20):
        system, solution = np.zeros((1, size, size + 1 + (-size - 1) % 8)), np.zeros(size)
        system[0, :, : size + 1] = rng.normal(size=(size, size + 1))
        system[0, 0, 0] = 0.0 if size > 1 else 2.0  # needs a pivot from another row
        expected = np.linalg.solve(system[0, :, :size], system[0, :, size])
        assert solve(system, np.zeros(system.shape[2]), solution)
        np.testing.assert_allclose(solution, expected, rtol=1e-9)
    assert not solve(np.zeros((1, 2, 8)), np.zeros(8), np.zeros(2))


@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(12, 4)])
def test_all_data_give_the_optimal_action_values(features):
    """With independent features and every pair of state and action seen."""
    domain = ex.Corridor(cells=5, slip=0.0)
    b = Built(domain, features, ex.agents.LSPI(10, 1e-9, discount=0.9), seed=3)
    table = domain.mdp().outcomes
    for _ in range(8):
        for state, action in np.ndindex(5, 2):
            reward, successor = table.rewards[0, state, action, 0], table.successors[state, action]
            following = None if successor[0] < 0 else successor[0]
            learn(b.agent, b.transition(state, action, reward, following), b.rng)
    learned = [[dot(b.state(state), row) for row in b.agent.weights] for state in range(5)]
    exact = ex.exact.optimal_action_values(domain, discount=0.9)
    np.testing.assert_allclose(learned, exact, atol=1e-5)
