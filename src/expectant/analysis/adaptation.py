"""Adaptation to change: drop and recovery after the goal moves, scores of the local-change test.

A curve is (..., bins), each bin the mean return of some episodes. Statistics of switches map it to
(switches, ...), one entry for every goal switch that a whole phase follows; they need at least
``needed`` such switches. A NaN (a diverged run) in the bins used makes the statistic NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval
from expectant.analysis.panel import Panel, Unavailable
from expectant.analysis.verdicts import crossing_interval, first_crossing

RECOVERED_FRACTION = 0.8
REGRET_EPISODES = 500  # at the beginning of a phase
ROUNDING = 1e-9  # means over resampled runs round differently from the mean over all runs


def phases(panel: Panel, needed: int = 1) -> tuple[list[int], int]:
    """The first bins of all whole phases after a switch, and the bins of a phase."""
    if panel.switch_every is None:
        raise Unavailable("the goal never moves")
    if panel.unit != "episode":
        raise Unavailable(f"the goal moves by episodes, and a bin is a number of {panel.unit}s")
    if panel.switch_every % panel.bin:
        raise ValueError(
            f"phases: bin must divide switch_every, {panel.switch_every}, got {panel.bin}"
        )
    length = panel.switch_every // panel.bin
    switches = [start for start in panel.switches if start + length <= panel.first_episodes.size]
    if len(switches) < needed:
        raise Unavailable(
            f"goal switches with a whole phase after them: {len(switches)} of {needed}"
        )
    return switches, length


def _phase_bins(panel: Panel, curve: np.ndarray, needed: int) -> np.ndarray:
    """The bins of the phase after each switch: (switches, ..., bins of a phase)."""
    switches, length = phases(panel, needed)
    curve = np.asarray(curve, float)
    return np.stack([finite_or_nan(curve[..., start : start + length]) for start in switches])


def lowest_bins(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The lowest bin after each switch."""
    return _phase_bins(panel, curve, needed).min(axis=-1)


def cross_fitted_lows(panel: Panel, curves: np.ndarray, needed: int = 1) -> np.ndarray:
    """Level of runs (n, bins) in the lowest bin after each switch, without selection bias.

    Each half of the runs chooses the bin, by its mean, in which the other half is measured:
    (switches, n). Where several bins are almost as low, the mean is too high on average, by less
    than ``selection_biases``.
    """
    return np.stack([_cross_fit_lowest(phase) for phase in _phase_bins(panel, curves, needed)])


def _cross_fit_lowest(phase: np.ndarray) -> np.ndarray:
    if phase.shape[0] < 2:
        return phase.min(axis=-1)
    lows = np.empty(phase.shape[0])
    for half in (0, 1):  # every other run
        other_half = phase[1 - half :: 2].mean(axis=0)
        lows[half::2] = phase[half::2, other_half.argmin()]
    return lows


def selection_biases(panel: Panel, curves: np.ndarray, needed: int = 1) -> np.ndarray:
    """Cross-fitted minus plain lowest level after each switch, (switches,), 0 or more.

    The first is biased upward, the second downward: the lowest level is between their means.
    """
    plain = lowest_bins(panel, curves.mean(axis=0), needed)
    return np.maximum(cross_fitted_lows(panel, curves, needed).mean(axis=1) - plain, 0.0)


def drops(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The level before each switch minus the lowest bin after it.

    The level is the mean over the last fifth of the phase before, at least one bin.
    """
    return _levels_before(panel, curve, needed) - lowest_bins(panel, curve, needed)


def cross_fitted_drops(panel: Panel, curves: np.ndarray, needed: int = 1) -> np.ndarray:
    """``drops`` of runs with ``cross_fitted_lows`` in place of the lowest bins."""
    low = lowest_bins(panel, curves, needed)
    return drops(panel, curves, needed) + low - cross_fitted_lows(panel, curves, needed)


def _levels_before(panel: Panel, curve: np.ndarray, needed: int) -> np.ndarray:
    switches, length = phases(panel, needed)
    before, curve = max(1, length // 5), finite_or_nan(curve)
    return np.stack([curve[..., start - before : start].mean(axis=-1) for start in switches])


def regrets(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """Area between optimum and curve over the first ``REGRET_EPISODES`` after each switch."""
    first = _phase_bins(panel, curve, needed)[..., : max(1, REGRET_EPISODES // panel.bin)]
    return (panel.optimum - first).sum(axis=-1) * panel.bin


def first_bins(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The first bin, or probed point, after each switch."""
    if panel.points is not None and panel.phases is not None:
        first = np.flatnonzero(np.diff(panel.phases) > 0) + 1
        if first.size < needed:
            raise Unavailable(f"probes right after a switch: {first.size} of {needed}")
        return np.moveaxis(finite_or_nan(np.asarray(curve)[..., first]), -1, 0)
    return _phase_bins(panel, curve, needed)[..., 0]


def recovery_times(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """Episodes after each switch until ``RECOVERED_FRACTION`` of the drop is made up.

    The drop is from the mean of the phase's last fifth to its lowest bin. Bins before the lowest
    one do not count. Between the ends of bins the curve is straight.
    """
    phase = _phase_bins(panel, curve, needed)
    bins = phase.shape[-1]
    level, lowest = _level_at_end(phase), phase.min(axis=-1)
    target = lowest + RECOVERED_FRACTION * np.maximum(level - lowest, 0.0)
    late = np.arange(bins) >= phase.argmin(axis=-1)[..., None]
    contrasts = np.where(late, phase - _less_rounding(target)[..., None], -np.inf)
    episodes = (first_crossing(contrasts) + 1.0) * panel.bin
    return np.where(np.isnan(phase).any(axis=-1), np.nan, episodes)


def recovery_intervals(
    panel: Panel, curves: np.ndarray, tail: float, needed: int = 1
) -> np.ndarray:
    """Intervals of ``recovery_times`` of the mean curve of runs (n, bins): (switches, 2)."""
    ends = []
    for phase in _phase_bins(panel, curves, needed):
        lowest = phase.mean(axis=0).argmin()
        low, level = phase[:, lowest], _level_at_end(phase)
        target = _less_rounding((1.0 - RECOVERED_FRACTION) * low + RECOVERED_FRACTION * level)
        crossing = crossing_interval(phase[:, lowest:] - target[:, None], tail)
        ends.append([lowest + position + 1.0 for position in crossing])
    return np.array(ends) * panel.bin


def _level_at_end(phase: np.ndarray) -> np.ndarray:
    """The mean over the last fifth of the bins."""
    return np.asarray(phase[..., -max(1, phase.shape[-1] // 5) :].mean(axis=-1))


def _less_rounding(target: np.ndarray) -> np.ndarray:
    return target - ROUNDING * np.maximum(1.0, np.abs(target))


BEFORE, LOCAL, AFTER = 0, 1, 2  # the phases of the local-change test
LAST = 20  # points at the end of a phase that are averaged
ADAPTIVE, NOT_ADAPTIVE, UNDECIDED = "adaptive", "not adaptive", "undecided"
LEARNED_WELL, LEARNED = 0.93, 0.90  # fraction of the optimum in the first phase
ADAPTED, NOT_ADAPTED = 0.80, 0.30  # fraction of the way from outdated policy to new optimum


@dataclass(frozen=True, eq=False)
class Score:
    """Scores of the local-change test, one number per run.

    ``ends`` are mean returns at the end of each phase, NaN for phases not run. ``first`` (runs,) is
    the fraction of the optimum reached before the change. ``adaptation`` (runs,) is the progress
    from the outdated policy (0) to the new optimum (1) at the end of the phase with local starts.
    """

    ends: tuple[np.ndarray, np.ndarray, np.ndarray]
    first: np.ndarray
    adaptation: np.ndarray

    @property
    def mean_first(self) -> float:
        return float(self.first.mean())

    @property
    def mean_adaptation(self) -> float:
        return float(self.adaptation.mean())

    @property
    def adapted_runs(self) -> int:
        return int((self.adaptation >= ADAPTED).sum())

    def as_data(self) -> dict[str, Any]:
        """Return the scores with their verdict, ready for JSON; NaN becomes None."""

        def plain(value: float) -> float | None:
            return round(float(value), 6) if math.isfinite(value) else None

        verdict, why = adaptation_verdict(self.mean_first, self.mean_adaptation)
        _, low, high = interval(self.adaptation)
        return {
            "phase1": [plain(value) for value in self.ends[BEFORE]],
            "phase2": [plain(value) for value in self.ends[LOCAL]],
            "phase3": [plain(value) for value in self.ends[AFTER]],
            "P1": plain(self.mean_first),
            "adaptation": plain(self.mean_adaptation),
            "adaptation_low": plain(float(low)),
            "adaptation_high": plain(float(high)),
            "adaptation_by_seed": [plain(value) for value in self.adaptation],
            "adapted_seeds": self.adapted_runs,
            "verdict": verdict,
            "why": why,
        }


def is_adaptation_test(panel: Panel) -> bool:
    """True if a panel has curves of the local-change test."""
    outdated = any(level.name == "outdated policy" for level in panel.levels)
    return outdated and panel.phases is not None and int(panel.phases.max()) >= LOCAL


def score_adaptation(panel: Panel, curves: np.ndarray) -> Score:
    """Score the curves (runs, M) of a local-change test."""
    if not is_adaptation_test(panel) or panel.phases is None:
        raise Unavailable("the greedy policy was not probed through a local change")
    points = [np.flatnonzero(panel.phases == phase)[-LAST:] for phase in (BEFORE, LOCAL, AFTER)]
    before_end, local_end, after_end = (
        curves[:, last].mean(axis=1) if last.size else np.full(len(curves), np.nan)
        for last in points
    )
    before, after, outdated = reference_returns(panel).values()
    adaptation = (local_end - outdated) / (after - outdated)
    return Score((before_end, local_end, after_end), before_end / before, adaptation)


def reference_returns(panel: Panel) -> dict[str, float]:
    """Returns of the optimum before and after the change, and of the outdated policy after it."""
    optima = [level.height for level in panel.levels if level.name == "optimum"]
    outdated = next(level.height for level in panel.levels if level.name == "outdated policy")
    return {"before": optima[0], "after": optima[1], "outdated": outdated}


def adaptation_verdict(first: float, adaptation: float) -> tuple[str, str]:
    """The verdict on mean scores, and the reason if it is undecided.

    >>> adaptation_verdict(0.98, 0.95)
    ('adaptive', '')
    """
    if not (math.isfinite(first) and math.isfinite(adaptation)):
        return UNDECIDED, "a run diverged"
    if first >= LEARNED_WELL and adaptation >= ADAPTED:
        return ADAPTIVE, ""
    if first >= LEARNED and adaptation <= NOT_ADAPTED:
        return NOT_ADAPTIVE, ""
    if first < LEARNED or (first < LEARNED_WELL and adaptation >= ADAPTED):
        return UNDECIDED, "the first phase was not learned well enough"
    return UNDECIDED, "it has adapted in part"
