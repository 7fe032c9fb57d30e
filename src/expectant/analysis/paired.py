"""Runs compared in pairs: how large a difference is, and whether it is more than chance.

Run r of both sides has the same seed. A diverged run (NaN) is worse than every one that has not
diverged, and as bad as another that has.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan


class PairedDifference(NamedTuple):
    """The ``mean`` of the differences with its interval, and the ``chance`` (p-value) of one as
    large if there were none; in how many runs the first side was ``above`` and ``below``.

    With a diverged run there is no mean: it and its interval are NaN.
    """

    mean: float
    low: float
    high: float
    chance: float
    above: int
    below: int


def paired_difference(
    first: np.ndarray, second: np.ndarray, *, level: float = 0.95
) -> PairedDifference:
    """``first`` minus ``second``, each one number per run: a paired t-test and its interval.

    With a diverged run it is a sign test: in how many runs is one above the other? From a single
    run nothing can be told. Both tests are two-sided.
    """
    first, second = finite_or_nan(first), finite_or_nan(second)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise ValueError(
            "paired_difference: first and second must be (runs,) of the same runs, "
            f"got {first.shape} and {second.shape}"
        )
    if not 0.0 < level < 1.0:
        raise ValueError(f"paired_difference: level must be between 0 and 1, got {level!r}")
    worst = [np.where(np.isnan(side), -np.inf, side) for side in (first, second)]
    above, below = int((worst[0] > worst[1]).sum()), int((worst[0] < worst[1]).sum())
    differences = first - second
    if np.isnan(differences).any():
        chance, unknown = _sign_chance(above, below), math.nan
        return PairedDifference(unknown, unknown, unknown, chance, above, below)
    low, high, chance = _student(differences, level)
    return PairedDifference(float(differences.mean()), low, high, chance, above, below)


def holm_adjusted(chances: np.ndarray) -> np.ndarray:
    """p-values corrected for being many (Holm 1979): one at most α is significant at α.

    >>> holm_adjusted(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    chances = np.asarray(chances, float)
    order = np.argsort(chances, kind="stable")
    raised = chances[order] * np.arange(chances.size, 0, -1)
    adjusted = np.empty(chances.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted


def _student(differences: np.ndarray, level: float) -> tuple[float, float, float]:
    """(low, high, chance) by Student's t."""
    from scipy.special import stdtr, stdtrit

    runs, mean = differences.size, float(differences.mean())
    if runs == 1:
        return math.nan, math.nan, 1.0
    error = float(differences.std(ddof=1)) / math.sqrt(runs)
    if error == 0.0:
        return mean, mean, 1.0 if mean == 0.0 else 0.0
    half = float(stdtrit(runs - 1, (1.0 + level) / 2.0)) * error
    return mean - half, mean + half, float(2.0 * stdtr(runs - 1, -abs(mean) / error))


def _sign_chance(above: int, below: int) -> float:
    """The chance of counts at least as uneven, from tosses of a fair coin."""
    from scipy.special import bdtr

    return min(1.0, float(2.0 * bdtr(min(above, below), above + below, 0.5)))
