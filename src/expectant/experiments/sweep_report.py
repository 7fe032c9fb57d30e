"""Figures and page of a sweep: best settings, curves, sensitivity, all trials."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.selection import best_by_value, best_index, trial_intervals, trial_means
from expectant.core.rules import is_number
from expectant.experiments.best import Best, select_best
from expectant.experiments.metrics import METRICS
from expectant.experiments.runner import LISTED, problem_rows, version_rows
from expectant.experiments.store import folder_note, rerun_command
from expectant.experiments.sweep_results import Group, SweepFolder, read_folder
from expectant.report import Environment, Header, Section, Table, draw_chart, write_page
from expectant.report.chart import Chart, Curve, Plot, columns_for, value_range
from expectant.report.formatting import format_number, parameter_name, slug
from expectant.report.palette import Palette

REPORT = "report.html"
MOST_POINTS = 100  # of a curve: 10,000 trials make a page of 16 MB


def report_sweep(path: Path, *, trust: bool = False) -> list[Path]:
    """Write figures and page of a folder, by the mean over all bins."""
    folder = read_folder(path, trust=trust)
    return write_report(select_best(folder, METRICS["mean"], folder.values))


def write_report(best: Best) -> list[Path]:
    """Write figures and page of a selection into its folder; nothing if no trial is finished."""
    folder, experiment = best.folder, best.folder.experiment
    if not any(len(group.rows) for group in folder.groups):
        return []
    section = SweepSection(best, *summarise_curves(folder))
    length = f"{experiment.episodes or experiment.steps:,}"
    counted = "episodes" if experiment.episodes else "steps"
    trials = f"{len(folder.columns['trial']):,} trials of {experiment.runs} runs"
    problems = [list(row) for row in problem_rows(folder.table, LISTED)]
    sections: list[Section] = [
        Header(experiment.title, f"{trials}, {length} {counted} each", experiment.notes),
        *(Table(*table) for table in best.tables()),
        section,
        Table("What went wrong", ["trial", "what happened"], problems),
        Environment(
            [*version_rows(folder.path), ("seed", experiment.seed)],
            rerun_command("run", folder.path),
            folder_note(folder.path),
        ),
    ]
    figures = draw_sensitivities(best, section.palette)
    return [*figures, write_page(folder.path / REPORT, sections, section.palette)]


def draw_sensitivities(best: Best, palette: Palette) -> list[Path]:
    """Draw the sensitivity curves of every problem in which something was varied."""
    paths: list[Path] = []
    folder, title = best.folder, best.folder.experiment.title
    label = f"{folder.quantity}, {best.metric.name}"
    for number, (problem, groups) in enumerate(group_by_problem(folder).items(), start=1):
        chart = sensitivity_chart(groups, best.values, label, best.less_is_better)
        if chart.plots:
            heading = f"{title}\n{problem}" if problem else title
            stem = f"-{f'{number}-{slug(problem)}'[:60]}" if problem else ""
            paths += draw_chart(chart, heading, folder.path / f"sensitivity{stem}", palette)
    return paths


def group_by_problem(folder: SweepFolder) -> dict[str, list[Group]]:
    """Return the agents of every domain."""
    problems: dict[str, list[Group]] = {}
    for group in folder.groups:
        problems.setdefault(group.problem, []).append(group)
    return problems


def sensitivity_chart(
    groups: Sequence[Group], values: np.ndarray, metric: str, less: bool = False
) -> Chart:
    """Return a plot for every setting: mean and interval with the other settings at their best.

    ``values`` (trials, runs) are the metric of all runs. The axis covers the best of each line.
    """
    by_setting: dict[str, list[tuple[str, list[Any], np.ndarray]]] = {}
    best: list[float] = []
    for group in groups:
        runs = values[group.rows]
        means = trial_means(runs)
        for name, column in group.settings.items() if np.isfinite(means).any() else ():
            pairs = best_by_value(column, -means if less else means)
            tried, trials = map(list, zip(*pairs, strict=True))
            envelope = np.column_stack([means[trials], trial_intervals(runs[trials])])
            by_setting.setdefault(name, []).append((group.agent, tried, envelope))
            top = envelope[best_index(-envelope[:, 0] if less else envelope[:, 0])]
            best += top[np.isfinite(top)].tolist()
    plots = []
    for setting, lines in by_setting.items():
        listed = list(dict.fromkeys(value for _, tried, _ in lines for value in tried))
        scale = axis_scale(listed)
        curves = []
        for agent, tried, envelope in lines:
            x = np.array(tried if scale else [listed.index(value) for value in tried], float)
            mean, low, high = envelope.T
            curves.append(Curve(agent, mean, low, high, runs=0, diverged=0, x=x))
        ticks = [] if scale else [format_number(value) for value in listed]
        name = parameter_name(setting)
        plots.append(
            Plot("", curves[0].x, 0.0, curves, x_name=name, scale=scale or "linear", ticks=ticks)  # type: ignore[arg-type]
        )
    return Chart(plots, columns_for(len(plots)), "", metric, always=best)


def axis_scale(values: Sequence[Any]) -> str:
    """Return the scale of a parameter's axis: "log", "linear", or none without numbers."""
    if not all(map(is_number, values)):
        return ""
    return "log" if min(values) > 0 and max(values) >= 10 * min(values) else "linear"


# -------------------------------------------------------------------------------------------- page


@dataclass(frozen=True, eq=False)
class SweepSection(Section):
    """All trials of a sweep, compared by one metric.

    ``curves`` (trials, 3, points) have mean, low and high at the ``positions`` (points,), NaN from
    where a run diverged.
    """

    best: Best
    curves: np.ndarray
    positions: np.ndarray

    @property
    def links(self) -> list[tuple[str, str]]:
        names = ["Curves", *["Sensitivity"] * self.has_lines, "Trials"]
        return [(name.lower(), name) for name in names]

    @property
    def palette(self) -> Palette:
        return Palette({group.agent: group.label for group in self.best.folder.groups})

    @property
    def problems(self) -> list[str]:
        return list(group_by_problem(self.best.folder))

    @cached_property
    def charts(self) -> list[Chart]:
        """The sensitivity in every domain."""
        best = self.best
        return [
            sensitivity_chart(groups, best.values, best.title, best.less_is_better)
            for groups in group_by_problem(best.folder).values()
        ]

    @property
    def has_lines(self) -> bool:
        return any(chart.plots for chart in self.charts)

    def data(self, anchor: str) -> dict[str, Any]:
        best, folder = self.best, self.best.folder
        columns, groups = folder.columns, folder.groups
        varied = {name for group in groups for name in group.settings}
        shown = [name for name in columns if name.startswith("domain.") or name in varied]
        group_of = np.zeros(len(columns["trial"]), int)
        for position, group in enumerate(groups):
            group_of[group.rows] = group_of[group.unfinished] = position
        rows = [choice.best for choice in best.choices if choice.best is not None]
        drawn: dict[str, list[np.ndarray]] = {}
        for row in rows:
            drawn.setdefault(groups[group_of[row]].agent, []).append(self.curves[row])
        covered = value_range({agent: np.concatenate(curves) for agent, curves in drawn.items()})
        experiment = folder.experiment
        counted = "step" if experiment.steps else "episode"
        per_unit = f" per {counted}" if not (experiment.record or experiment.curve) else ""
        return {
            "ids": columns["trial"],
            "columns": [
                {"name": name, "values": columns[name]} for name in (*shown, "runs", "diverged")
            ],
            "groups": [{"key": group.agent, "problem": group.problem} for group in groups],
            "groupOf": group_of,
            "scores": pack(
                np.column_stack([trial_means(best.values), trial_intervals(best.values)])
            ),
            "curves": pack(self.curves),
            "positions": self.positions,
            "range": [covered.low, covered.high],
            "best": rows,
            "xName": counted,
            "yName": folder.quantity + per_unit,
            "metric": best.title,
            "lines": [chart.data("") for chart in self.charts],
        }


def pack(values: np.ndarray) -> str:
    """Encode an array as base64 of little-endian 32-bit floats, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


def summarise_curves(folder: SweepFolder) -> tuple[np.ndarray, np.ndarray]:
    """Return mean, low and high of all curves, (trials, 3, points), and positions (points,)."""
    trials = folder.table.num_rows
    rows = [group.rows[0] for group in folder.groups if len(group.rows)]
    axes = [folder.panel(row, folder.curves(row)).x for row in rows]
    bins = max(axes, key=len, default=np.zeros(1))
    points = min(bins.size, MOST_POINTS)
    starts = np.arange(points) * bins.size // points
    sizes = np.diff(np.append(starts, bins.size))
    summary = np.full((trials, 3, points), np.nan, np.float32)
    for row, curves in folder.all_curves():
        own, places = folder.panel(row, curves).x, np.arange(bins.size)
        if not np.array_equal(own, bins):  # probes where phases begin, which settings can move
            places = np.maximum(np.searchsorted(own, bins, side="right") - 1, 0)
        summary[row] = mean_band(np.add.reduceat(curves[:, places], starts, axis=1) / sizes)
    return summary, np.add.reduceat(bins, starts) / sizes


def mean_band(runs: np.ndarray) -> np.ndarray:
    """Return mean and 95 % t-interval, (runs, points) to (3, points); NaN after a divergence."""
    from scipy.special import stdtrit

    runs = finite_or_nan(runs)
    mean, count = runs.mean(axis=0), len(runs)
    half = np.full_like(mean, np.nan)
    if count > 1:
        half = stdtrit(count - 1, 0.975) * runs.std(axis=0, ddof=1) / np.sqrt(count)
    return np.stack([mean, mean - half, mean + half])
