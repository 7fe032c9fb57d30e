"""The sections of a sweep: the best settings, curves, a table of all cells, sensitivity, heat maps.

Many numbers go to the script packed, as base64 of 32-bit floats.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from expectant.show.chart import marks_data
from expectant.show.palette import Palette
from expectant.show.ranges import floor_of, marks_below
from expectant.show.sections import Section
from expectant.show.sensitivity import HeatMap, Sensitivity, lines_data, map_data
from expectant.show.wording import EDGE_NOTE, setting_in_words, shown_interval, shown_number

ChoiceData = Mapping[str, Any]
BUDGET = 24e6  # bytes of all curves on the page
MOST_POINTS = 400
FEWEST_POINTS = 8
BYTES = 3 * 4 * 4 / 3  # of one point: mean, low and high, four bytes each, in base64


@dataclass(frozen=True, eq=False)
class ShownGroup:
    """One agent in one domain."""

    agent: str
    label: str
    problem: str


@dataclass(frozen=True, eq=False)
class ShownMeasure:
    """What cells are compared by: ``scores`` (cells, 3) has mean, low and high, NaN where a run
    diverged. ``choices`` are the best settings as plain data, made as ``stages`` say; ``lines`` are
    by problem, ``maps`` by group, of every two of its settings."""

    name: str
    meaning: str
    scores: np.ndarray
    choices: Sequence[ChoiceData]
    stages: Sequence[str]
    lines: Mapping[str, Sequence[Sensitivity]]
    maps: Sequence[Sequence[HeatMap]]


@dataclass(frozen=True, eq=False)
class Cells:
    """All cells of a sweep.

    ``columns`` maps the name of a setting to its value in every cell, None where a cell has it
    not; ``group_of`` is the position of every cell's group; ``curves`` (cells, 3, points) has
    mean, low and high at the ``positions`` (points,), NaN from where a run diverged on.
    ``quantity`` is what they are of in a word, ``curve_name`` what their axis is called.
    """

    ids: Sequence[str]
    columns: Mapping[str, Sequence[Any]]
    groups: Sequence[ShownGroup]
    group_of: Sequence[int]
    runs: Sequence[int]
    diverged: Sequence[int]
    measures: Sequence[ShownMeasure]
    curves: np.ndarray
    positions: np.ndarray
    counted: str
    quantity: str
    curve_name: str

    @property
    def palette(self) -> Palette:
        """One style for every agent."""
        return Palette({group.agent: group.label for group in self.groups})

    def best(self, measure: ShownMeasure) -> list[int]:
        """The positions of the best cells."""
        place = {name: row for row, name in enumerate(self.ids)}
        return [place[choice["best"]] for choice in measure.choices if choice["best"] is not None]

    @property
    def sections(self) -> list[Section]:
        """Everything but the best settings, in order."""
        return [CellCurves(self), CellTable(self), SensitivityLines(self), HeatMaps(self)]


def points_for(cells: int, bins: int) -> int:
    """How many points a curve may have so that all of them stay within the budget."""
    allowed = int(BUDGET / (BYTES * max(cells, 1)))
    return min(bins, MOST_POINTS, max(FEWEST_POINTS, allowed))


def packed(values: np.ndarray) -> str:
    """An array as base64 of little-endian 32-bit floats, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


@dataclass(frozen=True, eq=False)
class OfCells(Section):
    """A section about all cells."""

    cells: Cells

    @property
    def is_empty(self) -> bool:
        return not self.cells.ids


@dataclass(frozen=True, eq=False)
class BestSettings(OfCells):
    """The best setting of every agent by every measure, and the ``rules`` of the choice."""

    macro: ClassVar[str] = "best"
    rules: Sequence[str]

    @staticmethod
    def note(measure: ShownMeasure) -> str:
        """What to know about the choices by a measure, if anything."""
        return EDGE_NOTE if any(choice["at_edge"] for choice in measure.choices) else ""

    @property
    def measures(self) -> list[str]:
        return [f"{measure.name}: {measure.meaning}" for measure in self.cells.measures]

    @property
    def has_problems(self) -> bool:
        return any(group.problem for group in self.cells.groups)

    @staticmethod
    def settings(choice: ChoiceData) -> str:
        """The setting in words; empty where nothing was varied."""
        return setting_in_words(choice["settings"], choice["at_edge"])

    @staticmethod
    def score(score: Mapping[str, Any] | None) -> str:
        """A mean, its interval and the runs it is of."""
        if score is None:
            return "–"
        if score["diverged"]:
            return f"{score['diverged']} of {score['runs']} runs diverged"
        between = shown_interval(score["low"], score["high"])
        mean = shown_number(score["mean"]) + (f" ({between})" if between else "")
        return f"{mean}, {score['runs']} runs"


@dataclass(frozen=True, eq=False)
class CellCurves(OfCells):
    """The curves of cells that are chosen on the page; at first of the best ones."""

    macro: ClassVar[str] = "cell_curves"
    plots: ClassVar[bool] = True

    def data(self, anchor: str) -> dict[str, Any] | None:
        cells, floor = self.cells, self._floor
        shown = np.where(cells.curves >= floor, cells.curves, np.nan)
        there = ~np.isnan(shown).all(axis=(1, 2))
        low, high = np.full((2, len(shown)), np.nan)
        low[there] = np.nanmin(shown[there], axis=(1, 2))
        high[there] = np.nanmax(shown[there], axis=(1, 2))
        means = cells.curves[:, 0]
        fallen = np.flatnonzero((means < floor).any(axis=1))
        return {
            "curves": packed(cells.curves),
            "positions": cells.positions,
            "extents": [low, high],
            "marks": {int(cell): marks_data(marks_below(means[cell], floor)) for cell in fallen},
            "best": cells.best(cells.measures[0]),
            "xName": cells.counted,
            "yName": cells.curve_name,
        }

    @property
    def _floor(self) -> float:
        """Below which nothing is shown, by the best cells of every agent."""
        cells = self.cells
        values: dict[str, list[np.ndarray]] = {}
        for cell in cells.best(cells.measures[0]):
            agent, curve = cells.groups[cells.group_of[cell]].agent, cells.curves[cell]
            values.setdefault(agent, []).append(curve[np.isfinite(curve)])
        known = [np.concatenate(each) for each in values.values()]
        return floor_of(known, cells.curves[np.isfinite(cells.curves)])


@dataclass(frozen=True, eq=False)
class CellTable(OfCells):
    """A table of all cells, which can be filtered and sorted."""

    macro: ClassVar[str] = "cell_table"

    def data(self, anchor: str) -> dict[str, Any] | None:
        cells = self.cells
        return {
            "ids": list(cells.ids),
            "columns": [{"name": n, "values": list(v)} for n, v in cells.columns.items()],
            "groups": [{"key": group.agent, "problem": group.problem} for group in cells.groups],
            "groupOf": [int(place) for place in cells.group_of],
            "runs": [int(runs) for runs in cells.runs],
            "diverged": [int(runs) for runs in cells.diverged],
            "scores": [packed(measure.scores) for measure in cells.measures],
        }


@dataclass(frozen=True, eq=False)
class SensitivityLines(OfCells):
    """What every value of a setting is worth, in one domain at a time."""

    macro: ClassVar[str] = "sensitivity"
    plots: ClassVar[bool] = True

    @property
    def is_empty(self) -> bool:
        return not any(lines for m in self.cells.measures for lines in m.lines.values())

    @property
    def problems(self) -> list[str]:
        return list(dict.fromkeys(group.problem for group in self.cells.groups))

    @property
    def agents(self) -> list[str]:
        return list(dict.fromkeys(group.agent for group in self.cells.groups))

    def data(self, anchor: str) -> dict[str, Any] | None:
        return {
            "measures": [
                {
                    "name": f"{self.cells.quantity}, {measure.name}",
                    "problems": [lines_data(measure.lines.get(name, ())) for name in self.problems],
                }
                for measure in self.cells.measures
            ]
        }


@dataclass(frozen=True, eq=False)
class HeatMaps(OfCells):
    """What every pair of values of two settings is worth, for any two settings of an agent."""

    macro: ClassVar[str] = "heat"
    plots: ClassVar[bool] = True

    @property
    def is_empty(self) -> bool:
        return not any(maps for measure in self.cells.measures for maps in measure.maps)

    @property
    def groups(self) -> list[str]:
        return [" · ".join(filter(None, (g.label, g.problem))) for g in self.cells.groups]

    def data(self, anchor: str) -> dict[str, Any] | None:
        maps = [
            [[map_data(m) for m in group] for group in each.maps] for each in self.cells.measures
        ]
        return {"measures": maps}
