"""The section of a sweep: best settings, curves, sensitivity, heat maps, a table of all trials."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from expectant.report.chart import Chart, Curve, Plot, colour_floor, columns_for, value_range
from expectant.report.formatting import (
    EDGE_NOTE,
    format_interval,
    format_number,
    format_setting,
    parameter_name,
)
from expectant.report.palette import Palette
from expectant.report.sections import Section


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """One agent and one parameter: ``envelope`` (values, 3) has mean, low and high with the other
    parameters at their best, NaN where everything diverged."""

    agent: str
    setting: str
    values: Sequence[Any]
    envelope: np.ndarray
    less_is_better: bool = False

    @property
    def best(self) -> list[float]:
        """The mean of the best value and the ends of its interval; empty if all diverged."""
        means = self.envelope[:, 0]
        if np.isnan(means).all():
            return []
        point = self.envelope[np.nanargmin(means) if self.less_is_better else np.nanargmax(means)]
        return point[np.isfinite(point)].tolist()


def sensitivity_chart(lines: Sequence[Sensitivity], metric: str) -> Chart:
    """Return a plot for every parameter; the axis covers the best of each agent."""
    plots = []
    for setting in dict.fromkeys(line.setting for line in lines):
        same = [line for line in lines if line.setting == setting]
        values = list(dict.fromkeys(value for line in same for value in line.values))
        scale = axis_scale(values)
        ticks = [] if scale else [format_number(value) for value in values]
        curves = []
        for line in same:
            x = np.array(line.values if scale else [values.index(v) for v in line.values], float)
            mean, low, high = line.envelope.T
            curves.append(Curve(line.agent, mean, low, high, runs=0, diverged=0, x=x))
        name = parameter_name(setting)
        shared = {"x_name": name, "scale": scale or "linear", "ticks": ticks}
        plots.append(Plot("", curves[0].x, 0.0, curves, **shared))  # type: ignore[arg-type]
    best = [height for line in lines for height in line.best]
    return Chart(plots, columns_for(len(plots)), "", metric, always=best)


def axis_scale(values: Iterable[Any]) -> str:
    """Return the scale of a parameter's axis: "log", "linear", or none without numbers."""
    listed = list(values)
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in listed):
        return ""
    return "log" if min(listed) > 0 and max(listed) >= 10 * min(listed) else "linear"


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Two parameters of one agent: ``means`` (first, second) with the others at their best.

    NaN where everything diverged or nothing was tried. ``trials`` has the row of the trial behind
    every field, -1 if there is none.
    """

    first: str
    second: str
    first_values: Sequence[Any]
    second_values: Sequence[Any]
    means: np.ndarray
    trials: np.ndarray | None = None
    less_is_better: bool = False

    @property
    def best(self) -> float | None:
        """The best mean; None if there is none."""
        means = self.means[np.isfinite(self.means)]
        best = means.min if self.less_is_better else means.max
        return float(best()) if means.size else None

    @property
    def lowest(self) -> float | None:
        """The lower end of the colour scale; None if there is none."""
        if self.less_is_better:
            return self.best
        means = self.means[np.isfinite(self.means)]
        return float(means[means >= colour_floor(means)].min()) if means.size else None

    @property
    def name(self) -> str:
        return " × ".join(name.removeprefix("agent.") for name in (self.first, self.second))

    def data(self) -> dict[str, Any]:
        """Return the data for the script, with rows for values of the second parameter."""
        return {
            "first": self.first.removeprefix("agent."),
            "second": self.second.removeprefix("agent."),
            "firstValues": [format_number(value) for value in self.first_values],
            "secondValues": [format_number(value) for value in self.second_values],
            "means": self.means.T,
            "trials": None if self.trials is None else self.trials.T,
            "lowest": self.lowest,
            "best": self.best,
        }


@dataclass(frozen=True, eq=False)
class SweepGroup:
    """One agent in one domain: sensitivities, and a map of every two parameters."""

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
    """All trials of a sweep, compared by one ``metric``.

    ``choices`` are the best settings as in best.json, with ``notes`` and ``rules`` on how they
    were made. ``columns`` maps a setting to its value in every trial; ``group_of`` is the position
    of every trial's group. ``scores`` (trials, 3) and ``curves`` (trials, 3, points) have mean, low
    and high, NaN where a run diverged; curves are at the ``positions`` (points,).
    """

    plots: ClassVar[bool] = True
    metric: str
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
        return [f"{group.name}: {heat.name}" for group in self.groups for heat in group.maps]

    @staticmethod
    def describe(choice: Mapping[str, Any]) -> str:
        """Describe the best setting."""
        if choice["best"] is None:
            return "none: every setting diverged" if choice["tried"] else "none finished yet"
        return format_setting(choice["settings"], choice["at_edge"]) or choice["best"]

    @staticmethod
    def score(score: Mapping[str, Any] | None) -> str:
        """Format a mean, its interval and the number of runs."""
        if score is None:
            return "–"
        if score["diverged"]:
            return f"{score['diverged']} of {score['runs']} runs diverged"
        between = format_interval(score["low"], score["high"])
        mean = format_number(score["mean"]) + (f" ({between})" if between else "")
        return f"{mean}, {score['runs']} runs"

    def data(self, anchor: str) -> dict[str, Any] | None:
        row_of = {name: row for row, name in enumerate(self.ids)}
        best = [row_of[choice["best"]] for choice in self.choices if choice["best"] is not None]
        drawn: dict[str, list[np.ndarray]] = {}
        for row in best:
            drawn.setdefault(self.groups[self.group_of[row]].agent, []).append(self.curves[row])
        covered = value_range({agent: np.concatenate(curves) for agent, curves in drawn.items()})
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
            "metric": self.metric,
            "lines": [sensitivity_chart(lines, self.metric).data("") for lines in by_problem],
            "maps": [heat.data() for group in self.groups for heat in group.maps],
        }


def pack(values: np.ndarray) -> str:
    """Encode an array as base64 of little-endian 32-bit floats, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()
