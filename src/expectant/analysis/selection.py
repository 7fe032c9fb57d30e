"""Selection among the trials of a sweep: the best, those not worse, and the effect of parameters.

Values are (trials, runs), NaN if a run diverged; run r of every trial has the same seed. The mean
of a trial with a diverged run is NaN, and such a trial is chosen only if there is no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval
from expectant.analysis.verdicts import holm_correction

LEVEL = 0.05  # family-wise error rate of ``is_no_worse``
FEWEST_TO_SPLIT = 4  # runs: a half of one run has no interval
CHUNK = 1000  # trials that are resampled at a time, to bound memory

Columns = Mapping[str, Sequence[Any]]  # values of every parameter, one per trial


class Response(NamedTuple):
    """Two trials with a ``value`` of a parameter, as indices.

    ``envelope`` is the best trial with that value, ``slice`` the one that otherwise equals the best
    of all trials (None if there is none).
    """

    value: Any
    envelope: int
    slice: int | None


class BestGrid(NamedTuple):
    """Values of two parameters, and the index of the best trial of every pair, −1 if none."""

    first: list[Any]
    second: list[Any]
    best: np.ndarray


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


def is_no_worse(values: np.ndarray, best: int, level: float = LEVEL) -> np.ndarray:
    """True (trials,) for trials that are not significantly worse than the best one.

    One-sided paired t-tests with Holm's correction: the probability of calling any trial worse by
    mistake is at most ``level``. A trial with a diverged run is worse.
    """
    values = finite_or_nan(values)
    no_worse = ~np.isnan(values).any(axis=1)
    others = no_worse.copy()
    others[best] = False
    if values.shape[1] > 1 and others.any():
        no_worse[others] = holm_correction(_p_values(values[best] - values[others])) > level
    return no_worse


def _p_values(differences: np.ndarray) -> np.ndarray:
    """One-sided p-values (trials,) of differences (trials, runs) with mean above 0."""
    from scipy.special import stdtr

    runs = differences.shape[1]
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / np.sqrt(runs)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(mean == 0.0, 0.0, mean / error)
    return np.asarray(stdtr(runs - 1, -statistic))


def responses(columns: Columns, means: np.ndarray, name: str, best: int) -> list[Response]:
    """The responses to all values of one parameter, in the order of the values."""
    others = [column for key, column in columns.items() if key != name]
    rows = []
    for value, trials in group_by_value(columns[name]):
        equal = [t for t in trials if all(column[t] == column[best] for column in others)]
        rows.append(Response(value, _best_among(means, trials), equal[0] if equal else None))
    return rows


def best_grid(columns: Columns, means: np.ndarray, first: str, second: str) -> BestGrid:
    """The best trial of every pair of values of two parameters."""
    rows, stacks = group_by_value(columns[first]), group_by_value(columns[second])
    best = np.full((len(rows), len(stacks)), -1)
    for column, (_, trials) in enumerate(stacks):
        in_column = set(trials)
        for row, (_, candidates) in enumerate(rows):
            both = [trial for trial in candidates if trial in in_column]
            if both:
                best[row, column] = _best_among(means, both)
    return BestGrid([value for value, _ in rows], [value for value, _ in stacks], best)


def group_by_value(column: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """The distinct values of a parameter, sorted, each with the indices of its trials.

    Numbers come first, then strings, then None.
    """
    trials: dict[Any, list[int]] = {}
    for trial, value in enumerate(column):
        trials.setdefault(value, []).append(trial)

    def order(item: tuple[Any, list[int]]) -> tuple[int, Any]:
        value = item[0]
        return (2, "") if value is None else (int(isinstance(value, str)), value)

    return sorted(trials.items(), key=order)


def envelope_range(means: np.ndarray, rows: Sequence[Response]) -> float:
    """The range of a parameter's envelope, as its importance; 0 if all means are NaN."""
    envelope = means[[response.envelope for response in rows]]
    envelope = envelope[~np.isnan(envelope)]
    return float(envelope.max() - envelope.min()) if envelope.size else 0.0


def _best_among(means: np.ndarray, trials: Sequence[int]) -> int:
    return trials[best_index(means[list(trials)])]
