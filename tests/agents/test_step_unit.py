from __future__ import annotations

import pytest
from building import Built

import expectant as ex
from expectant.features.vector import dot
from expectant.verbs import learn

TEN = ex.RandomBinary(40, 10)


def built(agent):
    return Built(ex.Corridor(), TEN, agent)


@pytest.mark.parametrize(("agent", "fields"), [
    (ex.QLearning(0.5, step_unit="total"), {"action_step": 0.05}),
    (ex.QLearning(0.5), {"action_step": 0.5}),
    (ex.QLearning(0.5, step_unit="total", doubled_steps=True), {"action_step": 0.1}),
    (ex.QPlanning(0.5, 0.2, step_unit="total"), {"action_step": 0.05}),
    (ex.Lookahead(0.5, 0.2, step_unit="total"), {"value_step": 0.05}),
    (ex.CachedValues(0.5, 0.4, 0.2, step_unit="total"), {"value_step": 0.05, "action_step": 0.04}),
    (ex.CachedPolicy(0.5, 0.4, 0.2, step_unit="total"), {"value_step": 0.05, "policy_step": 0.04}),
], ids=repr)  # fmt: skip
def test_a_step_in_total_is_shared_out_among_the_active_features(agent, fields):
    part = built(agent).agent
    for name, expected in fields.items():
        assert getattr(part, name) == pytest.approx(expected)
    if hasattr(part, "planner"):
        assert part.planner.model.step == pytest.approx(0.02)


def test_a_total_step_of_one_learns_a_target_at_once():
    world = built(ex.QLearning(1.0, step_unit="total"))
    learn(world.agent, world.transition(4, 1, 7.0, None), world.rng)
    assert dot(world.state(4), world.agent.weights[1]) == pytest.approx(7.0)


def test_other_units_are_refused():
    with pytest.raises(ValueError, match="step_unit must be 'feature' or 'total', got 'tiling'"):
        ex.QLearning(0.1, step_unit="tiling")
