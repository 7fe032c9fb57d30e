from __future__ import annotations

import numpy as np
import pytest

from expectant.show.palette import Palette
from expectant.show.sensitivity import (
    HeatMap,
    Sensitivity,
    axis_kind,
    draw_sensitivity,
    lines_data,
    sensitivity_figure,
    sensitivity_range,
)

NAN = np.nan
PALETTE = Palette({"one": "One $5", "two": "Two"})
LINES = [
    Sensitivity("one", "agent.step", [0.01, 0.1, 1.0], np.array([[1, 0.5, 1.5], [3, 2, 4], [NAN, NAN, NAN]]), np.array([1, 3, NAN])),
    Sensitivity("two", "agent.step", [0.1, 1.0], np.array([[2, 1, 3], [1, NAN, NAN]])),
    Sensitivity("two", "agent.model.kind", ["linear", None], np.array([[2, 1, 3], [-1e9, NAN, NAN]])),
    Sensitivity("two", "agent.on", [True, False], np.array([[2, 1, 3], [1, 0, 2]])),
]  # fmt: skip


def test_figures_are_written_and_the_same_numbers_make_the_same_bytes(tmp_path):
    first = draw_sensitivity(LINES, "Title\nproblem", "mean", tmp_path / "a", PALETTE)
    second = draw_sensitivity(LINES, "Title\nproblem", "mean", tmp_path / "b", PALETTE)
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_everything_may_have_diverged(tmp_path):
    lost = Sensitivity("one", "agent.step", [1, 2], np.full((2, 3), NAN))
    draw_sensitivity([lost], "", "mean", tmp_path / "lost", PALETTE)
    nothing = np.full((1, 2), NAN)
    heat = HeatMap("agent.a", "agent.b", [1], [1, 2], nothing)
    assert heat.lowest is None and heat.best is None and lost.best == []


def test_the_axis_goes_by_agents_and_the_legend_notes_what_is_below_it():
    assert sensitivity_range(LINES).floor == 4 - 3 * 3.5  # the better one goes from 4 to 0.5
    figure = sensitivity_figure(LINES, "", "mean", PALETTE)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[:2] == ["One $5", "Two\n(below the axis, down to −1e+09)"]


@pytest.mark.parametrize("lowest", [13.2, 13.4])
def test_the_best_point_of_an_agent_and_its_interval_are_never_cut(lowest):
    """Q-learning far below look-ahead in one point, and a little in the other."""
    lines = [
        Sensitivity("one", "agent.action_step", [0.1, 0.5], np.array([[12.99, 12.9, 13.1], [13.74, lowest, 13.78]])),
        Sensitivity("two", "agent.value_step", [0.1, 0.5], np.array([[13.86, 13.84, 13.88], [13.89, 13.87, 13.91]])),
    ]  # fmt: skip
    covered = sensitivity_range(lines)
    assert covered.low < lowest and covered.floor <= lowest and covered.high > 13.91
    assert lines_data(lines)["range"] == [covered.low, covered.high]


def test_axes_of_settings():
    assert axis_kind([0.01, 0.1]) == "log"
    assert axis_kind([1, 2, 5]) == axis_kind([0, 10]) == "linear"
    assert axis_kind([True, False]) == axis_kind([1, None]) == axis_kind(["a"]) == "category"


def test_colours_of_a_map_begin_at_the_lowest_mean_that_is_not_a_disaster():
    means = np.array([[1.0, 2.0], [3.0, -1e9]])
    found = HeatMap("a", "b", [1, 2], [1, 2], means)
    assert (found.lowest, found.best) == (1.0, 3.0)
