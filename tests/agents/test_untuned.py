"""Agents without arguments: settings that can be seen, and that learn."""

from __future__ import annotations

import numpy as np
import pytest

import expectant as ex

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


def test_one_step_size_that_is_given_leaves_everything_as_it_was():
    assert ex.Lookahead(0.1) == ex.Lookahead(
        0.1, 0.1, step_unit="feature", bounded_step=False, discount=1.0
    )
    assert ex.QLearning(action_step=0.1).step_unit == "feature"
    with pytest.raises(ValueError, match="CachedValues: needs action_step"):
        ex.CachedValues(0.1)


def test_a_required_argument_of_ones_own_is_asked_for():
    @ex.description
    class Hesitant(ex.Lookahead):
        pause: float = ex.option(ex.rules.at_least(0), kw_only=True)

    with pytest.raises(ValueError, match="Hesitant: needs value_step and pause"):
        Hesitant()  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [ex.QLearning, ex.Sarsa, *AGENTS[6:]])
def test_they_learn_a_corridor(kind):
    """Random play earns about 2 in it, the best 17."""
    found = ex.run(
        ex.Corridor(slip=0.0), ex.OneHot(), kind(), episodes=120, runs=3, compiled=False,
        progress=False,
    )  # fmt: skip
    assert np.isfinite(found.returns).all()
    assert found.returns[:, -40:].mean() > 11.0


def test_help_tells_both_defaults():
    assert "value_step: step size of the state values" in (ex.Lookahead.__doc__ or "")
    value = ex.Lookahead.untuned["value_step"]
    assert f"(required; {value!r} without any step)" in (ex.Lookahead.__doc__ or "")
