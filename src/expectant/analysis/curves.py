"""Learning curves and intervals on plain arrays (NumPy only)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.formatting import short_repr


class Interval(NamedTuple):
    """A mean and its percentile-bootstrap interval."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __repr__(self) -> str:
        return short_repr(self)


def learning_curve(returns: np.ndarray, bin: int = 1) -> np.ndarray:
    """Average over bins of episodes: (runs, episodes) to (runs, bins); keeps a short last bin."""
    returns = np.asarray(returns, float)
    if returns.ndim != 2:
        raise ValueError(f"learning_curve: returns must be (runs, episodes), got {returns.shape}")
    if bin < 1:
        raise ValueError(f"learning_curve: bin must be a whole number, 1 or more, got {bin!r}")
    starts = np.arange(0, returns.shape[1], bin)
    sizes = np.diff(np.append(starts, returns.shape[1]))
    return np.add.reduceat(returns, starts, axis=1) / sizes


def finite_or_nan(values: np.ndarray) -> np.ndarray:
    """Replace infinite values, which mark a diverged run like NaN does, by NaN."""
    values = np.asarray(values, float)
    return np.where(np.isfinite(values), values, np.nan)


def interval(
    samples: np.ndarray,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    rng: np.random.Generator | None = None,
) -> Interval:
    """Percentile-bootstrap interval of the mean over the first axis (the runs).

    All columns share the resamples, by default from a fixed seed. A column with a diverged run
    (NaN) is NaN.
    """
    samples = np.asarray(samples, float)
    if samples.ndim == 0 or samples.shape[0] == 0:
        raise ValueError(f"interval: samples must have at least one run, got {samples.shape}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"interval: level must be between 0 and 1, got {level!r}")
    runs, rng = samples.shape[0], rng or np.random.Generator(np.random.PCG64(0))
    weights = rng.multinomial(runs, np.full(runs, 1.0 / runs), size=resamples) / runs
    means = np.tensordot(weights, samples, axes=1)
    tail = 50.0 * (1.0 - level)
    with np.errstate(invalid="ignore"):
        low, high = np.percentile(means, [tail, 100.0 - tail], axis=0)
    return Interval(samples.mean(axis=0), low, high)
