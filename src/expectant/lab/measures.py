"""Measures: what is said about curves in one number each, known by name.

A measure maps a panel and curves (n, bins) to (n,): applied to every run's curve it gives one
number a run, applied to the mean curve over runs one number for all of them. Claims, the choice of
settings and specs name them; anybody can add one with :func:`measure`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from expectant.analysis.adaptation import (
    RECOVERED_FRACTION,
    drops,
    lowests,
    recoveries,
    unrecovered,
)
from expectant.analysis.comparison import Unavailable
from expectant.analysis.panel import Panel
from expectant.descriptions import near_miss

SETTLED = 0.1  # above the final level counts as settled
SAME = 1e-9
FINAL_SHARE = 0.25  # of the bins: late enough to have settled, long enough to average the noise
LAST = f"the last {FINAL_SHARE:.0%} of the bins"
SHORT = f"at most {1 - RECOVERED_FRACTION:.0%} short of the optimum, or of the phase if none is"
UNTIL = f"the episodes until the end of the run's first bin that is {SHORT}"

Of = Callable[[Panel, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Measure:
    """A number of curves: ``of`` maps a panel and curves (n, bins) to (n,).

    ``name`` is what data call it, ``title`` what sentences do. It is taken of the mean curve over
    runs, or with ``per_run`` of every run, and then averaged. ``is_bound`` tells of a panel and
    curves that their numbers are only the least they can be. ``at`` gives the same measure at one
    switch only, counted from 1, where that means something. ``needs_optimum`` says that it compares
    with the panel's exact optimum.
    """

    name: str
    title: str
    meaning: str
    of: Of
    is_bound: Callable[[Panel, np.ndarray], bool] | None = None
    per_run: bool = False
    at: Callable[[int], Measure] | None = None
    needs_optimum: bool = False


MEASURES: dict[str, Measure] = {}


def add(found: Measure) -> Measure:
    """Let data know a measure by its name."""
    if found.name in MEASURES:
        raise ValueError(f"measure: the name {found.name!r} is taken")
    MEASURES[found.name] = found
    return found


def measure(name: str, meaning: str, *, per_run: bool = True) -> Callable[[Of], Of]:
    """Make a function of a panel and curves (n, bins), to (n,), a measure of that name."""

    def register(of: Of) -> Of:
        add(Measure(name, name, meaning, of, per_run=per_run))
        return of

    return register


def measure_named(name: str, where: str = "measure") -> Measure:
    """A measure by its name; ``where`` it was asked for is said if there is none."""
    if name not in MEASURES:
        raise ValueError(f"{where}: unknown {name!r}" + near_miss(str(name), sorted(MEASURES)))
    return MEASURES[name]


def final(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """The mean of the last quarter of the bins."""
    return curve[..., -max(1, round(FINAL_SHARE * curve.shape[-1])) :].mean(axis=-1)


def last(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """The last point."""
    return curve[..., -1]


def settling(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """From when on a curve that falls stays close to its final level."""
    level = final(panel, curve)[..., None]
    above = curve > level + SETTLED * np.abs(level)
    beyond = np.where(above.any(axis=-1), curve.shape[-1] - above[..., ::-1].argmax(axis=-1), 0)
    return np.append(panel.first_episodes[1:], panel.end)[np.minimum(beyond, curve.shape[-1] - 1)]


def first_full(panel: Panel, curve: np.ndarray) -> np.ndarray:
    """After how many episodes or steps a curve is first 1; the end, if it never is."""
    full = curve >= 1.0 - SAME
    return np.where(full.any(axis=-1), panel.first_episodes[full.argmax(axis=-1)], panel.end)


def _after_switch(panel: Panel, curve: np.ndarray) -> np.ndarray:
    if panel.switch_every is None:
        raise Unavailable("the goal never moves")
    first = -(-panel.switch_every // panel.bin)  # the first whole bin after it
    if first >= curve.shape[-1]:
        raise Unavailable("the goal does not move before the last bin")
    return curve[..., first:].mean(axis=-1)


def _shortening(panel: Panel, curve: np.ndarray) -> np.ndarray:
    times = recoveries(panel, curve, needed=2)
    return times[0] - times[1]


def _rise(panel: Panel, curve: np.ndarray) -> np.ndarray:
    depths = lowests(panel, curve, needed=3)
    return depths[2] - depths[0]


def _drop_after(number: int) -> Measure:
    return Measure(
        "drop",
        f"drop at switch {number}",
        "level before (last fifth of a phase) minus the lowest bin after",
        lambda panel, curve: drops(panel, curve, needed=number)[number - 1],
    )


# Recovery is taken run by run: the mean curve of runs that recover at different times crosses a
# level when the slowest of them do, and where it lies close to the level, by chance.
def _recovery_after(number: int) -> Measure:
    return Measure(
        "recovery",
        f"recovery after switch {number}",
        f"mean over runs of {UNTIL}",
        lambda panel, curve: recoveries(panel, curve, needed=number)[number - 1],
        lambda panel, curve: bool(unrecovered(panel, curve)[number - 1].all()),
        per_run=True,
    )


for _found in (
    Measure("mean", "return", "mean over all episodes", lambda panel, curve: curve.mean(axis=-1)),
    Measure("final", "final level", f"mean return over {LAST}", final),
    Measure(
        "after-switch",
        "return after the first switch",
        "mean over the bins from the first move of the goal on",
        _after_switch,
    ),
    Measure(
        "shortfall",
        "shortfall",
        f"exact ε-greedy optimum minus the mean return over {LAST}",
        lambda panel, curve: panel.optimum - final(panel, curve),
        needs_optimum=True,
    ),
    Measure(
        "drop",
        "drop",
        "mean over the switches of the level before (last fifth of a phase) minus the lowest bin "
        "after",
        lambda panel, curve: drops(panel, curve).mean(axis=0),
        at=_drop_after,
    ),
    Measure(
        "recovery",
        "recovery",
        f"mean over runs and switches of {UNTIL}",
        lambda panel, curve: recoveries(panel, curve).mean(axis=0),
        lambda panel, curve: bool(unrecovered(panel, curve).all()),
        per_run=True,
        at=_recovery_after,
        needs_optimum=True,
    ),
    Measure(
        "shortening",
        "shortening",
        "mean over runs of the episodes after the first switch minus those after the second until "
        f"the end of the run's first bin that is {SHORT}",
        _shortening,
        lambda panel, curve: bool(unrecovered(panel, curve)[:2].all()),
        per_run=True,
        needs_optimum=True,
    ),
    Measure(
        "lowest",
        "lowest point",
        "lowest bin after the first switch",
        lambda panel, curve: lowests(panel, curve)[0],
    ),
    Measure("first", "first point", "the first bin", lambda panel, curve: curve[..., 0]),
    Measure("second", "second point", "the second bin", lambda panel, curve: curve[..., 1]),
    Measure("last", "last point", "the last bin, or the last look", last),
    Measure(
        "settling",
        "settling time",
        f"the episode, or step, from which on the mean curve stays at most {SETTLED:.0%} above "
        f"its mean over {LAST}",
        settling,
    ),
    Measure(
        "first-full",
        "time until it is full",
        "mean over runs of the episodes, or steps, until the curve is first 1 (all, if it never "
        "is)",
        first_full,
        per_run=True,
    ),
    Measure(
        "log-first-full",
        "binary logarithm of the time until it is full",
        "mean over runs of the binary logarithm of the episodes, or steps, until the curve is "
        "first 1 (all, if it never is)",
        lambda panel, curve: np.log2(np.maximum(first_full(panel, curve), 1)),
        per_run=True,
    ),
    Measure("rise", "rise", "lowest bin after the third switch minus that after the first", _rise),
):
    add(_found)
