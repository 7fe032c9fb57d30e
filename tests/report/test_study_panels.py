"""Figures around the moves of the goal: over episodes since the move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from expectant.analysis.panel import Panel
from expectant.experiments.config_file import parse_config
from expectant.experiments.curves import group_panels
from expectant.experiments.study_report import close_up_panels, drawn_panels
from expectant.report.chart_data import chart_of


def panel(
    bins: int = 40,
    bin: int = 50,
    every: int = 500,
    name: str = "slip 0",
    interpretation: str = "preferred",
):
    curve = np.tile(np.arange(float(bins)), (2, 1))
    return Panel("4a", name, interpretation, bin, every, 9.0, {"q": curve}, {})


def test_a_window_counts_episodes_from_the_move():
    first, second, third = panel().windows(2, 3)
    assert second.curves["q"][0].tolist() == [18, 19, 20, 21, 22]
    assert second.x.tolist() == [-75, -25, 25, 75, 125]
    assert (second.breaks, second.end, second.x_label) == (
        [0.0],
        150.0,
        "episodes since the goal moved",
    )
    assert [w.title for w in (first, second, third)] == [f"slip 0: move {n}" for n in (1, 2, 3)]
    assert panel(name="").windows(2, 3)[0].title == "move 1 of the goal"
    assert len(panel().windows(11, 3)) == 2  # the first move comes too early
    whole = panel()
    assert (whole.x[0], whole.end, whole.x_label) == (25.0, 2000.0, "episode")


def test_a_close_up_shows_the_first_move():
    panels = [panel(name=name) for name in ("slip 0", "slip 0.1")]
    found = close_up_panels(panels, "4a", None, 250)
    assert [p.title for p in found] == ["slip 0: move 1", "slip 0.1: move 1"]
    assert found[0].x.tolist() == [-225 + 50 * n for n in range(10)]
    assert close_up_panels(panels, "4a", None, None) == [] and drawn_panels(panels, "4a") == panels


def test_long_phases_are_drawn_around_their_moves_only():
    found = drawn_panels([panel(bins=400, bin=20, every=4_000, name="")], "4a")
    assert [p.title for p in found] == ["move 1 of the goal"]
    chart = chart_of(found)
    (plot,) = chart.plots
    assert (plot.begin, plot.end, plot.breaks) == (-400.0, 400.0, [0.0])
    assert plot.levels[0].start == -400.0
    data: Any = chart.data()
    assert data["plots"][0]["begin"] == -400.0


def test_panels_know_the_best_soft_return_of_their_domain():
    def lines(domain: str, at_random: float) -> tuple[float, float]:
        text = f"episodes = 1\n[domain]\nkind = '{domain}'\n[features]\nkind = 'one_hot'\n"
        experiment = parse_config(
            text + "[agents.q]\nkind = 'q_learning'\naction_step = 0.1\n", "x"
        )
        trials = experiment.trials()
        (found,) = group_panels(trials, [np.zeros((1, 1))])
        assert (4 * found.optimum + found.floor) / 5 == pytest.approx(at_random)
        return found.optimum, found.best_soft

    assert lines("corridor", 6 - 40 / 3) == (pytest.approx(13.924, abs=1e-3),) * 2
    assert lines("cliff", -65375.130399) == (
        pytest.approx(-50.8, abs=0.05),
        pytest.approx(-20.71, abs=0.01),
    )
