"""Metrics of curves, each worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.analysis.adaptation import LAST, adaptation_verdict, recovery_times, score_adaptation
from expectant.analysis.panel import Level, Panel, Unavailable
from expectant.experiments.metrics import find_metric
from expectant.experiments.study_report import adaptation_rows


def panel_of(*curves: list[float], bin: int = 10, switch_every: int | None = None) -> Panel:
    return Panel("f", "", "", bin, switch_every, 5.0, {"a": np.array(curves)}, {"a": "a"})


def measured(name: str, panel: Panel) -> list[float]:
    return find_metric(name).of(panel, panel.curves["a"]).tolist()


@pytest.mark.parametrize(
    ("bins", "final", "third"), [(1, 1, 1), (4, 1, 1), (6, 2, 2), (7, 2, 2), (8, 2, 3)]
)
def test_parts_of_a_curve_are_rounded_to_whole_bins(bins, final, third):
    curve = np.arange(float(bins)) ** 2
    panel = panel_of(curve.tolist())
    assert measured("final", panel) == [curve[-final:].mean()]
    assert measured("last-third", panel) == [curve[-third:].mean()]
    assert measured("shortfall", panel) == [5.0 - curve[-final:].mean()]


def test_single_points_and_the_late_slope_of_an_episode():
    panel = panel_of([90.0, 40.0, 0.0, 0.0, 0.0, 1.0, 2.0, 7.0])
    assert [measured(name, panel)[0] for name in ("first", "second", "last")] == [90.0, 40.0, 7.0]
    assert measured("late-slope", panel) == [(7.0 - 1.0) / 20]
    assert measured("mean", panel) == [140.0 / 8]


def test_settling_counts_episodes_and_levels_below_zero():
    """A tenth of the final level of −10 is 1: −8.5 is too high by far, −9.5 is close enough."""
    curve = [-2.0, -8.5, -9.5, -9.5, -10.0, -10.0, -10.0, -10.0]
    assert measured("settling", panel_of(curve)) == [25.0]
    assert measured("settling", panel_of([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0])) == [80.0]
    assert measured("settling", panel_of([9.0] * 6 + [5.0] * 2)) == [68.75]  # 5.5 is close enough
    falling = [90.0, 40.0, 11.5, 10.0, 12.0, 10.0, 10.0, 10.0]
    assert measured("settling", panel_of(falling, bin=1)) == [5.5]  # the twelve is above eleven
    assert measured("settling", panel_of([10.0] * 8, bin=1)) == [1.0]


def test_after_a_switch_whole_bins_count():
    panel = panel_of([1.0, 2.0, 4.0, 8.0], switch_every=15)
    assert measured("after-switch", panel) == [6.0]
    for every in (None, 31, 40):
        with pytest.raises(Unavailable):
            measured("after-switch", replace(panel, switch_every=every))


def test_metrics_of_switches_are_of_one_or_of_all():
    """Phases of two bins: the goal moves before bins 2, 4 and 6."""
    panel = panel_of([9.0, 9.0, 1.0, 3.0, 2.0, 3.0, 6.0, 3.0], switch_every=20)
    assert [measured(f"entry@{number}", panel)[0] for number in (1, 2, 3)] == [1.0, 2.0, 6.0]
    assert [measured(f"lowest@{number}", panel)[0] for number in (1, 2, 3)] == [1.0, 2.0, 3.0]
    assert [measured(f"drop@{number}", panel)[0] for number in (1, 2, 3)] == [8.0, 1.0, 0.0]
    assert measured("entry", panel) == [3.0]
    assert measured("lowest", panel) == [2.0]
    assert measured("drop", panel) == [3.0]
    assert measured("lowest-rises", panel) == [(2.0 + 3.0) / 2 - 1.0]
    assert measured("entry-falls", panel) == [1.0 - 2.0]
    assert measured("regret", panel) == [10 * (6.0 + 5.0 + 1.0) / 3]
    assert measured("regret-falls", panel) == [10 * (6.0 - 5.0)]


def fallen(lowest: float) -> np.ndarray:
    """Four phases of ten bins; the first bin of the second is the lowest."""
    curve = np.full(40, 5.0)
    curve[10] = lowest
    return curve


@pytest.mark.parametrize(("level", "bins"), [(6.2, 3.0), (3.4, 3.5)])
def test_recovered_is_most_of_the_way_to_its_own_level(level, bins):
    """From -5 to 9: four fifths of the way are 6.2, whatever the optimum; straight between bins."""
    curve = fallen(-5.0)
    curve[10:20] = [9.0, -5.0, level, *[9.0] * 7]
    panel = panel_of(curve.tolist(), bin=50, switch_every=500)
    assert recovery_times(panel, curve)[0] == pytest.approx(bins * 50)
    assert measured("recovery@1", panel) == pytest.approx([bins * 50])


def test_unsteadiness_is_that_of_single_runs():
    """Two runs that go up and down against each other are steady on average, not by themselves."""
    assert measured("unsteadiness", panel_of([0.0, 1.0, 4.0, 1.0])) == [9.0]
    curve = [1.0, -1.0] * 8
    assert measured("unsteadiness", panel_of(curve, [-x for x in curve])) == [4.0, 4.0]
    assert find_metric("unsteadiness").per_run


def test_shares_of_runs():
    panel = panel_of([1.0, 2.0], [1.0, np.nan], [2.0, 1.0])
    assert measured("diverged", panel) == [0.0, 1.0, 0.0]
    assert measured("worsened", panel) == [1.0, 1.0, 0.0]


def test_an_optimum_is_attained_by_its_own_phase():
    levels = (
        Level(0.0, 10.0, 2.0, "optimum"),
        Level(10.0, 20.0, 4.0, "optimum"),
        Level(10.0, 20.0, 9.0, "outdated policy"),
    )
    probed = replace(
        panel_of([2.0, 3.7, 3.9, 4.0], [2.0, 3.0, 3.0, 3.0]),
        points=np.array([0, 5, 10, 20]),
        levels=levels,
    )
    assert measured("attainment", probed) == [10.0, 20.0]
    with pytest.raises(Unavailable):
        measured("attainment", replace(probed, levels=levels[2:]))


def test_at_a_switch_the_first_probe_of_a_phase_counts():
    """Looks at both sides of every change: 3 and 4 are taken when the goal has just moved."""
    probed = replace(
        panel_of([1.0, 2.0, 3.0, 9.0, 4.0, 5.0]),
        points=np.array([0, 10, 10, 20, 20, 21]),
        phases=np.array([0, 0, 1, 1, 2, 2]),
    )
    assert [measured(f"entry@{number}", probed)[0] for number in (1, 2)] == [3.0, 4.0]
    assert measured("entry-falls", probed) == [-1.0]
    with pytest.raises(Unavailable, match="probes right after a switch: 2 of 3"):
        measured("entry@3", probed)


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
        crossed = find_metric(name).crossed
        assert crossed is not None
        assert crossed(panel, panel.curves["a"]).tolist() == expected
        assert crossed(panel, panel.curves["a"][:1]).tolist() == [curves[0][3] if name == "lowest" else 9.0]  # fmt: skip


LEVELS = (
    Level(0, 100, 2.0, "optimum"),
    Level(100, 200, 1.5, "optimum"),
    Level(100, 200, 0.5, "outdated policy"),
)


def ends_of(first, second, third=1.0, runs=2):
    """Runs whose last metrics of each phase are given, and worthless before."""
    phases = np.repeat([0, 1, 2], LAST + 5)
    rows = np.zeros((runs, phases.size))
    for phase, value in enumerate((first, second, third)):
        rows[:, np.flatnonzero(phases == phase)[-LAST:]] = np.reshape(value, (-1, 1))
    return probed_panel(rows, phases), rows


def probed_panel(rows, phases, levels=LEVELS):
    curves = {"all": rows}
    return Panel(
        "f", "one", "", 1, None, float("nan"), curves, curves, points=np.arange(phases.size),
        phases=phases, levels=levels,
    )  # fmt: skip


def test_scores_by_hand():
    panel, rows = ends_of([1.0, 2.0], [0.5, 1.5], [1.0, 1.25])
    found = score_adaptation(panel, rows)
    assert found.first.tolist() == [0.5, 1.0]
    assert found.adaptation.tolist() == [0.0, 1.0]
    assert (found.mean_first, found.mean_adaptation, found.adapted_runs) == (0.75, 0.5, 1)
    assert [end.tolist() for end in found.ends] == [[1.0, 2.0], [0.5, 1.5], [1.0, 1.25]]
    short = rows[:, panel.phases < 2]
    without_third = score_adaptation(probed_panel(short, panel.phases[panel.phases < 2]), short)
    assert without_third.adaptation.tolist() == [0.0, 1.0]
    assert np.isnan(without_third.ends[2]).all()


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
def test_adaptation_verdicts(learned, adapted, expected, why):
    assert adaptation_verdict(learned, adapted) == (expected, why)


def test_a_diverged_run_is_not_dropped():
    panel, rows = ends_of([2.0, 2.0], [1.5, np.nan])
    data = score_adaptation(panel, rows).as_data()
    assert data["verdict"] == "undecided"
    assert data["adaptation"] is None
    assert data["phase2"] == [1.5, None]
    assert data["adapted_seeds"] == 1


def test_rows_have_names_settings_and_ends_of():
    panel, rows = ends_of([2.0, 2.0], [1.5, 0.5])
    agent = ex.QLearning.paper(0.3, discount=0.97)
    trial: Any = SimpleNamespace(panel="one", experiment="f", agent_key="all", agent=agent)
    (row,) = adaptation_rows([panel], [trial])
    assert (row["agent"], row["backups"], row["P1"], row["adaptation"]) == ("one", "all", 1.0, 0.5)
    step = "Fixed(step=0.3, per='feature', bounded=False)"
    assert row["settings"] == f"QLearning(discount=0.97, action_step={step})"
    assert find_metric("adaptation").of(panel, rows).tolist() == [1.0, 0.0]
    assert find_metric("learned-share").of(panel, rows).tolist() == [1.0, 1.0]
