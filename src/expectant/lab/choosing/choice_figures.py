"""The figures of a choice: sensitivity curves and heat maps of every problem."""

from __future__ import annotations

from collections.abc import Sequence
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
from expectant.lab.choosing.sweep_folder import Group, SweepFolder
from expectant.lab.measures import Measure
from expectant.show.palette import Palette
from expectant.show.sensitivity import HeatMap, Sensitivity
from expectant.show.sensitivity_figures import draw_heat_maps, draw_sensitivity
from expectant.show.wording import slug

MOST_FIELDS = 20_000  # of a map: a search may have tried a different value in every cell


def draw_choice(
    folder: SweepFolder, values: np.ndarray, measure: Measure, place: Path
) -> list[Path]:
    """One figure of curves and one of maps for every problem in which something was varied."""
    paths: list[Path] = []
    title, quantity = folder.experiment.title, folder.quantity
    less = measure.prefers_less(folder.experiment.of_errors)
    palette = Palette({group.agent: group.label for group in folder.groups})
    problems = list(dict.fromkeys(group.problem for group in folder.groups))
    for number, problem in enumerate(problems, start=1):
        groups = [g for g in folder.groups if g.problem == problem and len(g.rows)]
        heading = f"{title}\n{problem}" if problem else title
        stem = f"{number}-{slug(problem)}"[:60] if problem else ""
        curves = [line for group in groups for line in sensitivities(group, values, less)]
        if curves:
            name = place / "-".join(filter(None, ["sensitivity", stem]))
            label = f"{quantity}, {measure.name}"
            paths += draw_sensitivity(curves, heading, label, name, palette)
        maps = [found for group in groups for found in heat_maps(group, values, less)]
        if maps:
            name = place / "-".join(filter(None, ["heat", stem]))
            paths += draw_heat_maps(maps, heading, f"{quantity}, {measure.meaning}", name)
    return paths


def sensitivities(group: Group, values: np.ndarray, less: bool = False) -> list[Sensitivity]:
    """The curve of every setting of a group, by all runs."""
    own = values[group.rows]
    means = setting_means(own)
    found = []
    for name, points in all_responses(group, -means if less else means).items():
        cells = [point.envelope for point in points]
        envelope = np.column_stack([means[cells], setting_intervals(own[cells])])
        through = np.array([np.nan if p.slice is None else means[p.slice] for p in points])
        line = Sensitivity(
            group.agent, name, [p.value for p in points], envelope,
            through if len(group.settings) > 1 else None, less,
        )  # fmt: skip
        found.append(line)
    return found


def all_responses(group: Group, means: np.ndarray) -> dict[str, list[Response]]:
    """What every value of every setting is worth, where more is better."""
    best = pick(means)
    return {name: responses(group.settings, means, name, best) for name in group.settings}


def heat_maps(group: Group, values: np.ndarray, less: bool = False) -> list[HeatMap]:
    """The map of the two settings that matter most; none if fewer were varied."""
    means = setting_means(values[group.rows])
    if len(group.settings) < 2:
        return []
    first, second = _two_that_matter(group, -means if less else means)
    return [heat_map(group, means, first, second, less)]


def all_heat_maps(group: Group, values: np.ndarray, less: bool = False) -> list[HeatMap]:
    """The maps of any two settings, but for those of too many fields to be looked at."""
    means = setting_means(values[group.rows])
    counts = {name: len(set(column)) for name, column in group.settings.items()}
    return [
        heat_map(group, means, first, second, less)
        for first, second in combinations(group.settings, 2)
        if len(means) and counts[first] * counts[second] <= MOST_FIELDS
    ]


def heat_map(
    group: Group, means: np.ndarray, first: str, second: str, less: bool = False
) -> HeatMap:
    """The best with every pair of values of two settings; ``means`` (rows of the group,)."""
    grid = grid_of(group.settings, -means if less else means, first, second)
    tried = grid.best >= 0
    shown = np.where(tried, means[grid.best], np.nan)
    return HeatMap(
        group.label, first, second, grid.first, grid.second, shown, tried & np.isnan(shown),
        np.where(tried, group.rows[grid.best], -1), less,
    )  # fmt: skip


def _two_that_matter(group: Group, means: np.ndarray) -> Sequence[str]:
    found = all_responses(group, means)
    ranked = sorted(found, key=lambda name: -spread(means, found[name]))
    return [name for name in group.settings if name in ranked[:2]]
