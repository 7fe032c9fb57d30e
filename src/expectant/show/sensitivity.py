"""What every value of a setting is worth, and every pair of values of two settings, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.show.chart import marks_data
from expectant.show.ranges import Mark, ValueRange, colour_floor, marks_below, value_range
from expectant.show.wording import shown_number

FEW = 5  # values, up to which each has a tick of its own
MANY = 30  # values, from which on markers would only clutter


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """One agent and one setting: ``envelope`` (values, 3) has mean, low and high with the other
    settings at their best, ``slice`` (values,) the mean with the others as in the best setting.

    NaN where every setting diverged, or where the slice was not tried.
    """

    agent: str
    setting: str
    values: Sequence[Any]
    envelope: np.ndarray
    slice: np.ndarray | None = None
    less_is_better: bool = False

    @property
    def best(self) -> list[float]:
        """The mean of the best value and the ends of its interval; nothing if all diverged."""
        means = self.envelope[:, 0]
        if np.isnan(means).all():
            return []
        point = self.envelope[np.nanargmin(means) if self.less_is_better else np.nanargmax(means)]
        return point[np.isfinite(point)].tolist()

    def marks(self, floor: float) -> list[Mark]:
        """Where the line leaves the axis."""
        return marks_below(self.envelope[:, 0], floor)


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Two settings of one agent: ``means`` (first, second) with the others at their best.

    NaN where every setting ``diverged`` (the same shape, truth values) and where none was tried.
    ``cells`` has the position of the cell behind every field, -1 where there is none.
    """

    label: str
    first: str
    second: str
    first_values: Sequence[Any]
    second_values: Sequence[Any]
    means: np.ndarray
    diverged: np.ndarray
    cells: np.ndarray | None = None
    less_is_better: bool = False

    @property
    def best(self) -> float | None:
        """The best mean; None where nothing is known."""
        known = self.means[np.isfinite(self.means)]
        if not known.size:
            return None
        return float(known.min() if self.less_is_better else known.max())

    @property
    def lowest(self) -> float | None:
        """The mean from which on colours differ; None where nothing is known."""
        known = self.means[np.isfinite(self.means)]
        if self.less_is_better:  # the low ones are those to look at
            return self.best
        return float(known[known >= colour_floor(known)].min()) if known.size else None


def sensitivity_range(found: Iterable[Sensitivity]) -> ValueRange:
    """What the axis covers of all these lines, agent by agent; the best of each is never cut."""
    values: dict[str, list[np.ndarray]] = {}
    best: list[float] = []
    for line in found:
        values.setdefault(line.agent, []).append(line.envelope.ravel())
        best += line.best
    covered = value_range({agent: np.concatenate(each) for agent, each in values.items()}, best)
    return covered._replace(floor=min([covered.floor, *best]))


def axis_kind(values: Iterable[Any]) -> str:
    """How the axis of a setting is drawn: "log", "linear", or "category", side by side."""
    listed = list(values)
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in listed):
        return "category"
    return "log" if min(listed) > 0 and max(listed) >= 10 * min(listed) else "linear"


def lines_data(lines: Sequence[Sensitivity]) -> dict[str, Any]:
    """All lines for the script, setting by setting."""
    covered = sensitivity_range(lines)
    settings = dict.fromkeys(line.setting for line in lines)
    return {
        "range": [covered.low, covered.high],
        "settings": [
            _setting([line for line in lines if line.setting == name], covered.floor)
            for name in settings
        ],
    }


def _setting(lines: Sequence[Sensitivity], floor: float) -> dict[str, Any]:
    values = list(dict.fromkeys(value for line in lines for value in line.values))
    scale = axis_kind(values)
    return {
        "name": lines[0].setting.removeprefix("agent."),
        "scale": scale,
        "ticks": values if scale == "linear" and len(values) <= FEW else None,
        "lines": [_line(line, scale, floor) for line in lines],
    }


def _line(line: Sensitivity, scale: str, floor: float) -> dict[str, Any]:
    mean, low, high = line.envelope.T
    values = (
        [shown_number(value) for value in line.values] if scale == "category" else list(line.values)
    )
    return {
        "key": line.agent,
        "values": values,
        "mean": mean,
        "low": low,
        "high": high,
        "slice": line.slice,
        "marks": marks_data(line.marks(floor)),
    }


def map_data(found: HeatMap) -> dict[str, Any]:
    """A map for the script, with rows for the values of the second setting."""
    return {
        "first": found.first.removeprefix("agent."),
        "second": found.second.removeprefix("agent."),
        "firstValues": [shown_number(value) for value in found.first_values],
        "secondValues": [shown_number(value) for value in found.second_values],
        "means": found.means.T,
        "cells": None if found.cells is None else found.cells.T,
        "lowest": found.lowest,
        "best": found.best,
    }
