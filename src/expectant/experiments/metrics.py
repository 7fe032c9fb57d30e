"""Metrics: numbers of curves, known by name to claims, config files and the choice of settings.

A metric maps a panel and curves (n, bins) to (n,): applied to every run's curve it gives one
number a run, applied to the mean curve over runs one number for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from expectant.analysis.adaptation import LAST as PROBES_AT_END
from expectant.analysis.adaptation import (
    RECOVERED_FRACTION,
    REGRET_EPISODES,
    cross_fitted_drops,
    cross_fitted_lows,
    drops,
    first_bins,
    lowest_bins,
    recovery_intervals,
    recovery_times,
    regrets,
    score_adaptation,
    selection_biases,
)
from expectant.analysis.panel import Panel, Unavailable
from expectant.analysis.verdicts import (
    bootstrap_t_interval,
    combine_intervals,
    crossing_interval,
    first_crossing,
    wilson_interval,
)
from expectant.experiments.toml_tables import ConfigError, check_known

SETTLED = 0.1  # above the final level counts as settled
FINAL_SHARE = 0.25  # of the bins: late enough to have settled, long enough to average the noise
ATTAINED = 0.95  # of an optimum, to count as attained

Of = Callable[[Panel, np.ndarray], np.ndarray]
Bias = Callable[[Panel, np.ndarray], tuple[float, float]]
IntervalOf = Callable[[Panel, np.ndarray, float], tuple[float, float]]


@dataclass(frozen=True)
class Metric:
    """A function ``of`` a panel and curves (n, bins) to (n,), with its name and title in sentences.

    ``per_run``: computed for every run and averaged, rather than for the mean curve over runs.
    ``at``: the same metric at one switch, counted from 1.
    ``needs_optimum``: compares with the exact return of acting ε-greedily on q*.
    ``of_diverged``: sees bins that are not finite.
    ``unit``: by default that of the curves.
    ``crossed``: to avoid selection bias, other runs pick the bin that each run is measured in;
    ``bias``: how far the number may then lie below and above.
    ``interval``: of runs' curves and a tail's probability, where Student's t does not cover.
    ``base``: the number that a relative margin is a share of, if not the metric itself.
    ``less_is_better``: None if that depends on the curves.
    """

    name: str
    title: str
    meaning: str
    of: Of
    per_run: bool = False
    at: Callable[[int], Metric] | None = None
    needs_optimum: bool = False
    of_diverged: bool = False
    unit: str = ""
    crossed: Of | None = None
    bias: Bias | None = None
    interval: IntervalOf | None = None
    base: Of | None = None
    less_is_better: bool | None = None

    def prefers_less(self, of_errors: bool) -> bool:
        """True if the least is the best; ``of_errors``: less is better in the curves."""
        return of_errors if self.less_is_better is None else self.less_is_better


METRICS: dict[str, Metric] = {}


def register_metric(
    name: str, meaning: str, title: str = "", *, per_run: bool = True, **more: Any
) -> Callable[[Of], Of]:
    """Register a function of a panel and curves (n, bins), to (n,), as a metric.

    ``more`` are other fields of a :class:`Metric`, such as ``less_is_better=True``.
    """

    def register(of: Of) -> Of:
        if name in METRICS:
            raise ValueError(f"metric: the name {name!r} is taken")
        METRICS[name] = Metric(name, title or name, meaning, of, per_run=per_run, **more)
        return of

    return register


def find_metric(name: object, *path: str) -> Metric:
    """Return a metric by its name at a path of keys; "drop@2" is that of the second switch."""
    base, _, switch = str(name).partition("@")
    check_known("unknown", [base], sorted(METRICS), *path)
    metric = METRICS[base]
    if not switch:
        return metric
    if metric.at is None or not switch.isdecimal() or int(switch) < 1:
        raise ConfigError(f"{base!r} has no switch {switch!r}", *path)
    return metric.at(int(switch))


# ------------------------------------------------------------------------------- parts of a curve

LATE = f"the last {FINAL_SHARE:.0%} of the bins"
EPISODES, SUMMED = "episodes, or steps", "return, summed over episodes"
SHARE = "share of runs"
of_mean_curve = partial(register_metric, per_run=False)


def share_of_runs(name: str, meaning: str, title: str, **more: Any) -> Callable[[Of], Of]:
    """Register a function to 0 or 1 for every run, whose mean is a share of runs."""

    def register(of: Of) -> Of:
        def interval(panel: Panel, curves: np.ndarray, tail: float) -> tuple[float, float]:
            values = of(panel, curves)
            return wilson_interval(float(values.mean()), values.size, tail)

        more.update(unit=SHARE, less_is_better=True, interval=interval)
        return register_metric(name, meaning, title, **more)(of)

    return register


def last_bins(curve: np.ndarray, share: float = FINAL_SHARE, least: int = 1) -> np.ndarray:
    """Return the last share of the bins, ``least`` of them at least."""
    return curve[..., -max(least, round(share * curve.shape[-1])) :]


def final(panel: Panel, curve: np.ndarray) -> np.ndarray:
    return np.asarray(last_bins(curve).mean(axis=-1))


of_mean_curve("mean", "mean over all episodes", "return")(lambda panel, curve: curve.mean(axis=-1))
of_mean_curve("first", "the first bin", "first point")(lambda panel, curve: curve[..., 0])
of_mean_curve("second", "the second bin", "second point")(lambda panel, curve: curve[..., 1])
of_mean_curve("last", "the last bin, or the last probe", "last point")(
    lambda panel, curve: curve[..., -1]
)
of_mean_curve("final", f"mean over {LATE}", "final level")(final)
of_mean_curve("last-third", "mean return over the last third of the bins", "late level")(
    lambda panel, curve: last_bins(curve, 1 / 3).mean(axis=-1)
)
share_of_runs(
    "diverged",
    "the share of runs whose weights overflowed",
    "share of diverged runs",
    of_diverged=True,
)(lambda panel, curve: np.asarray(1.0 - np.isfinite(curve).all(axis=-1)))


@share_of_runs(
    "failed",
    f"the share of runs whose mean over {LATE} is nearer to acting at random than to acting "
    "ε-greedily on q*",
    "share of failed runs",
    needs_optimum=True,
)
def failed(panel: Panel, curve: np.ndarray) -> np.ndarray:
    if np.isnan(panel.floor):
        raise Unavailable("the return of acting at random is not known")
    return np.asarray(1.0 - (final(panel, curve) >= panel.floor_at(-0.5)))


share_of_runs(
    "worsened",
    f"the share of runs whose mean over {LATE} is above their first point, as of errors",
    "share of runs that end worse than they began",
    of_diverged=True,
)(lambda panel, curve: 1.0 - (final(panel, curve) <= curve[..., 0]))
of_mean_curve(
    "shortfall",
    f"the exact return of acting ε-greedily on q* minus the mean return over {LATE}",
    needs_optimum=True,
    less_is_better=True,
)(lambda panel, curve: panel.optimum - final(panel, curve))


def unsteadiness(panel: Panel, curve: np.ndarray) -> np.ndarray:
    return np.asarray((np.diff(last_bins(curve, least=2), axis=-1) ** 2).mean(axis=-1))


register_metric(
    "unsteadiness",
    f"mean squared change of a run's return from one bin to the next in {LATE}",
    unit="squared return",
    interval=lambda panel, curves, tail: bootstrap_t_interval(unsteadiness(panel, curves), tail),
    less_is_better=True,
)(unsteadiness)


@of_mean_curve(
    "late-slope",
    f"by how much the curve rises in an episode, or step, over {LATE}",
    "late slope",
    unit="rise in an episode or step",
)
def late_slope(panel: Panel, curve: np.ndarray) -> np.ndarray:
    bins = last_bins(curve).shape[-1]
    return np.asarray((curve[..., -1] - curve[..., -1 - bins]) / (bins * panel.bin))


def episodes_before(panel: Panel, bins: np.ndarray) -> np.ndarray:
    """Return the episode (or step) so many bins before the last."""
    ends = np.append(panel.first_episodes[1:], panel.end)
    return np.interp(ends.size - 1 - bins, np.arange(ends.size), ends)


def settling_interval(panel: Panel, curves: np.ndarray, tail: float) -> tuple[float, float]:
    level = final(panel, curves)[:, None]
    allowed = level + SETTLED * np.copysign(level, level.mean())
    bounds = crossing_interval((curves - allowed)[:, ::-1], tail)
    high, low = episodes_before(panel, np.array(bounds))
    return float(low), float(high)


@of_mean_curve(
    "settling",
    f"the episode, or step, from which on the mean curve, straight between the ends of bins, stays "
    f"at most {SETTLED:.0%} above its mean over {LATE}",
    "settling time",
    unit=EPISODES,
    interval=settling_interval,
    less_is_better=True,
)
def settling(panel: Panel, curve: np.ndarray) -> np.ndarray:
    level = final(panel, curve)[..., None]
    above = curve - level - SETTLED * np.abs(level)
    return episodes_before(panel, first_crossing(above[..., ::-1]))


@of_mean_curve(
    "after-switch",
    "mean over the bins from the first move of the goal on",
    "return after the first switch",
)
def after_switch(panel: Panel, curve: np.ndarray) -> np.ndarray:
    if panel.switch_every is None:
        raise Unavailable("the goal never moves")
    first = -(-panel.switch_every // panel.bin)  # the first whole bin after it
    if first >= curve.shape[-1]:
        raise Unavailable("the goal does not move before the last bin")
    return np.asarray(curve[..., first:].mean(axis=-1))


# --------------------------------------------------------------------------------------- switches

LOST = (
    f"the return lost against acting ε-greedily on q* in the first {REGRET_EPISODES} episodes of a "
    "phase, or in all of it if it is shorter"
)
CROSSED = ", in every run the one in which the other half of the runs is lowest on average"
OfSwitches = Callable[..., np.ndarray]  # (switches, n) of panel, curves and how many are needed


def switch_metric(
    name: str, meaning: str, title: str, of: OfSwitches, crossed: OfSwitches | None = None,
    biased: int = 0, intervals: OfSwitches | None = None, number: int = 0, **more: Any,
) -> Metric:  # fmt: skip
    """Return a metric of one switch, counted from 1, or of the mean over all of them.

    ``biased`` is 1 if the metric falls as the lowest level rises, and -1 if it rises with it.
    """

    def select(of: OfSwitches) -> Of:
        if number:
            return lambda panel, curve: of(panel, curve, needed=number)[number - 1]
        return lambda panel, curve: of(panel, curve).mean(axis=0)

    def bias(panel: Panel, curves: np.ndarray) -> tuple[float, float]:
        most = float(select(selection_biases)(panel, curves))
        return (most, 0.0) if biased < 0 else (0.0, most)

    def interval(panel: Panel, curves: np.ndarray, tail: float) -> tuple[float, float]:
        assert intervals is not None
        times, ends = of(panel, curves.mean(axis=0)), intervals(panel, curves, tail, number or 1)
        chosen = slice(number - 1, number) if number else slice(None)
        times, ends = times[chosen], ends[chosen]
        return combine_intervals(times, ends, np.full(times.size, 1.0 / times.size))

    at = partial(switch_metric, name, meaning, title, of, crossed, biased, intervals, **more)
    return Metric(
        name,
        f"{title} (switch {number})" if number else title,
        meaning if number else f"mean over the switches of {meaning}",
        select(of),
        at=None if number else at,
        crossed=crossed and select(crossed),
        bias=bias if biased else None,
        interval=interval if intervals else None,
        **more,
    )


def rises(depths: np.ndarray) -> np.ndarray:
    return np.asarray(depths[1:].mean(axis=0) - depths[0])


def bias_of_rises(panel: Panel, curves: np.ndarray) -> tuple[float, float]:
    first, *later = selection_biases(panel, curves, needed=2)
    return float(np.mean(later)), float(first)


def falls(levels: np.ndarray) -> np.ndarray:
    return np.asarray(levels[0] - levels[1])


SWITCH_METRICS = (
    switch_metric(
        "regret", LOST, "regret after a switch", regrets,
        needs_optimum=True, less_is_better=True, unit=SUMMED,
    ),
    switch_metric(
        "lowest", f"the lowest bin of a phase{CROSSED}", "lowest level after a switch",
        lowest_bins, cross_fitted_lows, biased=-1,
    ),
    switch_metric("entry", "the first bin, or probe, of a phase", "level at a switch", first_bins),
    switch_metric(
        "drop", f"the level before (last fifth of a phase) minus the lowest bin after{CROSSED}",
        "drop", drops, cross_fitted_drops, biased=1, less_is_better=True,
    ),
    switch_metric(
        "recovery",
        f"the episodes until {RECOVERED_FRACTION:.0%} of the way from its lowest bin to its last "
        "fifth is made up, by a curve that is straight between the ends of bins",
        "recovery towards its own level", recovery_times, intervals=recovery_intervals,
        unit="episodes", less_is_better=True,
    ),
)  # fmt: skip
METRICS.update({metric.name: metric for metric in SWITCH_METRICS})
of_mean_curve(
    "regret-falls",
    f"regret after the first switch minus that after the second, each {LOST}",
    "fall of the regret",
    needs_optimum=True,
    unit=SUMMED,
    base=lambda panel, curve: regrets(panel, curve)[0],
    less_is_better=False,
)(lambda panel, curve: falls(regrets(panel, curve, needed=2)))
of_mean_curve(
    "lowest-rises",
    "mean of the lowest bins after the later switches minus the lowest bin after the first"
    f"{CROSSED}",
    "rise of the lowest level",
    crossed=lambda panel, curve: rises(cross_fitted_lows(panel, curve, needed=2)),
    bias=bias_of_rises,
)(lambda panel, curve: rises(lowest_bins(panel, curve, needed=2)))
of_mean_curve(
    "entry-falls",
    "the first bin, or probe, after the first switch minus that after the second",
    "fall of the level at a switch",
)(lambda panel, curve: falls(first_bins(panel, curve, needed=2)))

# ----------------------------------------------------------------------------------------- probes

register_metric(
    "learned-share",
    f"mean of the last {PROBES_AT_END} probes of the first phase, divided by the optimum",
    "share of the optimum before the change",
    unit="share of the optimum",
    less_is_better=False,
)(lambda panel, curves: score_adaptation(panel, curves).first)
register_metric(
    "adaptation",
    f"mean of the last {PROBES_AT_END} probes of the second phase, on a scale where the policy "
    "that was best before has 0 and the new optimum 1",
    unit="share of the way",
    less_is_better=False,
)(lambda panel, curves: score_adaptation(panel, curves).adaptation)


@register_metric(
    "attainment",
    "mean over runs of the steps (or episodes) until the first probe that is at least 95 % of "
    "the optimum",
    "time to the optimum",
    unit=EPISODES,
    less_is_better=True,
)
def attainment(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """Count until the last probe where the optimum is never attained."""
    optima = [level.height for level in panel.levels if level.name == "optimum"]
    if panel.points is None or not optima:
        raise Unavailable("no optimum is known of the probe")
    reached = curve >= ATTAINED * optima[-1]
    first = np.where(reached.any(axis=-1), reached.argmax(axis=-1), curve.shape[-1] - 1)
    return np.asarray(panel.points[first], float)
