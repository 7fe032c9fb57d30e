"""Measures: what is said about curves in one number each, known by name.

A measure maps a panel and curves (n, bins) to (n,): applied to every run's curve it gives one
number a run, applied to the mean curve over runs one number for all of them. Claims, the choice of
settings and configs name them; :func:`measure` adds one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.analysis.adaptation import LAST as LOOKS_AT_END
from expectant.analysis.adaptation import (
    RECOVERED_FRACTION,
    REGRET_EPISODES,
    crossed_drops,
    crossed_lowests,
    drops,
    entries,
    lowests,
    own_recoveries,
    regrets,
    score,
)
from expectant.analysis.panel import Panel, Unavailable
from expectant.lab.registry import Registry

SETTLED = 0.1  # above the final level counts as settled
FINAL_SHARE = 0.25  # of the bins: late enough to have settled, long enough to average the noise
ATTAINED = 0.95  # of an optimum, to count as attained
LAST = f"the last {FINAL_SHARE:.0%} of the bins"


Of = Callable[[Panel, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Measure:
    """A number of curves: ``of`` maps a panel and curves (n, bins) to (n,).

    ``name`` is what data call it, ``title`` what sentences do. It is taken of the mean curve over
    runs, or with ``per_run`` of every run, and then averaged. ``at`` gives the same measure at one
    switch only, counted from 1, where that means something. ``needs_optimum`` says that it compares
    with the exact return of acting ε-greedily on q*, ``of_diverged`` that it is told of bins that
    are not finite. ``less_is_better`` says which way is better; None: as of the curve itself.
    ``unit`` is what it is counted in, by default as the curves are.

    A measure that picks a bin by its height has ``crossed``, one number for every run (n,) of
    (n, bins), with the bin picked by other runs. ``base`` is what a margin can be a share of,
    where that is not the measure itself.
    """

    name: str
    title: str
    meaning: str
    of: Of
    per_run: bool = False
    at: Callable[[int], Measure] | None = None
    needs_optimum: bool = False
    of_diverged: bool = False
    unit: str = ""
    crossed: Of | None = None
    base: Of | None = None
    less_is_better: bool | None = None

    def prefers_less(self, of_errors: bool) -> bool:
        """Whether the least is the best, of curves of which less is better or not."""
        return of_errors if self.less_is_better is None else self.less_is_better


MEASURES: Registry[Measure] = Registry("measure")
add = MEASURES.add


def measure(
    name: str, meaning: str, *, per_run: bool = True, less_is_better: bool | None = None
) -> Callable[[Of], Of]:
    """Make a function of a panel and curves (n, bins), to (n,), a measure of that name."""

    def register(of: Of) -> Of:
        add(Measure(name, name, meaning, of, per_run=per_run, less_is_better=less_is_better))
        return of

    return register


def measure_named(name: str, where: str = "measure") -> Measure:
    """A measure by its name; ``where`` it was asked for is said if there is none."""
    return MEASURES.named(name, where)


def final(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """The mean of the last quarter of the bins."""
    return curve[..., -max(1, round(FINAL_SHARE * curve.shape[-1])) :].mean(axis=-1)


def last_third(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """The mean of the last third of the bins."""
    return curve[..., -max(1, round(curve.shape[-1] / 3)) :].mean(axis=-1)


def _diverged(panel: Panel, curve: np.ndarray) -> np.ndarray:
    return 1.0 - np.isfinite(curve).all(axis=-1)


def _worsened(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """Whether runs end above where they began; one that diverged has."""
    return 1.0 - (final(panel, curve) <= curve[..., 0])


def last(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """The last point."""
    return curve[..., -1]


def late_slope(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """By how much a curve rises in an episode or step, over the last quarter of its bins."""
    bins = max(1, round(FINAL_SHARE * curve.shape[-1]))
    return (curve[..., -1] - curve[..., -1 - bins]) / (bins * panel.bin)


def settling(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """From when on a curve that falls stays close to its final level."""
    level = final(panel, curve)[..., None]
    above = curve > level + SETTLED * np.abs(level)
    beyond = np.where(above.any(axis=-1), curve.shape[-1] - above[..., ::-1].argmax(axis=-1), 0)
    return np.append(panel.first_episodes[1:], panel.end)[np.minimum(beyond, curve.shape[-1] - 1)]


def _after_switch(panel: Panel, curve: np.ndarray) -> np.ndarray:
    if panel.switch_every is None:
        raise Unavailable("the goal never moves")
    first = -(-panel.switch_every // panel.bin)  # the first whole bin after it
    if first >= curve.shape[-1]:
        raise Unavailable("the goal does not move before the last bin")
    return curve[..., first:].mean(axis=-1)


def _attainment(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """When the looks of a run are first close to the optimum; where they never are, the end."""
    best = [level.height for level in panel.levels if level.name == "optimum"]
    if panel.points is None or not best:
        raise Unavailable("no optimum is known of what is looked at")
    reached = curve >= ATTAINED * best[-1]
    first = np.where(reached.any(axis=-1), reached.argmax(axis=-1), curve.shape[-1] - 1)
    return np.asarray(panel.points[first], float)


def _mean_or_at(
    name: str,
    title: str,
    meaning: str,
    of_switches: Callable[..., np.ndarray],
    crossed: Callable[..., np.ndarray] | None = None,
    **more: Any,
) -> Measure:
    """A measure of switches: the mean over all of them, or at one that is named."""

    def mean(of: Callable[..., np.ndarray]) -> Of:
        return lambda panel, curve: of(panel, curve).mean(axis=0)

    def at(number: int) -> Measure:
        def one(of: Callable[..., np.ndarray]) -> Of:
            return lambda panel, curve: of(panel, curve, needed=number)[number - 1]

        return Measure(
            name, f"{title} (switch {number})", meaning, one(of_switches),
            crossed=crossed and one(crossed), **more,
        )  # fmt: skip

    return Measure(
        name, title, f"mean over the switches of {meaning}", mean(of_switches), at=at,
        crossed=crossed and mean(crossed), **more,
    )  # fmt: skip


def _regret_falls(panel: Panel, curve: np.ndarray) -> np.ndarray:
    lost = regrets(panel, curve, needed=2)
    return lost[0] - lost[1]


def _rises(depths: np.ndarray) -> np.ndarray:
    return depths[1:].mean(axis=0) - depths[0]


def _entry_falls(panel: Panel, curve: np.ndarray) -> np.ndarray:
    first = entries(panel, curve, needed=2)
    return first[0] - first[1]


def _unsteadiness(panel: Panel, curve: np.ndarray) -> np.ndarray:
    late = curve[..., -max(2, round(FINAL_SHARE * curve.shape[-1])) :]
    return (np.diff(late, axis=-1) ** 2).mean(axis=-1)


LOST = (
    f"the return lost against acting ε-greedily on q* in the first {REGRET_EPISODES} episodes of a "
    "phase, or in all of it if it is shorter"
)
SUMMED = "return, summed over episodes"
CROSSED = ", in every run the one in which the other half of the runs is lowest on average"
for _found in (
    Measure("mean", "return", "mean over all episodes", lambda panel, curve: curve.mean(axis=-1)),
    Measure("final", "final level", f"mean over {LAST}", final),
    Measure("last-third", "late level", "mean return over the last third of the bins", last_third),
    Measure(
        "diverged",
        "share of diverged runs",
        "the share of runs whose weights have overflowed",
        _diverged,
        per_run=True,
        of_diverged=True,
        unit="share of runs",
        less_is_better=True,
    ),
    Measure(
        "worsened",
        "share of runs that end worse than they began",
        f"the share of runs whose mean over {LAST} is above their first point, as of errors",
        _worsened,
        per_run=True,
        of_diverged=True,
        unit="share of runs",
        less_is_better=True,
    ),
    Measure(
        "after-switch",
        "return after the first switch",
        "mean over the bins from the first move of the goal on",
        _after_switch,
    ),
    Measure(
        "shortfall",
        "shortfall",
        f"the exact return of acting ε-greedily on q* minus the mean return over {LAST}",
        lambda panel, curve: panel.optimum - final(panel, curve),
        needs_optimum=True,
        less_is_better=True,
    ),
    _mean_or_at(
        "regret",
        "regret after a switch",
        LOST,
        regrets,
        needs_optimum=True,
        less_is_better=True,
        unit=SUMMED,
    ),
    _mean_or_at(
        "lowest",
        "lowest level after a switch",
        f"the lowest bin of a phase{CROSSED}",
        lowests,
        crossed_lowests,
    ),
    _mean_or_at("entry", "level at a switch", "the first bin, or look, of a phase", entries),
    _mean_or_at(
        "drop",
        "drop",
        f"the level before (last fifth of a phase) minus the lowest bin after{CROSSED}",
        drops,
        crossed_drops,
        less_is_better=True,
    ),
    _mean_or_at(
        "recovery",
        "recovery towards its own level",
        "the episodes until the end of the first bin, from the lowest one on, that has made up "
        f"{RECOVERED_FRACTION:.0%} of the way from there to the last fifth of the phase",
        own_recoveries,
        unit="episodes",
        less_is_better=True,
    ),
    Measure(
        "regret-falls",
        "fall of the regret",
        f"regret after the first switch minus that after the second, each {LOST}",
        _regret_falls,
        needs_optimum=True,
        unit=SUMMED,
        base=lambda panel, curve: regrets(panel, curve)[0],
        less_is_better=False,
    ),
    Measure(
        "lowest-rises",
        "rise of the lowest level",
        "mean of the lowest bins after the later switches minus the lowest bin after the first"
        f"{CROSSED}",
        lambda panel, curve: _rises(lowests(panel, curve, needed=2)),
        crossed=lambda panel, curve: _rises(crossed_lowests(panel, curve, needed=2)),
    ),
    Measure(
        "entry-falls",
        "fall of the level at a switch",
        "the first bin, or look, after the first switch minus that after the second",
        _entry_falls,
    ),
    Measure(
        "unsteadiness",
        "unsteadiness",
        f"mean squared change of a run's return from one bin to the next in {LAST}",
        _unsteadiness,
        per_run=True,
        unit="squared return",
        less_is_better=True,
    ),
    Measure("first", "first point", "the first bin", lambda panel, curve: curve[..., 0]),
    Measure("second", "second point", "the second bin", lambda panel, curve: curve[..., 1]),
    Measure("last", "last point", "the last bin, or the last look", last),
    Measure(
        "late-slope",
        "late slope",
        f"by how much the curve rises in an episode, or step, over {LAST}",
        late_slope,
        unit="rise in an episode or step",
    ),
    Measure(
        "settling",
        "settling time",
        f"the episode, or step, from which on the mean curve stays at most {SETTLED:.0%} above "
        f"its mean over {LAST}",
        settling,
        unit="episodes, or steps",
        less_is_better=True,
    ),
    Measure(
        "learned-share",
        "share of the optimum before the change",
        f"mean of the last {LOOKS_AT_END} looks of the first phase, divided by the optimum",
        lambda panel, curves: score(panel, curves).first,
        per_run=True,
        unit="share of the optimum",
        less_is_better=False,
    ),
    Measure(
        "adaptation",
        "adaptation",
        f"mean of the last {LOOKS_AT_END} looks of the second phase, on a scale where the policy "
        "that was best before has 0 and the new optimum 1",
        lambda panel, curves: score(panel, curves).adaptation,
        per_run=True,
        unit="share of the way",
        less_is_better=False,
    ),
    Measure(
        "attainment",
        "time to the optimum",
        "mean over runs of the steps (or episodes) until the first look that is at least 95 % of "
        "the optimum",
        _attainment,
        per_run=True,
        unit="episodes, or steps",
        less_is_better=True,
    ),
):
    add(_found)
