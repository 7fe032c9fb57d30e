from __future__ import annotations

import numpy as np
import pytest

from expectant.show.palette import Palette
from expectant.show.sensitivity import (
    HeatMap,
    Sensitivity,
    axis_kind,
    lines_data,
    sensitivity_range,
)
from expectant.show.sensitivity_figures import (
    _heat_figure,
    draw_heat_maps,
    draw_sensitivity,
    sensitivity_figure,
)

NAN = np.nan
PALETTE = Palette({"one": "One $5", "two": "Two"})
LINES = [
    Sensitivity("one", "agent.step", [0.01, 0.1, 1.0], np.array([[1, 0.5, 1.5], [3, 2, 4], [NAN, NAN, NAN]]), np.array([1, 3, NAN])),
    Sensitivity("two", "agent.step", [0.1, 1.0], np.array([[2, 1, 3], [1, NAN, NAN]])),
    Sensitivity("two", "agent.model.kind", ["linear", None], np.array([[2, 1, 3], [-1e9, NAN, NAN]])),
    Sensitivity("two", "agent.on", [True, False], np.array([[2, 1, 3], [1, 0, 2]])),
]  # fmt: skip


def test_the_same_numbers_make_the_same_bytes(tmp_path):
    first = draw_sensitivity(LINES, "Title\nproblem", "mean", tmp_path / "a", PALETTE)
    second = draw_sensitivity(LINES, "Title\nproblem", "mean", tmp_path / "b", PALETTE)
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with pytest.raises(ValueError, match="at least one setting"):
        draw_sensitivity([], "", "", tmp_path / "c", PALETTE)


def test_everything_may_have_diverged(tmp_path):
    gone = Sensitivity("one", "agent.step", [1, 2], np.full((2, 3), NAN))
    draw_sensitivity([gone], "", "mean", tmp_path / "gone", PALETTE)
    nothing = np.full((1, 2), NAN)
    heat = HeatMap("One", "agent.a", "agent.b", [1], [1, 2], nothing, np.array([[True, False]]))
    draw_heat_maps([heat], "", "mean", tmp_path / "gone-heat")


def test_heat_maps(tmp_path):
    means = np.arange(12.0).reshape(4, 3)
    means[0, 0] = NAN
    maps = [
        HeatMap("One", "agent.a", "features.b", [1, 2, 3, 4], ["x", "y", "z"], means, np.isnan(means)),
        HeatMap("Two", "agent.a", "agent.b", list(range(50)), list(range(40)), np.random.default_rng(0).normal(size=(50, 40)), np.zeros((50, 40), bool)),
    ]  # fmt: skip
    first = draw_heat_maps(maps, "Title", "mean", tmp_path / "a")
    second = draw_heat_maps(maps, "Title", "mean", tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with pytest.raises(ValueError, match="at least one map"):
        draw_heat_maps([], "", "", tmp_path / "c")


@pytest.mark.parametrize(
    ("values", "ticks"), [(7, [0, 1, 2, 3, 4, 5, 6]), (8, [0, 2, 4, 6]), (15, [0, 3, 6, 9, 12])]
)
def test_a_heat_map_has_seven_ticks_at_most(values, ticks):
    means = np.zeros((values, 1))
    heat = HeatMap("One", "agent.a", "agent.b", list(range(values)), [1], means, np.isnan(means))
    axes = _heat_figure([heat], "", "mean").axes[0]
    assert list(axes.get_xticks()) == ticks and list(axes.get_yticks()) == [0]


def test_the_axis_goes_by_agents_and_marks_what_is_below_it():
    assert sensitivity_range(LINES).floor == 4 - 3 * 3.5  # the better one goes from 4 to 0.5
    figure = sensitivity_figure(LINES, "", "mean", PALETTE)
    texts = {axes.get_xlabel(): [t.get_text() for t in axes.texts] for axes in figure.axes}
    assert texts == {"step": [], "model kind": ["−1e+09"], "on": []}


def two_agents(lowest):
    """Q-learning far below look-ahead in one point, and a little in the other."""
    return [
        Sensitivity("one", "agent.action_step", [0.1, 0.5], np.array([[12.99, 12.9, 13.1], [13.74, lowest, 13.78]])),
        Sensitivity("two", "agent.value_step", [0.1, 0.5], np.array([[13.86, 13.84, 13.88], [13.89, 13.87, 13.91]])),
    ]  # fmt: skip


@pytest.mark.parametrize("lowest", [13.2, 13.4])
def test_the_best_point_of_an_agent_and_its_interval_are_never_cut(lowest):
    lines = two_agents(lowest)
    covered = sensitivity_range(lines)
    assert covered.low < lowest and covered.floor <= lowest and covered.high > 13.91
    figure = sensitivity_figure(lines, "", "mean", PALETTE)
    for axes, line in zip(figure.axes, lines, strict=True):
        bottom, top = axes.get_ylim()
        assert all(bottom < end < top for end in line.best)
    assert lines_data(lines)["range"] == [covered.low, covered.high]


def test_a_best_point_may_have_no_interval():
    assert two_agents(NAN)[0].best == [13.74, 13.78]
    assert Sensitivity("one", "agent.step", [1], np.full((1, 3), NAN)).best == []


def test_what_the_best_points_make_room_for_is_not_marked_as_cut():
    """A point between the usual floor, at 13.52, and the best one's interval is drawn."""
    line, other = two_agents(13.2)
    more = np.vstack([line.envelope, [13.45, 13.4, 13.5]])
    line = Sensitivity("one", "agent.action_step", [0.1, 0.5, 0.9], more)
    marks = line.marks(sensitivity_range([line, other]).floor)
    assert [mark.value for mark in marks] == [12.99]


def test_axes_of_settings():
    assert axis_kind([0.01, 0.1]) == "log"
    assert axis_kind([1, 2, 5]) == axis_kind([0, 10]) == "linear"
    assert axis_kind([True, False]) == axis_kind([1, None]) == axis_kind(["a"]) == "category"


def test_colours_of_a_map_begin_at_the_lowest_mean_that_is_not_a_disaster():
    means = np.array([[1.0, 2.0], [3.0, -1e9]])
    found = HeatMap("One", "a", "b", [1, 2], [1, 2], means, np.isnan(means))
    assert found.lowest == 1.0
    assert HeatMap("", "a", "b", [1], [1], np.full((1, 1), NAN), means > 0).lowest is None
