"""Figures and page of a sweep: best settings, their curves, sensitivity, all trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.selection import best_by_value, best_index, trial_intervals, trial_means
from expectant.core.rules import is_number
from expectant.experiments.best import Best, select_best
from expectant.experiments.curves import group_panels
from expectant.experiments.metrics import METRICS
from expectant.experiments.runner import LISTED, problem_rows, stored_versions
from expectant.experiments.store import TRIALS, rerun_command
from expectant.experiments.sweep_results import Group, SweepFolder, read_folder
from expectant.report import (
    Curves,
    Environment,
    Header,
    Palette,
    Rules,
    Section,
    Table,
    chart_of,
    draw_chart,
    write_page,
)
from expectant.report.chart_data import Chart, Curve, Plot, columns_for
from expectant.report.formatting import format_interval, format_number, parameter_name, slug

MOST_ROWS = 300  # of the table of trials


def report_sweep(path: Path, *, trust: bool = False) -> list[Path]:
    """Write figures and page of a folder, by the mean over all bins."""
    folder = read_folder(path, trust=trust)
    return write_report(select_best(folder, METRICS["mean"], folder.values))


def write_report(best: Best) -> list[Path]:
    """Write figures and page of a selection into its folder; nothing if no trial is finished."""
    folder, experiment = best.folder, best.folder.experiment
    if not any(len(group.rows) for group in folder.groups):
        return []
    length = f"{experiment.episodes or experiment.steps:,}"
    counted = "episodes" if experiment.episodes else "steps"
    trials = f"{len(folder.columns['trial']):,} trials of {experiment.runs} runs"
    problems = [list(row) for row in problem_rows(folder.table, LISTED)]
    palette = Palette({group.agent: group.label for group in folder.groups})
    sensitivity, figures = _sensitivity_sections(best, palette)
    sections: list[Section] = [
        Header(experiment.title, f"{trials}, {length} {counted} each", experiment.notes),
        *(Table(*table) for table in best.tables()),
        best_curves(best),
        *sensitivity,
        trial_table(best),
        Table("What went wrong", ["trial", "what happened"], problems),
        Rules([f"Settings are chosen by {best.title}.", *best.notes]),
        Environment(
            {**stored_versions(folder.path), "seed": experiment.seed}, rerun_command(folder.path)
        ),
    ]
    return [*figures, write_page(folder.path / "report.html", sections, palette)]


def best_curves(best: Best) -> Curves:
    """Return the learning curves of every agent at its best setting, a plot for every domain."""
    folder, runs = best.folder, best.folder.experiment.runs
    groups = {choice.best: choice.group for choice in best.choices if choice.best is not None}
    trials = [
        replace(
            folder.trial(row, runs), panel=group.problem, agent_key=group.agent, label=group.label
        )
        for row, group in groups.items()
    ]
    chart = chart_of(group_panels(trials, [folder.curves(row) for row in groups]))
    facts = [f"mean of {runs} runs and 95 % bootstrap interval"]
    return Curves("curves", "at the best settings", chart, facts=facts)


def _sensitivity_sections(best: Best, palette: Palette) -> tuple[list[Section], list[Path]]:
    """Draw the sensitivity in every domain with a varied setting; return sections and files."""
    sections, paths = list[Section](), list[Path]()
    folder, title = best.folder, best.folder.experiment.title
    label = f"{folder.quantity}, {best.metric.name}"
    for number, (problem, groups) in enumerate(group_by_problem(folder).items(), start=1):
        chart = sensitivity_chart(groups, best.values, label, best.less_is_better)
        if chart.plots:
            heading = f"{title}\n{problem}" if problem else title
            stem = f"-{f'{number}-{slug(problem)}'[:60]}" if problem else ""
            files = draw_chart(chart, heading, folder.path / f"sensitivity{stem}", palette)
            name, links = f"sensitivity, {problem}".strip(", "), [path.name for path in files]
            facts = ["the other settings at their best", "a line ends where everything diverged"]
            sections.append(Curves(name, "", chart, facts=facts, files=links))
            paths += files
    return sections, paths


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


def trial_table(best: Best) -> Table:
    """Return the best finished trials in order, with the settings that were varied."""
    folder, means = best.folder, trial_means(best.values)
    columns, intervals = folder.columns, trial_intervals(best.values)
    varied = {name for group in folder.groups for name in group.settings}
    settings = [name for name in columns if name.startswith("domain.") or name in varied]
    labels = {row: group.label for group in folder.groups for row in group.rows.tolist()}
    worth = np.where(np.isnan(means), -np.inf, -means if best.less_is_better else means)
    ranked = sorted(labels, key=lambda row: -worth[row])
    rows = [
        [
            labels[row],
            *(format_number(columns[name][row]) for name in settings),
            format_number(means[row]),
            format_interval(*intervals[row]),
            str(columns["diverged"][row]),
        ]
        for row in ranked[:MOST_ROWS]
    ]
    hidden = len(columns["trial"]) - len(rows)
    heading = f"Trials, best first; {hidden:,} more are in {TRIALS}" if hidden else "Trials"
    heads = ["agent", *map(parameter_name, settings), best.metric.name, "95 %", "diverged"]
    return Table(heading, heads, rows)
