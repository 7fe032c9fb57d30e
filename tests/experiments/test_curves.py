"""The exact optimum of a panel, and where its domain changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from experiments.sweeping import TRIAL

import expectant as ex
from expectant.experiments.curves import group_panels


def panel_of(*agents, domain=TRIAL.domain):
    trials = [
        replace(TRIAL, agent=agent, agent_key=str(n), domain=domain)
        for n, agent in enumerate(agents)
    ]
    return group_panels(trials, [np.zeros((25, 4))] * len(trials))[0]


def test_the_optimum_is_that_of_the_agent_that_explores_most():
    optimum = ex.exact.epsilon_greedy_optimal_return
    policy, plain = ex.CachedPolicy.paper(0.1, 0.1), ex.QLearning.paper(0.1, epsilon=0.2)
    for agents in ((policy, plain), (plain, policy)):
        assert panel_of(*agents).optimum == pytest.approx(optimum(ex.Corridor(), 0.2))
    assert panel_of(policy).optimum == pytest.approx(optimum(ex.Corridor(), 0.0))


def test_what_is_recorded_is_not_discounted_but_the_policy_is():
    """Going left at once pays 4, going right 5 after one step more: γ = 1/2 prefers the former."""
    domain = ex.Corridor(cells=2, slip=0.0, goal_reward=6.0, other_reward=4.0)
    far, near = (ex.QLearning.paper(0.1, epsilon=0.0, discount=discount) for discount in (1.0, 0.5))
    assert panel_of(far, domain=domain).optimum == (5.0 + 6.0) / 2
    assert panel_of(near, domain=domain).optimum == (4.0 + 6.0) / 2
    longer = domain.replace(cells=3)  # from the middle −1 + 6, though γ = 1/2 makes it −1 + 3
    assert panel_of(near, domain=longer).optimum == (4.0 + 5.0 + 6.0) / 3


def test_there_is_no_one_optimum_where_phases_or_discounts_differ():
    still, moved = np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])
    ends = np.full((1, 2, 1), -1)
    for rewards, known in (
        (np.stack([still, still[:, ::-1]]), True),
        (np.stack([still, moved]), False),
    ):
        domain = ex.FiniteMDP(np.ones((1, 2, 1)), rewards[..., None], ends, switch_every=5)
        assert np.isfinite(panel_of(ex.QLearning.paper(0.1), domain=domain).optimum) == known
    assert np.isnan(
        panel_of(ex.QLearning.paper(0.1), ex.QLearning.paper(0.1, discount=0.9)).optimum
    )
    assert np.isnan(panel_of(ex.QLearning.paper(0.1), domain=ex.MountainCar()).optimum)


def test_a_panel_says_when_its_domain_changes():
    trial = replace(
        TRIAL, domain=ex.domains.BlockingMaze(change_after=7), episodes=0, steps=20, bins=4
    )
    assert group_panels([trial], [np.zeros((25, 4))])[0].changes == (7.0,)
