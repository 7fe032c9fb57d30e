"""Differences between samples of runs, with bootstrap intervals and three-way outcomes.

``bootstrap`` and ``difference`` make an ``Estimate`` from runs; ``greater``, ``within`` and
``all_of`` make a ``Decision`` from estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan, resampling_weights
from expectant.rules import whole

Outcome = Literal["holds", "does not hold", "undecided"]
HOLDS: Outcome = "holds"
FAILS: Outcome = "does not hold"
UNDECIDED: Outcome = "undecided"

LEVEL = 0.95
RESAMPLES = 2000
CHUNK = 250  # resampled curves held at a time, to keep long curves within the processor's cache


class Unavailable(Exception):
    """The data lacks something that a statistic needs, so nothing can be decided."""


class Estimate(NamedTuple):
    """A statistic and its interval; all NaN where a diverged run takes part in it."""

    statistic: float
    low: float
    high: float


class Decision(NamedTuple):
    """What an estimate says about a statement, and by how much.

    ``room`` is the distance from the statistic to the boundary of the statement, in widths of the
    interval: the larger, the better for the statement.
    """

    outcome: Outcome
    estimate: Estimate
    room: float
    label: str = ""

    @property
    def described(self) -> str:
        """The estimate in words."""
        shown = ["unknown" if math.isnan(x) else f"{x:.4g}" for x in self.estimate]
        spread = "" if shown[1] == shown[2] else f", interval {shown[1]} to {shown[2]}"
        return f"{self.label} is {shown[0]}{spread}"


def bootstrap(
    statistic: Callable[..., np.ndarray],
    samples: Sequence[np.ndarray],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Percentile-bootstrap interval of a statistic of mean curves, one curve per sample.

    Every sample is (runs, ...), and run r of all of them shares a seed, so each resample takes the
    same runs from each. ``statistic`` gets the means over the runs, (n, ...) for n resamples at
    once, and returns (n,). Without ``rng`` the resamples come from a fixed seed. A single run has
    nothing to resample: its interval is NaN.
    """
    whole(1).check("bootstrap", "resamples", resamples)
    known = equal_runs([_known(sample) for sample in samples])
    observed = float(_values(statistic, [sample.mean(axis=0)[None] for sample in known])[0])
    weights = resampling_weights(known[0].shape[0], resamples, rng)
    chunks = (weights[start : start + CHUNK] for start in range(0, resamples, CHUNK))
    values = [
        _values(statistic, [np.tensordot(chunk, sample, axes=1) for sample in known])
        for chunk in chunks
    ]
    return _estimate(observed, np.concatenate(values), known[0].shape[0], level)


def difference(
    first: np.ndarray,
    second: np.ndarray,
    *,
    paired: bool = True,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Mean of ``first`` minus mean of ``second``, each one number per run.

    Paired runs (the same seeds) are resampled together; otherwise the two samples are resampled
    one by one and may differ in size.
    """
    whole(1).check("difference", "resamples", resamples)
    for name, sample in (("first", first), ("second", second)):
        if np.ndim(sample) != 1:
            raise ValueError(f"difference: {name} must be (runs,), got {np.shape(sample)}")
    if paired:
        pair = [np.asarray(first), np.asarray(second)]
        return bootstrap(np.subtract, pair, level=level, resamples=resamples, rng=rng)
    rng = rng or np.random.Generator(np.random.PCG64(0))
    known = [_known(sample) for sample in (first, second)]
    means = [resampling_weights(sample.size, resamples, rng) @ sample for sample in known]
    observed = float(known[0].mean() - known[1].mean())
    return _estimate(observed, means[0] - means[1], min(sample.size for sample in known), level)


def greater(estimate: Estimate, margin: float = 0.0, label: str = "") -> Decision:
    """Whether the statistic is greater than ``margin``.

    Holds if the whole interval lies above the margin, does not hold if none of it does. So an
    interval that is the margin itself says *does not hold*: no resample showed anything greater.
    """
    outcome = UNDECIDED
    if estimate.low > margin:
        outcome = HOLDS
    elif estimate.high <= margin:
        outcome = FAILS
    return Decision(outcome, estimate, _room(estimate.statistic - margin, estimate), label)


def within(estimate: Estimate, low: float, high: float, label: str = "") -> Decision:
    """Whether the statistic lies from ``low`` to ``high``.

    Holds if the whole interval does (the ends included), does not hold if none of it does.
    """
    outcome = UNDECIDED
    if low <= estimate.low and estimate.high <= high:
        outcome = HOLDS
    elif estimate.high < low or estimate.low > high:
        outcome = FAILS
    slack = min(estimate.statistic - low, high - estimate.statistic)
    return Decision(outcome, estimate, _room(slack, estimate), label)


def all_of(decisions: Sequence[Decision]) -> Decision:
    """The least favourable of some decisions, which is also the outcome of all of them together.

    One that does not hold comes before an undecided one, and that before one that holds; among
    equals the one with the least room is taken, a NaN first of all.
    """
    if not decisions:
        raise ValueError("all_of: decisions must not be empty")
    order = [FAILS, UNDECIDED, HOLDS]
    return min(decisions, key=lambda decision: (order.index(decision.outcome), decision.room))


def equal_runs(curves: list[np.ndarray]) -> list[np.ndarray]:
    """The same samples, if they are of as many runs."""
    if len({curve.shape[0] for curve in curves}) != 1:
        shapes = [curve.shape for curve in curves]
        raise ValueError(f"bootstrap: samples must have the same number of runs, got {shapes}")
    return curves


def _known(sample: np.ndarray) -> np.ndarray:
    sample = finite_or_nan(sample)
    if sample.ndim == 0 or sample.shape[0] == 0:
        raise ValueError(f"bootstrap: samples must have at least one run, got {sample.shape}")
    return sample


def _values(statistic: Callable[..., np.ndarray], means: list[np.ndarray]) -> np.ndarray:
    values = np.asarray(statistic(*means), float)
    if values.shape != means[0].shape[:1]:
        raise ValueError(
            "bootstrap: statistic must return one number for each leading entry, "
            f"{means[0].shape[:1]}, got {values.shape}"
        )
    return values


def _estimate(observed: float, values: np.ndarray, runs: int, level: float) -> Estimate:
    if not 0.0 < level < 1.0:
        raise ValueError(f"bootstrap: level must be between 0 and 1, got {level!r}")
    # one run would give an interval of no width, which is not certainty
    if runs == 1 or np.isnan(values).any():
        return Estimate(observed, math.nan, math.nan)
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(values, [tail, 100.0 - tail])
    return Estimate(observed, float(low), float(high))


def _room(slack: float, estimate: Estimate) -> float:
    if math.isnan(slack) or math.isnan(estimate.low) or math.isnan(estimate.high):
        return -math.inf
    width = estimate.high - estimate.low
    if width > 0.0:
        return slack / width
    return math.copysign(math.inf, slack) if slack else 0.0
