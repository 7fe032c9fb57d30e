from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.diagnostics import _model_error
from expectant.engine.probe import all_states, ask, copy_subject, probe_agent
from expectant.engine.setup import Setup
from expectant.exact.dynamic_programming import get_dynamics

FIVE = ex.Corridor(cells=5, slip=0.1)
SLOW: dict[str, Any] = {"episodes": 40, "runs": 2, "compiled": False}


def test_errors_shrink_while_an_agent_learns():
    agent = ex.Lookahead.paper(0.05, 0.05, planning_steps=5)
    budget: dict[str, Any] = {"episodes": 800, "every": 200, "runs": 5}
    errors = ex.diagnostics.errors_over_time(FIVE, ex.OneHot(), agent, **budget)
    assert errors.episodes.tolist() == [200, 400, 600, 800]
    assert errors.model.shape == errors.value.shape == (5, 4)
    start = ex.exact.optimal_values(FIVE)
    assert errors.value[:, -1].mean() < 0.2 * np.sqrt(np.mean(start**2))
    assert errors.model[:, -1].mean() < 0.8 * errors.model[:, 0].mean()
    certain = FIVE.replace(slip=0.0)
    means = ex.diagnostics.errors_over_time(certain, ex.OneHot(), agent, **budget).model.mean(
        axis=0
    )
    assert (np.diff(means) < 0.0).all() and means[-1] < 0.5 * means[0]  # it never grows


def test_an_exact_model_has_no_error():
    agent = ex.Lookahead.paper(0.05, model="exact")
    errors = ex.diagnostics.errors_over_time(
        FIVE, ex.OneHot(), agent, episodes=2, every=2, runs=1, compiled=False
    )
    assert errors.model[0, 0] == pytest.approx(0.0, abs=1e-12)


def errors_of(run):
    """(of the model, of the values), in a corridor of two cells."""
    asked = ("features", "values", "model")
    answers = probe_agent(ask, copy_subject(run), all_states(2), asked, measures=np.eye(2, 8))
    squares = (answers.values - np.array([19.0, 20.0])) ** 2
    return _model_error(answers, get_dynamics(ex.Corridor(cells=2, slip=0.0))), np.sqrt(
        squares.mean()
    )


def prepared(agent):
    return Setup(
        ex.Corridor(cells=2, slip=0.0), ex.OneHot(), agent, episodes=1, step_limit=1
    ).build(0)[0]


def test_errors_of_a_model_by_hand():
    run = prepared(ex.Lookahead.paper(0.1, model_step=0.1))
    # rewards 0, −1, −1 and 20 are all taken for 0, and two next states for nothing
    assert errors_of(run)[0] == pytest.approx(np.sqrt((0 + 1 + 1 + 400 + 1 + 1) / 8))
    model = run.agent.planner.model
    model.rewards[1, 1], model.rewards[0, 1], model.rewards[1, 0] = 20.0, -1.0, -1.0
    assert errors_of(run)[0] == pytest.approx(np.sqrt((1 + 1) / 8))
    model.rows[0, 1, 0] = model.rows[1, 0, 1] = 1.0
    assert errors_of(run)[0] == 0.0


def test_errors_of_values_by_hand():
    assert errors_of(prepared(ex.Lookahead.paper(0.1)))[1] == pytest.approx(
        np.sqrt((19.0**2 + 20.0**2) / 2)
    )
    run = prepared(ex.QLearning.paper(0.1))
    run.agent.weights[:, :2] = [[19.0, -4.0], [3.0, 17.0]]  # the greatest are 19 and 17
    assert errors_of(run)[1] == pytest.approx(np.sqrt(9.0 / 2))
    assert np.isnan(errors_of(run)[0])


def test_errors_of_model_free_and_diverging_agents():
    free = ex.diagnostics.errors_over_time(
        FIVE, ex.OneHot(), ex.QLearning.paper(0.1), every=20, **SLOW
    )
    assert np.isnan(free.model).all()
    assert np.isfinite(free.value).all()
    lost = ex.diagnostics.errors_over_time(
        ex.Corridor(), ex.RandomBinary(14, 5), ex.QLearning.paper(100.0), episodes=400, every=200,
        runs=2,
    )  # fmt: skip
    assert np.isnan(lost.value[:, -1]).all()
