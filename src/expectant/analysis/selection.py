"""Selection among the trials of a sweep: the best, and the best for every value.

Values are (trials, runs), NaN if a run diverged; run r of every trial has the same seed. The mean
of a trial with a diverged run is NaN, and such a trial is chosen only if there is no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval

FEWEST_TO_SPLIT = 4  # runs: a half of one run has no interval
CHUNK = 1000  # trials that are resampled at a time, to bound memory


def trial_means(values: np.ndarray) -> np.ndarray:
    """Means over runs: (trials, runs) to (trials,), NaN if a run diverged."""
    return finite_or_nan(values).mean(axis=1)


def trial_intervals(values: np.ndarray) -> np.ndarray:
    """Bootstrap intervals of the means, (trials, 2); NaN with a diverged run or a single run."""
    values = finite_or_nan(values)
    intervals = np.full((values.shape[0], 2), np.nan)
    finite = np.flatnonzero(~np.isnan(values).any(axis=1))
    if values.shape[1] < 2:
        return intervals
    for start in range(0, finite.size, CHUNK):
        chunk = finite[start : start + CHUNK]
        intervals[chunk] = np.stack(interval(values[chunk].T)[1:], axis=1)
    return intervals


def best_index(means: np.ndarray) -> int:
    """The index of the largest mean, the first of equal ones; of a NaN only if all are.

    >>> best_index(np.array([1.0, np.nan, 3.0]))
    2
    """
    if len(means) == 0:
        raise ValueError("best_index: means must have at least one, got none")
    return int(np.argmax(np.where(np.isfinite(means), means, -np.inf)))


def split_runs(runs: int) -> tuple[slice, slice]:
    """Runs for selection and runs to report: the two halves, or all runs twice if they are few.

    >>> split_runs(5)
    (slice(0, 3, None), slice(3, 5, None))
    """
    if runs < FEWEST_TO_SPLIT:
        return slice(0, runs), slice(0, runs)
    middle = (runs + 1) // 2
    return slice(0, middle), slice(middle, runs)


def best_by_value(column: Sequence[Any], means: np.ndarray) -> list[tuple[Any, int]]:
    """The distinct values of a parameter, sorted, each with the index of its best trial.

    Numbers come first, then strings, then None.
    """
    trials: dict[Any, list[int]] = {}
    for trial, value in enumerate(column):
        trials.setdefault(value, []).append(trial)

    def order(value: Any) -> tuple[int, Any]:
        return (2, "") if value is None else (int(isinstance(value, str)), value)

    return [(v, trials[v][best_index(means[trials[v]])]) for v in sorted(trials, key=order)]
