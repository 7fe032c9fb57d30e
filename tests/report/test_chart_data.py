from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from expectant.report.chart_data import chart_of, value_range
from expectant.report.formatting import format_number


def test_diverged_bins_are_nan_and_infinities_count_as_diverged(make_panel: Any) -> None:
    panel = make_panel(diverged=2)
    panel.curves["q_learning"][0, -1] = -np.inf
    chart = chart_of([panel])
    learning, _, lookahead = chart.plots[0].curves
    assert np.isnan(learning.mean).tolist() == [False] * 39 + [True]
    assert np.isnan(lookahead.mean).tolist() == [False] * 20 + [True] * 20
    assert chart.note("q_learning") == "(1 of 30 runs diverged)"
    assert chart.note("lookahead") == "(2 of 30 runs diverged)"
    assert chart.note("q_planning_expectation") == ""


def test_more_panels_make_a_row_for_each_interpretation(make_panel: Any) -> None:
    panels = [make_panel(panel=n, interpretation=r) for n in "ab" for r in ("text", "authors")]
    chart = chart_of(panels)
    assert chart.columns == 2
    assert [(*plot.interpretations, plot.heading) for plot in chart.plots] == [
        *[("text", "a"), ("text", "b")],
        *[("authors", "a"), ("authors", "b")],
    ]


def test_a_wide_band_widens_the_axis_by_a_quarter_at_most(make_panel: Any) -> None:
    found = value_range(agents([0, 10], [4, 10]), bands=[-1000.0, 11.0])
    assert found == pytest.approx((-2.5 - 0.05 * 13.5, 11 + 0.05 * 13.5, -math.inf))


def test_the_axis_is_the_same_in_all_panels_and_covers_bands_and_optimum(make_panel: Any) -> None:
    panels = [make_panel(), make_panel(interpretation="authors", optimum=20.0)]
    chart = chart_of(panels)
    curves = [curve for plot in chart.plots for curve in plot.curves]
    assert chart.range.low < min(curve.low.min() for curve in curves)
    assert chart.range.high > 20.0


def test_a_panel_that_the_common_axis_would_flatten_has_its_own(make_panel: Any) -> None:
    panels = []
    for name, factor in (("a", 1.0), ("b", 0.5), ("c", 0.01)):
        panel = make_panel(panel=name)
        curves = {agent: factor * curve for agent, curve in panel.curves.items()}
        panels.append(replace(panel, curves=curves, optimum=factor * panel.optimum))
    chart = chart_of(panels)
    first, second, third = map(chart.range_of, chart.plots)
    assert first is second is chart.range
    assert third.high - third.low == pytest.approx(0.01 * (first.high - first.low), rel=0.1)
    assert chart.data()["plots"][2]["range"] == third[:2]


def test_an_agent_below_the_axis_is_noted_in_the_legend(make_panel: Any) -> None:
    panels = [make_panel(), make_panel(interpretation="authors")]
    panels[1].curves["q_learning"][:] = -1000.0
    panels[0].curves["q_learning"][:] = -900.0
    chart = chart_of(panels)
    assert chart.range.low > -80
    assert chart.note("q_learning") == "(below the axis, down to −1,000)"
    assert chart.note("lookahead") == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (-0.2875, "−0.2875"),
        (13.9241, "13.92"),
        (20000, "20,000"),
        (np.float64(2.5), "2.5"),
        (1.5e9, "1.5e+09"),
        (-1e-5, "−1e-05"),
        (float("-inf"), "−inf"),
        ("about 7", "about 7"),
    ],
)
def test_numbers_for_people(value: object, text: str) -> None:
    assert format_number(value) == text


def test_interpretations_that_came_to_the_same_are_drawn_once(make_panel: Any) -> None:
    printed = [make_panel(panel=name, interpretation="literal") for name in "ab"]
    ours = [replace(panel, interpretation="preferred") for panel in printed]
    code = [make_panel(panel=name, interpretation="authors") for name in "ab"]
    plots = chart_of([*printed, *ours, *code]).plots
    assert [(plot.heading, plot.interpretations) for plot in plots] == [
        ("a", ["literal", "preferred"]), ("b", ["literal", "preferred"]),
        ("a", ["authors"]), ("b", ["authors"]),
    ]  # fmt: skip
    one_run_differs = {
        agent: curve + (agent == "q_learning") for agent, curve in ours[1].curves.items()
    }
    ours[1] = replace(ours[1], curves=one_run_differs)
    assert len(chart_of([*printed, *ours, *code]).plots) == 6


def agents(*values: list[float]) -> dict[str, np.ndarray]:
    return {str(number): np.array(each, float) for number, each in enumerate(values)}


def test_everything_is_shown_where_nothing_is_flattened():
    found = value_range(agents([0, 10], [4, 10], [-5, 9]), levels=[12.0])
    assert found == pytest.approx((-5 - 0.05 * 17, 12 + 0.05 * 17, -math.inf))


def test_one_that_falls_far_is_left_out_below_the_floor():
    # The typical agent reaches from 14 down to 9, so the floor is at 14 - 3 * 5.
    found = value_range(agents([9, 14], [10, 14], [12, 3, -200]))
    assert found.floor == -1.0
    assert (found.low, found.high) == pytest.approx((3 - 0.05 * 11, 14 + 0.05 * 11))


def test_up_to_five_times_the_typical_reach_all_is_shown():
    assert value_range(agents([9, 14], [10, 14], [14, -11])).floor == -math.inf
    assert value_range(agents([9, 14], [10, 14], [14, -11.1])).floor == -1.0


def test_of_two_agents_the_better_one_is_typical():
    assert value_range(agents([9, 14], [-200, 14])).floor == -1.0


def test_two_that_never_meet_are_both_shown():
    assert value_range(agents([10, 11], [-200, -199])).floor == -math.inf


def test_a_moment_in_which_all_are_far_down_is_left_out():
    # 19 of 20 values reach from -100 down to -150: a moment counts for 4 times that, -300; the
    # floor is 3 times as far down as this, -700.
    curve = [-5000.0] + [-150.0] * 20 + [-100.0] * 20
    found = value_range(agents(curve, curve))
    assert found.floor == pytest.approx(-100 - 3 * 200)
    assert found.low == pytest.approx(-150 - 0.05 * 50)
