"""Agents without arguments: settings that can be seen, and that learn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import expectant as ex

ROOT = Path(__file__).parents[2]


AGENTS = [
    ex.QLearning, ex.Sarsa, ex.ExpectedSarsa, ex.DynaQ, ex.RVIQLearning, ex.QPlanning,
    ex.Lookahead, ex.CachedValues, ex.CachedPolicy,
]  # fmt: skip


@pytest.mark.parametrize("kind", AGENTS)
def test_an_agent_without_arguments_says_what_it_is(kind):
    agent = kind()
    assert agent == kind(**kind.untuned) == ex.Agent.from_dict(agent.to_dict())
    assert agent.step_unit == "total"
    assert agent.replace(epsilon=0.2) == kind(epsilon=0.2)  # what is given wins


def test_a_change_of_untuned_settings_keeps_the_others():
    """Given at first, a step size leaves the plain defaults; as a change it does not."""
    changed = ex.Lookahead().replace(value_step=0.2)
    assert (changed.discount, changed.planning_update) == (0.99, "gradient")
    given = ex.Lookahead.paper(value_step=0.2)
    assert (given.discount, given.planning_update) == (1.0, "levi")


CHOSEN = {
    "q_learning": ex.QLearning, "sarsa": ex.Sarsa, "lookahead": ex.Lookahead,
    "cached_values": ex.CachedValues, "cached_policy": ex.CachedPolicy,
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_defaults_are_what_the_stored_grid_has_chosen(name):
    """The first of docs/defaults.json, in which the best of every agent come first."""
    stored = json.loads((ROOT / "docs/defaults.json").read_text())
    rows = stored["best"][name]
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    made = CHOSEN[name]().to_dict()
    assert {key: made[key] for key in rows[0]["settings"]} == rows[0]["settings"]
    each = rows[0]["each"]
    assert len(each) == len(stored["problems"]) and stored["runs"] >= 10
    assert rows[0]["score"] == pytest.approx(np.mean(each), abs=1e-3)


def test_one_step_size_that_is_given_leaves_everything_as_it_was():
    assert ex.Lookahead.paper(0.1) == ex.Lookahead(
        0.1, 0.1, step_unit="feature", bounded_step=False, discount=1.0
    )
    assert ex.QLearning.paper(action_step=0.1).step_unit == "feature"
    with pytest.raises(ValueError, match="CachedValues: needs action_step"):
        ex.CachedValues.paper(0.1)


@pytest.mark.parametrize("kind", [ex.QLearning, ex.Sarsa, *AGENTS[6:]])
def test_they_learn_a_corridor(kind):
    """Random play earns about 2 in it, the best 17."""
    found = ex.run(
        ex.Corridor(slip=0.0), ex.OneHot(), kind(), episodes=120, runs=1, compiled=False,
        progress=False,
    )  # fmt: skip
    assert np.isfinite(found.returns).all()
    assert found.returns[:, -40:].mean() > 11.0
