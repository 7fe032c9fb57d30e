"""``expectant best``: compare agents at their best settings, on held-out runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.selection import best_index, split_runs, trial_intervals, trial_means
from expectant.core.files import write_text
from expectant.core.formatting import text_table
from expectant.core.rules import at_least, is_number
from expectant.experiments.compare import LEVEL, Difference, differences_between
from expectant.experiments.metrics import Metric, find_metric
from expectant.experiments.runner import compute
from expectant.experiments.store import CONFIG, lock_folder
from expectant.experiments.sweep_results import Group, SweepFolder, read_folder
from expectant.experiments.toml_tables import read_text
from expectant.report.formatting import EDGE_NOTE, format_interval, format_number, format_setting

BEST = "best.json"
EDGE_VALUES = 3  # from so many on a grid has an inside
MARGIN = 0.05  # of the larger mean: differences within it do not matter unless a margin is given
HALVES, SAME, FRESH = "halves", "same runs", "fresh runs"
STAGES = {
    HALVES: "Chosen by the first half of the runs, reported and compared by the second half.",
    SAME: "Chosen and reported by the same few runs, so values are too good on average and no "
    "verdict is given: give at least 4 runs, or --confirm.",
    FRESH: "Chosen by all runs of the sweep, reported and compared by fresh runs.",
}
RULES = (
    "A setting of which any run diverged is never the best. Intervals of means are 95 % "
    "percentile-bootstrap intervals over runs.",
    "Agents are compared run by run by two-sided paired t-tests with Holm's correction for all "
    f"pairs, at {100 * LEVEL:g} % in all. They are equal if the 95 % interval of the difference "
    f"lies within the margin, by default {100 * MARGIN:g} % of the larger mean.",
)
EQUAL, UNCLEAR = "equal within the margin", "unclear"
EARNED = {"better": "earns more", "worse": "earns less"}
DONE = {"better": "does better", "worse": "does worse"}
CHOICES = ("agent", "in", "best setting", "mean", "95 % interval", "runs", "diverged")
DIFFERENCES = ("agent", "against", "verdict", "in", "difference", "95 % interval", "margin", "p")

Score = dict[str, Any]  # of some runs: mean, low, high (None if a run diverged), runs, diverged
Table = tuple[str, list[str], list[list[str]]]  # title, heads, rows


@dataclass(frozen=True, eq=False)
class Choice:
    """The best setting of a group: a row of the folder's table, None if all diverged.

    ``tried`` settings are finished, ``diverged`` of them have a diverged run. ``held_out`` (runs,)
    are the values of the best one on runs that had no part in the choice.
    """

    group: Group
    stage: str
    tried: int
    diverged: int
    best: int | None = None
    held_out: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def reported(self) -> Score | None:
        """The value of the best setting on held-out runs."""
        return None if self.best is None else score_runs(self.held_out)

    @property
    def settings(self) -> dict[str, Any]:
        """The varied parameters in the best setting."""
        position = np.flatnonzero(self.group.rows == self.best)
        return {name: column[n] for name, column in self.group.settings.items() for n in position}

    @property
    def at_edge(self) -> list[str]:
        """The settings whose best value is the smallest or largest of three or more numbers."""
        edges = []
        for name, best in self.settings.items():
            tried = {value for value in self.group.settings[name] if is_number(value)}
            if len(tried) >= EDGE_VALUES and is_number(best) and best in (min(tried), max(tried)):
                edges.append(name)
        return edges

    def as_data(self, ids: Sequence[str]) -> dict[str, Any]:
        """Return the choice ready for JSON; ``ids`` are the names of all trials."""
        return {
            "agent": self.group.agent,
            "label": self.group.label,
            "problem": self.group.problem,
            "stage": self.stage,
            "best": None if self.best is None else ids[self.best],
            "settings": self.settings,
            "at_edge": self.at_edge,
            "reported": self.reported,
            "tried": self.tried,
            "diverged": self.diverged,
            "unfinished": len(self.group.unfinished),
        }

    def row(self) -> list[str]:
        """Return the cells of the columns CHOICES."""
        setting = format_setting(self.settings, self.at_edge) or "the only one"
        if self.best is None:
            setting = "none: every setting diverged" if self.tried else "none finished yet"
        score = self.reported or {}
        diverged = score.get("diverged")
        return [
            self.group.label,
            self.group.problem,
            setting,
            f"{diverged} diverged" if diverged else format_number(score.get("mean")),
            format_interval(score.get("low"), score.get("high")),
            str(score.get("runs", "")),
            f"{self.diverged} of {self.tried}",
        ]


@dataclass(frozen=True, eq=False)
class Best:
    """The best setting of every agent by one metric, and how the agents differ at these.

    Printing it shows both tables. ``values`` (trials, runs) are the metric of all runs; ``margin``
    is the difference that does not matter, None for a share of the means.
    """

    folder: SweepFolder
    metric: Metric
    values: np.ndarray
    choices: list[Choice]
    margin: float | None = None

    @property
    def less_is_better(self) -> bool:
        return self.metric.prefers_less(self.folder.experiment.of_errors)

    @property
    def title(self) -> str:
        """The metric and its meaning."""
        less = ", less is better" if self.less_is_better else ""
        return f"{self.metric.name}: {self.metric.meaning}{less}"

    @cached_property
    def differences(self) -> list[dict[str, Any]]:
        """Every pair of agents in every domain: ``agent`` minus ``other``, and a ``verdict``.

        ``difference`` is a mean over pairs of runs with its 95 % interval from ``low`` to ``high``,
        null if a run diverged; ``p`` is the p-value after Holm's correction.
        """
        problems: dict[str, dict[str, Choice]] = {}
        for choice in self.choices:
            by_agent = problems.setdefault(choice.group.problem, {})
            if choice.best is not None:
                by_agent[choice.group.agent] = choice
        sign = -1.0 if self.less_is_better else 1.0
        return [
            self._describe_pair(by_agent[pair.name], by_agent[pair.reference], pair)
            for by_agent in problems.values()
            for pair in differences_between({n: sign * c.held_out for n, c in by_agent.items()})
        ]

    def _describe_pair(self, first: Choice, second: Choice, pair: Difference) -> dict[str, Any]:
        """Return a row of ``differences``; in ``pair`` more is better."""
        means = [float(np.abs(each.held_out.mean())) for each in (first, second)]
        margin = MARGIN * max(means) if self.margin is None else self.margin
        mean, low, high = pair.mean, pair.low, pair.high
        if self.less_is_better:
            mean, low, high = -mean, -high, -low
        earned = self.metric.name == "mean" and self.folder.quantity in ("return", "reward")
        verdict = (EARNED if earned else DONE).get(pair.verdict, UNCLEAR)
        if -margin <= low and high <= margin:
            verdict = EQUAL
        if SAME in (first.stage, second.stage):
            verdict = UNCLEAR
        return {
            "problem": first.group.problem,
            "agent": first.group.label,
            "other": second.group.label,
            **_plain({"difference": mean, "low": low, "high": high, "margin": margin}),
            "p": pair.p_value,
            "runs": first.held_out.size,
            "verdict": verdict,
        }

    def as_data(self) -> dict[str, Any]:
        """Return the content of best.json."""
        ids = self.folder.columns["trial"]
        return {
            "metric": self.metric.name,
            "meaning": self.metric.meaning,
            "less_is_better": self.less_is_better,
            "notes": self.notes,
            "choices": [choice.as_data(ids) for choice in self.choices],
            "differences": self.differences,
        }

    def tables(self) -> list[Table]:
        """Return the tables of choices and of differences, without empty columns."""
        choices = [choice.row() for choice in self.choices]
        differences = [_difference_row(difference) for difference in self.differences]
        shown: list[Table] = []
        for title, heads, rows in (
            ("Best settings", CHOICES, choices),
            ("Agents at their best settings", DIFFERENCES, differences),
        ):
            kept = [n for n in range(len(heads)) if any(row[n] for row in rows)]
            if kept:
                cells = [[row[n] for n in kept] for row in rows]
                shown.append((title, [heads[n] for n in kept], cells))
        return shown

    @property
    def notes(self) -> list[str]:
        """Explanation of how settings were chosen and agents compared, in words."""
        stages = dict.fromkeys(choice.stage for choice in self.choices if choice.best is not None)
        edges = [EDGE_NOTE] if any(choice.at_edge for choice in self.choices) else []
        return [*(STAGES[stage] for stage in stages), *edges, *RULES]

    def __repr__(self) -> str:
        tables = [text_table(heads, rows, left=range(3)) for _, heads, rows in self.tables()]
        notes = "\n".join(fill(note, 100) for note in self.notes)
        return "\n\n".join([f"Best settings by {self.title}", *tables, notes])


def _difference_row(difference: Mapping[str, Any]) -> list[str]:
    """Return the cells of the columns DIFFERENCES."""
    p = difference["p"]
    return [
        difference["agent"],
        difference["other"],
        difference["verdict"],
        difference["problem"],
        format_number(difference["difference"]),
        format_interval(difference["low"], difference["high"]),
        format_number(difference["margin"]),
        "< 0.001" if p < 0.001 else f"{p:.3f}",
    ]


def _plain(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Replace NaN, which JSON lacks, by None."""
    return {name: None if math.isnan(x) else float(x) for name, x in numbers.items()}


def best(
    path: Path,
    *,
    metric: str = "mean",
    confirm: int | None = None,
    margin: float | None = None,
    threads: int | None = None,
    trust: bool = False,
) -> Best:
    """Choose, compute fresh runs if asked for, and write best.json."""
    wanted = find_metric(metric, "--metric")
    if margin is not None:
        margin = at_least(0.0).check("best", "margin", margin)
    folder = read_folder(path, trust=trust)
    values = folder.compute_metric(wanted)
    chosen = select_best(folder, wanted, values, split=confirm is None, margin=margin)
    if confirm is not None:
        chosen = replace(chosen, choices=confirm_choices(chosen, confirm, threads))
    content = json.dumps(chosen.as_data(), indent=1, ensure_ascii=False) + "\n"
    write_text(path / BEST, content)
    return chosen


def select_best(
    folder: SweepFolder,
    metric: Metric,
    values: np.ndarray,
    *,
    split: bool = True,
    margin: float | None = None,
) -> Best:
    """Choose the best setting of every group by the metric of all runs, (trials, runs)."""
    less = metric.prefers_less(folder.experiment.of_errors)
    choices = [
        choose_in_group(group, values, split=split, less_is_better=less) for group in folder.groups
    ]
    return Best(folder, metric, values, choices, margin)


def choose_in_group(
    group: Group, values: np.ndarray, *, split: bool = True, less_is_better: bool = False
) -> Choice:
    """Choose in one group by the numbers of all trials' runs, (trials, runs).

    With ``split`` the first half of the runs picks and the second half reports.
    """
    scores = values[group.rows]
    worth = -scores if less_is_better else scores
    diverged = ~np.isfinite(scores).all(axis=1)
    if diverged.all():
        return Choice(group, SAME, len(scores), int(diverged.sum()))
    runs = scores.shape[1]
    picking, reporting = split_runs(runs) if split else (slice(0, runs), slice(0, runs))
    position = best_index(np.where(diverged, np.nan, trial_means(worth[:, picking])))
    return Choice(
        group=group,
        stage=HALVES if picking != reporting else SAME,
        tried=len(scores),
        diverged=int(diverged.sum()),
        best=int(group.rows[position]),
        held_out=scores[position, reporting],
    )


def score_runs(values: np.ndarray) -> Score:
    """Return the mean of runs (runs,) with its interval."""
    values = finite_or_nan(values)
    low, high = trial_intervals(values[None])[0]
    numbers = {"mean": values.mean(), "low": low, "high": high}
    counts = {"runs": values.size, "diverged": int(np.isnan(values).sum())}
    return {**_plain(numbers), **counts}


def confirm_choices(best: Best, runs: int, threads: int | None) -> list[Choice]:
    """Report choices by fresh runs: those after the runs of the sweep, kept in its store."""
    folder, start = best.folder, best.folder.experiment.runs
    rows = [choice.best for choice in best.choices if choice.best is not None]
    trials = [folder.trial(row, start + runs) for row in rows]
    with lock_folder(folder.path, read_text(folder.path / CONFIG)):
        curves = compute(trials, folder.store, threads=threads, title="fresh runs").curves()
    fresh = {
        row: folder.metric_of_row(best.metric, row, curve[start:])
        for row, curve in zip(rows, curves, strict=True)
    }
    return [
        choice if choice.best is None else replace(choice, stage=FRESH, held_out=fresh[choice.best])
        for choice in best.choices
    ]
