"""When planning converges, and what a run says when it does not."""

from __future__ import annotations

import numpy as np
import pytest

from expectant.exact import planning_radius


def test_the_radius_by_hand():
    """One feature, s̄ = 2 s: the error is multiplied by 1 − α (1 − 2 γ) at every backup."""
    found = planning_radius([[2.0]], [[1.0]], value_step=0.1, discount=0.9)
    assert found.radius == pytest.approx(1.0 + 0.1 * 0.8)
    assert found.largest_step == 0.0 and not found.converges
    found = planning_radius([[2.0]], [[1.0]], value_step=0.1, discount=0.25)
    assert found.radius == pytest.approx(1.0 - 0.1 * 0.5)
    assert found.largest_step == pytest.approx(4.0) and found.converges


def test_gradient_planning_converges_where_levi_does_not():
    for update in ("gradient", "gtd2"):
        found = planning_radius(
            [[2.0]], [[1.0]], value_step=0.05, discount=0.9, update=update, correction_step=0.5
        )
        assert found.converges
    # TDC: w and h move by −(α (A w + γ s̄ h), β (A w + h)), A = −0.8
    slow = planning_radius(
        [[2.0]], [[1.0]], value_step=0.5, discount=0.9, update="gradient", correction_step=0.5
    )
    system = np.eye(2) - [[0.5 * -0.8, 0.5 * 1.8], [0.5 * -0.8, 0.5]]
    assert slow.radius == pytest.approx(np.abs(np.linalg.eigvals(system)).max())
    assert not slow.converges


def test_the_best_action_and_the_distribution_decide():
    """Of two actions one leads to twice the state; of two states one is planned from."""
    grow, stay = np.diag([2.0, 0.0]), np.zeros((2, 2))
    states = np.eye(2)
    for weights, converges in (([1.0, 0.0], False), ([-1.0, 0.0], True)):
        found = planning_radius([stay, grow], states, value_step=0.1, weights=weights)
        assert found.converges == converges
    with_rewards = planning_radius(
        [stay, grow], states, value_step=0.1, weights=[1.0, 0.0], rewards=[[9.0, 0.0], [0.0, 0.0]]
    )
    assert with_rewards.converges
    elsewhere = planning_radius(grow, states, value_step=0.1, state_weights=[0.0, 1.0])
    assert elsewhere.converges


def test_the_best_action_is_that_of_discounted_values():
    """γ = 1/2: 2 / 2 by the first action, 1 + 1/4 by the second; undiscounted it were 2 and 1.5."""
    found = planning_radius(
        [[[2.0]], [[0.5]]], [[1.0]], value_step=0.5, rewards=[[0.0], [1.0]], weights=[1.0],
        discount=0.5,
    )  # fmt: skip
    assert found.radius == pytest.approx(1.0 - 0.5 * (1.0 - 0.5 * 0.5))


def test_errors_that_turn_as_they_shrink_allow_smaller_steps():
    """F turns by a right angle: λ = (1 ± i) / 2, and |1 − α λ| is 1 at α = 2 Re λ / |λ|² = 2."""
    turned = np.array([[0.0, -1.0], [1.0, 0.0]])
    found = planning_radius(turned, np.eye(2), value_step=2.0)
    assert found.largest_step == pytest.approx(2.0)
    assert found.radius == pytest.approx(1.0)
    assert planning_radius(turned, np.eye(2), value_step=1.0).radius == (
        pytest.approx(np.sqrt(0.5))
    )
