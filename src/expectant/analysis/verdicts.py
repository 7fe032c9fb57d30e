"""From runs to a verdict: paired differences, an effect with its interval, and a margin.

A *statement* is about one number. A claim may make several; it holds if all of them do. That needs
no correction, since every one has to pass by itself. That one of many fails by chance is likelier,
so "does not hold" and "equal" are decided with Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

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
    p_value: float
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


def holm_correction(chances: np.ndarray) -> np.ndarray:
    """p-values corrected for being many (Holm 1979): one at most α is significant at α.

    >>> holm_correction(np.array([0.01, 0.04, 0.03]))
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


Outcome = Literal["holds", "equal", "does not hold", "unclear"]
HOLDS: Outcome = "holds"
EQUAL: Outcome = "equal"
FAILS: Outcome = "does not hold"
UNCLEAR: Outcome = "unclear"

LEVEL = 0.95
TAIL = (1.0 - LEVEL) / 2.0  # what may lie beyond either end of an interval
# Two halves of the runs that pick a bin for each other depend on each other if all bins are alike:
# their correlation is then 0.36 at most (of three bins), and the root of 1.36 is this.
CROSS_FIT_WIDENING = 1.17
ROUNDING = 1e-9  # of the numbers compared: sums in another order differ by less

ABOVE, AT_LEAST, ABOUT = "above", "at least", "about"


class Statement(NamedTuple):
    """What is said of a number: that it is above, at least or about a ``reference``.

    *Above* by more than the ``margin``; *at least* but for the margin; *about*, at most a margin
    away.
    """

    kind: str = ABOVE
    reference: float = 0.0
    margin: float = 0.0

    @property
    def slack(self) -> float:
        return ROUNDING * max(1.0, abs(self.reference) + self.margin)

    def is_satisfied_by(self, values: np.ndarray) -> np.ndarray:
        """Whether numbers as they are, without any interval, satisfy it."""
        away = np.asarray(values) - self.reference
        if self.kind == ABOVE:
            return away > self.margin + self.slack
        if self.kind == AT_LEAST:
            return away >= -self.margin - self.slack
        return np.abs(away) <= self.margin + self.slack


class Finding(NamedTuple):
    """What runs say about one statement.

    ``against`` is the p-value of the statement's opposite not being so (the number is below its
    range, or outside of what *about* allows), ``alike`` that of the number not being within a
    margin of the reference, and ``short`` that of it being beyond the margin after all, or not
    outside of what else is allowed; 1 where there is no such outcome. ``label`` says what the
    number is, ``unit`` what it is counted in.
    """

    statement: Statement
    effect: float
    low: float
    high: float
    against: float
    alike: float
    label: str = ""
    short: float = 1.0
    unit: str = ""

    @property
    def holds(self) -> bool:
        said, low = self.statement, self.low - self.statement.reference
        high = self.high - said.reference
        if said.kind == ABOVE:
            return low > said.margin + said.slack
        if said.kind == AT_LEAST:
            return low > -said.margin - said.slack
        return low >= -said.margin - said.slack and high <= said.margin + said.slack

    @property
    def outcome(self) -> Outcome:
        """The verdict if this were all."""
        return verdict([self])[0]

    @property
    def room(self) -> float:
        """How far inside its range the effect is, in widths of the interval; negative: outside."""
        said, away = self.statement, self.effect - self.statement.reference
        inside = {
            ABOVE: away - said.margin,
            AT_LEAST: away + said.margin,
            ABOUT: said.margin - abs(away),
        }[said.kind]
        width = self.high - self.low
        if math.isnan(inside) or math.isnan(width):
            return -math.inf
        return inside / max(width, said.slack)


def pseudo_values(
    statistic: Callable[..., np.ndarray], samples: Sequence[np.ndarray]
) -> np.ndarray:
    """One number per run whose mean estimates a statistic of mean curves (the jackknife).

    Samples are (runs, ...) of paired runs; ``statistic`` maps their means, (n, ...) each, to (n,).
    For a statistic that is linear in the curves they are its values for every single run.
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
    widened: float = 1.0,
) -> Finding:
    """What one number per run (runs,) says about a statement, by Student's t.

    ``effect`` is the estimate itself, where it is not the mean. The interval is so much ``widened``
    where runs depend on each other. Of one run there is none.
    """
    from scipy.special import stdtr, stdtrit

    values = finite_or_nan(values)
    centre, runs = float(values.mean()), values.size
    effect = centre if effect is None else effect
    if runs < 2 or math.isnan(effect):
        return Finding(statement, effect, math.nan, math.nan, 1.0, 1.0, label)
    error = widened * float(values.std(ddof=1)) / math.sqrt(runs)
    if error <= ROUNDING * max(1.0, abs(effect)):
        error = 0.0

    def below(bound: float) -> float:
        """The p-value of the number being below a bound."""
        away = effect - bound
        if error == 0.0:
            return 0.0 if away < -statement.slack else 1.0
        return float(stdtr(runs - 1, away / error))

    def above(bound: float) -> float:
        away = effect - bound
        if error == 0.0:
            return 0.0 if away > statement.slack else 1.0
        return float(stdtr(runs - 1, -away / error))

    half = float(stdtrit(runs - 1, 1.0 - TAIL)) * error
    least = statement.reference - statement.margin
    most = statement.reference + statement.margin
    against, alike = below(least), 1.0
    short = against
    if statement.kind == ABOUT:
        short = against = min(against, above(most))
    elif statement.kind == ABOVE:
        short = below(most)
        slack = statement.slack if error == 0.0 else 0.0
        inside = least - slack <= effect <= most + slack
        alike = max(above(least), below(most)) if error > 0.0 else float(not inside)
    return Finding(statement, effect, effect - half, effect + half, against, alike, label, short)


def assess_exact(number: float, statement: Statement, label: str = "") -> Finding:
    """What a number that is known without any doubt says about a statement; NaN says nothing."""
    if math.isnan(number):
        return Finding(statement, number, number, number, 1.0, 1.0, label)
    return assess(np.array([number, number]), statement, label)


def verdict(findings: Sequence[Finding]) -> tuple[Outcome, Finding]:
    """The outcome of a claim that makes these statements, and the finding that decides it."""
    if not findings:
        raise ValueError("verdict: findings must not be empty")
    weakest = min(findings, key=lambda found: found.room)
    if all(found.holds for found in findings):
        return HOLDS, weakest
    against = holm_correction(np.array([found.against for found in findings]))
    if against.min() <= TAIL:
        return FAILS, findings[int(against.argmin())]
    open_ = [found for found in findings if not found.holds]
    weakest = min(open_, key=lambda found: found.room)
    alike = holm_correction(np.array([found.alike for found in open_]))
    return (EQUAL if alike.max() <= TAIL else UNCLEAR), weakest


def is_refuted_at_margin(findings: Sequence[Finding]) -> bool:
    """Whether a claim that is unclear is known not to hold by more than its margin.

    Its number may be as small as to be equal or as negative as to fail; large enough it is not.
    """
    return bool(holm_correction(np.array([found.short for found in findings])).min() <= TAIL)


def clip_at_floor(
    curves: Sequence[np.ndarray], floor: float = math.nan, *, of_errors: bool = False
) -> list[np.ndarray]:
    """The same curves with no bin below a ``floor``, which is where diverged bins lie.

    A diverged run is a very bad run, not a missing one; but one run in three hundred that is stuck
    until its step limit must not outweigh the others. Without a floor diverged bins are as bad as
    the worst bin of any of them, which of errors is the highest.
    """
    known = [finite_or_nan(curve) for curve in curves]
    if not math.isnan(floor):
        return [np.fmax(curve, floor) for curve in known]
    finite = np.concatenate([[], *(curve[np.isfinite(curve)] for curve in known)])
    worst = (finite.max() if of_errors else finite.min()) if finite.size else math.nan
    return [np.where(np.isnan(curve), worst, curve) for curve in known]


def subsample_weights(
    runs: int, size: int, blocks: int, rng: np.random.Generator | None = None
) -> np.ndarray:
    """Blocks of so many runs drawn with replacement, as weights (blocks, runs) of rows of one."""
    if rng is None:
        return _first_weights(runs, size, blocks)
    return rng.multinomial(size, np.full(runs, 1.0 / runs), size=blocks) / size


@lru_cache(maxsize=16)
def _first_weights(runs: int, size: int, blocks: int) -> np.ndarray:
    """The same blocks for every part of every claim, which take longer to draw than to use."""
    weights = subsample_weights(runs, size, blocks, np.random.Generator(np.random.PCG64(0)))
    weights.flags.writeable = False
    return weights
