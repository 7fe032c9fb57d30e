"""``expectant best``: compare agents at their best settings, on held-out runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.selection import (
    LEVEL,
    best_index,
    is_no_worse,
    split_runs,
    trial_intervals,
    trial_means,
)
from expectant.core.files import write_text
from expectant.core.formatting import html_paragraph, html_table, text_table
from expectant.core.rules import at_least, is_number
from expectant.experiments.compare import Difference, differences_between
from expectant.experiments.metrics import Metric, find_metric
from expectant.experiments.runner import accepts_versions, compute
from expectant.experiments.store import CONFIG, Store, lock_folder
from expectant.experiments.sweep_results import (
    Group,
    SweepFolder,
    compute_metric,
    metric_of_row,
    read_folder,
)
from expectant.experiments.toml_tables import read_text
from expectant.experiments.trials import Trial, trial_hash
from expectant.report.formatting import EDGE_NOTE, format_interval, format_number, format_setting

BEST = "best.json"
EDGE_VALUES = 3  # from so many on a grid has an inside
MARGIN = 0.05  # of the larger mean: differences within it do not matter unless a margin is given
HALVES, SAME, FRESH = "halves", "same runs", "fresh runs"
STAGES = {
    HALVES: "picked by the first half of the runs; its value and the comparisons are from the "
    "second half, which had no part in the choice",
    SAME: "picked and reported by the same few runs, so values are too good on average and no "
    "verdict is given: give at least 4 runs, or --confirm",
    FRESH: "picked by all runs of the sweep; its value and the comparison of agents are from fresh "
    "runs, which had no part in the choice. The comparison with other settings is by the runs it "
    "was picked by, so it counts too few as no worse, rather than too many",
}
RULES = (
    "A setting of which any run diverged is never the best, and counts as worse.",
    "No worse: not shown to be worse by a one-sided paired t-test (run r has the same seed in "
    f"every setting), with Holm's correction for all settings of the agent, at {100 * LEVEL:g} % "
    "in all.",
    "Agents are compared run by run by two-sided paired t-tests with Holm's correction for all "
    f"pairs, at {100 * LEVEL:g} % in all. They are equal if the 95 % interval of the difference "
    f"lies within the margin, by default {100 * MARGIN:g} % of the larger mean.",
    "Intervals of means are 95 % percentile-bootstrap intervals over runs.",
)
EQUAL, UNCLEAR = "equal within the margin", "unclear"
COMPARED = "Agents compared at their best settings, on runs that had no part in the choice"
CHOICE_HEADS = ("agent", "in", "best setting", "mean", "95 % interval", "runs", "when picked",
                "no worse", "diverged", "unfinished")  # fmt: skip
DIFFERENCE_HEADS = ("agent", "against", "verdict", "in", "difference", "95 % interval", "margin",
                    "p")  # fmt: skip


class RunScore(NamedTuple):
    """A mean over some runs and its interval; NaN if one of them diverged."""

    mean: float
    low: float
    high: float
    runs: int
    diverged: int


@dataclass(frozen=True, eq=False)
class Choice:
    """The best setting of a group: ``best`` and ``no_worse`` are rows of the folder's table.

    ``best`` is None if every setting diverged or none is finished. ``tried`` settings were
    finished, ``diverged`` of them have a diverged run. ``held_out`` (runs,) are the values of the
    best one on runs that had no part in the choice.
    """

    group: Group
    stage: str
    tried: int
    diverged: int
    best: int | None = None
    picked: RunScore | None = None
    held_out: np.ndarray = field(default_factory=lambda: np.empty(0))
    no_worse: tuple[int, ...] = ()

    @property
    def reported(self) -> RunScore | None:
        """The value of the best setting on held-out runs."""
        return None if self.best is None else score_runs(self.held_out)

    @property
    def settings(self) -> dict[str, Any]:
        """The varied parameters in the best setting."""
        if self.best is None:
            return {}
        position = int(np.flatnonzero(self.group.rows == self.best)[0])
        return {name: column[position] for name, column in self.group.settings.items()}

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
            "picked": None if self.picked is None else _plain(self.picked._asdict()),
            "reported": None if self.reported is None else _plain(self.reported._asdict()),
            "tried": self.tried,
            "diverged": self.diverged,
            "unfinished": len(self.group.unfinished),
            "no_worse": len(self.no_worse),
            "no_worse_trials": [ids[row] for row in self.no_worse],
        }


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

    @property
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
        rows = []
        for problem, by_agent in problems.items():
            sign = -1.0 if self.less_is_better else 1.0
            worth = {name: sign * choice.held_out for name, choice in by_agent.items()}
            for pair in differences_between(worth):
                first, second = by_agent[pair.name], by_agent[pair.reference]
                rows.append(self._difference_row(problem, first, second, pair))
        return rows

    def _difference_row(
        self, problem: str, first: Choice, second: Choice, pair: Difference
    ) -> dict[str, Any]:
        """Describe one pair of agents; in ``pair`` more is better."""
        means = [float(np.abs(each.held_out.mean())) for each in (first, second)]
        margin = MARGIN * max(means) if self.margin is None else self.margin
        low, high = (-pair.high, -pair.low) if self.less_is_better else (pair.low, pair.high)
        earned = self.metric.name == "mean" and self.folder.quantity in ("return", "reward")
        words = {"better": "earns more" if earned else "does better",
                 "worse": "earns less" if earned else "does worse"}  # fmt: skip
        verdict = words.get(pair.verdict, UNCLEAR)
        if -margin <= low and high <= margin:
            verdict = EQUAL
        if SAME in (first.stage, second.stage):
            verdict = UNCLEAR
        return _plain(
            {
                "problem": problem,
                "agent": first.group.label,
                "other": second.group.label,
                "difference": -pair.mean if self.less_is_better else pair.mean,
                "low": low,
                "high": high,
                "margin": margin,
                "p": pair.p_value,
                "runs": first.held_out.size,
                "verdict": verdict,
            }
        )

    def as_data(self) -> dict[str, Any]:
        """Return the content of best.json."""
        ids = self.folder.columns["trial"]
        stages = dict.fromkeys(choice.stage for choice in self.choices if choice.best is not None)
        return {
            "config": self.folder.config_hash,
            "trials": self.folder.trials_hash,
            "metric": self.metric.name,
            "meaning": self.metric.meaning,
            "less_is_better": self.less_is_better,
            "stages": [STAGES[stage] for stage in stages],
            "rules": list(RULES),
            "choices": [choice.as_data(ids) for choice in self.choices],
            "differences": self.differences,
        }

    def __repr__(self) -> str:
        parts = [f"Best settings by {self.title}"]
        for heads, rows in self._tables():
            parts.append(text_table(heads, rows, left=range(3)))
        return "\n\n".join([*parts, "\n".join(self.notes)])

    def _repr_html_(self) -> str:
        tables = [html_table(heads, rows) for heads, rows in self._tables()]
        return "".join([*tables, *map(html_paragraph, self.notes)])

    def _tables(self) -> list[tuple[list[str], list[list[str]]]]:
        """Return heads and rows of choices and of differences, without empty columns."""
        data = self.as_data()
        tables = [
            (CHOICE_HEADS, [choice_row(choice) for choice in data["choices"]]),
            (DIFFERENCE_HEADS, [difference_row(each) for each in data["differences"]]),
        ]
        shown = []
        for heads, rows in tables:
            kept = [n for n in range(len(heads)) if any(row[n] for row in rows)]
            if kept:
                shown.append(([heads[n] for n in kept], [[row[n] for n in kept] for row in rows]))
        return shown

    @property
    def notes(self) -> list[str]:
        """Notes below the tables."""
        stages = [f"{stage[0].upper()}{stage[1:]}." for stage in self.as_data()["stages"]]
        edges = [EDGE_NOTE] if any(choice.at_edge for choice in self.choices) else []
        return [*stages, *edges, *RULES]


def choice_row(choice: Mapping[str, Any]) -> list[str]:
    """Format a choice as in best.json."""
    missing = "none: every setting diverged" if choice["tried"] else "none finished yet"
    setting = format_setting(choice["settings"], choice["at_edge"]) or "the only one"
    reported, picked = choice["reported"] or {}, choice["picked"] or {}
    diverged = reported.get("diverged")
    return [
        choice["label"],
        choice["problem"],
        missing if choice["best"] is None else setting,
        f"{diverged} diverged" if diverged else format_number(reported.get("mean")),
        format_interval(reported.get("low"), reported.get("high")),
        str(reported.get("runs", "")),
        format_number(picked.get("mean")),
        f"{choice['no_worse']} of {choice['tried']}",
        str(choice["diverged"]),
        str(choice["unfinished"]),
    ]


def difference_row(difference: Mapping[str, Any]) -> list[str]:
    """Format a difference as in best.json."""
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


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON lacks, by None."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in data.items()
    }


def best(
    path: Path,
    *,
    metric: str = "mean",
    confirm: int | None = None,
    margin: float | None = None,
    out: Path | None = None,
    threads: int | None = None,
    trust: bool = False,
) -> Best:
    """Choose, compute fresh runs if asked for, and write best.json."""
    wanted = find_metric(metric, "--metric")
    if margin is not None:
        margin = at_least(0.0).check("best", "margin", margin)
    folder = read_folder(path, trust=trust)
    chosen = select_best(folder, wanted, compute_metric(folder, wanted), split=confirm is None)
    chosen = replace(chosen, margin=margin)
    if confirm is not None:
        chosen = replace(chosen, choices=confirm_choices(chosen, confirm, threads))
    content = json.dumps(chosen.as_data(), indent=1, ensure_ascii=False) + "\n"
    write_text((out or path) / BEST, content)
    return chosen


def select_best(
    folder: SweepFolder, metric: Metric, values: np.ndarray, *, split: bool = True
) -> Best:
    """Choose the best setting of every group by the metric of all runs, (trials, runs)."""
    less = metric.prefers_less(folder.experiment.of_errors)
    choices = [
        choose_in_group(group, values, split=split, less_is_better=less) for group in folder.groups
    ]
    return Best(folder, metric, values, choices)


def choose_in_group(
    group: Group, values: np.ndarray, *, split: bool = True, less_is_better: bool = False
) -> Choice:
    """Choose in one group by the numbers of all trials' runs, (trials, runs).

    With ``split`` the first half of the runs picks and the second half reports.
    """
    scores = values[group.rows]
    worth = -scores if less_is_better else scores
    diverged = ~np.isfinite(scores).all(axis=1)
    if len(scores) == 0 or diverged.all():
        return Choice(group, SAME, len(scores), int(diverged.sum()))
    runs = scores.shape[1]
    picking, reporting = split_runs(runs) if split else (slice(0, runs), slice(0, runs))
    position = best_index(np.where(diverged, np.nan, trial_means(worth[:, picking])))
    equal = is_no_worse(np.where(diverged[:, None], np.nan, worth)[:, reporting], position)
    return Choice(
        group=group,
        stage=HALVES if picking != reporting else SAME,
        tried=len(scores),
        diverged=int(diverged.sum()),
        best=int(group.rows[position]),
        picked=score_runs(scores[position, picking]),
        held_out=scores[position, reporting],
        no_worse=tuple(group.rows[equal].tolist()),
    )


def score_runs(values: np.ndarray) -> RunScore:
    """Return the mean of runs (runs,) with its interval."""
    values = finite_or_nan(values)
    low, high = trial_intervals(values[None])[0]
    return RunScore(float(values.mean()), low, high, values.size, int(np.isnan(values).sum()))


def confirm_choices(best: Best, runs: int, threads: int | None) -> list[Choice]:
    """Report choices by fresh runs: those after the runs of the sweep, kept in its store."""
    folder, start = best.folder, best.folder.experiment.runs
    rows = [choice.best for choice in best.choices if choice.best is not None]
    trials = [read_trial(folder, row, start + runs) for row in rows]
    store = Store(folder.path, accepts_versions(folder.table))
    with lock_folder(folder.path, read_text(folder.path / CONFIG)):
        curves = compute(trials, store, threads=threads, title="fresh runs").curves()
    fresh = {
        row: metric_of_row(folder, best.metric, row, curve[start:])
        for row, curve in zip(rows, curves, strict=True)
    }
    return [
        choice if choice.best is None else replace(choice, stage=FRESH, held_out=fresh[choice.best])
        for choice in best.choices
    ]


def read_trial(folder: SweepFolder, row: int, runs: int) -> Trial:
    """Read the trial of a row with another number of runs; refuse one that has changed."""
    trial = folder.trial(row, runs)
    current, stored = trial_hash(trial), folder.columns["hash"][row]
    if accepts_versions(folder.table):
        current, stored = current.partition("-")[0], stored.partition("-")[0]
    if current != stored:
        raise ValueError(
            f"--confirm: the code or the config of {trial.id!r} has changed since its runs in "
            f"{folder.path}; run `expectant run` again first"
        )
    return trial
