"""Sensitivity to settings: a line for each value of a setting, heat maps of two settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.show.canvas import (
    add_legend,
    agent_key,
    columns_for,
    key_of,
    line_look,
    marker_look,
    panel_figure,
    write_figure,
)
from expectant.show.palette import Palette
from expectant.show.ranges import ValueRange, below_axis, colour_floor, value_range
from expectant.show.wording import setting_name, shown_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW, MANY = 5, 30  # values: each has a tick up to the first, none has a marker from the second on
HEIGHT = 2.1  # of one row of panels, in inches
LETTERS = {1: 60, 2: 26, 3: 14}  # of all ticks along an axis that fit, by the number of columns


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
        """The mean of the best value and the ends of its interval; empty if all diverged."""
        means = self.envelope[:, 0]
        if np.isnan(means).all():
            return []
        point = self.envelope[np.nanargmin(means) if self.less_is_better else np.nanargmax(means)]
        return point[np.isfinite(point)].tolist()


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Two settings of one agent: ``means`` (first, second) with the others at their best.

    NaN where every setting diverged and where none was tried. ``cells`` has the row of the cell
    behind every field, -1 where none was tried.
    """

    first: str
    second: str
    first_values: Sequence[Any]
    second_values: Sequence[Any]
    means: np.ndarray
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


def sensitivity_range(lines: Iterable[Sensitivity]) -> ValueRange:
    """The axis of all lines, agent by agent; the best of each is never cut off."""
    values: dict[str, list[np.ndarray]] = {}
    best: list[float] = []
    for line in lines:
        values.setdefault(line.agent, []).append(line.envelope.ravel())
        best += line.best
    covered = value_range({agent: np.concatenate(each) for agent, each in values.items()}, best)
    return covered._replace(floor=min([covered.floor, *best]))


def axis_kind(values: Iterable[Any]) -> str:
    """How the axis of a setting is drawn: "log", "linear", or "category"."""
    listed = list(values)
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in listed):
        return "category"
    return "log" if min(listed) > 0 and max(listed) >= 10 * min(listed) else "linear"


def _all_values(lines: Sequence[Sensitivity]) -> list[Any]:
    return list(dict.fromkeys(value for line in lines for value in line.values))


# ------------------------------------------------------------------------------------ for the page


def lines_data(lines: Sequence[Sensitivity]) -> dict[str, Any]:
    """All lines for the script, setting by setting."""
    covered = sensitivity_range(lines)
    settings = []
    for name in dict.fromkeys(line.setting for line in lines):
        own = [line for line in lines if line.setting == name]
        values = _all_values(own)
        scale = axis_kind(values)
        settings.append(
            {
                "name": name.removeprefix("agent."),
                "scale": scale,
                "ticks": values if scale == "linear" and len(values) <= FEW else None,
                "lines": [_line_data(line, scale) for line in own],
            }
        )
    return {"range": [covered.low, covered.high], "settings": settings}


def _line_data(line: Sensitivity, scale: str) -> dict[str, Any]:
    mean, low, high = line.envelope.T
    values = [shown_number(each) if scale == "category" else each for each in line.values]
    ends = {"mean": mean, "low": low, "high": high}
    return {"key": line.agent, "values": values, **ends, "slice": line.slice}


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


# ----------------------------------------------------------------------------------- as figures


def draw_sensitivity(
    lines: Sequence[Sensitivity], title: str, measure: str, path_stem: Path, palette: Palette
) -> list[Path]:
    """Draw lines into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``."""
    return write_figure(lambda: sensitivity_figure(lines, title, measure, palette), path_stem)


def sensitivity_figure(
    lines: Sequence[Sensitivity], title: str, measure: str, palette: Palette
) -> Figure:
    """One panel for every setting."""
    settings = list(dict.fromkeys(line.setting for line in lines))
    columns, covered = columns_for(len(settings)), sensitivity_range(lines)
    figure, panels = panel_figure(len(settings), columns, HEIGHT)
    for number, (axes, setting) in enumerate(zip(panels, settings, strict=True)):
        own = [line for line in lines if line.setting == setting]
        position = _prepare_axis(axes, own, columns)
        axes.set_ylim(covered.low, covered.high)
        for line in own:
            _draw_line(axes, line, [position(value) for value in line.values], palette)
        axes.set_xlabel(setting_name(setting))
        if number % columns == 0:
            axes.set_ylabel(measure)
    figure.suptitle(title, wrap=True)
    add_legend(figure, _legend_keys(lines, palette, covered.floor))
    return figure


def _draw_line(axes: Axes, line: Sensitivity, x: Sequence[float], palette: Palette) -> None:
    style = palette[line.agent]
    mean, low, high = line.envelope.T
    look = line_look(style) | (marker_look(style) if len(x) < MANY else {})
    bars = [np.nan_to_num(mean - low), np.nan_to_num(high - mean)]
    axes.errorbar(x, mean, bars, **look, capsize=1.5, elinewidth=0.8)
    if line.slice is not None:
        axes.plot(x, line.slice, color=style.colour, linewidth=0.8, linestyle=":", zorder=2)
    diverged = np.asarray(x)[np.isnan(mean)]
    if diverged.size:
        bottom = np.full(diverged.size, axes.get_ylim()[0])
        axes.plot(diverged, bottom, "x", color=style.colour, clip_on=False)


def _prepare_axis(axes: Axes, lines: Sequence[Sensitivity], columns: int) -> Callable[[Any], float]:
    """Prepare the axis of a setting; returns the position of a value on it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values = _all_values(lines)
    scale = axis_kind(values)
    if scale == "category":
        axes.set_xticks(range(len(values)))
        labels = [shown_number(value) for value in values]
        rotated = sum(map(len, labels)) > LETTERS[columns]
        look: dict[str, Any] = (
            {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if rotated else {}
        )
        axes.set_xticklabels(labels, **look)
        return lambda value: float(values.index(value))
    if scale == "log":
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: shown_number(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif len(values) <= FEW:
        axes.set_xticks(values, [shown_number(value) for value in values])
    return float


def _legend_keys(lines: Sequence[Sensitivity], palette: Palette, floor: float) -> list[Any]:
    keys = []
    for agent in dict.fromkeys(line.agent for line in lines):
        means = np.concatenate([line.envelope[:, 0] for line in lines if line.agent == agent])
        below = means[means < floor]
        keys.append(agent_key(palette[agent], f"({below_axis(below)})" if below.size else ""))
    if any(line.slice is not None for line in lines):
        look = {"color": "#555555", "linewidth": 0.8, "linestyle": ":"}
        keys.append(key_of("others as in the best setting", **look))
    if any(np.isnan(line.envelope[:, 0]).any() for line in lines):
        keys.append(key_of("all diverged", color="#555555", marker="x", linestyle="none"))
    return keys
