"""How deep a learning curve falls when the goal moves, and how long it takes to come back.

A curve is (..., bins), each bin the mean return of ``bin`` episodes. ``switch`` is the first bin
after the goal moved, ``phase_bins`` the length of a phase. Given (runs, bins) the functions answer
for each run; given the mean over runs, or through ``pooled_drop`` and ``pooled_recovery``, for the
runs together. A NaN (a diverged run) in the bins that an answer needs makes the answer NaN.

``drops``, ``regrets``, ``lowests``, ``entries`` and ``own_recoveries`` answer for every switch of a
panel at once.
"""

from __future__ import annotations

import numpy as np

from expectant.analysis.comparison import (
    LEVEL,
    RESAMPLES,
    Estimate,
    Unavailable,
    bootstrap,
)
from expectant.analysis.curves import finite_or_nan
from expectant.analysis.panel import Panel
from expectant.rules import between, number, whole

RECOVERED_FRACTION = 0.8
REGRET_EPISODES = 500  # of a phase that count as being after its switch
# means over resampled runs round differently from the mean over all runs
ROUNDING = 1e-9


def lowest(curve: np.ndarray, switch: int, phase_bins: int) -> np.ndarray:
    """The lowest bin of the phase that starts at ``switch``."""
    return _phase("lowest", curve, switch, phase_bins).min(axis=-1)


def drop(curve: np.ndarray, switch: int, phase_bins: int, before: int | None = None) -> np.ndarray:
    """Depth of the lowest bin after the switch below the level before it.

    The level is the mean of the last ``before`` bins of the phase before (a fifth of the phase if
    not given, at least one bin). Negative if every bin after the switch is above that level.
    """
    before = max(1, phase_bins // 5) if before is None else before
    whole(1).check("drop", "before", before)
    after = _phase("drop", curve, switch, phase_bins)
    if before > min(switch, phase_bins):
        raise ValueError(
            f"drop: before must be within the phase before the switch, at most "
            f"{min(switch, phase_bins)} bins, got {before}"
        )
    level = finite_or_nan(np.asarray(curve)[..., switch - before : switch])
    return level.mean(axis=-1) - after.min(axis=-1)


def recovery(
    curve: np.ndarray, switch: int, phase_bins: int, bin: int, threshold: float
) -> np.ndarray:
    """Episodes from the switch to the end of the first bin at or above ``threshold``.

    A curve that does not get there in the phase counts as the whole phase, the least it can have
    taken; ``censored`` tells which.
    """
    whole(1).check("recovery", "bin", bin)
    phase = _phase("recovery", curve, switch, phase_bins)
    reached = _reached("recovery", phase, threshold)
    bins = np.where(reached.any(axis=-1), reached.argmax(axis=-1) + 1, phase_bins)
    return np.where(np.isnan(phase).any(axis=-1), np.nan, bins * float(bin))[()]


def censored(curve: np.ndarray, switch: int, phase_bins: int, threshold: float) -> np.ndarray:
    """Whether the curve stays below ``threshold`` for the whole phase; False if a bin is NaN."""
    phase = _phase("censored", curve, switch, phase_bins)
    reached = _reached("censored", phase, threshold)
    return ~(reached.any(axis=-1) | np.isnan(phase).any(axis=-1))


def recovery_threshold(optimum: float, fraction: float = RECOVERED_FRACTION) -> float:
    """The return that counts as recovered: ``optimum − (1 − fraction) · |optimum|``.

    For a positive optimum that is ``fraction`` of it. Taking the shortfall from the optimum's size
    puts the threshold below a negative optimum too, by as much as for a positive one; an optimum of
    zero must be reached in full.
    """
    optimum = number().check("recovery_threshold", "optimum", optimum)
    fraction = between(0, 1).check("recovery_threshold", "fraction", fraction)
    return optimum - (1.0 - fraction) * abs(optimum)


def pooled_drop(
    curves: np.ndarray,
    switch: int,
    phase_bins: int,
    before: int | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """The drop of the mean curve over runs, with its bootstrap interval.

    The lowest of many noisy bins lies lower the noisier they are, and resampled means are noisier
    than the mean, so the interval of a shallow drop may lie above the drop itself. Differences of
    drops suffer less, since both sides are shifted.
    """
    return bootstrap(
        lambda mean: drop(mean, switch, phase_bins, before),
        [curves],
        level=level,
        resamples=resamples,
        rng=rng,
    )


def pooled_recovery(
    curves: np.ndarray,
    switch: int,
    phase_bins: int,
    bin: int,
    threshold: float,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """The recovery of the mean curve over runs, with its bootstrap interval."""
    return bootstrap(
        lambda mean: recovery(mean, switch, phase_bins, bin, threshold),
        [curves],
        level=level,
        resamples=resamples,
        rng=rng,
    )


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


def crossed_lowests(panel: Panel, curves: np.ndarray, needed: int = 1) -> np.ndarray:
    """What runs (n, bins) earn where others are lowest after each switch: (switches, n).

    The lowest of noisy bins lies too low, and runs that pick it are too sure of it. So the bin in
    which one half of the runs is lowest on average tells where the other half is measured, and
    intervals are widened a little (``judging.CROSSED``), since both may have picked the same.
    """
    switches, length = phases(panel, needed)
    return np.stack([_crossed(_phase("lowest", curves, start, length)) for start in switches])


def _crossed(phase: np.ndarray) -> np.ndarray:
    if phase.shape[0] < 2:
        return phase.min(axis=-1)
    found = np.empty(phase.shape[0])
    for half in (0, 1):  # every other run
        others = phase[1 - half :: 2].mean(axis=0)
        found[half::2] = phase[half::2, others.argmin()]
    return found


def crossed_drops(panel: Panel, curves: np.ndarray, needed: int = 1) -> np.ndarray:
    """The level of runs before each switch minus what they earn where others are lowest."""
    low = lowests(panel, curves, needed)
    return drops(panel, curves, needed) + low - crossed_lowests(panel, curves, needed)


def drops(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The drop at each switch of a panel: (..., bins) to (switches, ...)."""
    switches, length = phases(panel, needed)
    return np.stack([drop(curve, start, length) for start in switches])


def lowests(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The lowest bin after each switch of a panel: (..., bins) to (switches, ...)."""
    switches, length = phases(panel, needed)
    return np.stack([lowest(curve, start, length) for start in switches])


def regrets(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The return lost against the optimum after each switch: (..., bins) to (switches, ...).

    That is the area between optimum and curve over the first ``REGRET_EPISODES`` of a phase. Long
    phases are not counted to their end: there it is no longer the switch that costs.
    """
    switches, length = phases(panel, needed)
    bins = max(1, min(length, REGRET_EPISODES // panel.bin))
    return np.stack(
        [
            (panel.optimum - _phase("regret", curve, start, bins)).sum(axis=-1) * panel.bin
            for start in switches
        ]
    )


def entries(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """The first bin, or look, after each switch of a panel: (..., bins) to (switches, ...)."""
    if panel.points is not None and panel.phases is not None:
        first = np.flatnonzero(np.diff(panel.phases) > 0) + 1
        if first.size < needed:
            raise Unavailable(f"looks right after a switch: {first.size} of {needed}")
        return np.moveaxis(finite_or_nan(np.asarray(curve)[..., first]), -1, 0)
    switches, _ = phases(panel, needed)
    return np.stack([_phase("entry", curve, start, 1)[..., 0] for start in switches])


def own_recoveries(panel: Panel, curve: np.ndarray, needed: int = 1) -> np.ndarray:
    """Episodes until a curve is back at its own level after each switch, as ``own_recovery``."""
    switches, length = phases(panel, needed)
    return np.stack([own_recovery(curve, at, length, panel.bin) for at in switches])


def own_recovery(curve: np.ndarray, switch: int, phase_bins: int, bin: int) -> np.ndarray:
    """Episodes until most of the way from the lowest bin to the end of the phase is made up.

    The end of the phase is its last fifth. Only bins from the lowest one on count, and that bin
    itself if the curve goes nowhere from there.
    """
    phase = _phase("own_recovery", curve, switch, phase_bins)
    level = phase[..., -max(1, phase_bins // 5) :].mean(axis=-1)
    deepest = phase.min(axis=-1)
    wanted = deepest + RECOVERED_FRACTION * np.maximum(level - deepest, 0.0)
    slack = ROUNDING * np.maximum(1.0, np.abs(wanted))
    late = np.arange(phase_bins) >= phase.argmin(axis=-1)[..., None]
    reached = late & (phase >= (wanted - slack)[..., None])
    bins = (reached.argmax(axis=-1) + 1) * float(bin)
    return np.where(np.isnan(phase).any(axis=-1), np.nan, bins)[()]


def _phase(owner: str, curve: np.ndarray, switch: int, phase_bins: int) -> np.ndarray:
    """The bins of the phase that starts at ``switch``; half a phase would flatter the curve."""
    whole(1).check(owner, "switch", switch)
    whole(1).check(owner, "phase_bins", phase_bins)
    curve = np.asarray(curve, float)
    if curve.ndim == 0 or switch + phase_bins > curve.shape[-1]:
        raise ValueError(
            f"{owner}: the phase from bin {switch} to {switch + phase_bins} must lie within the "
            f"curve, got shape {curve.shape}"
        )
    return finite_or_nan(curve[..., switch : switch + phase_bins])


def _reached(owner: str, phase: np.ndarray, threshold: float) -> np.ndarray:
    threshold = number().check(owner, "threshold", threshold)
    return phase >= threshold - ROUNDING * max(1.0, abs(threshold))
