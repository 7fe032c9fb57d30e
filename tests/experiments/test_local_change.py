from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.analysis.adaptation import LAST, adaptation_verdict, score_adaptation
from expectant.analysis.panel import Level, Panel
from expectant.experiments.metrics import find_metric
from expectant.experiments.study_report import adaptation_rows, score_as_data

LEVELS = (
    Level(0, 100, 2.0, "optimum"),
    Level(100, 200, 1.5, "optimum"),
    Level(100, 200, 0.5, "outdated policy"),
)


def metrics(first, second, third=1.0, runs=2):
    """Runs whose last metrics of each phase are given, and worthless before."""
    phases = np.repeat([0, 1, 2], LAST + 5)
    rows = np.zeros((runs, phases.size))
    for phase, value in enumerate((first, second, third)):
        rows[:, np.flatnonzero(phases == phase)[-LAST:]] = np.reshape(value, (-1, 1))
    return panel_of(rows, phases), rows


def panel_of(rows, phases, levels=LEVELS):
    curves = {"all": rows}
    return Panel(
        "f", "one", "", 1, None, float("nan"), curves, curves, points=np.arange(phases.size),
        phases=phases, levels=levels,
    )  # fmt: skip


def test_scores_by_hand():
    panel, rows = metrics([1.0, 2.0], [0.5, 1.5], [1.0, 1.25])
    found = score_adaptation(panel, rows)
    assert found.first.tolist() == [0.5, 1.0]
    assert found.adaptation.tolist() == [0.0, 1.0]
    assert (found.mean_first, found.mean_adaptation, found.adapted_runs) == (0.75, 0.5, 1)
    assert [end.tolist() for end in found.ends] == [[1.0, 2.0], [0.5, 1.5], [1.0, 1.25]]


@pytest.mark.parametrize(
    ("learned", "adapted", "expected", "why"),
    [
        (0.93, 0.80, "adaptive", ""),
        (0.93 - 1e-9, 0.80, "undecided", "the first phase was not learned well enough"),
        (0.93, 0.80 - 1e-9, "undecided", "it has adapted in part"),
        (0.90, 0.30, "not adaptive", ""),
        (float("nan"), 0.5, "undecided", "a run diverged"),
    ],
)
def test_verdicts(learned, adapted, expected, why):
    assert adaptation_verdict(learned, adapted) == (expected, why)


def test_a_run_has_adapted_from_the_border_on_and_the_interval_has_its_ends_in_order():
    panel, rows = metrics([20.0, 20.0, 19.0], [8.0, 7.99, 2.0], runs=3)
    heights = zip(LEVELS, (20.0, 10.0, 0.0), strict=True)
    levels = tuple(level._replace(height=height) for level, height in heights)
    found = score_adaptation(replace(panel, levels=levels), rows)
    assert (found.adapted_runs, found.adaptation.tolist()) == (1, [0.8, 0.799, 0.2])
    data = score_as_data(found)
    assert 0.2 <= data["adaptation_low"] < data["adaptation"] < data["adaptation_high"] <= 0.8
    assert (data["P1"], data["adapted_seeds"]) == (round(2.95 / 3, 6), 1)
    assert (data["phase1"], data["phase3"]) == ([20.0, 20.0, 19.0], [1.0] * 3)
    assert data["adaptation_by_seed"] == [0.8, 0.799, 0.2]


def test_a_diverged_run_is_not_dropped():
    panel, rows = metrics([2.0, 2.0], [1.5, np.nan])
    data = score_as_data(score_adaptation(panel, rows))
    assert data["verdict"] == "undecided"
    assert data["adaptation"] is None
    assert data["phase2"] == [1.5, None]
    assert data["adapted_seeds"] == 1


def test_rows_have_names_settings_and_metrics():
    panel, rows = metrics([2.0, 2.0], [1.5, 0.5])
    agent = ex.QLearning.paper(0.3, discount=0.97)
    trial: Any = SimpleNamespace(panel="one", experiment="f", agent_key="all", agent=agent)
    (row,) = adaptation_rows([panel], [trial])
    assert (row["agent"], row["backups"], row["P1"], row["adaptation"]) == ("one", "all", 1.0, 0.5)
    step = "Fixed(step=0.3, per='feature', bounded=False)"
    assert row["settings"] == f"QLearning(discount=0.97, action_step={step})"
    assert find_metric("adaptation").of(panel, rows).tolist() == [1.0, 0.0]
    assert find_metric("learned-share").of(panel, rows).tolist() == [1.0, 1.0]
