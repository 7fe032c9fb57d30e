"""Static figures of sensitivity: lines for every setting, heat maps of two."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.show.canvas import (
    add_legend,
    agent_key,
    columns_for,
    draw_marks,
    key_of,
    line_look,
    mark_key,
    marker_look,
    panel_figure,
    write_figure,
)
from expectant.show.palette import Palette
from expectant.show.sensitivity import (
    FEW,
    MANY,
    HeatMap,
    Sensitivity,
    axis_kind,
    sensitivity_range,
)
from expectant.show.wording import setting_name, shown_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 2.1  # of one row, in inches
MOST_TICKS = 7
LETTERS = {1: 60, 2: 26, 3: 14}  # of all ticks along an axis that fit, by the number of columns
BEST_COLOUR, GONE_COLOUR = "#D55E00", "#8a2f00"


def draw_sensitivity(
    found: Sequence[Sensitivity], title: str, measure: str, path_stem: str | Path, palette: Palette
) -> list[Path]:
    """Draw lines into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``."""
    if not found:
        raise ValueError("draw_sensitivity: found must have at least one setting, got none")
    return write_figure(lambda: sensitivity_figure(found, title, measure, palette), path_stem)


def sensitivity_figure(
    found: Sequence[Sensitivity], title: str, measure: str, palette: Palette
) -> Figure:
    """One panel for every setting."""
    settings = list(dict.fromkeys(line.setting for line in found))
    columns, covered = columns_for(len(settings)), sensitivity_range(found)
    figure, places = panel_figure(len(settings), columns, HEIGHT)
    for place, (axes, setting) in enumerate(zip(places, settings, strict=True)):
        lines = [line for line in found if line.setting == setting]
        positions = _positions(axes, lines, columns)
        axes.set_ylim(covered.low, covered.high)
        row = 0
        for line in lines:
            where = [positions(value) for value in line.values]
            marks = line.marks(covered.floor)
            _draw(axes, line, where, palette)
            draw_marks(axes, where, marks, palette[line.agent].colour, row)
            row += bool(marks)
        axes.set_xlabel(setting_name(setting))
        if place % columns == 0:
            axes.set_ylabel(measure)
    figure.suptitle(title, wrap=True)
    add_legend(figure, _keys(found, palette, covered.floor))
    return figure


def _draw(axes: Axes, line: Sensitivity, places: Sequence[float], palette: Palette) -> None:
    style = palette[line.agent]
    mean, low, high = line.envelope.T
    look = line_look(style) | (marker_look(style) if len(places) < MANY else {})
    bars = [np.nan_to_num(mean - low), np.nan_to_num(high - mean)]
    axes.errorbar(places, mean, bars, **look, capsize=1.5, elinewidth=0.8)
    if line.slice is not None:
        axes.plot(places, line.slice, color=style.colour, linewidth=0.8, linestyle=":", zorder=2)
    gone = [place for place, value in zip(places, mean, strict=True) if math.isnan(value)]
    if gone:
        ground = [axes.get_ylim()[0]] * len(gone)
        axes.plot(gone, ground, "x", color=style.colour, clip_on=False)


def _positions(axes: Axes, lines: Sequence[Sensitivity], columns: int) -> Callable[[Any], float]:
    """Prepare the axis of a setting, and tell where on it a value stands."""
    values = list(dict.fromkeys(value for line in lines for value in line.values))
    scale = axis_kind(values)
    if scale == "category":
        axes.set_xticks(range(len(values)))
        _label(axes.xaxis, [shown_number(value) for value in values], columns)
        return lambda value: float(values.index(value))
    if scale == "log":
        _logarithmic(axes)
    elif len(values) <= FEW:
        axes.set_xticks(values, [shown_number(value) for value in values])
    return float


def _logarithmic(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: shown_number(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _label(axis: Any, labels: Sequence[str], columns: int) -> None:
    """Name the ticks, turned where they would run into each other."""
    turned = axis.axis_name == "x" and sum(map(len, labels)) > LETTERS[columns]
    look = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    axis.set_ticklabels(labels, **look)


def _keys(found: Sequence[Sensitivity], palette: Palette, floor: float) -> list[Any]:
    keys = [agent_key(palette[agent]) for agent in dict.fromkeys(line.agent for line in found)]
    if any(line.slice is not None for line in found):
        look = {"color": "#555555", "linewidth": 0.8, "linestyle": ":"}
        keys.append(key_of("others as in the best setting", **look))
    if any(np.isnan(line.envelope[:, 0]).any() for line in found):
        keys.append(key_of("all diverged", color="#555555", marker="x", linestyle="none"))
    return [*keys, mark_key()] if any(line.marks(floor) for line in found) else keys


def draw_heat_maps(
    maps: Sequence[HeatMap], title: str, measure: str, path_stem: str | Path
) -> list[Path]:
    """Draw maps into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``."""
    if not maps:
        raise ValueError("draw_heat_maps: maps must have at least one map, got none")
    return write_figure(lambda: _heat_figure(maps, title, measure), path_stem)


def _heat_figure(maps: Sequence[HeatMap], title: str, measure: str) -> Figure:
    columns = columns_for(len(maps))
    figure, places = panel_figure(len(maps), columns, HEIGHT, share_y=False)
    for axes, found in zip(places, maps, strict=True):
        _draw_map(axes, found)
        for axis, values in ((axes.xaxis, found.first_values), (axes.yaxis, found.second_values)):
            shown = range(0, len(values), -(-len(values) // MOST_TICKS))
            axis.set_ticks(list(shown))
            _label(axis, [shown_number(values[place]) for place in shown], columns)
    figure.suptitle(title, wrap=True)
    figure.supxlabel(f"{measure}; ring: best, ×: all diverged", fontsize=7.5)
    return figure


def _draw_map(axes: Axes, found: HeatMap) -> None:
    image = axes.imshow(
        np.ma.masked_invalid(found.means.T), origin="lower", aspect="auto", cmap="viridis",
        vmin=found.lowest, interpolation="nearest",
    )  # fmt: skip
    axes.set_facecolor("#eeeeee")
    rows, columns = np.nonzero(found.diverged)
    axes.plot(rows, columns, "x", color=GONE_COLOUR, markersize=4)
    if found.lowest is not None:
        best = np.argwhere(found.means == found.best)[0]
        axes.plot(*best, "o", markersize=9, markerfacecolor="none", markeredgecolor=BEST_COLOUR,
                  markeredgewidth=1.6, clip_on=False)  # fmt: skip
        cut = bool((found.means < found.lowest).any())
        extend = "min" if cut else "neither"
        axes.figure.colorbar(image, ax=axes, shrink=0.9, extend=extend)
    axes.set(xlabel=setting_name(found.first), ylabel=setting_name(found.second))
    axes.set_title(found.label)
