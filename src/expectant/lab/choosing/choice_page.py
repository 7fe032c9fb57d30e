"""The page of a sweep's folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.selection import setting_intervals, setting_means
from expectant.lab.choosing.best_command import BEST
from expectant.lab.choosing.choice_figures import all_heat_maps, sensitivities
from expectant.lab.choosing.scores import all_curves, values_of
from expectant.lab.choosing.stages import RULES, STAGES, choices, choices_as_data
from expectant.lab.choosing.sweep_folder import SweepFolder, read_folder
from expectant.lab.measures import MEASURES, Measure
from expectant.lab.search import SEARCH
from expectant.lab.store.facts import versions
from expectant.lab.store.folder import again, place_of
from expectant.lab.store.sealed_tables import read_whole
from expectant.lab.store.troubles import troubles_in, troubles_section
from expectant.show import Environment, Header, Parameters, Section, write_page
from expectant.show import sweep_sections as shown
from expectant.show.sensitivity import Sensitivity

REPORT = "report.html"


def report_sweep(path: Path, *, trust: bool = False) -> Path:
    """Write the page of a folder."""
    folder = read_folder(path, trust=trust)
    cells = cells_of(folder)
    return write_page(path / REPORT, sections_of(folder, cells), cells.palette)


def sections_of(folder: SweepFolder, cells: shown.Cells) -> list[Section]:
    """The page of a folder."""
    experiment = folder.experiment
    return [
        Header(experiment.title, _subtitle(folder), experiment.notes),
        shown.BestSettings(cells, RULES),
        *cells.sections,
        troubles_section(troubles_in(folder.table)),
        *_again(folder.path),
        Environment([*versions().items(), ("seed", experiment.seed)]),
    ]


def _again(path: Path) -> list[Section]:
    """How the results are made again; a search does not keep how much was asked for."""
    searched = (path / SEARCH).exists()
    return [] if searched else [Parameters([], (), again("run", path), place_of(path))]


def cells_of(folder: SweepFolder) -> shown.Cells:
    """What the page of a folder shows."""
    experiment, columns = folder.experiment, folder.columns
    counted, quantity = "step" if experiment.steps else "episode", folder.quantity
    binned = experiment.record is None and not experiment.curve
    mean, final = MEASURES["mean"], MEASURES["final"]
    curves, positions, late = read_all(folder)
    return shown.Cells(
        ids=columns["cell"],
        columns={name: columns[name] for name in _shown(folder)},
        groups=[
            shown.ShownGroup(group.agent, group.label, group.problem) for group in folder.groups
        ],
        group_of=_group_of(folder),
        runs=columns["runs"],
        diverged=columns["diverged"],
        measures=[_measure(folder, mean, folder.values), _measure(folder, final, late)],
        curves=curves,
        positions=positions,
        counted=counted,
        quantity=quantity,
        curve_name=f"{quantity} per {counted}" if binned else quantity,
    )


def read_all(folder: SweepFolder) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From one reading of all blocks: curves (cells, 3, points) with mean, low and high, the
    positions (points,) of their points, and the final numbers of all runs (cells, runs)."""
    experiment, cells = folder.experiment, folder.table.num_rows
    places = _places(folder)
    starts = thinned(places.size, shown.points_for(cells, places.size))
    sizes = np.diff(np.append(starts, places.size))
    curves = np.full((cells, 3, starts.size), np.nan, np.float32)
    late = np.full((cells, experiment.runs), np.nan)
    for row, found in all_curves(folder):
        there = _as_at(found, folder.positions(row), places)
        curves[row] = banded(np.add.reduceat(there, starts, axis=1) / sizes)
        late[row] = values_of(folder, MEASURES["final"], row, found)
    return curves, np.add.reduceat(places, starts) / sizes, late


def _places(folder: SweepFolder) -> np.ndarray:
    """Where the points of curves stand, in the domain that has most of them."""
    rows = [group.rows[0] for group in folder.groups if len(group.rows)]
    return max((folder.positions(row) for row in rows), key=len, default=np.zeros(1))


def _as_at(curves: np.ndarray, own: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Curves (runs, points) at other places: what was seen last, or at first if nothing was yet.

    Looks are taken where phases begin and end, which settings of the domain can move.
    """
    if np.array_equal(own, places):
        return curves
    last = np.searchsorted(own, places, side="right") - 1
    return curves[:, np.maximum(last, 0)]


def thinned(bins: int, points: int) -> np.ndarray:
    """The first bin of each of so many points, which share the bins as evenly as they can.

    >>> thinned(5, 2)
    array([0, 2])
    """
    return np.arange(points) * bins // points


def banded(runs: np.ndarray) -> np.ndarray:
    """Mean and 95 % t-interval over runs, (runs, points) to (3, points); NaN after a divergence."""
    from scipy.special import stdtrit

    runs = finite_or_nan(runs)
    mean, count = runs.mean(axis=0), len(runs)
    if count < 2:
        return np.stack([mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)])
    half = stdtrit(count - 1, 0.975) * runs.std(axis=0, ddof=1) / np.sqrt(count)
    return np.stack([mean, mean - half, mean + half])


def _shown(folder: SweepFolder) -> list[str]:
    """The columns of settings that were varied: those of the domain, and those of any group."""
    varied = {name for group in folder.groups for name in group.settings}
    return [name for name in folder.settings if name.startswith("domain.") or name in varied]


def _subtitle(folder: SweepFolder) -> str:
    experiment = folder.experiment
    length = f"{experiment.episodes or experiment.steps:,}"
    counted = "episodes" if experiment.episodes else "steps"
    return f"{folder.table.num_rows:,} cells of {experiment.runs} runs, {length} {counted} each"


def _group_of(folder: SweepFolder) -> list[int]:
    found = np.zeros(folder.table.num_rows, int)
    for place, group in enumerate(folder.groups):
        found[group.rows] = place
        found[group.unfinished] = place
    return found.tolist()


def _measure(folder: SweepFolder, measure: Measure, values: np.ndarray) -> shown.ShownMeasure:
    scores = np.column_stack([setting_means(values), setting_intervals(values)])
    less = measure.prefers_less(folder.experiment.of_errors)
    picked = choices(folder, values, less_is_better=less)
    found = _confirmed(folder, measure) or choices_as_data(folder, picked)
    stages = [STAGES[stage] for stage in _stages(found)]
    lines: dict[str, list[Sensitivity]] = {}
    for group in folder.groups:
        if len(group.rows):
            lines.setdefault(group.problem, []).extend(sensitivities(group, values, less))
    maps = [all_heat_maps(group, values, less) for group in folder.groups]
    meaning = f"{measure.meaning}, less is better" if less else measure.meaning
    return shown.ShownMeasure(measure.name, meaning, scores, found, stages, lines, maps)


def _stages(found: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(choice["stage"] for choice in found if choice["best"] is not None))


def _confirmed(folder: SweepFolder, measure: Measure) -> list[dict[str, Any]] | None:
    """The choices that the command ``best`` has made by this measure, if they are of these runs."""
    try:
        stored = json.loads(read_whole(folder.path / BEST))
        told = (stored["spec"], stored["cells"], stored["measure"])
        current = told == (folder.spec_hash, folder.cells_hash, measure.name)
        found = stored["choices"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return found if current else None
