"""Verdicts from runs: paired differences, an effect with its interval, and a margin.

A *statement* is about one number. A claim may consist of several statements and holds if all do,
which needs no correction for multiple tests (intersection–union). "Does not hold" and "equal" are
decided with Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan


class PairedDifference(NamedTuple):
    """The ``mean`` difference with its interval and two-sided p-value.

    ``above`` and ``below`` count the runs in which the first side was above and below the second.
    With a diverged run, mean and interval are NaN.
    """

    mean: float
    low: float
    high: float
    p_value: float
    above: int
    below: int


def paired_difference(
    first: np.ndarray, second: np.ndarray, *, level: float = 0.95
) -> PairedDifference:
    """Compare ``first`` with ``second`` (runs,) by a paired t-test.

    If a run diverged, by a sign test that counts it as the worst. A single run has no interval.
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
        p_value = _sign_test(above, below)
        return PairedDifference(math.nan, math.nan, math.nan, p_value, above, below)
    low, high, p_value = _t_test(differences, level)
    return PairedDifference(float(differences.mean()), low, high, p_value, above, below)


def holm_correction(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values for multiple tests (Holm 1979).

    >>> holm_correction(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    p_values = np.asarray(p_values, float)
    order = np.argsort(p_values, kind="stable")
    raised = p_values[order] * np.arange(p_values.size, 0, -1)
    adjusted = np.empty(p_values.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted


def _t_test(differences: np.ndarray, level: float) -> tuple[float, float, float]:
    """(low, high, two-sided p-value) of the mean."""
    from scipy.special import stdtr, stdtrit

    runs, mean = differences.size, float(differences.mean())
    if runs == 1:
        return math.nan, math.nan, 1.0
    error = float(differences.std(ddof=1)) / math.sqrt(runs)
    if error == 0.0:
        return mean, mean, 1.0 if mean == 0.0 else 0.0
    half = float(stdtrit(runs - 1, (1.0 + level) / 2.0)) * error
    return mean - half, mean + half, float(2.0 * stdtr(runs - 1, -abs(mean) / error))


def _sign_test(above: int, below: int) -> float:
    """Two-sided p-value of the sign test."""
    from scipy.special import bdtr

    return min(1.0, float(2.0 * bdtr(min(above, below), above + below, 0.5)))


Outcome = Literal["holds", "equal", "does not hold", "unclear"]
HOLDS: Outcome = "holds"
EQUAL: Outcome = "equal"
FAILS: Outcome = "does not hold"
UNCLEAR: Outcome = "unclear"

LEVEL = 0.95
TAIL = (1.0 - LEVEL) / 2.0
SMALLER_TAILS = tuple(TAIL / 2**k for k in range(6))  # at which intervals are inverted to p-values
ROUNDING = 1e-9  # relative; sums in another order differ by less
RESAMPLES = 4000  # of bootstrapped t statistics
BETWEEN = 10  # points in a bin at which the band of a curve is computed

ABOVE, AT_LEAST, ABOUT = "above", "at least", "about"


class Statement(NamedTuple):
    """A number is above, at least or about a ``reference``.

    *Above*: x > reference + margin. *At least*: x ≥ reference − margin. *About*: |x − reference| ≤
    margin.
    """

    kind: str = ABOVE
    reference: float = 0.0
    margin: float = 0.0

    @property
    def slack(self) -> float:
        return ROUNDING * max(1.0, abs(self.reference) + self.margin)

    def is_satisfied_by(self, values: np.ndarray) -> np.ndarray:
        """True for values that satisfy the statement, without regard to uncertainty."""
        difference = np.asarray(values) - self.reference
        if self.kind == ABOVE:
            return difference > self.margin + self.slack
        if self.kind == AT_LEAST:
            return difference >= -self.margin - self.slack
        return np.abs(difference) <= self.margin + self.slack


class Finding(NamedTuple):
    """The evidence of runs on one statement: effect, interval and p-values.

    ``p_fails`` is small if the number is below reference − margin (*about*: outside the margin),
    ``p_equal`` if it is within the margin (*above* only), ``p_short`` if it is not above
    reference + margin (other kinds: as ``p_fails``), ``p_holds`` if the statement is true; 1 if not
    applicable. ``label`` names the number, ``unit`` its unit, ``runs`` how many it is from;
    ``level`` is that of the interval.
    ``median`` is that of the single runs' numbers and ``ahead`` the share of them above the
    reference, a tie counting half; NaN where runs have no number of their own.
    """

    statement: Statement
    effect: float
    low: float
    high: float
    p_fails: float
    p_equal: float
    label: str = ""
    p_short: float = 1.0
    unit: str = ""
    level: float = LEVEL
    p_holds: float = 1.0
    runs: int = 0
    median: float = math.nan
    ahead: float = math.nan

    @property
    def holds(self) -> bool:
        statement, low = self.statement, self.low - self.statement.reference
        high, bound = self.high - statement.reference, statement.margin + statement.slack
        if statement.kind == ABOVE:
            return low > bound
        if statement.kind == AT_LEAST:
            return low > -bound
        return low >= -bound and high <= bound

    def with_runs(self, values: np.ndarray) -> Finding:
        """The finding with the ``median`` and ``ahead`` of single runs' values."""
        above, slack = values - self.statement.reference, self.statement.slack
        ahead = (above > slack).mean() + (abs(above) <= slack).mean() / 2.0
        return self._replace(median=float(np.median(values)), ahead=float(ahead))

    @property
    def outcome(self) -> Outcome:
        """The verdict on this statement alone."""
        return verdict([self])[0]

    @property
    def clearance(self) -> float:
        """Distance of the effect from its bound, in interval widths; negative: outside."""
        statement, difference = self.statement, self.effect - self.statement.reference
        distance = {
            ABOVE: difference - statement.margin,
            AT_LEAST: difference + statement.margin,
            ABOUT: statement.margin - abs(difference),
        }[statement.kind]
        width = self.high - self.low
        if math.isnan(distance) or math.isnan(width):
            return -math.inf
        return distance / max(width, statement.slack)


def pseudo_values(
    statistic: Callable[..., np.ndarray], samples: Sequence[np.ndarray]
) -> np.ndarray:
    """Jackknife pseudo-values (runs,) of a statistic of mean curves.

    ``samples`` are (runs, ...) of paired runs; ``statistic`` maps their means, (n, ...) each, to
    (n,). For a linear statistic they are its values for the single runs.
    """
    runs = samples[0].shape[0]
    means = [sample.mean(axis=0) for sample in samples]
    whole = float(statistic(*(mean[None] for mean in means))[0])
    if runs == 1:
        return np.array([whole])
    without = [
        mean + (mean - sample) / (runs - 1) for mean, sample in zip(means, samples, strict=True)
    ]
    return runs * whole - (runs - 1) * statistic(*without)


def assess(
    values: np.ndarray,
    statement: Statement,
    label: str = "",
    effect: float | None = None,
    bias: tuple[float, float] = (0.0, 0.0),
    share: float = 1.0,
) -> Finding:
    """Assess a statement by values (runs,) with Student's t.

    ``effect`` is the estimate if it is not their mean. The number may lie below and above it by
    ``bias``, by which the ends of the interval move outward. A single run has no interval.
    ``share`` is that of the error rate which is spent at this look; p-values are divided by it.
    """
    from scipy.special import stdtr, stdtrit

    values = finite_or_nan(values)
    centre, runs = float(values.mean()), values.size
    effect = centre if effect is None else effect
    if runs < 2 or math.isnan(effect):
        return Finding(statement, effect, math.nan, math.nan, 1.0, 1.0, label, runs=runs)
    error = float(values.std(ddof=1)) / math.sqrt(runs)
    if error <= ROUNDING * max(1.0, abs(effect)):
        error = 0.0
    lowest, highest = effect - bias[0], effect + bias[1]

    def p_below(bound: float) -> float:
        """p-value for the number being below a bound."""
        difference = highest - bound
        if error == 0.0:
            return 0.0 if difference < -statement.slack else 1.0
        return min(1.0, float(stdtr(runs - 1, difference / error)) / share)

    def p_above(bound: float) -> float:
        difference = lowest - bound
        if error == 0.0:
            return 0.0 if difference > statement.slack else 1.0
        return min(1.0, float(stdtr(runs - 1, -difference / error)) / share)

    half = float(stdtrit(runs - 1, 1.0 - TAIL * share)) * error
    finding = _finding(statement, (effect, lowest - half, highest + half), p_below, p_above)
    if statement.kind == ABOVE and error == 0.0:
        inside = abs(effect - statement.reference) <= statement.margin + statement.slack
        finding = finding._replace(p_equal=float(not inside))
    finding = finding._replace(label=label, level=1.0 - 2.0 * TAIL * share, runs=runs)
    return finding.with_runs(values)


def assess_interval(
    effect: float,
    interval_at: Callable[[float], tuple[float, float]],
    statement: Statement,
    label: str = "",
    runs: int = 0,
    share: float = 1.0,
) -> Finding:
    """Assess a statement by confidence intervals, a function of the probability in each tail.

    A p-value is the smallest of :data:`SMALLER_TAILS` whose interval excludes the bound, else 1.
    ``share`` is that of the error rate which is spent at this look.
    """
    if runs < 2 or math.isnan(effect):
        return Finding(statement, effect, math.nan, math.nan, 1.0, 1.0, label, runs=runs)
    intervals = {tail: interval_at(tail * share) for tail in SMALLER_TAILS}

    def p_below(bound: float) -> float:
        return min((t for t, (_, high) in intervals.items() if high < bound), default=1.0)

    def p_above(bound: float) -> float:
        return min((t for t, (low, _) in intervals.items() if low > bound), default=1.0)

    finding = _finding(statement, (effect, *intervals[TAIL]), p_below, p_above)
    return finding._replace(label=label, level=1.0 - 2.0 * TAIL * share, runs=runs)


def _finding(
    statement: Statement,
    interval: tuple[float, float, float],
    p_below: Callable[[float], float],
    p_above: Callable[[float], float],
) -> Finding:
    """The finding with effect and interval, and p-values for being below or above a bound."""
    least = statement.reference - statement.margin
    most = statement.reference + statement.margin
    p_fails, p_equal = p_below(least), 1.0
    p_short, p_holds = p_fails, p_above(least)
    if statement.kind == ABOUT:
        p_holds = max(p_holds, p_below(most))
        p_short = p_fails = min(p_fails, p_above(most))
    elif statement.kind == ABOVE:
        p_short, p_holds = p_below(most), p_above(most)
        p_equal = max(p_above(least), p_short)
    return Finding(statement, *interval, p_fails, p_equal, p_short=p_short, p_holds=p_holds)


def assess_exact(number: float, statement: Statement, label: str = "") -> Finding:
    """Assess a statement by a number without uncertainty; NaN decides nothing."""
    if math.isnan(number):
        return Finding(statement, number, number, number, 1.0, 1.0, label)
    finding = assess(np.array([number, number]), statement, label)
    return finding._replace(runs=0, median=math.nan, ahead=math.nan)


# ------------------------------------------------------ intervals of numbers that are not smooth


def wilson_interval(share: float, runs: int, tail: float) -> tuple[float, float]:
    """Interval of a share of runs (Wilson 1927), which covers near 0 and 1 too."""
    from scipy.special import ndtri

    z2 = float(ndtri(tail)) ** 2 / runs
    centre = (share + z2 / 2.0) / (1.0 + z2)
    half = math.sqrt(z2 * (share * (1.0 - share) + z2 / 4.0)) / (1.0 + z2)
    return centre - half, centre + half


def bootstrap_t_interval(values: np.ndarray, tail: float) -> tuple[float, float]:
    """Interval of the mean of skewed values (runs,), from resampled t statistics (Efron 1979)."""
    runs, mean = values.size, float(values.mean())
    weights = subsample_weights(runs, runs, RESAMPLES)
    means = weights @ values
    errors = np.sqrt(np.maximum(weights @ values**2 - means**2, 0.0) / (runs - 1))
    statistics = (means - mean) / np.maximum(errors, ROUNDING * max(1.0, abs(mean)))
    lowest, highest = np.quantile(statistics, [tail, 1.0 - tail])
    error = float(values.std(ddof=1)) / math.sqrt(runs)
    return mean - highest * error, mean - lowest * error


def first_crossing(contrasts: np.ndarray) -> np.ndarray:
    """Positions, in bins, at which curves (..., bins) become positive; the last bin if never.

    Curves are straight between bins.

    >>> float(first_crossing(np.array([-2.0, -1.0, 3.0])))
    1.25
    """
    positive = contrasts > 0.0
    first = np.where(positive.any(axis=-1), positive.argmax(axis=-1), contrasts.shape[-1] - 1)
    pairs = np.stack([np.maximum(first - 1, 0), first], axis=-1)
    before, after = np.moveaxis(np.take_along_axis(contrasts, pairs, axis=-1), -1, 0)
    crosses = np.isfinite(before) & (before <= 0.0) & (after > 0.0)
    height = np.where(crosses, after - before, 1.0)
    return first - np.where(crosses, after / height, 0.0)


def crossing_interval(contrasts: np.ndarray, tail: float) -> tuple[float, float]:
    """Interval of the ``first_crossing`` of the mean of curves (runs, bins).

    Its ends are the crossings of the pointwise confidence band, as in Fieller's interval. A plateau
    just below zero, where some bins may seem positive by chance, is left too early.
    """
    from scipy.special import stdtrit

    runs = contrasts.shape[0]
    share = np.arange(BETWEEN) / BETWEEN
    between = contrasts[:, :-1, None] * (1.0 - share) + contrasts[:, 1:, None] * share
    fine = np.concatenate([between.reshape(runs, -1), contrasts[:, -1:]], axis=1)
    mean, error = fine.mean(axis=0), fine.std(axis=0, ddof=1) / math.sqrt(runs)
    half = -float(stdtrit(runs - 1, tail)) * error
    low, high = first_crossing(np.stack([mean + half, mean - half])) / BETWEEN
    return float(low), float(high)


def combine_intervals(
    estimates: np.ndarray,
    ends: np.ndarray,
    weights: np.ndarray,
    correlations: np.ndarray | None = None,
) -> tuple[float, float]:
    """Interval of a weighted sum from those of its terms, (terms, 2), by default independent ones.

    The distances to the ends add up like errors (MOVER, Zou and Donner 2008).
    """
    correlations = np.eye(weights.size) if correlations is None else correlations
    below, above = (estimates - ends[:, 0]) * weights, (ends[:, 1] - estimates) * weights
    downward = np.where(weights > 0.0, below, above)
    upward = np.where(weights > 0.0, above, below)
    total = float(weights @ estimates)
    low, high = (math.sqrt(max(d @ correlations @ d, 0.0)) for d in (downward, upward))
    return total - low, total + high


def verdict(findings: Sequence[Finding]) -> tuple[Outcome, Finding]:
    """The outcome of a claim with these findings, and the finding that decides it."""
    if not findings:
        raise ValueError("verdict: findings must not be empty")
    if all(finding.holds for finding in findings):
        return HOLDS, min(findings, key=lambda finding: finding.clearance)
    p_fails = holm_correction(np.array([finding.p_fails for finding in findings]))
    if p_fails.min() <= TAIL:
        return FAILS, findings[int(p_fails.argmin())]
    undecided = [finding for finding in findings if not finding.holds]
    p_equal = holm_correction(np.array([finding.p_equal for finding in undecided]))
    outcome = EQUAL if p_equal.max() <= TAIL else UNCLEAR
    return outcome, min(undecided, key=lambda finding: finding.clearance)


def p_value_of(outcome: Outcome, findings: Sequence[Finding]) -> float:
    """Two-sided p-value of the verdict on a claim: that of the opposite; 1 if it is unclear."""
    if outcome == HOLDS:
        p_value = max(finding.p_holds for finding in findings)
    elif outcome == FAILS:
        p_value = holm_correction(np.array([finding.p_fails for finding in findings])).min()
    elif outcome == EQUAL:
        undecided = [finding.p_equal for finding in findings if not finding.holds]
        p_value = holm_correction(np.array(undecided)).max()
    else:
        return 1.0
    return min(1.0, 2.0 * float(p_value))


def false_discovery_rates(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values to control the false discovery rate (Benjamini and Hochberg 1995).

    >>> false_discovery_rates(np.array([0.01, 0.04, 0.03, 0.9]))
    array([0.04      , 0.05333333, 0.05333333, 0.9       ])
    """
    p_values = np.asarray(p_values, float)
    order = np.argsort(p_values, kind="stable")[::-1]
    raised = p_values[order] * p_values.size / np.arange(p_values.size, 0, -1)
    adjusted = np.empty(p_values.size)
    adjusted[order] = np.minimum(np.minimum.accumulate(raised), 1.0)
    return adjusted


def is_refuted_at_margin(findings: Sequence[Finding]) -> bool:
    """True if an unclear claim is at best equal: some number is significantly not large enough."""
    return bool(holm_correction(np.array([finding.p_short for finding in findings])).min() <= TAIL)


def clip_at_floor(
    curves: Sequence[np.ndarray], floor: float = math.nan, *, of_errors: bool = False
) -> list[np.ndarray]:
    """Clip bins at ``floor``, and set diverged bins to it.

    A diverged run counts as very bad, but a single run stuck until its step limit must not outweigh
    all others. Without a floor, diverged bins get the worst value of all curves (with
    ``of_errors`` the highest).
    """
    curves = [finite_or_nan(curve) for curve in curves]
    if not math.isnan(floor):
        return [np.fmax(curve, floor) for curve in curves]
    finite = np.concatenate([[], *(curve[np.isfinite(curve)] for curve in curves)])
    worst = (finite.max() if of_errors else finite.min()) if finite.size else math.nan
    return [np.where(np.isnan(curve), worst, curve) for curve in curves]


@lru_cache(maxsize=16)
def subsample_weights(runs: int, size: int, count: int) -> np.ndarray:
    """Samples of ``size`` runs with replacement, as weights (count, runs), from a fixed seed."""
    rng = np.random.Generator(np.random.PCG64(0))
    weights = rng.multinomial(size, np.full(runs, 1.0 / runs), size=count) / size
    weights.flags.writeable = False
    return weights
