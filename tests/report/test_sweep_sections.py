"""Lines of sensitivity as charts, and the colours of heat maps."""

from __future__ import annotations

import numpy as np
import pytest

from expectant.report import draw_chart
from expectant.report.palette import Palette
from expectant.report.sweep_sections import HeatMap, Sensitivity, axis_scale, sensitivity_chart

NAN = np.nan
PALETTE = Palette({"one": "One $5", "two": "Two"})
LINES = [
    Sensitivity("one", "agent.step", [0.01, 0.1, 1.0], np.array([[1, 0.5, 1.5], [3, 2, 4], [NAN, NAN, NAN]])),
    Sensitivity("two", "agent.step", [0.1, 1.0], np.array([[2, 1, 3], [1, NAN, NAN]])),
    Sensitivity("two", "agent.model.kind", ["linear", None], np.array([[2, 1, 3], [-1e9, NAN, NAN]])),
    Sensitivity("two", "agent.on", [True, False], np.array([[2, 1, 3], [1, 0, 2]])),
]  # fmt: skip


def test_a_plot_for_every_setting():
    chart = sensitivity_chart(LINES, "mean")
    assert [(plot.x_name, plot.scale, list(plot.ticks)) for plot in chart.plots] == [
        ("step", "log", []), ("model kind", "linear", ["linear", "–"]),
        ("on", "linear", ["True", "False"]),
    ]  # fmt: skip
    first, second = chart.plots[0].curves
    assert chart.plots[0].x_of(second).tolist() == [0.1, 1.0]
    np.testing.assert_array_equal([first.mean, first.low, first.high], LINES[0].envelope.T)
    assert chart.range.floor == 4 - 3 * 3.5  # the better one goes from 4 to 0.5
    assert chart.note("two") == "(below the axis, down to −1e+09)" and chart.note("one") == ""


def test_the_same_numbers_make_the_same_bytes(tmp_path):
    chart = sensitivity_chart(LINES, "mean")
    first, second = (draw_chart(chart, "Title", tmp_path / name, PALETTE) for name in "ab")
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_everything_may_have_diverged(tmp_path):
    lost = Sensitivity("one", "agent.step", [1, 2], np.full((2, 3), NAN))
    draw_chart(sensitivity_chart([lost], "mean"), "", tmp_path / "lost", PALETTE)
    heat = HeatMap("agent.a", "agent.b", [1], [1, 2], np.full((1, 2), NAN))
    assert heat.lowest is None and heat.best is None and lost.best == []


@pytest.mark.parametrize("lowest", [13.2, 13.4])
def test_the_best_point_of_an_agent_and_its_interval_are_never_cut(lowest):
    """Q-learning far below look-ahead in one point, and a little in the other."""
    lines = [
        Sensitivity("one", "agent.action_step", [0.1, 0.5], np.array([[12.99, 12.9, 13.1], [13.74, lowest, 13.78]])),
        Sensitivity("two", "agent.value_step", [0.1, 0.5], np.array([[13.86, 13.84, 13.88], [13.89, 13.87, 13.91]])),
    ]  # fmt: skip
    covered = sensitivity_chart(lines, "mean").range
    assert covered.low < lowest and covered.floor <= lowest and covered.high > 13.91


def test_axes_of_settings():
    assert axis_scale([0.01, 0.1]) == "log"
    assert axis_scale([1, 2, 5]) == axis_scale([0, 10]) == "linear"
    assert axis_scale([True, False]) == axis_scale([1, None]) == axis_scale(["a"]) == ""


def test_colours_of_a_map_begin_at_the_lowest_mean_that_is_not_a_disaster():
    found = HeatMap("a", "b", [1, 2], [1, 2], np.array([[1.0, 2.0], [3.0, -1e9]]))
    assert (found.lowest, found.best) == (1.0, 3.0)


def test_the_page_has_a_row_of_a_map_for_every_value_of_the_second_setting() -> None:
    means, trials = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.arange(6).reshape(2, 3)
    heat = HeatMap("agent.a", "agent.b", [1, 2], [7, 8, 9], means, trials)
    found = heat.data()
    assert found["means"].tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    assert found["trials"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert (found["firstValues"], found["secondValues"]) == (["1", "2"], ["7", "8", "9"])
