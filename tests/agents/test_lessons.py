from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.verbs import act, learn, plan, wrapped

LINE = ex.Corridor(cells=3, slip=0.0)


def test_an_agent_learns_first_and_only_plans_afterwards():
    b = Built(LINE, ex.OneHot())
    agent = ex.FreezeAfter(
        ex.PlanningOnly(ex.Lookahead.paper(0.5, 0.5, planning_steps=3, backups="all")), 2
    )
    part = agent.equip(b.setting)
    inside: Any = wrapped(part)
    for lesson in (1, 2):
        act(part, b.state(2), b.rng)
        assert learn(part, b.transition(2, 1, 20.0, None), b.rng) > 0.0
        assert plan(part, b.rng) == 0.0 and not inside.weights.any()
        assert inside.planner.model.rewards[1, 2] == 20.0 * (1.0 - 0.5**lesson)
    known = inside.planner.model.rewards.copy()
    assert learn(part, b.transition(1, 1, 99.0, 2), b.rng) == 0.0
    np.testing.assert_array_equal(inside.planner.model.rewards, known)
    for _ in range(20):
        plan(part, b.rng)
    assert inside.weights[2] == pytest.approx(15.0, abs=1e-3)
