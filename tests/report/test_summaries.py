"""What is drawn of a panel: names, notes, arrangement and range."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from expectant.analysis.curves import interval
from expectant.report.summaries import (
    arranged,
    divergence_note,
    label_of,
    middle_episodes,
    number,
    panel_heading,
    summarise,
    value_range,
)


def test_a_bin_stands_in_its_middle_after_the_switch(make_panel: Any) -> None:
    panel = make_panel(shape=(3, 1000, 50))
    assert middle_episodes(panel)[panel.switches[0]] == 525


def test_intervals_enclose_means(make_panel: Any) -> None:
    panel = make_panel()
    for curve in summarise(panel):
        assert (curve.low <= curve.mean).all()
        assert (curve.mean <= curve.high).all()
        expected = interval(panel.curves[curve.agent], level=0.95)
        np.testing.assert_array_equal([curve.mean, curve.low, curve.high], expected)


def test_diverged_bins_are_nan_and_infinities_count_as_diverged(make_panel: Any) -> None:
    panel = make_panel(diverged=2)
    panel.curves["q_learning"][0, -1] = -np.inf
    learning, _, lookahead = summarise(panel)
    assert np.isnan(learning.mean).tolist() == [False] * 39 + [True]
    assert np.isnan(lookahead.mean).tolist() == [False] * 20 + [True] * 20
    assert divergence_note([panel], "q_learning") == "(1 of 30 runs diverged)"
    assert divergence_note([panel], "lookahead") == "(2 of 30 runs diverged)"
    assert divergence_note([panel], "q_planning_expectation") == ""


def test_divergence_is_told_panel_by_panel(make_panel: Any) -> None:
    panels = [make_panel(), make_panel(reading="code", diverged=3)]
    assert divergence_note(panels, "lookahead") == "(runs diverged, by panel: 0/30, 3/30)"


def test_an_agent_without_a_label_shows_its_key(make_panel: Any) -> None:
    assert label_of([replace(make_panel(), labels={})], "lookahead") == "lookahead"


def test_up_to_three_panels_make_one_row(make_panel: Any) -> None:
    panels = [make_panel(panel=name) for name in "abc"]
    assert arranged(panels) == (panels, 3)


def test_more_panels_make_a_row_for_each_reading(make_panel: Any) -> None:
    panels = [make_panel(panel=n, reading=r) for n in "ab" for r in ("text", "code")]
    ordered, columns = arranged(panels)
    assert columns == 2
    assert [(p.reading, p.panel) for p in ordered] == [
        *[("text", "a"), ("text", "b")],
        *[("code", "a"), ("code", "b")],
    ]


def test_headings_tell_panels_apart(make_panel: Any) -> None:
    text, code = make_panel(panel="slip 0"), make_panel(reading="code")
    assert panel_heading(text, [text]) == "slip 0"
    assert panel_heading(text, [text, code]) == "slip 0 · reading: text"
    assert panel_heading(code, [code]) == ""


def test_the_range_covers_everything(make_panel: Any) -> None:
    panel = make_panel()
    curves = summarise(panel)
    covered = value_range([panel], [curves])
    assert covered.left_out is None
    assert all(covered.low < c.low.min() and c.high.max() < covered.high for c in curves)


def test_one_extreme_bin_does_not_flatten_the_rest(make_panel: Any) -> None:
    panel = make_panel()
    panel.curves["q_learning"][:, 0] = -1000.0
    covered = value_range([panel], [summarise(panel)])
    assert covered.left_out == pytest.approx(-1000.0)
    assert covered.low > -20
    assert covered.high > panel.optimum


def test_an_agent_that_stays_extreme_is_not_left_out(make_panel: Any) -> None:
    panel = make_panel()
    panel.curves["q_learning"][:] = -1000.0
    covered = value_range([panel], [summarise(panel)])
    assert covered.left_out is None
    assert covered.low < -1000


def test_a_range_without_numbers(make_panel: Any) -> None:
    panel = replace(make_panel(), optimum=np.nan)
    for returns in panel.curves.values():
        returns[:] = np.nan
    assert value_range([panel], [summarise(panel)])[:2] == (0.0, 1.0)


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
    assert number(value) == text
