"""The best setting of every agent in two stages: picked by some runs, reported by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.selection import (
    LEVEL,
    halves,
    no_worse,
    pick,
    setting_intervals,
    setting_means,
)
from expectant.lab.choosing.sweep_folder import Group, SweepFolder
from expectant.rules import is_number

EDGE_VALUES = 3  # from so many on a grid has an inside
HALVES = "halves"
SAME = "same runs"
FRESH = "fresh runs"
STAGES = {
    HALVES: "picked by the first half of the runs; its value and the comparison with the others "
    "are from the second half, which had no part in the choice",
    SAME: "picked and reported by the same few runs, so the value is too good on average",
    FRESH: "picked by all runs of the sweep; its value is from fresh runs, which had no part in "
    "the choice. The comparison with the others is by the runs it was picked by, so it counts "
    "too few as no worse, rather than too many",
}
RULES = (
    "A setting of which any run diverged is never the best, and counts as worse.",
    "No worse: not shown to be worse by a one-sided paired t-test (run r has the same seed in "
    f"every setting), with Holm's correction for all settings of the agent, at {100 * LEVEL:g} % "
    "in all.",
    "Intervals are 95 % percentile-bootstrap intervals of the mean over runs.",
)


class RunScore(NamedTuple):
    """A mean over so many runs, and its interval; NaN if one of them diverged."""

    mean: float
    low: float
    high: float
    runs: int
    diverged: int

    def as_data(self) -> dict[str, Any]:
        numbers = {"mean": self.mean, "low": self.low, "high": self.high}
        known = {key: None if np.isnan(value) else value for key, value in numbers.items()}
        return {**known, "runs": self.runs, "diverged": self.diverged}


@dataclass(frozen=True, eq=False)
class Choice:
    """The best setting of a group: ``best`` and ``no_worse`` are rows of the folder's table.

    ``best`` is None if every setting diverged or none is finished. ``tried`` settings were
    finished, of which so many ``diverged``; ``by_all`` is the row that all runs of the sweep would
    pick.
    """

    group: Group
    stage: str
    best: int | None
    by_all: int | None
    picked: RunScore | None
    reported: RunScore | None
    no_worse: tuple[int, ...]
    tried: int
    diverged: int

    def settings(self, row: int | None) -> dict[str, Any]:
        """What was varied, as it is in one row."""
        if row is None:
            return {}
        place = int(np.flatnonzero(self.group.rows == row)[0])
        return {name: column[place] for name, column in self.group.settings.items()}

    @property
    def at_edge(self) -> tuple[str, ...]:
        """The numbers that are the best setting's smallest or largest of three or more tried."""
        found = []
        for name, best in self.settings(self.best).items():
            tried = {value for value in self.group.settings[name] if is_number(value)}
            if len(tried) >= EDGE_VALUES and is_number(best) and best in (min(tried), max(tried)):
                found.append(name)
        return tuple(found)


def mean_score(values: np.ndarray) -> RunScore:
    """The mean of some runs (runs,) with its interval."""
    values = finite_or_nan(values)
    low, high = setting_intervals(values[None])[0]
    return RunScore(float(values.mean()), low, high, values.size, int(np.isnan(values).sum()))


def choose_in_group(
    group: Group, values: np.ndarray, *, split: bool = True, less_is_better: bool = False
) -> Choice:
    """The choice in one group from the numbers of all cells' runs, (cells, runs)."""
    own = values[group.rows]
    worth = -own if less_is_better else own
    diverged = ~np.isfinite(own).all(axis=1)
    if len(own) == 0 or diverged.all():
        return Choice(group, SAME, None, None, None, None, (), len(own), int(diverged.sum()))
    runs = own.shape[1]
    picking, reporting = halves(runs) if split else (slice(0, runs), slice(0, runs))
    best = pick(np.where(diverged, np.nan, setting_means(worth[:, picking])))
    equal = no_worse(np.where(diverged[:, None], np.nan, worth)[:, reporting], best)
    return Choice(
        group=group,
        stage=HALVES if picking != reporting else SAME,
        best=int(group.rows[best]),
        by_all=int(group.rows[pick(setting_means(worth))]),
        picked=mean_score(own[best, picking]),
        reported=mean_score(own[best, reporting]),
        no_worse=tuple(group.rows[equal].tolist()),
        tried=len(own),
        diverged=int(diverged.sum()),
    )


def choices(
    folder: SweepFolder, values: np.ndarray, *, less_is_better: bool = False
) -> list[Choice]:
    """The best setting of every group, picked by one half of the runs and reported by the other."""
    return [
        choose_in_group(group, values, less_is_better=less_is_better) for group in folder.groups
    ]


def confirmed(choice: Choice, fresh: np.ndarray | None) -> Choice:
    """A choice that was made by all runs, reported by fresh ones (runs,)."""
    if fresh is None:
        return choice
    return replace(choice, stage=FRESH, reported=mean_score(fresh))


def choices_as_data(folder: SweepFolder, found: Sequence[Choice]) -> list[dict[str, Any]]:
    """Choices ready for JSON."""
    return [_data(folder, choice) for choice in found]


def _data(folder: SweepFolder, choice: Choice) -> dict[str, Any]:
    ids = folder.columns["cell"]
    return {
        "agent": choice.group.agent,
        "label": choice.group.label,
        "problem": choice.group.problem,
        "stage": choice.stage,
        "best": None if choice.best is None else ids[choice.best],
        "settings": choice.settings(choice.best),
        "at_edge": list(choice.at_edge),
        "picked": None if choice.picked is None else choice.picked.as_data(),
        "reported": None if choice.reported is None else choice.reported.as_data(),
        "best_by_all_runs": None if choice.by_all is None else ids[choice.by_all],
        "tried": choice.tried,
        "diverged": choice.diverged,
        "unfinished": len(choice.group.unfinished),
        "no_worse": len(choice.no_worse),
        "no_worse_cells": [ids[row] for row in choice.no_worse],
    }
