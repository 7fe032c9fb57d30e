"""Figures and report of a sweep."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.selection import (
    Response,
    best_grid,
    best_index,
    envelope_range,
    responses,
    trial_intervals,
    trial_means,
)
from expectant.core.files import read_whole
from expectant.experiments.best import (
    BEST,
    COMPARED,
    DIFFERENCE_HEADS,
    STAGES,
    Best,
    difference_row,
    select_best,
)
from expectant.experiments.metrics import METRICS, Metric
from expectant.experiments.runner import troubles_in, troubles_section, version_rows
from expectant.experiments.search import SEARCH
from expectant.experiments.store import folder_note, rerun_command
from expectant.experiments.sweep_results import (
    CHOSEN,
    Group,
    SweepFolder,
    compute_metric,
    metric_of_row,
    read_folder,
)
from expectant.report import Environment, Header, Parameters, Section, Table, draw_chart, write_page
from expectant.report.formatting import slug
from expectant.report.palette import Palette
from expectant.report.sweep_sections import (
    HeatMap,
    Sensitivity,
    SweepGroup,
    SweepSection,
    sensitivity_chart,
)

REPORT = "report.html"
BUDGET = 24e6  # bytes of all curves in the report
MOST_POINTS, FEWEST_POINTS = 400, 8
POINT_BYTES = 16  # mean, low and high, four bytes each, in base64
MOST_FIELDS = 20_000  # of a map: a search may have tried a different value in every trial


# -------------------------------------------------------------------------------------- figures


def draw_sweep(path: Path, *, trust: bool = False) -> list[Path]:
    """Draw the figures of a sweep's folder, by the mean over all bins."""
    folder, metric = read_folder(path, trust=trust), METRICS["mean"]
    return draw_sensitivities(select_best(folder, metric, compute_metric(folder, metric)), path)


def draw_sensitivities(best: Best, target: Path) -> list[Path]:
    """Draw the sensitivity curves of every problem in which something was varied."""
    paths: list[Path] = []
    folder, title = best.folder, best.folder.experiment.title
    palette = Palette({group.agent: group.label for group in folder.groups})
    for number, problem in enumerate(dict.fromkeys(g.problem for g in folder.groups), start=1):
        groups = [g for g in folder.groups if g.problem == problem and len(g.rows)]
        heading = f"{title}\n{problem}" if problem else title
        stem = f"-{f'{number}-{slug(problem)}'[:60]}" if problem else ""
        lines = [
            line
            for group in groups
            for line in sensitivity_lines(group, best.values, best.less_is_better)
        ]
        if lines:
            label = f"{folder.quantity}, {best.metric.name}"
            chart = sensitivity_chart(lines, label)
            paths += draw_chart(chart, heading, target / f"sensitivity{stem}", palette)
    return paths


def sensitivity_lines(group: Group, values: np.ndarray, less: bool = False) -> list[Sensitivity]:
    """Return the sensitivity curve of every parameter of a group, by all runs."""
    runs = values[group.rows]
    means = trial_means(runs)
    lines = []
    for name, points in _all_responses(group, -means if less else means).items():
        trials = [point.envelope for point in points]
        envelope = np.column_stack([means[trials], trial_intervals(runs[trials])])
        tried = [point.value for point in points]
        lines.append(Sensitivity(group.agent, name, tried, envelope, less))
    return lines


def _all_responses(group: Group, means: np.ndarray) -> dict[str, list[Response]]:
    """Return the response to every value of every parameter; more is better."""
    if not len(means):
        return {}
    best = best_index(means)
    return {name: responses(group.settings, means, name, best) for name in group.settings}


def heat_maps(group: Group, values: np.ndarray, less: bool = False) -> list[HeatMap]:
    """Return the maps of every two parameters, the most important first, without huge ones."""
    means = trial_means(values[group.rows])
    worth = -means if less else means
    matters = {
        name: envelope_range(worth, points) for name, points in _all_responses(group, worth).items()
    }
    counts = {name: len(set(column)) for name, column in group.settings.items()}
    ranked = sorted(matters, key=lambda name: -matters[name])
    first = [name for name in group.settings if name in ranked[:2]]
    maps = []
    for pair in sorted(combinations(matters, 2), key=lambda pair: list(pair) != first):
        if counts[pair[0]] * counts[pair[1]] > MOST_FIELDS:
            continue
        grid = best_grid(group.settings, worth, *pair)
        tried = grid.best >= 0
        shown = np.where(tried, means[grid.best], np.nan)
        rows = np.where(tried, group.rows[grid.best], -1)
        maps.append(HeatMap(*pair, grid.first, grid.second, shown, rows, less))
    return maps


# --------------------------------------------------------------------------------------- report


def report_sweep(path: Path, *, trust: bool = False) -> Path:
    """Write the report of a folder, by the metric of a best.json that belongs to its runs."""
    folder = read_folder(path, trust=trust)
    experiment = folder.experiment
    sweep, differences = sweep_section(folder)
    length = f"{experiment.episodes or experiment.steps:,}"
    counted = "episodes" if experiment.episodes else "steps"
    subtitle = f"{len(sweep.ids):,} trials of {experiment.runs} runs, {length} {counted} each"
    command = [] if (path / SEARCH).exists() else [rerun_command("run", path)]
    sections: list[Section] = [
        Header(experiment.title, subtitle, experiment.notes),
        Table(COMPARED, DIFFERENCE_HEADS, [difference_row(each) for each in differences]),
        sweep,
        troubles_section(troubles_in(folder.table)),
        *(Parameters([], (), each, folder_note(path)) for each in command),
        Environment([*version_rows(folder.path), ("seed", experiment.seed)]),
    ]
    return write_page(path / REPORT, sections, sweep.palette)


def sweep_section(folder: SweepFolder) -> tuple[SweepSection, list[dict[str, Any]]]:
    """Return the section of all trials, and the differences between agents."""
    experiment, columns = folder.experiment, folder.columns
    stored = _stored_choices(folder)
    metric = METRICS[stored["metric"] if stored else "mean"]
    curves, positions, values = summarise_curves(folder, metric)
    best = select_best(folder, metric, folder.values if metric.name == "mean" else values)
    data, less = stored or best.as_data(), best.less_is_better
    stages = dict.fromkeys(each["stage"] for each in data["choices"] if each["best"] is not None)
    varied = {name for group in folder.groups for name in group.settings}
    shown = [
        n for n in columns if n.startswith("domain.") or (n.startswith(CHOSEN) and n in varied)
    ]
    group_of = np.zeros(len(columns["trial"]), int)
    for position, group in enumerate(folder.groups):
        group_of[group.rows] = position
        group_of[group.unfinished] = position
    counted = "step" if experiment.steps else "episode"
    binned = experiment.record is None and not experiment.curve
    section = SweepSection(
        metric=best.title,
        choices=data["choices"],
        notes=[STAGES[stage] for stage in stages],
        rules=data["rules"],
        ids=columns["trial"],
        columns={name: columns[name] for name in (*shown, "runs", "diverged")},
        groups=[
            SweepGroup(
                group.agent, group.label, group.problem,
                sensitivity_lines(group, best.values, less), heat_maps(group, best.values, less),
            )
            for group in folder.groups
        ],
        group_of=group_of.tolist(),
        scores=np.column_stack([trial_means(best.values), trial_intervals(best.values)]),
        curves=curves,
        positions=positions,
        x_name=counted,
        y_name=f"{folder.quantity} per {counted}" if binned else folder.quantity,
    )  # fmt: skip
    return section, data["differences"]


def _stored_choices(folder: SweepFolder) -> dict[str, Any] | None:
    """Read best.json if it belongs to these runs."""
    try:
        stored: dict[str, Any] = json.loads(read_whole(folder.path / BEST))
        if (stored["config"], stored["trials"]) != (folder.config_hash, folder.trials_hash):
            return None
        return stored if stored["metric"] in METRICS and "differences" in stored else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def summarise_curves(
    folder: SweepFolder, metric: Metric
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read all curves once: (trials, 3, points) with mean, low and high, the positions (points,),
    and the metric of all runs (trials, runs)."""
    trials = folder.table.num_rows
    rows = [group.rows[0] for group in folder.groups if len(group.rows)]
    axes = [folder.panel(row, folder.curves(row)).x for row in rows]
    bins = max(axes, key=len, default=np.zeros(1))
    allowed = int(BUDGET / (POINT_BYTES * max(trials, 1)))
    points = min(bins.size, MOST_POINTS, max(FEWEST_POINTS, allowed))
    starts = np.arange(points) * bins.size // points
    sizes = np.diff(np.append(starts, bins.size))
    curves = np.full((trials, 3, points), np.nan, np.float32)
    values = np.full((trials, folder.experiment.runs), np.nan)
    for row, trial_curves in folder.all_curves():
        values[row] = metric_of_row(folder, metric, row, trial_curves)
        trial_bins, common = folder.panel(row, trial_curves).x, trial_curves
        if not np.array_equal(
            trial_bins, bins
        ):  # probes where phases begin, which settings can move
            nearest = np.maximum(np.searchsorted(trial_bins, bins, side="right") - 1, 0)
            common = trial_curves[:, nearest]
        curves[row] = mean_band(np.add.reduceat(common, starts, axis=1) / sizes)
    return curves, np.add.reduceat(bins, starts) / sizes, values


def mean_band(runs: np.ndarray) -> np.ndarray:
    """Return mean and 95 % t-interval, (runs, points) to (3, points); NaN after a divergence."""
    from scipy.special import stdtrit

    runs = finite_or_nan(runs)
    mean, count = runs.mean(axis=0), len(runs)
    half = np.full_like(mean, np.nan)
    if count > 1:
        half = stdtrit(count - 1, 0.975) * runs.std(axis=0, ddof=1) / np.sqrt(count)
    return np.stack([mean, mean - half, mean + half])
