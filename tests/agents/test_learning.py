"""Agents converge where they must, and only there; compared with exact optima over many runs."""

from __future__ import annotations

import numpy as np
import pytest

import expectant as ex

RIGHT = {
    "q_learning": ex.QLearning.paper(0.1),
    "q_planning_true": ex.QPlanning.paper(0.1, model="true", planning_steps=5),
    "lspi": ex.agents.LSPI(ridge=0.001, discount=1.0),
    "algorithm_1": ex.Lookahead.paper(0.1, 0.1, planning_steps=5),
    "algorithm_2": ex.CachedValues.paper(0.1, 0.1, 0.1, planning_steps=5),
}


def late_return(domain, features, agent, episodes, late, runs=40):
    """Mean return of the last episodes over runs, and its standard error."""
    result = ex.run(domain, features, agent, episodes=episodes, runs=runs, seed=11)
    assert not result.diverged.any()
    levels = result.returns[:, -late:].mean(axis=1)
    return levels.mean(), levels.std(ddof=1) / np.sqrt(runs)


# Margins are at least six standard errors (about 0.02 and 0.003), so a correct update fails these
# less than once in a million runs.


@pytest.mark.parametrize("name", RIGHT)
def test_converges_on_the_corridor(name):
    domain = ex.Corridor(slip=0.1)
    level, error = late_return(domain, ex.OneHot(), RIGHT[name], 3000, 1500)
    assert error < 0.025
    assert abs(level - ex.exact.epsilon_greedy_optimal_return(domain, 0.1)) < 0.15


@pytest.mark.parametrize("name", RIGHT)
def test_converges_on_the_counterexample(name):
    level, error = late_return(ex.Counterexample(), ex.OneHot(), RIGHT[name], 6000, 4000)
    assert error < 0.0033
    assert abs(level + 0.2875) < 0.02


def test_action_values_with_an_expectation_model_go_where_their_fixed_point_says():
    agent = ex.QPlanning.paper(0.1, 0.1, planning_steps=20)
    level, _ = late_return(ex.Counterexample(), ex.OneHot(), agent, 6000, 4000)
    fixed = ex.exact.fixed_point(ex.Counterexample(), "invalid").start_return
    assert fixed == pytest.approx(-0.9625)
    assert abs(level - fixed) < 0.05  # real updates pull it up a little
    assert level < -0.2875 - 0.5


def test_algorithm_3_finds_the_better_policy_without_epsilon():
    agent = ex.CachedPolicy.paper(0.1, 0.1, 0.1, planning_steps=5)
    domain = ex.Corridor(slip=0.1)
    level, _ = late_return(domain, ex.OneHot(), agent, 3000, 1500)
    optimum = ex.exact.start_return(domain, ex.exact.optimal_values(domain))
    assert abs(level - optimum) < 0.15
