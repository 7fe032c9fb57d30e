"""The section of a sweep: best settings, curves, sensitivity, heat maps, a table of all cells.

Large arrays go to the script as base64 of 32-bit floats.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from expectant.show.palette import Palette
from expectant.show.ranges import value_range
from expectant.show.sections import Section
from expectant.show.sensitivity import HeatMap, Sensitivity, lines_data, map_data
from expectant.show.wording import EDGE_NOTE, setting_in_words, shown_interval, shown_number


@dataclass(frozen=True, eq=False)
class SweepGroup:
    """One agent in one domain: its sensitivity and the maps of every two of its settings."""

    agent: str
    label: str
    problem: str
    lines: Sequence[Sensitivity]
    maps: Sequence[HeatMap]

    @property
    def name(self) -> str:
        return " · ".join(filter(None, (self.label, self.problem)))


@dataclass(frozen=True, eq=False)
class SweepSection(Section):
    """All cells of a sweep, compared by one ``measure``.

    ``choices`` are the best settings as in best.json, with ``notes`` and ``rules`` on how they
    were made. ``columns`` maps a setting to its value in every cell; ``group_of`` is the position
    of every cell's group. ``scores`` (cells, 3) and ``curves`` (cells, 3, points) have mean, low
    and high, NaN where a run diverged; curves are at the ``positions`` (points,).
    """

    plots: ClassVar[bool] = True
    measure: str
    choices: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    rules: Sequence[str]
    ids: Sequence[str]
    columns: Mapping[str, Sequence[Any]]
    groups: Sequence[SweepGroup]
    group_of: Sequence[int]
    scores: np.ndarray
    curves: np.ndarray
    positions: np.ndarray
    x_name: str
    y_name: str

    @property
    def palette(self) -> Palette:
        return Palette({group.agent: group.label for group in self.groups})

    @property
    def problems(self) -> list[str]:
        return list(dict.fromkeys(group.problem for group in self.groups))

    @property
    def has_lines(self) -> bool:
        return any(group.lines for group in self.groups)

    @property
    def edge_note(self) -> str:
        return EDGE_NOTE if any(choice["at_edge"] for choice in self.choices) else ""

    @property
    def map_names(self) -> list[str]:
        return [
            f"{group.name}: {map_data(each)['first']} × {map_data(each)['second']}"
            for group in self.groups
            for each in group.maps
        ]

    @staticmethod
    def describe(choice: Mapping[str, Any]) -> str:
        """The best setting in words."""
        if choice["best"] is None:
            return "none: every setting diverged" if choice["tried"] else "none finished yet"
        return setting_in_words(choice["settings"], choice["at_edge"]) or choice["best"]

    @staticmethod
    def score(score: Mapping[str, Any] | None) -> str:
        """A mean, its interval and the number of runs."""
        if score is None:
            return "–"
        if score["diverged"]:
            return f"{score['diverged']} of {score['runs']} runs diverged"
        between = shown_interval(score["low"], score["high"])
        mean = shown_number(score["mean"]) + (f" ({between})" if between else "")
        return f"{mean}, {score['runs']} runs"

    def data(self, anchor: str) -> dict[str, Any] | None:
        row_of = {name: row for row, name in enumerate(self.ids)}
        best = [row_of[choice["best"]] for choice in self.choices if choice["best"] is not None]
        drawn: dict[str, list[np.ndarray]] = {}
        for row in best:
            drawn.setdefault(self.groups[self.group_of[row]].agent, []).append(self.curves[row])
        covered = value_range({agent: np.concatenate(each) for agent, each in drawn.items()})
        by_problem = [
            [line for group in self.groups if group.problem == problem for line in group.lines]
            for problem in self.problems
        ]
        return {
            "ids": list(self.ids),
            "columns": [{"name": n, "values": list(v)} for n, v in self.columns.items()],
            "groups": [{"key": group.agent, "problem": group.problem} for group in self.groups],
            "groupOf": [int(position) for position in self.group_of],
            "scores": pack(self.scores),
            "curves": pack(self.curves),
            "positions": self.positions,
            "range": [covered.low, covered.high],
            "best": best,
            "xName": self.x_name,
            "yName": self.y_name,
            "measure": self.measure,
            "lines": [lines_data(lines) for lines in by_problem],
            "maps": [map_data(each) for group in self.groups for each in group.maps],
        }


def pack(values: np.ndarray) -> str:
    """An array as base64 of little-endian 32-bit floats, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()
