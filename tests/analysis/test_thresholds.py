"""The numbers that decide claims, each from both sides, on curves without any noise."""

from __future__ import annotations

import numpy as np
import pytest

from expectant.analysis import Panel, evaluate
from expectant.analysis.adaptation import (
    DROP,
    LOWEST,
    RECOVERY,
    RISE,
    SHORTENING,
    drop,
    drop_after,
    recoveries,
    recovery_after,
    unrecovered,
)
from expectant.analysis.claims import NAMES

RUNS, BINS, BIN, OPTIMUM = 3, 40, 50, 10.0
Q, EXPECTATION, TRUE = "q_learning", "q_planning_expectation", "q_planning_true"


def panel(figure: str, curves: dict[str, np.ndarray], switch_every: int | None = None) -> Panel:
    """Runs that are all alike, so that every interval is a point."""
    same = {key: np.tile(curve, (RUNS, 1)) for key, curve in curves.items()}
    return Panel(figure, "", "text", BIN, switch_every, OPTIMUM, same, NAMES)


def settled(level: float) -> np.ndarray:
    """Worthless, but for the last quarter of the bins."""
    return np.repeat([-99.0, level], [30, 10])


def fallen(lowest: float) -> np.ndarray:
    """Four phases of ten bins; the first bin of the second is the lowest."""
    curve = np.full(BINS, OPTIMUM)
    curve[10] = lowest
    return curve


def verdicts(panels: list[Panel], latency=None) -> dict[int, str]:
    return {found.id: found.verdict for found in evaluate(panels, latency)}


@pytest.mark.parametrize(("claim", "figure", "levels", "holds"), [
    (1, "1", {Q: 9.951}, True),
    (1, "1", {Q: 9.949}, False),
    (1, "1", {Q: 10.049}, True),
    (1, "1", {Q: 10.051}, False),
    (2, "1", {EXPECTATION: 9.949}, True),
    (2, "1", {EXPECTATION: 9.951}, False),
    (3, "3", {Q: 8.0 - 0.309, TRUE: 8.0}, True),
    (3, "3", {Q: 8.0 - 0.311, TRUE: 8.0}, False),
    (4, "3", {Q: 8.001, TRUE: 8.001, EXPECTATION: 8.0}, True),
    (4, "3", {Q: 7.999, TRUE: 8.001, EXPECTATION: 8.0}, False),
    (4, "3", {Q: 8.001, TRUE: 7.999, EXPECTATION: 8.0}, False),
])  # fmt: skip
def test_levels(claim, figure, levels, holds):
    everyone = {Q: 0.0, EXPECTATION: 0.0, TRUE: 0.0, **levels}
    found = verdicts([panel(figure, {key: settled(level) for key, level in everyone.items()})])
    assert found[claim] == ("holds" if holds else "does not hold")


@pytest.mark.parametrize(
    ("lowest", "holds"), [(-8.99, True), (-9.01, False), (-5.01, True), (-4.99, False)]
)
def test_about_minus_seven(lowest, holds):
    found = verdicts([panel("5a", {Q: fallen(lowest)}, 10 * BIN)])
    assert found[10] == ("holds" if holds else "does not hold")


@pytest.mark.parametrize(("features", "actions", "largest", "holds"), [
    (4.0, 0.95, 4.0, True),
    (3.99, 0.95, 4.0, False),
    (4.0, 0.949, 4.0, False),
    (4.0, 0.95, 3.99, False),
])  # fmt: skip
def test_counted_work(features, actions, largest, holds):
    """How much more the look-ahead's count grows than the others', and what it is in the end."""
    ahead = {(a, f): actions ** (a == 8) * features ** (f == 64) for a in (2, 8) for f in (16, 64)}
    ahead = {size: work * largest / ahead[8, 64] for size, work in ahead.items()}
    others = dict.fromkeys(ahead, 1.0)
    counts = {"lookahead": ahead, "cached_values": others, "cached_policy": others}
    assert verdicts([], {"text": counts})[18] == ("holds" if holds else "does not hold")


@pytest.mark.parametrize(("level", "bins", "lost"), [(8.0, 3, False), (7.999, 10, True)])
def test_recovered_is_a_fifth_short_of_the_optimum(level, bins, lost):
    curve = fallen(-5.0)
    curve[10:20] = [-5.0, 0.0, *[level] * 8]
    found = panel("5a", {Q: curve}, 10 * BIN)
    assert recoveries(found, curve)[0] == bins * BIN
    assert unrecovered(found, curve)[0] == lost


def test_changes_are_between_the_switches_that_they_name():
    curve = np.full(BINS, OPTIMUM)
    curve[10:12], curve[20:23], curve[30] = -8.0, -3.0, 4.0  # recover in 3, 4 and 2 bins
    found = panel("5a", {Q: curve}, 10 * BIN)
    assert RISE.of(found, curve) == 4.0 + 8.0
    assert SHORTENING.of(found, curve) == (3 - 4) * BIN
    assert LOWEST.of(found, curve) == -8.0
    assert RECOVERY.of(found, curve) == (3 + 4 + 2) * BIN / 3
    assert DROP.of(found, curve) == (18.0 + 13.0 + 6.0) / 3
    assert [recovery_after(n).of(found, curve) for n in (1, 2, 3)] == [150.0, 200.0, 100.0]
    assert [drop_after(n).of(found, curve) for n in (1, 2, 3)] == [18.0, 13.0, 6.0]
    curve[20:30] = -3.0  # never recovers from the second
    bounds = [recovery_after(n).is_bound for n in (1, 2, 3)]
    assert [bound is not None and bound(found, curve[None]) for bound in bounds] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(("phase_bins", "before"), [(4, 1), (9, 1), (10, 2), (15, 3)])
def test_the_level_before_a_switch_is_that_of_the_last_fifth(phase_bins, before):
    curve = np.concatenate([np.arange(float(phase_bins)), np.full(phase_bins, -1.0)])
    last = np.arange(phase_bins)[-before:].mean()
    assert drop(curve, phase_bins, phase_bins) == last + 1.0
