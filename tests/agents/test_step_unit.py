from __future__ import annotations

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.core.vectors import dot
from expectant.core.verbs import learn

TEN = ex.RandomBinary(40, 10)


def built(agent):
    return Built(ex.Corridor(), TEN, agent)


@pytest.mark.parametrize(("agent", "fields"), [
    (ex.QLearning.paper(0.5, step_unit="total"), {"action_step": 0.05}),
    (ex.QLearning.paper(0.5), {"action_step": 0.5}),
    (ex.QLearning.paper(0.5, step_unit="total", interpretation=ex.Interpretation(doubled_gradients=True)), {"action_step": 0.1}),
    (ex.QPlanning.paper(0.5, 0.2, step_unit="total"), {"action_step": 0.05}),
    (ex.Lookahead.paper(0.5, 0.2, step_unit="total"), {"value_step": 0.05}),
    (ex.CachedValues.paper(0.5, 0.4, 0.2, step_unit="total"), {"value_step": 0.05, "action_step": 0.04}),
    (ex.CachedPolicy.paper(0.5, 0.4, 0.2, step_unit="total"), {"value_step": 0.05, "policy_step": 0.04}),
], ids=repr)  # fmt: skip
def test_a_step_in_total_is_shared_out_among_the_active_features(agent, fields):
    part = built(agent).agent
    for name, expected in fields.items():
        assert getattr(part, name) == pytest.approx(expected)
    if hasattr(part, "planner"):
        assert part.planner.model.step == pytest.approx(0.02)


def test_a_total_step_of_one_learns_a_target_at_once():
    world = built(ex.QLearning.paper(1.0, step_unit="total"))
    learn(world.agent, world.transition(4, 1, 7.0, None), world.rng)
    assert dot(world.state(4), world.agent.weights[1]) == pytest.approx(7.0)


@pytest.mark.parametrize("agent", [
    ex.QLearning.paper(0.1, initial_value=6.0),
    ex.QPlanning.paper(0.1, initial_value=6.0),
    ex.Lookahead.paper(0.1, initial_value=6.0),
    ex.Lookahead.paper(0.1, initial_value=6.0, model="cached_lookahead"),
    ex.CachedValues.paper(0.1, 0.1, initial_value=6.0),
    ex.CachedPolicy.paper(0.1, 0.1, initial_value=6.0),
], ids=repr)  # fmt: skip
def test_everything_is_worth_the_initial_value_at_first(agent):
    for features in (ex.OneHot(), TEN):
        world = Built(ex.Corridor(), features, agent)
        tables = [world.agent.weights, getattr(world.agent, "action_weights", world.agent.weights)]
        for row in np.concatenate([table.reshape(-1, table.shape[-1]) for table in tables]):
            for number in range(9):
                assert dot(world.state(number), row) == pytest.approx(6.0)


def test_a_bias_unit_alone_holds_the_initial_value():
    tiles = ex.Tiles(4, 4, bounds=[(0, 8)], bias=True)
    weights = Built(ex.Corridor(), tiles, ex.Lookahead.paper(0.1, initial_value=6.0)).agent.weights
    assert weights[tiles.shape(ex.Corridor()).bias] == 6.0
    assert np.count_nonzero(weights) == 1
