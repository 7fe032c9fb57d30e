"""Measures of curves whose bins are not single episodes, each worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from expectant.analysis.comparison import Unavailable
from expectant.analysis.panel import Level, Panel
from expectant.lab.measures import measure_named


def panel_of(*curves: list[float], bin: int = 10, switch_every: int | None = None) -> Panel:
    return Panel("f", "", "", bin, switch_every, 5.0, {"a": np.array(curves)}, {"a": "a"})


def measured(name: str, panel: Panel) -> list[float]:
    return measure_named(name).of(panel, panel.curves["a"]).tolist()


@pytest.mark.parametrize(
    ("bins", "final", "third"), [(1, 1, 1), (4, 1, 1), (6, 2, 2), (7, 2, 2), (8, 2, 3)]
)
def test_parts_of_a_curve_are_rounded_to_whole_bins(bins, final, third):
    curve = np.arange(float(bins)) ** 2
    panel = panel_of(curve.tolist())
    assert measured("final", panel) == [curve[-final:].mean()]
    assert measured("last-third", panel) == [curve[-third:].mean()]
    assert measured("shortfall", panel) == [5.0 - curve[-final:].mean()]


def test_a_late_slope_is_that_of_an_episode():
    panel = panel_of([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 7.0])
    assert measured("late-slope", panel) == [(7.0 - 1.0) / 20]


def test_settling_counts_episodes_and_levels_below_zero():
    """A tenth of the final level of −10 is 1: −8.5 is too high by far, −9.5 is close enough."""
    curve = [-2.0, -8.5, -9.5, -9.5, -10.0, -10.0, -10.0, -10.0]
    assert measured("settling", panel_of(curve)) == [30.0]
    assert measured("settling", panel_of([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0])) == [80.0]
    assert measured("settling", panel_of([9.0] * 6 + [5.0] * 2)) == [70.0]  # after that bin
    assert measured("settling", panel_of([9.0] * 7 + [1.0])) == [80.0]


def test_after_a_switch_whole_bins_count():
    panel = panel_of([1.0, 2.0, 4.0, 8.0], switch_every=15)
    assert measured("after-switch", panel) == [6.0]
    for every in (None, 31, 40):
        with pytest.raises(Unavailable):
            measured("after-switch", replace(panel, switch_every=every))


def test_measures_of_switches_are_of_one_or_of_all():
    """Phases of two bins: the goal moves before bins 2, 4 and 6."""
    panel = panel_of([9.0, 9.0, 1.0, 3.0, 2.0, 3.0, 6.0, 3.0], switch_every=20)
    curves = panel.curves["a"]
    entry, lowest = measure_named("entry"), measure_named("lowest")
    assert entry.at is not None and lowest.at is not None
    assert [entry.at(number).of(panel, curves)[0] for number in (1, 2, 3)] == [1.0, 2.0, 6.0]
    assert [lowest.at(number).of(panel, curves)[0] for number in (1, 2, 3)] == [1.0, 2.0, 3.0]
    assert measured("entry", panel) == [3.0]
    assert measured("lowest", panel) == [2.0]
    assert measured("lowest-rises", panel) == [(2.0 + 3.0) / 2 - 1.0]
    assert measured("entry-falls", panel) == [1.0 - 2.0]
    assert measured("regret", panel) == [10 * (6.0 + 5.0 + 1.0) / 3]
    assert measured("regret-falls", panel) == [10 * (6.0 - 5.0)]


def test_unsteadiness_needs_a_step_from_bin_to_bin():
    assert measured("unsteadiness", panel_of([0.0, 1.0, 4.0, 1.0])) == [9.0]


def test_an_optimum_is_attained_by_its_own_phase():
    levels = (
        Level(0.0, 10.0, 2.0, "optimum"),
        Level(10.0, 20.0, 4.0, "optimum"),
        Level(10.0, 20.0, 9.0, "outdated policy"),
    )
    looked = replace(
        panel_of([2.0, 3.7, 3.9, 4.0], [2.0, 3.0, 3.0, 3.0]),
        points=np.array([0, 5, 10, 20]),
        levels=levels,
    )
    assert measured("attainment", looked) == [10.0, 20.0]
    with pytest.raises(Unavailable):
        measured("attainment", replace(looked, levels=levels[2:]))


def test_at_a_switch_the_first_look_of_a_phase_counts():
    """Looks at both sides of every change: 3 and 4 are taken when the goal has just moved."""
    looked = replace(
        panel_of([1.0, 2.0, 3.0, 9.0, 4.0, 5.0]),
        points=np.array([0, 10, 10, 20, 20, 21]),
        phases=np.array([0, 0, 1, 1, 2, 2]),
    )
    entry = measure_named("entry")
    assert entry.at is not None
    assert [entry.at(number).of(looked, looked.curves["a"])[0] for number in (1, 2)] == [3.0, 4.0]
    assert measured("entry-falls", looked) == [-1.0]
    with pytest.raises(Unavailable, match="looks right after a switch: 2 of 3"):
        entry.at(3).of(looked, looked.curves["a"])


def test_a_lowest_bin_is_picked_by_other_runs():
    """Runs 0 and 2 are lowest in the second bin of the phase, runs 1 and 3 in the first."""
    curves = [
        [9.0, 9.0, 4.0, 0.0],
        [8.0, 8.0, 1.0, 5.0],
        [9.0, 9.0, 6.0, 2.0],
        [8.0, 8.0, 3.0, 7.0],
    ]
    panel = panel_of(*curves, switch_every=20)
    for name, expected in (("lowest", [4.0, 5.0, 6.0, 7.0]), ("drop", [5.0, 3.0, 3.0, 1.0])):
        crossed = measure_named(name).crossed
        assert crossed is not None
        assert crossed(panel, panel.curves["a"]).tolist() == expected
    alone = panel_of(curves[0], switch_every=20)
    crossed = measure_named("lowest").crossed
    assert crossed is not None and crossed(alone, alone.curves["a"]).tolist() == [0.0]
