"""``expectant best``: the best setting of every agent, picked by some runs, reported by others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
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
from expectant.files import write_text
from expectant.lab.cells import Cell, cell_hash
from expectant.lab.choosing.choice_figures import draw_choice
from expectant.lab.choosing.sweep_folder import (
    Group,
    SweepFolder,
    measured,
    read_folder,
    values_of,
)
from expectant.lab.engines.compute import compute
from expectant.lab.measures import Measure, measure_named
from expectant.lab.specs.spec import parse_toml, read_text
from expectant.lab.store.cell_tables import accepts_versions
from expectant.lab.store.folder import SPEC, opened
from expectant.lab.store.store import Store
from expectant.rules import is_number
from expectant.show.wording import EDGE_NOTE, setting_in_words, shown_number

BEST = "best.json"
EDGE_VALUES = 3  # from so many on a grid has an inside
HALVES, SAME, FRESH = "halves", "same runs", "fresh runs"
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
    """A mean over some runs and its interval; NaN if one of them diverged."""

    mean: float
    low: float
    high: float
    runs: int
    diverged: int

    def as_data(self) -> dict[str, Any]:
        data = self._asdict()
        return {name: None if np.isnan(value) else value for name, value in data.items()}


@dataclass(frozen=True, eq=False)
class Choice:
    """The best setting of a group: ``best`` and ``no_worse`` are rows of the folder's table.

    ``best`` is None if every setting diverged or none is finished. ``tried`` settings were
    finished, ``diverged`` of them have a diverged run; ``by_all`` is the row that all runs of the
    sweep would pick.
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

    @property
    def settings(self) -> dict[str, Any]:
        """What was varied, as in the best setting."""
        if self.best is None:
            return {}
        position = int(np.flatnonzero(self.group.rows == self.best)[0])
        return {name: column[position] for name, column in self.group.settings.items()}

    @property
    def at_edge(self) -> list[str]:
        """The settings whose best value is the smallest or largest of three or more numbers."""
        found = []
        for name, best in self.settings.items():
            tried = {value for value in self.group.settings[name] if is_number(value)}
            if len(tried) >= EDGE_VALUES and is_number(best) and best in (min(tried), max(tried)):
                found.append(name)
        return found

    def as_data(self, ids: Sequence[str]) -> dict[str, Any]:
        """Ready for JSON; ``ids`` are the names of all cells."""
        return {
            "agent": self.group.agent,
            "label": self.group.label,
            "problem": self.group.problem,
            "stage": self.stage,
            "best": None if self.best is None else ids[self.best],
            "settings": self.settings,
            "at_edge": self.at_edge,
            "picked": None if self.picked is None else self.picked.as_data(),
            "reported": None if self.reported is None else self.reported.as_data(),
            "best_by_all_runs": None if self.by_all is None else ids[self.by_all],
            "tried": self.tried,
            "diverged": self.diverged,
            "unfinished": len(self.group.unfinished),
            "no_worse": len(self.no_worse),
            "no_worse_cells": [ids[row] for row in self.no_worse],
        }


@dataclass(frozen=True, eq=False)
class Best:
    """The choices of a folder by one measure, and the files that were written."""

    folder: SweepFolder
    measure: Measure
    choices: list[Choice]
    paths: Sequence[Path] = ()

    def __repr__(self) -> str:
        return f"Best({len(self.choices)} choices by {self.measure.name}; {self.folder.path})"

    @property
    def less_is_better(self) -> bool:
        return self.measure.prefers_less(self.folder.experiment.of_errors)

    @property
    def stages(self) -> list[str]:
        """How the choices were made, in words."""
        stages = dict.fromkeys(choice.stage for choice in self.choices if choice.best is not None)
        return [STAGES[stage] for stage in stages]

    def as_data(self) -> dict[str, Any]:
        """The content of best.json."""
        ids = self.folder.columns["cell"]
        return {
            "spec": self.folder.spec_hash,
            "cells": self.folder.cells_hash,
            "measure": self.measure.name,
            "meaning": self.measure.meaning,
            "less_is_better": self.less_is_better,
            "stages": self.stages,
            "rules": list(RULES),
            "choices": [choice.as_data(ids) for choice in self.choices],
        }


def best(
    path: Path,
    *,
    measure: str = "mean",
    confirm: int | None = None,
    out: Path | None = None,
    threads: int | None = None,
    trust: bool = False,
) -> Best:
    """Choose, compute fresh runs if asked for, and write best.json and the figures."""
    wanted = measure_named(measure, "--measure")
    folder = read_folder(path, trust=trust)
    values = measured(folder, wanted)
    choices = choose(folder, values, wanted, split=confirm is None)
    if confirm is not None:
        choices = confirm_choices(folder, choices, wanted, confirm, threads)
    place = out or path
    paths = [place / BEST, *draw_choice(folder, values, wanted, place)]
    found = Best(folder, wanted, choices, paths)
    write_text(place / BEST, json.dumps(found.as_data(), indent=1, ensure_ascii=False) + "\n")
    return found


def choose(
    folder: SweepFolder, values: np.ndarray, measure: Measure, *, split: bool = True
) -> list[Choice]:
    """The best setting of every group."""
    less = measure.prefers_less(folder.experiment.of_errors)
    return [
        choose_in_group(group, values, split=split, less_is_better=less) for group in folder.groups
    ]


def choose_in_group(
    group: Group, values: np.ndarray, *, split: bool = True, less_is_better: bool = False
) -> Choice:
    """The choice in one group from the numbers of all cells' runs, (cells, runs).

    With ``split`` the first half of the runs picks and the second half reports.
    """
    own = values[group.rows]
    worth = -own if less_is_better else own
    diverged = ~np.isfinite(own).all(axis=1)
    if len(own) == 0 or diverged.all():
        return Choice(group, SAME, None, None, None, None, (), len(own), int(diverged.sum()))
    runs = own.shape[1]
    picking, reporting = halves(runs) if split else (slice(0, runs), slice(0, runs))
    position = pick(np.where(diverged, np.nan, setting_means(worth[:, picking])))
    equal = no_worse(np.where(diverged[:, None], np.nan, worth)[:, reporting], position)
    return Choice(
        group=group,
        stage=HALVES if picking != reporting else SAME,
        best=int(group.rows[position]),
        by_all=int(group.rows[pick(setting_means(worth))]),
        picked=mean_score(own[position, picking]),
        reported=mean_score(own[position, reporting]),
        no_worse=tuple(group.rows[equal].tolist()),
        tried=len(own),
        diverged=int(diverged.sum()),
    )


def mean_score(values: np.ndarray) -> RunScore:
    """The mean of some runs (runs,) with its interval."""
    values = finite_or_nan(values)
    low, high = setting_intervals(values[None])[0]
    return RunScore(float(values.mean()), low, high, values.size, int(np.isnan(values).sum()))


def confirm_choices(
    folder: SweepFolder, choices: list[Choice], measure: Measure, runs: int, threads: int | None
) -> list[Choice]:
    """Report choices by fresh runs, computed into the sweep's own store.

    They are the runs after those of the sweep, so they have other seeds. A sweep that later asks
    for more runs finds them there.
    """
    start = folder.experiment.runs
    rows = [choice.best for choice in choices if choice.best is not None]
    cells = [cell_of(folder, row, start + runs) for row in rows]
    text = read_text(folder.path / SPEC)
    store = Store(folder.path, accepts_versions(folder.table))
    with opened(folder.path, text, parse_toml(text, SPEC)):
        curves = compute(cells, store, threads=threads, title="fresh runs").curves()
    fresh = {
        row: mean_score(values_of(folder, measure, row, curve[start:]))
        for row, curve in zip(rows, curves, strict=True)
    }
    return [
        choice if choice.best is None else replace(choice, stage=FRESH, reported=fresh[choice.best])
        for choice in choices
    ]


def cell_of(folder: SweepFolder, row: int, runs: int) -> Cell:
    """The cell of a row with another number of runs; refuse one that is no longer the same."""
    cell = folder.cell(row, runs)
    current, stored = cell_hash(cell), folder.columns["hash"][row]
    if accepts_versions(folder.table):
        current, stored = current.partition("-")[0], stored.partition("-")[0]
    if current != stored:
        raise ValueError(
            f"--confirm: the code or the spec of {cell.id!r} has changed since its runs in "
            f"{folder.path}; run `expectant run` again first"
        )
    return cell


def best_text(found: Best) -> tuple[Any, list[str]]:
    """A table with one row for every agent in every domain, and the notes below it."""
    from rich.markup import escape
    from rich.table import Table

    better = ", less is better" if found.less_is_better else ""
    title = f"Best settings by {found.measure.name}: {found.measure.meaning}{better}"
    table = Table(title=title, title_justify="left")
    several = any(choice.group.problem for choice in found.choices)
    for name in ("agent", "in", "best setting") if several else ("agent", "best setting"):
        table.add_column(name)
    for name in ("value (95 %)", "runs", "when picked", "no worse", "diverged", "unfinished"):
        table.add_column(name, justify="right")
    for choice in found.choices:
        nothing = "none: every setting diverged" if choice.tried else "none finished yet"
        setting = setting_in_words(choice.settings, choice.at_edge) or "the only one"
        reported, picked = choice.reported, choice.picked
        row = [
            choice.group.label, *([choice.group.problem] if several else []),
            nothing if choice.best is None else setting,
            _score_text(reported), "" if reported is None else str(reported.runs),
            "" if picked is None else shown_number(picked.mean),
            f"{len(choice.no_worse)} of {choice.tried}", str(choice.diverged),
            str(len(choice.group.unfinished)),
        ]  # fmt: skip
        table.add_row(*map(escape, row))
    notes = [f"{stage[0].upper()}{stage[1:]}." for stage in found.stages]
    edges = [EDGE_NOTE] if any(choice.at_edge for choice in found.choices) else []
    return table, [*notes, *edges, *RULES]


def _score_text(score: RunScore | None) -> str:
    if score is None:
        return "–"
    if score.diverged:
        return f"{score.diverged} diverged"
    return f"{shown_number(score.mean)} ({shown_number(score.low)} to {shown_number(score.high)})"
