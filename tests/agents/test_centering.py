"""Average reward: worked by hand, and where it ends."""

from __future__ import annotations

from typing import Any

import pytest
from building import Built, per_feature

import expectant as ex
from expectant.core.verbs import learn, plan

DOMAIN = ex.Corridor(cells=2, slip=0.0)
STEPS: dict[Any, tuple[float, ...]] = {
    ex.QLearning: (0.5,),
    ex.QPlanning: (0.5, 0.5),
    ex.Lookahead: (0.5, 0.5),
    ex.CachedValues: (0.5, 0.25, 0.5),
    ex.CachedPolicy: (0.5, 0.1, 0.5),
}


def build(kind: Any, **options: Any) -> Built:
    return Built(DOMAIN, ex.OneHot(), kind.paper(*STEPS[kind], **options))


@pytest.mark.parametrize("kind", STEPS)
def test_a_real_error_moves_the_mean_reward_worked_by_hand(kind):
    b = build(kind, centering=0.25)
    learn(b.agent, b.transition(0, 1, 4.0, 1), b.rng)
    # δ = 4: the value is 0.5 · 4, R̄ = 0.25 · 0.5 · 4
    values = b.agent.weights if b.agent.weights.ndim == 1 else b.agent.weights[1]
    assert (values[0], b.agent.centering.rate[0]) == (2.0, 0.5)
    learn(b.agent, b.transition(0, 1, 4.0, 1), b.rng)
    # δ = 4 − 0.5 + 0 − 2 = 1.5
    assert (values[0], b.agent.centering.rate[0]) == (2.75, 0.5 + 0.25 * 0.5 * 1.5)


@pytest.mark.parametrize("kind", STEPS)
def test_the_mean_reward_moves_by_steps_that_adapt_as_well(kind):
    """As with numbers: they are 0.5 to begin with, and stay so without a rate of change."""
    first = ex.step_sizes.IDBD(0.5, 0.0, per="feature", bounded=False)
    runs = []
    for steps in (STEPS[kind], (first, *STEPS[kind][1:])):
        b = Built(DOMAIN, ex.OneHot(), kind.paper(*steps, centering=0.25))
        for _ in range(3):
            learn(b.agent, b.transition(0, 1, 4.0, 1), b.rng)
            plan(b.agent, b.rng)
        runs.append(b.agent.centering.rate[0])
    assert runs[0] == pytest.approx(runs[1]) and runs[0] > 0.5


def test_a_planned_error_moves_it_too():
    b = build(ex.Lookahead, centering=0.25, planning_steps=1)
    learn(b.agent, b.transition(0, 1, 4.0, 1), b.rng)  # w(0) = 2, R̄ = 0.5, r(0, right) = 2
    b.agent.planner.model.rewards[1, 0] = 8.0
    plan(b.agent, b.rng)  # δ = 8 − 0.5 − 2
    assert b.agent.weights[0] == 2.0 + 0.5 * 5.5
    assert b.agent.centering.rate[0] == 0.5 + 0.25 * 0.5 * 5.5


def test_caches_are_centred_as_values_are():
    b = build(ex.CachedValues, centering=0.25, planning_steps=1)
    learn(b.agent, b.transition(0, 1, 4.0, 1), b.rng)
    assert b.agent.action_weights[1, 0] == 0.25 * 4.0  # the R̄ of this step was 0
    plan(b.agent, b.rng)  # r(0, right) = 2: δ = 2 − 0.5 − 2, R̄ = 0.5 − 0.0625
    rate = 0.5 - 0.25 * 0.5 * 0.5
    future = 0.5 * b.agent.weights[1]
    assert b.agent.centering.rate[0] == rate
    assert b.agent.action_weights[1, 0] == 1.0 + 0.25 * (2.0 + future - rate - 1.0)
    assert b.agent.action_weights[0, 0] == 0.25 * -rate


def test_gradient_planning_is_centred():
    update = ex.agents.Gradient(per_feature(0.5))
    b = build(ex.Lookahead, centering=0.25, planning_steps=1, planning_update=update)
    learn(b.agent, b.transition(0, 1, 4.0, 1), b.rng)
    plan(b.agent, b.rng)  # δ = 2 − 0.5 − 2, h = 0
    assert b.agent.update.helper[0] == 0.5 * -0.5
    assert b.agent.weights[0] == 1.75


def rate_of(agent: Any, steps: int) -> float:
    result = ex.run(ex.domains.TwoChoice(), ex.OneHot(), agent, steps=steps, runs=1, compiled=False,
                    keep_agents=True)  # fmt: skip
    return float(result.kept[0][0].agent.centering.rate[0])


def test_planning_with_state_values_finds_the_best_gain():
    """By planning alone, with the exact model: R̄ is the best reward of a step, 0.4."""
    agent = ex.agents.PlanningOnly(
        ex.Lookahead.paper(0.2, model="exact", centering=0.5, planning_steps=5, epsilon=0.2)
    )
    best = ex.exact.optimal_gain(ex.domains.TwoChoice())
    assert best == pytest.approx(0.4)
    assert rate_of(agent, 1_500) == pytest.approx(best, abs=1e-3)


def test_differential_q_learning_finds_the_best_gain():
    assert rate_of(ex.QLearning.paper(0.2, centering=0.5, epsilon=0.2), 4_000) == pytest.approx(
        0.4, abs=0.05
    )
