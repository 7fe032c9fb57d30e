"""Differences between samples of runs, with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan, resampling_weights
from expectant.rules import whole

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
