"""Choosing among settings by their runs: the best, those no worse, and what each setting matters.

Numbers of runs are (settings, runs), NaN where a run diverged; run r of every setting has the same
seed. A setting of which a run diverged has no mean, and is never the best of others that have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval
from expectant.analysis.verdicts import holm_correction

LEVEL = 0.05  # the chance that any setting at all is called worse by mistake
FEWEST_TO_SPLIT = 4  # runs: halves of one run would have no interval
CHUNK = 1000  # settings whose resamples are held at a time

Columns = Mapping[str, Sequence[Any]]  # the value of every setting, by name


class Response(NamedTuple):
    """What one value of a setting is worth, as positions among all settings.

    ``envelope`` has it with the others at their best, ``slice`` with the others as in the best
    setting (None if that was not tried).
    """

    value: Any
    envelope: int
    slice: int | None


class BestGrid(NamedTuple):
    """Two settings: their values, and for every pair (first, second) the position of the best with
    them, -1 where none was tried."""

    first: list[Any]
    second: list[Any]
    best: np.ndarray


def trial_means(values: np.ndarray) -> np.ndarray:
    """Means over runs: (settings, runs) to (settings,), NaN where a run diverged."""
    return finite_or_nan(values).mean(axis=1)


def trial_intervals(values: np.ndarray) -> np.ndarray:
    """Bootstrap intervals of the means, (settings, 2); NaN with a diverged run, or one run only."""
    values = finite_or_nan(values)
    found = np.full((values.shape[0], 2), np.nan)
    known = np.flatnonzero(~np.isnan(values).any(axis=1))
    if values.shape[1] < 2:
        return found
    for start in range(0, known.size, CHUNK):
        some = known[start : start + CHUNK]
        found[some] = np.stack(interval(values[some].T)[1:], axis=1)
    return found


def best_index(means: np.ndarray) -> int:
    """The position of the largest mean, of equal ones the first; NaN only if there is nothing else.

    >>> best_index(np.array([1.0, np.nan, 3.0]))
    2
    """
    if len(means) == 0:
        raise ValueError("best_index: means must have at least one, got none")
    return int(np.argmax(np.where(np.isfinite(means), means, -np.inf)))


def split_runs(runs: int) -> tuple[slice, slice]:
    """Runs to choose by and runs to report: the first half and the second, or twice all of them.

    >>> split_runs(5)
    (slice(0, 3, None), slice(3, 5, None))
    """
    if runs < FEWEST_TO_SPLIT:
        return slice(0, runs), slice(0, runs)
    middle = (runs + 1) // 2
    return slice(0, middle), slice(middle, runs)


def is_no_worse(values: np.ndarray, best: int, level: float = LEVEL) -> np.ndarray:
    """Which settings (settings,) are not shown to be worse than the best one.

    A one-sided paired t-test of every other setting, with Holm's correction, so that the chance of
    calling any worse by mistake is at most ``level``. One of which a run diverged is worse. From a
    single run nothing can be told.
    """
    values = finite_or_nan(values)
    found = ~np.isnan(values).any(axis=1)
    others = found.copy()
    others[best] = False
    if values.shape[1] > 1 and others.any():
        found[others] = holm_correction(_chances(values[best] - values[others])) > level
    return found


def _chances(differences: np.ndarray) -> np.ndarray:
    """p-values (settings,) of differences (settings, runs) with mean above 0."""
    from scipy.special import stdtr

    runs = differences.shape[1]
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / np.sqrt(runs)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(mean == 0.0, 0.0, mean / error)
    return np.asarray(stdtr(runs - 1, -statistic))


def responses(columns: Columns, means: np.ndarray, name: str, best: int) -> list[Response]:
    """What every value of one setting is worth, in the order of the values."""
    others = [column for key, column in columns.items() if key != name]
    found = []
    for value, places in group_by_value(columns[name]):
        alike = [p for p in places if all(each[p] == each[best] for each in others)]
        found.append(Response(value, _pick_among(means, places), alike[0] if alike else None))
    return found


def best_grid(columns: Columns, means: np.ndarray, first: str, second: str) -> BestGrid:
    """The best of every pair of values of two settings."""
    rows, stacks = group_by_value(columns[first]), group_by_value(columns[second])
    best = np.full((len(rows), len(stacks)), -1)
    for column, (_, places) in enumerate(stacks):
        wanted = set(places)
        for row, (_, others) in enumerate(rows):
            both = [place for place in others if place in wanted]
            if both:
                best[row, column] = _pick_among(means, both)
    return BestGrid([value for value, _ in rows], [value for value, _ in stacks], best)


def group_by_value(column: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """The different values of a setting in their order, each with the positions that have it."""
    places: dict[Any, list[int]] = {}
    for place, value in enumerate(column):
        places.setdefault(value, []).append(place)
    return sorted(places.items(), key=lambda item: _order(item[0]))


def envelope_range(means: np.ndarray, found: Sequence[Response]) -> float:
    """How much a setting matters: the range of its envelope; 0 where it cannot be told."""
    known = means[[response.envelope for response in found]]
    known = known[~np.isnan(known)]
    return float(known.max() - known.min()) if known.size else 0.0


def _pick_among(means: np.ndarray, places: Sequence[int]) -> int:
    return places[best_index(means[list(places)])]


def _order(value: Any) -> tuple[int, Any]:
    """Numbers by size, then words, then what a cell has not."""
    if value is None:
        return 2, ""
    return (1, value) if isinstance(value, str) else (0, value)
