"""Agents around agents, and models and backups around others: one behaviour each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built, per_feature

import expectant as ex
from expectant.agents.wrappers import inner_agent
from expectant.core.verbs import act, learn, plan, preference
from expectant.models.wrappers import CachedLookaheadPart

LINE = ex.Corridor(cells=3, slip=0.0)
STEPS: dict[Any, tuple[float, ...]] = {
    ex.QPlanning: (0.5, 0.5),
    ex.Lookahead: (0.5, 0.5),
    ex.CachedValues: (0.5, 0.25, 0.5),
    ex.CachedPolicy: (0.5, 0.1, 0.5),
}


def build_for_run(agent: ex.Agent, features: Any = None) -> Built:
    """An agent as a run has it."""
    b = Built(LINE, features or ex.OneHot())
    b.agent = agent.build_agent(b.setting)
    return b


def test_a_frozen_agent_learns_first_and_only_plans_afterwards():
    agent = ex.Lookahead.paper(0.5, 0.5, planning_steps=3, backups="all")
    b = build_for_run(ex.agents.FreezeAfter(ex.agents.PlanningOnly(agent), 2))
    inside: Any = inner_agent(b.agent)
    for lesson in (1, 2):
        act(b.agent, b.state(2), b.rng)
        assert learn(b.agent, b.transition(2, 1, 20.0, None), b.rng) > 0.0
        assert plan(b.agent, b.rng) == 0.0 and not inside.weights.any()
        assert inside.planner.model.rewards[1, 2] == 20.0 * (1.0 - 0.5**lesson)
    known = inside.planner.model.rewards.copy()
    assert learn(b.agent, b.transition(1, 1, 99.0, 2), b.rng) == 0.0
    np.testing.assert_array_equal(inside.planner.model.rewards, known)
    for _ in range(20):
        plan(b.agent, b.rng)
    assert inside.weights[2] == pytest.approx(15.0, abs=1e-3)


def test_greedy_learning_moves_values_after_greedy_actions_only():
    """Moving right pays 10 by the model, so only a step to the right teaches values."""
    b = build_for_run(ex.agents.GreedyLearning(ex.Lookahead.paper(0.5, 0.5, planning_steps=1)))
    inside: Any = inner_agent(b.agent)
    inside.planner.model.rewards[1, 1] = 10.0
    learn(b.agent, b.transition(1, 0, 6.0, None), b.rng)
    assert not inside.weights.any()
    assert inside.planner.model.rewards[0, 1] == 3.0  # the model has learned
    learn(b.agent, b.transition(1, 1, 6.0, None), b.rng)
    assert inside.weights[1] == 3.0
    assert inside.planner.model.rewards[1, 1] == 8.0


@pytest.mark.parametrize("kind", STEPS)
def test_by_planning_only_a_real_step_moves_no_values(kind):
    b = build_for_run(ex.agents.PlanningOnly(kind.paper(*STEPS[kind], planning_steps=1)))
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
    assert not b.agent.weights.any()
    for name in ("action_weights", "policy"):
        assert not getattr(b.agent, name, np.zeros(1)).any()
    assert b.agent.planner.model.rewards[1, 1] == 10.0  # the model has learned
    for _ in range(60):
        plan(b.agent, b.rng)
    values = b.agent.weights if b.agent.weights.ndim == 1 else b.agent.weights[1]
    assert values[1] == pytest.approx(10.0)


def test_by_planning_only_the_mean_reward_ignores_real_steps():
    b = build_for_run(ex.agents.PlanningOnly(ex.Lookahead.paper(0.5, 0.5, centering=0.25)))
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
    assert b.agent.centering.rate[0] == 0.0


@pytest.mark.parametrize("agent", [
    ex.Lookahead.paper(0.1, 0.2, discount=0.9),
    ex.Lookahead(1.5, 0.2, planning_update="levi"),  # the bound makes it 1
    ex.agents.PlanningOnly(ex.Lookahead.paper(0.1, 0.2)),
], ids=repr)  # fmt: skip
def test_a_cached_lookahead_stays_that_of_the_model(agent):
    """b(s, a, w) from the kept weights, through real steps and planned ones."""
    features = ex.RandomBinary(6, 2)
    inner = getattr(agent, "agent", agent)
    cached = inner.replace(model="cached_lookahead")
    if inner is not agent:
        cached = ex.agents.PlanningOnly(cached)
    plain, kept = build_for_run(agent, features), build_for_run(cached, features)
    assert isinstance(kept.agent.planner.model, CachedLookaheadPart)
    for b in (plain, kept):
        for number in range(30):
            after = None if number % 5 == 4 else (number + 1) % 3
            learn(b.agent, b.transition(number % 3, number % 2, number - 9.0, after), b.rng)
            plan(b.agent, b.rng)
    assert abs(plain.agent.weights).max() > 1.0
    for state in range(3):
        for action in (0, 1):
            expected = preference(plain.agent, plain.state(state), action)
            assert preference(kept.agent, kept.state(state), action) == pytest.approx(expected)


@pytest.mark.parametrize("agent", [
    ex.Lookahead(model="cached_lookahead", planning_update="gradient"),
    ex.Lookahead(ex.step_sizes.IDBD(0.1), model="cached_lookahead", planning_update="levi"),
    ex.CachedValues(model="cached_lookahead"),
    ex.QPlanning(model="cached_lookahead"),
], ids=repr)  # fmt: skip
def test_a_cached_lookahead_is_the_plain_model_where_it_cannot_be_kept(agent):
    part, plain = (
        build_for_run(agent).agent,
        build_for_run(agent.replace(model="expectation", model_step=0.3)).agent,
    )
    assert type(part.planner.model) is type(plain.planner.model)


def test_a_rollout_begins_where_its_start_says():
    """From the last state that was seen, two states further to the right."""
    model = ex.models.Sample(ex.models.TrueModel())
    agent = ex.CachedValues(
        per_feature(1.0),
        0.0,
        model=model,
        planning_steps=1,
        epsilon=0.0,
        discount=1.0,
        backups=ex.backups.Rollout(2, "current"),
    )
    b = build_for_run(agent)
    b.agent.action_weights[1, :] = 1.0  # prefers to go right
    learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng)
    b.agent.weights[:3] = 100.0
    plan(b.agent, b.rng)
    assert b.agent.weights[:3].tolist() == [100.0, 99.0, 98.0]
