"""Exploration: initial values of untried actions, and the bonus of Dyna-Q+."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from building import Built, per_feature

import expectant as ex
from expectant.core.vectors import dot
from expectant.core.verbs import backed_up_action_value, backed_up_value, fit, learn, preference

DOMAIN = ex.Corridor(cells=3, slip=0.0)
LEARNED = ["expectation", "sparse", "episodic", "network", "distribution", "sample"]


def build(model: Any = "expectation", features: Any = None, **options: Any) -> Built:
    agent = ex.Lookahead.paper(0.1, model=model, **options)
    return Built(DOMAIN, features or ex.OneHot(), agent)


def build_with_bonus(kappa: float, features: Any = None, **options: Any) -> Built:
    model = ex.models.ExplorationBonus(ex.models.LinearExpectation(per_feature(0.1)), kappa)
    return build(model, features, **options)


@pytest.mark.parametrize("model", LEARNED)
@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(6, 2)], ids=["one", "two"])
def test_an_action_that_was_never_tried_promises_the_initial_value(model, features):
    b = build(model, features, initial_value=6.0, discount=0.9)
    for action in (0, 1):
        assert preference(b.agent, b.state(0), action) == pytest.approx(6.0)
        assert backed_up_action_value(
            b.agent.planner.model, b.state(0), action, np.ones((2, b.setting.width)), 0.9
        ) == pytest.approx(6.0)
    learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng)
    assert preference(b.agent, b.state(0), 1) != pytest.approx(6.0)
    if model != "network":  # whose actions share their hidden units
        assert preference(b.agent, b.state(0), 0) == pytest.approx(6.0)


def test_the_bonus_of_single_states_is_that_of_dyna_q_plus():
    b = build_with_bonus(0.5)
    model = b.agent.planner.model
    for _ in range(3):
        learn(b.agent, b.transition(0, 1, 0.0, 0), b.rng)
    learn(b.agent, b.transition(1, 1, 0.0, 0), b.rng)
    # after four steps: (0, right) was tried in the third, (1, right) just now, the others never
    for state, action, since in ((0, 1, 1), (1, 1, 0), (0, 0, 4), (2, 1, 4)):
        plain = backed_up_value(model.model, b.state(state), action, b.agent.weights, 1.0)
        expected = plain + 0.5 * math.sqrt(since)
        assert preference(b.agent, b.state(state), action) == pytest.approx(expected)


def test_the_bonus_of_shared_features_is_their_mean():
    b = build_with_bonus(2.0, ex.RandomBinary(6, 2))
    model, state = b.agent.planner.model, b.state(0)
    model.clock[0] = 25
    model.tried[1, state.active[0]], model.tried[1, state.active[1]] = 16, 9
    assert preference(b.agent, state, 1) == 2.0 * (3.0 + 4.0) / 2.0


def test_fits_of_replayed_transitions_are_no_tries():
    b = build_with_bonus(1.0, interpretation=ex.Interpretation(replayed_fits=3))
    learn(b.agent, b.transition(0, 1, 0.0, 1), b.rng)
    assert b.agent.planner.model.clock[0] == 1
    fit(b.agent.planner.model, b.transition(1, 1, 0.0, 1))
    assert b.agent.planner.model.tried[1].tolist()[:2] == [1, 0]


def test_a_bonus_has_bad_actions_tried_again_and_again():
    """One action pays 1, the other 0: it is tried when 0.24 √τ exceeds 1, after 18 others."""
    domain = ex.FiniteMDP(
        np.ones((1, 2, 1)), np.array([[[1.0], [0.0]]]), successors=np.full((1, 2, 1), -1)
    )
    tried = {}
    for bonus in (0.0, 0.24):
        model = ex.models.ExplorationBonus(ex.models.LinearExpectation(1.0), bonus)
        agent = ex.Lookahead(1.0, model=model, epsilon=0.0, planning_steps=1, discount=1.0)
        result = ex.run(domain, ex.OneHot(), agent, episodes=180, runs=1, compiled=False)
        tried[bonus] = np.flatnonzero(result.returns[0] == 0.0)
    assert len(tried[0.0]) <= 1
    assert set(np.diff(tried[0.24])) == {19}


@pytest.mark.parametrize("agent", [
    ex.QLearning.paper(0.1, initial_value=6.0),
    ex.QPlanning.paper(0.1, initial_value=6.0),
    ex.Lookahead.paper(0.1, initial_value=6.0),
    ex.Lookahead.paper(0.1, initial_value=6.0, model="cached_lookahead"),
    ex.CachedValues.paper(0.1, 0.1, initial_value=6.0),
    ex.CachedPolicy.paper(0.1, 0.1, initial_value=6.0),
], ids=repr)  # fmt: skip
def test_everything_is_worth_the_initial_value_at_first(agent):
    for features in (ex.OneHot(), ex.RandomBinary(40, 10)):
        world = Built(ex.Corridor(), features, agent)
        tables = [world.agent.weights, getattr(world.agent, "action_weights", world.agent.weights)]
        for row in np.concatenate([table.reshape(-1, table.shape[-1]) for table in tables]):
            for number in range(9):
                assert dot(world.state(number), row) == pytest.approx(6.0)


def test_a_bias_unit_alone_holds_the_initial_value():
    features = ex.features.Identity([(0, 8)])
    weights = Built(
        ex.Corridor(), features, ex.Lookahead.paper(0.1, initial_value=6.0)
    ).agent.weights
    assert weights[features.shape(ex.Corridor()).bias] == 6.0
    assert np.count_nonzero(weights) == 1
