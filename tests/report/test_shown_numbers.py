"""The numbers that figures, tables and pages show are those they were given, and in their places."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from expectant.analysis.curves import Interval, interval
from expectant.report.adaptation_figure import AdaptationFigure, AdaptationPanel
from expectant.report.adaptation_figure import _figure as adaptation_drawn
from expectant.report.adaptation_page import AdaptationPage, adaptation_page
from expectant.report.adaptation_table import adaptation_table
from expectant.report.animation_panels import _smoothed
from expectant.report.figures import _figure as panels_drawn
from expectant.report.sensitivity import Sensitivity
from expectant.report.sensitivity import _figure as sensitivity_drawn
from expectant.report.sensitivity_heat import HeatMap
from expectant.report.sensitivity_heat import _figure as heat_drawn
from expectant.report.summaries import middle_episodes, summarise
from expectant.report.tables import curve_table, dependence_table, study_table, verdict_table
from expectant.writeup import summary


def printed(table: Any) -> list[list[str]]:
    """The cells of a table for the terminal, row by row."""
    return [list(row) for row in zip(*(column.cells for column in table.columns), strict=True)]


def band(collection: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the upper end of a filled band at every x."""
    corners = np.concatenate([path.vertices for path in collection.get_paths()])
    ends = [corners[np.isclose(corners[:, 0], at), 1] for at in x]
    return np.array([end.min() for end in ends]), np.array([end.max() for end in ends])


def test_a_panel_shows_means_and_whole_bands(make_panel: Any) -> None:
    panel = make_panel(shape=(8, 400, 20), switch_every=200)
    (axes,) = panels_drawn([panel], "Figure").axes
    episodes = middle_episodes(panel)
    means = [line.get_ydata() for line in axes.lines if len(line.get_xdata()) == episodes.size]
    for curve, drawn, filled in zip(summarise(panel), means, axes.collections, strict=True):
        np.testing.assert_array_equal(drawn, curve.mean)
        np.testing.assert_allclose(band(filled, episodes), [curve.low, curve.high])


def test_the_adaptation_test_shows_means_and_whole_bands() -> None:
    steps, measures = np.arange(0, 40, 10), np.random.default_rng(0).random((5, 4))
    levels = [(0, 20, 1.0, "optimum"), (20, 40, 0.5, "outdated policy")]
    data = AdaptationFigure("", [AdaptationPanel("One", {"all": measures})], steps, [20], levels)
    (axes,) = adaptation_drawn(data).axes
    mean, low, high = interval(measures)
    np.testing.assert_allclose(band(axes.collections[-1], steps / 1000), [low, high])
    assert any(np.array_equal(line.get_ydata(), mean) for line in axes.lines)
    assert axes.lines[0].get_xdata() == pytest.approx([0.02, 0.02])
    levels_drawn = [collection.get_segments()[0].tolist() for collection in axes.collections[:2]]
    assert levels_drawn == [[[0.0, 1.0], [0.02, 1.0]], [[0.02, 0.5], [0.04, 0.5]]]


def test_error_bars_reach_from_low_to_high() -> None:
    envelope = np.array([[2.0, 1.5, 4.0], [3.0, 1.0, 3.25]])
    line = Sensitivity("one", "One", "agent.step", [1, 2], envelope, np.array([2.0, 2.5]))
    figure = sensitivity_drawn([line], "", "mean")
    ((_, _, (bars,)),) = figure.axes[0].containers
    assert [bar[:, 1].tolist() for bar in bars.get_segments()] == [[1.5, 4.0], [1.0, 3.25]]
    assert any(drawn.get_ydata().tolist() == [2.0, 2.5] for drawn in figure.axes[0].lines)


def test_a_heat_map_has_the_first_setting_across() -> None:
    means = np.array([[1.0, 2.0], [9.0, np.nan], [3.0, 4.0]])
    diverged = np.isnan(means)
    heat = HeatMap("One", "agent.a", "agent.b", [10, 20, 30], ["x", "y"], means, diverged)
    axes = heat_drawn([heat], "", "mean").axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array().filled(np.nan), means.T)
    cross, ring = ([line.get_xdata().tolist(), line.get_ydata().tolist()] for line in axes.lines)
    assert cross == [[1], [1]]  # a = 20, b = y
    assert ring == [[1], [0]]  # a = 20, b = x: the best
    assert axes.get_xlabel() == "a" and axes.get_ylabel() == "b"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["10", "20", "30"]


def row(**changes: Any) -> dict[str, Any]:
    return {
        "agent": "one", "backups": "all", "settings": "One()", "P1": 0.96, "adaptation": 0.5,
        "adaptation_low": 0.25, "adaptation_high": 0.75, "adaptation_by_seed": [0.2, 0.8],
        "phase2": [1.0, 2.0], "adapted_seeds": 1, "verdict": "undecided", "why": "in part", **changes,
    }  # fmt: skip


def test_the_rows_of_the_adaptation_test() -> None:
    document = AdaptationPage("A", "", [], [row()], {"one": "One"}, "<svg>", [])
    text = adaptation_page(document)
    assert "0.50 (0.25 to 0.75)" in text
    assert "0.50 (P1 0.96)" in text
    assert "0.20, 0.80" in text
    table = adaptation_table([row()])
    assert [str(column.header) for column in table.columns] == [
        "agent", "backups", "P1", "adaptation", "95 %", "seeds that adapted", "verdict",
    ]  # fmt: skip
    (line,) = printed(table)
    assert line[:6] == ["one", "all", "0.96", "0.50", "0.25 to 0.75", "1 of 2"]
    (line,) = printed(adaptation_table([row(adaptation=None, why="")]))
    assert line[3] == "diverged" and line[6] == "[yellow]undecided[/]"


def test_the_table_of_curves(make_panel: Any) -> None:
    panel = make_panel(shape=(6, 80, 10), switch_every=None, optimum=9.5, diverged=1)
    lines = printed(curve_table([panel], {(panel.panel, "q_learning"): 123.4}))
    returns = panel.curves["q_learning"]
    for cell, part in ((4, returns), (5, returns[:, -2:])):
        mean, low, high = interval(part.mean(axis=1))
        assert lines[0][cell] == f"{mean:.2f} ({low:.2f} to {high:.2f})"
    assert lines[0][4] != lines[0][5]
    assert lines[0][1:4] == [panel.labels["q_learning"], "6", "0"]
    assert lines[0][6:] == ["9.50", "123"]
    assert lines[2][3] == "1" and lines[2][7] == "nan"


def test_the_table_of_verdicts() -> None:
    found = [
        SimpleNamespace(id=2, figure="5a", reading="text", claim="Second", verdict="holds"),
        SimpleNamespace(id=1, figure="1", reading="text", claim="First", verdict="undecided"),
        SimpleNamespace(id=1, figure="1", reading="code", claim="First", verdict="does not hold"),
    ]
    table = verdict_table(found)
    assert [str(column.header) for column in table.columns][3:] == ["text", "code"]
    assert printed(table) == [
        ["1", "1", "First", "[yellow]undecided[/]", "[red]does NOT hold[/]"],
        ["2", "5a", "Second", "[green]holds[/]", ""],
    ]


def test_what_depends_on_a_reading_is_marked() -> None:
    base: dict[str, Any] = {"set": "text", "reading": None, "option": None, "changed": []}
    rows = [
        {**base, "verdicts": {1: "holds", 2: "does not hold", 3: "undecided"}},
        {**base, "reading": "k", "option": "3", "verdicts": {1: "undecided", 3: "undecided"}, "changed": [1]},
    ]  # fmt: skip
    assert printed(dependence_table(rows)) == [
        ["text", "as it is", "", "+", "−", "?"],
        ["text", "k", "3", "[reverse]?[/]", "", "?"],
    ]


def test_a_summary_counts_every_run_that_diverged(make_panel: Any) -> None:
    panel = make_panel(shape=(6, 80, 10), switch_every=None, optimum=9.5, diverged=2)
    first, _, last = summary([panel], {(panel.panel, "q_learning"): 5.0})
    expected = interval(panel.curves["q_learning"].mean(axis=1))
    assert [first["mean_return"], first["low"], first["high"]] == [float(x) for x in expected]
    assert (first["runs"], first["diverged"], first["step_nanoseconds"]) == (6, 0, 5.0)
    assert (last["diverged"], last["mean_return"], last["low"], last["high"]) == (
        2,
        None,
        None,
        None,
    )
    assert (last["optimum"], last["step_nanoseconds"]) == (9.5, None)


def test_the_table_of_the_study() -> None:
    score = SimpleNamespace(mean=2.5)
    best = SimpleNamespace(
        settings={"value_step": 0.1}, score=score, cell=SimpleNamespace(label="One")
    )
    fresh = Interval(*np.array([2.0, 1.25, 2.75]))
    study = SimpleNamespace(best={"one": best}, fresh={"one": fresh}, scored={"one": [best] * 7})
    (line,) = printed(study_table(study))
    assert line == ["One", "7", "value_step 0.1", "2.50", "2.00 (1.25 to 2.75)"]


def test_the_curve_of_an_animation_is_a_mean_of_the_last_few_points() -> None:
    curve = np.arange(150.0)  # a window of three
    assert _smoothed(curve)[:5].tolist() == [0.0, 0.5, 1.0, 2.0, 3.0]
    assert _smoothed(np.array([4.0, 8.0])).tolist() == [4.0, 8.0]
