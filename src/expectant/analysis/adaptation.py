"""Adaptation to change: drop and recovery after the goal moves, scores of the local-change test.

A curve is (..., bins), each bin the mean return of some episodes. The first functions answer for
every switch of a panel that a whole phase follows, ``needed`` of them at least: (..., bins) to
(switches, ...). A NaN (a diverged run) in the bins that an answer needs makes the answer NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.panel import Panel, Unavailable

RECOVERED_FRACTION = 0.8
REGRET_EPISODES = 500  # of a phase that count as being after its switch
# means over resampled runs round differently from the mean over all runs
ROUNDING = 1e-9


def phases(panel: Panel, needed: int = 1) -> tuple[list[int], int]:
    """The switches that a whole phase follows, and the bins of a phase."""
    if panel.switch_every is None:
        raise Unavailable("the goal never moves")
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


def _after(panel: Panel, curve: np.ndarray, needed: int) -> np.ndarray:
    """The bins of the phase after each switch: (switches, ..., bins of a phase)."""
    switches, length = phases(panel, needed)
    curve = np.asarray(curve, float)
    return np.stack([finite_or_nan(curve[..., start : start + length]) for start in switches])


def lowest_bins(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The lowest bin after each switch."""
    return _after(panel, curve, needed).min(axis=-1)


def cross_fitted_lows(panel: Panel, curves: np.ndarray, needed: int = 1) -> np.ndarray:
    """What runs (n, bins) earn where others are lowest after each switch: (switches, n).

    The lowest of noisy bins lies too low, and runs that pick it are too sure of it. So the bin in
    which one half of the runs is lowest on average tells where the other half is measured, and
    intervals are widened a little (``CROSS_FIT_WIDENING``).
    """
    return np.stack([_crossed(phase) for phase in _after(panel, curves, needed)])


def _crossed(phase: np.ndarray) -> np.ndarray:
    if phase.shape[0] < 2:
        return phase.min(axis=-1)
    found = np.empty(phase.shape[0])
    for half in (0, 1):  # every other run
        others = phase[1 - half :: 2].mean(axis=0)
        found[half::2] = phase[half::2, others.argmin()]
    return found


def drops(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """Depth of the lowest bin after each switch below the level before it.

    The level is the mean of the last fifth of the phase before, at least one bin. Negative if every
    bin after the switch is above that level.
    """
    return _levels_before(panel, curve, needed) - lowest_bins(panel, curve, needed)


def cross_fitted_drops(panel: Panel, curves: np.ndarray, needed: int = 1) -> np.ndarray:
    """The level of runs before each switch minus what they earn where others are lowest."""
    low = lowest_bins(panel, curves, needed)
    return drops(panel, curves, needed) + low - cross_fitted_lows(panel, curves, needed)


def _levels_before(panel: Panel, curve: np.ndarray, needed: int) -> np.ndarray:
    switches, length = phases(panel, needed)
    before, known = max(1, length // 5), finite_or_nan(curve)
    return np.stack([known[..., start - before : start].mean(axis=-1) for start in switches])


def regrets(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The return lost against the optimum after each switch.

    That is the area between optimum and curve over the first ``REGRET_EPISODES`` of a phase. Long
    phases are not counted to their end: there it is no longer the switch that costs.
    """
    first = _after(panel, curve, needed)[..., : max(1, REGRET_EPISODES // panel.bin)]
    return (panel.optimum - first).sum(axis=-1) * panel.bin


def first_bins(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The first bin, or look, after each switch."""
    if panel.points is not None and panel.phases is not None:
        first = np.flatnonzero(np.diff(panel.phases) > 0) + 1
        if first.size < needed:
            raise Unavailable(f"looks right after a switch: {first.size} of {needed}")
        return np.moveaxis(finite_or_nan(np.asarray(curve)[..., first]), -1, 0)
    return _after(panel, curve, needed)[..., 0]


def recovery_times(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """Episodes until most of the way from the lowest bin to the end of the phase is made up.

    The end of the phase is its last fifth. Only bins from the lowest one on count, and that bin
    itself if the curve goes nowhere from there.
    """
    phase = _after(panel, curve, needed)
    bins = phase.shape[-1]
    level = phase[..., -max(1, bins // 5) :].mean(axis=-1)
    deepest = phase.min(axis=-1)
    wanted = deepest + RECOVERED_FRACTION * np.maximum(level - deepest, 0.0)
    slack = ROUNDING * np.maximum(1.0, np.abs(wanted))
    late = np.arange(bins) >= phase.argmin(axis=-1)[..., None]
    reached = late & (phase >= (wanted - slack)[..., None])
    episodes = (reached.argmax(axis=-1) + 1) * float(panel.bin)
    return np.where(np.isnan(phase).any(axis=-1), np.nan, episodes)


BEFORE, LOCAL, AFTER = 0, 1, 2  # the phases
LAST = 20  # looks at the end of a phase that count
ADAPTIVE, NOT_ADAPTIVE, UNDECIDED = "adaptive", "not adaptive", "undecided"
LEARNED_WELL, LEARNED = 0.93, 0.90  # of the optimum, in the first phase
ADAPTED, NOT_ADAPTED = 0.80, 0.30  # of the way from the outdated policy to the new optimum


@dataclass(frozen=True, eq=False)
class Score:
    """What came of the runs, one number per run: mean returns at the end of each phase.

    ``first`` (runs,) is the share of the optimum reached before the change; ``adaptation`` (runs,)
    how far the policy has come from the outdated one, 0, to the new optimum, 1, after the phase in
    which the change could be seen in one corner only.
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


def is_adaptation_test(panel: Panel) -> bool:
    """Whether the curves of a panel are of such a test."""
    outdated = any(level.name == "outdated policy" for level in panel.levels)
    return outdated and panel.phases is not None and int(panel.phases.max()) == AFTER


def score_adaptation(panel: Panel, curves: np.ndarray) -> Score:
    """Score the curves (runs, M) of a panel."""
    if not is_adaptation_test(panel) or panel.phases is None:
        raise Unavailable("the greedy policy was not looked at through a local change")
    phases = panel.phases

    def end_of(phase: int) -> np.ndarray:
        return curves[:, np.flatnonzero(phases == phase)[-LAST:]].mean(axis=1)

    ends = end_of(BEFORE), end_of(LOCAL), end_of(AFTER)
    before, after, outdated = reference_returns(panel).values()
    gain = (ends[LOCAL] - outdated) / (after - outdated)
    return Score(ends, ends[BEFORE] / before, gain)


def reference_returns(panel: Panel) -> dict[str, float]:
    """What the optimum is worth before the change and after it, and the first optimum after it."""
    optima = [level.height for level in panel.levels if level.name == "optimum"]
    outdated = next(level.height for level in panel.levels if level.name == "outdated policy")
    return {"before": optima[0], "after": optima[1], "outdated": outdated}


def adaptation_verdict(learned: float, adapted: float) -> tuple[str, str]:
    """The verdict on mean scores, and why it is undecided where it is.

    >>> verdict(0.98, 0.95)
    ('adaptive', '')
    """
    if not (math.isfinite(learned) and math.isfinite(adapted)):
        return UNDECIDED, "a run diverged"
    if learned >= LEARNED_WELL and adapted >= ADAPTED:
        return ADAPTIVE, ""
    if learned >= LEARNED and adapted <= NOT_ADAPTED:
        return NOT_ADAPTIVE, ""
    if learned < LEARNED or (learned < LEARNED_WELL and adapted >= ADAPTED):
        return UNDECIDED, "the first phase was not learned well enough"
    return UNDECIDED, "it has adapted in part"
