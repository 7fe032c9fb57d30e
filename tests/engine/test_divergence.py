"""What a run says when its weights grow without bound."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from building import per_feature

import expectant as ex
from expectant.engine.divergence import _radius

OF_MODEL = "a smaller, bounded model_step"
OF_GIVEN_MODEL = "a smaller, bounded step of it"
OF_GRADIENT = "a larger correction_step of planning_update or a smaller value_step"
DOMAIN, FEATURES = ex.Corridor(slip=0.0), ex.RandomBinary(14, 5)


def ran(agent: Any, features: Any = FEATURES, **options: Any) -> Any:
    settings: dict[str, Any] = {"episodes": 30, "runs": 1, "compiled": False, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, about overflows
        return ex.run(DOMAIN, features, agent, **settings)


def test_planning_that_overshoots_is_explained(capsys):
    result = ran(ex.Lookahead.paper(0.5, 0.1))
    (text,) = result.divergence
    assert result.diverged.all()
    assert text.startswith("planning is diverging: Lookahead in Corridor, run 0, episode ")
    assert "(spectral radius of planning: 1.0" in text
    assert text.endswith("use planning_update='gradient' or a smaller value_step")
    assert capsys.readouterr().err.strip().splitlines()[-1] == text


@pytest.mark.parametrize(
    ("agent", "cause", "advice"),
    [
        (ex.QLearning.paper(0.5), "learning", "smaller, bounded step sizes"),
        (ex.Lookahead.paper(0.01, 0.5), "the model", OF_MODEL),
        (ex.Lookahead.paper(0.01, 0.5, model="sparse"), "the model", OF_MODEL),
        (
            ex.Lookahead.paper(
                0.01,
                model=ex.models.ExplorationBonus(
                    ex.models.SparseExpectation(per_feature(0.5)), 0.1
                ),
            ),
            "the model",
            OF_GIVEN_MODEL,
        ),
        (ex.QPlanning.paper(0.5, 0.1), "planning", "a smaller action_step"),
        (ex.Lookahead.paper(2.0, 0.1, planning_update="gradient"), "planning", OF_GRADIENT),
    ],
)
def test_other_causes_are_named(agent, cause, advice):
    (text,) = ran(agent, progress=False).divergence
    assert text.startswith(f"{cause} is diverging: {type(agent).__name__} in Corridor, run 0")
    assert text.endswith(f"use {advice}")


def test_weights_that_only_grow_are_told_of_too():
    agent = ex.QLearning.paper(0.5)
    lengths = (ran(agent, steps=n, episodes=None, progress=False) for n in range(20, 400, 20))
    grown = next(result for result in lengths if result.divergence)
    assert not grown.diverged.any()
    assert "weights have grown to" in grown.divergence[0]


@pytest.mark.parametrize(("step", "radius"), [(0.5, 0.75), (6.0, 2.0)])
def test_the_radius_of_one_state_by_hand(step, radius):
    """A state that leads to itself: an update of step α multiplies its error by 1 − α (1 − γ)."""
    agent = ex.Lookahead.paper(step, 1.0, planning_steps=1, discount=0.5, epsilon=0.0)
    learner: Any = ex.Learner(agent, ex.OneHot(), 1, states=1, compiled=False)
    learner.start(0)
    learner.step(1.0, 0, False)
    assert _radius(learner._run.agent, 0.5) == pytest.approx(radius)
