"""The page of a sweep's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.selection import setting_intervals, setting_means
from expectant.files import read_whole
from expectant.lab.choosing.best_command import BEST, RULES, STAGES, choose
from expectant.lab.choosing.choice_figures import heat_maps, sensitivities
from expectant.lab.choosing.sweep_folder import SweepFolder, all_curves, read_folder, values_of
from expectant.lab.measures import MEASURES, Measure
from expectant.lab.search import SEARCH
from expectant.lab.store.cell_tables import troubles_in, troubles_section, version_rows
from expectant.lab.store.folder import again, place_of
from expectant.show import Environment, Header, Parameters, Section, write_page
from expectant.show.sweep_sections import SweepGroup, SweepSection

REPORT = "report.html"
BUDGET = 24e6  # bytes of all curves on the page
MOST_POINTS, FEWEST_POINTS = 400, 8
POINT_BYTES = 16  # mean, low and high, four bytes each, in base64


def report_sweep(path: Path, *, trust: bool = False) -> Path:
    """Write the page of a folder, by the measure of a best.json that belongs to its runs."""
    folder = read_folder(path, trust=trust)
    sweep = sweep_section(folder)
    return write_page(path / REPORT, page_sections(folder, sweep), sweep.palette)


def page_sections(folder: SweepFolder, sweep: SweepSection) -> list[Section]:
    experiment, path = folder.experiment, folder.path
    length = f"{experiment.episodes or experiment.steps:,}"
    counted = "episodes" if experiment.episodes else "steps"
    subtitle = f"{len(sweep.ids):,} cells of {experiment.runs} runs, {length} {counted} each"
    command = [] if (path / SEARCH).exists() else [again("run", path)]
    return [
        Header(experiment.title, subtitle, experiment.notes),
        sweep,
        troubles_section(troubles_in(folder.table)),
        *(Parameters([], (), each, place_of(path)) for each in command),
        Environment([*version_rows(folder.path), ("seed", experiment.seed)]),
    ]


def sweep_section(folder: SweepFolder) -> SweepSection:
    """Everything that the page shows of the cells."""
    experiment, columns = folder.experiment, folder.columns
    measure, stored = _stored_choices(folder)
    less = measure.prefers_less(experiment.of_errors)
    curves, positions, values = read_curves(folder, measure)
    values = folder.values if measure.name == "mean" else values  # to the last digit
    ids = columns["cell"]
    choices = stored or [choice.as_data(ids) for choice in choose(folder, values, measure)]
    stages = dict.fromkeys(choice["stage"] for choice in choices if choice["best"] is not None)
    varied = {name for group in folder.groups for name in group.settings}
    shown = [n for n in folder.settings if n.startswith("domain.") or n in varied]
    group_of = np.zeros(len(ids), int)
    for position, group in enumerate(folder.groups):
        group_of[group.rows] = position
        group_of[group.unfinished] = position
    counted = "step" if experiment.steps else "episode"
    binned = experiment.record is None and not experiment.curve
    return SweepSection(
        measure=f"{measure.name}: {measure.meaning}{', less is better' if less else ''}",
        choices=choices,
        notes=[STAGES[stage] for stage in stages],
        rules=RULES,
        ids=ids,
        columns={name: columns[name] for name in (*shown, "runs", "diverged")},
        groups=[
            SweepGroup(
                group.agent, group.label, group.problem, sensitivities(group, values, less),
                heat_maps(group, values, less),
            )
            for group in folder.groups
        ],
        group_of=group_of.tolist(),
        scores=np.column_stack([setting_means(values), setting_intervals(values)]),
        curves=curves,
        positions=positions,
        x_name=counted,
        y_name=f"{folder.quantity} per {counted}" if binned else folder.quantity,
    )  # fmt: skip


def _stored_choices(folder: SweepFolder) -> tuple[Measure, list[dict[str, Any]] | None]:
    """The measure and the choices of best.json, if they are of these runs; else the mean."""
    try:
        stored = json.loads(read_whole(folder.path / BEST))
        told = (stored["spec"], stored["cells"])
        if told == (folder.spec_hash, folder.cells_hash):
            return MEASURES[stored["measure"]], stored["choices"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    return MEASURES["mean"], None


def read_curves(folder: SweepFolder, measure: Measure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From one reading of all blocks: curves (cells, 3, points) with mean, low and high, the
    positions (points,) of their points, and the measure of all runs (cells, runs)."""
    cells = folder.table.num_rows
    rows = [group.rows[0] for group in folder.groups if len(group.rows)]
    bins = max((folder.positions(row) for row in rows), key=len, default=np.zeros(1))
    allowed = int(BUDGET / (POINT_BYTES * max(cells, 1)))
    points = min(bins.size, MOST_POINTS, max(FEWEST_POINTS, allowed))
    starts = np.arange(points) * bins.size // points
    sizes = np.diff(np.append(starts, bins.size))
    curves = np.full((cells, 3, points), np.nan, np.float32)
    values = np.full((cells, folder.experiment.runs), np.nan)
    for row, own in all_curves(folder):
        values[row] = values_of(folder, measure, row, own)
        own_bins, common = folder.positions(row), own
        if not np.array_equal(own_bins, bins):  # looks where phases begin, which settings can move
            common = own[:, np.maximum(np.searchsorted(own_bins, bins, side="right") - 1, 0)]
        curves[row] = mean_band(np.add.reduceat(common, starts, axis=1) / sizes)
    return curves, np.add.reduceat(bins, starts) / sizes, values


def mean_band(runs: np.ndarray) -> np.ndarray:
    """Mean and 95 % t-interval over runs, (runs, points) to (3, points); NaN after a divergence."""
    from scipy.special import stdtrit

    runs = finite_or_nan(runs)
    mean, count = runs.mean(axis=0), len(runs)
    half = np.full_like(mean, np.nan)
    if count > 1:
        half = stdtrit(count - 1, 0.975) * runs.std(axis=0, ddof=1) / np.sqrt(count)
    return np.stack([mean, mean - half, mean + half])
