"""The numbers that figures, tables and pages show are those they were given, and in their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from expectant.analysis.curves import interval
from expectant.analysis.panel import Level
from expectant.experiments.reproduce import summary
from expectant.report import Palette
from expectant.report.chart import Chart, Plot, chart_of, curve_of, palette_of
from expectant.report.curve_figures import chart_figure
from expectant.report.sweep_sections import HeatMap


def test_a_panel_shows_means_and_whole_bands(make_panel: Any) -> None:
    panel = make_panel(shape=(8, 400, 20), switch_every=200)
    chart = chart_of([panel])
    (axes,) = chart_figure(chart, "Figure", palette_of([panel])).axes
    (plot,) = chart.plots
    for curve in plot.curves:
        mean, low, high = interval(panel.curves[curve.key])
        np.testing.assert_array_equal(curve.mean, mean)
        assert any(np.array_equal(line.get_ydata(), mean) for line in axes.lines)
        np.testing.assert_array_equal([curve.low, curve.high], [low, high])


def test_a_cross_stands_where_a_curve_ends() -> None:
    runs = np.array([[1.0, 2.0, np.nan, np.nan], [3.0, 4.0, 5.0, 6.0]])
    levels = [Level(0, 40, 2.5, "optimum"), Level(0, 20, 1.5, "other")]
    plot = Plot("One", np.array([5, 15, 25, 35]), 40, [curve_of("all", runs)], [], levels)
    figure: Any = chart_figure(Chart([plot], 1), "", Palette({"all": "all"}))
    (axes,) = figure.axes
    (cross,) = (line for line in axes.lines if line.get_marker() == "x")
    assert (list(cross.get_xdata()), list(cross.get_ydata())) == ([15], [3.0])
    assert [text.get_text() for text in axes.texts] == ["2.5"]  # of the level that reaches the end
    assert (plot.curves[0].runs, plot.curves[0].diverged) == (2, 1)


def test_the_page_has_a_row_of_a_map_for_every_value_of_the_second_setting() -> None:
    means, trials = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.arange(6).reshape(2, 3)
    heat = HeatMap("agent.a", "agent.b", [1, 2], [7, 8, 9], means, trials)
    found = heat.data()
    assert found["means"].tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    assert found["trials"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert (found["firstValues"], found["secondValues"]) == (["1", "2"], ["7", "8", "9"])


def test_a_summary_counts_every_run_that_diverged(make_panel: Any) -> None:
    panel = make_panel(shape=(6, 80, 10), switch_every=None, optimum=9.5, diverged=2)
    first, _, last = summary([panel], {(panel.panel, "q_learning"): 5.0})
    expected = interval(panel.curves["q_learning"].mean(axis=1))
    assert [first["mean_return"], first["low"], first["high"]] == [float(x) for x in expected]
    assert (first["runs"], first["diverged"], first["step_nanoseconds"]) == (6, 0, 5.0)
    assert [last[key] for key in ("diverged", "mean_return", "low", "high")] == [
        2,
        None,
        None,
        None,
    ]
    assert (last["optimum"], last["step_nanoseconds"]) == (9.5, None)
