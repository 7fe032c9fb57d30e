"""Sensitivity curves and heat maps of every problem of a sweep."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np

from expectant.analysis.selection import (
    Response,
    grid_of,
    pick,
    responses,
    setting_intervals,
    setting_means,
    spread,
)
from expectant.lab.choosing.sweep_folder import Group, SweepFolder, measured, read_folder
from expectant.lab.measures import Measure, measure_named
from expectant.show.palette import Palette
from expectant.show.sensitivity import HeatMap, Sensitivity, draw_sensitivity
from expectant.show.wording import slug

MOST_FIELDS = 20_000  # of a map: a search may have tried a different value in every cell


def draw_sweep(path: Path, *, trust: bool = False) -> list[Path]:
    """Draw the figures of a sweep's folder, by the mean over all bins."""
    folder, measure = read_folder(path, trust=trust), measure_named("mean")
    return draw_choice(folder, measured(folder, measure), measure, path)


def draw_choice(
    folder: SweepFolder, values: np.ndarray, measure: Measure, place: Path
) -> list[Path]:
    """Draw the sensitivity curves of every problem in which something was varied."""
    paths: list[Path] = []
    title, quantity = folder.experiment.title, folder.quantity
    less = measure.prefers_less(folder.experiment.of_errors)
    palette = Palette({group.agent: group.label for group in folder.groups})
    for number, problem in enumerate(dict.fromkeys(g.problem for g in folder.groups), start=1):
        groups = [g for g in folder.groups if g.problem == problem and len(g.rows)]
        heading = f"{title}\n{problem}" if problem else title
        stem = f"-{f'{number}-{slug(problem)}'[:60]}" if problem else ""
        lines = [line for group in groups for line in sensitivities(group, values, less)]
        if lines:
            label = f"{quantity}, {measure.name}"
            paths += draw_sensitivity(lines, heading, label, place / f"sensitivity{stem}", palette)
    return paths


def sensitivities(group: Group, values: np.ndarray, less: bool = False) -> list[Sensitivity]:
    """The curve of every setting of a group, by all runs."""
    own = values[group.rows]
    means = setting_means(own)
    lines = []
    for name, points in _all_responses(group, -means if less else means).items():
        cells = [point.envelope for point in points]
        envelope = np.column_stack([means[cells], setting_intervals(own[cells])])
        through = np.array([np.nan if p.slice is None else means[p.slice] for p in points])
        single = len(group.settings) == 1
        line = Sensitivity(
            group.agent,
            name,
            [p.value for p in points],
            envelope,
            None if single else through,
            less,
        )
        lines.append(line)
    return lines


def _all_responses(group: Group, means: np.ndarray) -> dict[str, list[Response]]:
    """The worth of every value of every setting; more is better."""
    if not len(means):
        return {}
    best = pick(means)
    return {name: responses(group.settings, means, name, best) for name in group.settings}


def heat_maps(group: Group, values: np.ndarray, less: bool = False) -> list[HeatMap]:
    """The maps of every two settings, those that matter most first; without maps that are huge."""
    means = setting_means(values[group.rows])
    worth = -means if less else means
    matters = {name: spread(worth, found) for name, found in _all_responses(group, worth).items()}
    counts = {name: len(set(column)) for name, column in group.settings.items()}
    ranked = sorted(matters, key=lambda name: -matters[name])
    first = [name for name in group.settings if name in ranked[:2]]
    pairs = sorted(combinations(matters, 2), key=lambda pair: list(pair) != first)
    return [
        _heat_map(group, means, *pair, less)
        for pair in pairs
        if counts[pair[0]] * counts[pair[1]] <= MOST_FIELDS
    ]


def _heat_map(group: Group, means: np.ndarray, first: str, second: str, less: bool) -> HeatMap:
    """The best with every pair of values of two settings; ``means`` (rows of the group,)."""
    grid = grid_of(group.settings, -means if less else means, first, second)
    tried = grid.best >= 0
    shown = np.where(tried, means[grid.best], np.nan)
    return HeatMap(
        first, second, grid.first, grid.second, shown, np.where(tried, group.rows[grid.best], -1),
        less,
    )  # fmt: skip
