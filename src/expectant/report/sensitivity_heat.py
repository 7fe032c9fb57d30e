"""Heat maps: what every pair of values of two settings is worth, one map for each agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from expectant.report.sensitivity import (
    empty_figure,
    lowest_shown,
    setting_name,
    write_figure,
)
from expectant.report.summaries import number

HEIGHT = 2.2  # of one row, in inches
MOST_TICKS = 7


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Two settings of one agent: ``means`` (first, second) with the others at their best.

    NaN where every setting ``diverged`` (the same shape, truth values) and where none was tried.
    """

    label: str
    first: str
    second: str
    first_values: Sequence[Any]
    second_values: Sequence[Any]
    means: np.ndarray
    diverged: np.ndarray


def draw_heat_maps(
    maps: Sequence[HeatMap], title: str, measure: str, path_stem: str | Path
) -> list[Path]:
    """Draw into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``."""
    if not maps:
        raise ValueError("draw_heat_maps: maps must have at least one map, got none")
    return write_figure(lambda: _figure(maps, title, measure), path_stem)


def _figure(maps: Sequence[HeatMap], title: str, measure: str) -> Any:
    figure, places = empty_figure(len(maps), HEIGHT)
    for axes, found in zip(places, maps, strict=True):
        _draw(figure, axes, found)
    figure.suptitle(title, wrap=True)
    figure.supxlabel(f"{measure}; ring: best, ×: all diverged", fontsize=7.5)
    return figure


def _draw(figure: Any, axes: Any, found: HeatMap) -> None:
    lowest = lowest_shown(found.means)
    image = axes.imshow(
        np.ma.masked_invalid(found.means.T), origin="lower", aspect="auto", cmap="viridis",
        vmin=lowest, interpolation="nearest",
    )  # fmt: skip
    axes.set_facecolor("#eeeeee")
    rows, columns = np.nonzero(found.diverged)
    axes.plot(rows, columns, "x", color="#8a2f00", markersize=4)
    if np.isfinite(found.means).any():
        best = np.unravel_index(np.nanargmax(found.means), found.means.shape)
        axes.plot(*best, "o", markersize=9, markerfacecolor="none", markeredgecolor="#D55E00",
                  markeredgewidth=1.6, clip_on=False)  # fmt: skip
        cut = bool((found.means < lowest).any())
        figure.colorbar(image, ax=axes, shrink=0.9, extend="min" if cut else "neither")
    _ticks(axes.xaxis, found.first_values)
    _ticks(axes.yaxis, found.second_values)
    axes.set(xlabel=setting_name(found.first), ylabel=setting_name(found.second))
    axes.set_title(found.label)


def _ticks(axis: Any, values: Sequence[Any]) -> None:
    step = -(-len(values) // MOST_TICKS)
    shown = range(0, len(values), step)
    crowded = axis.axis_name == "x" and sum(len(number(values[place])) for place in shown) > 18
    axis.set_ticks(list(shown), [number(values[place]) for place in shown],
                   rotation=45 if crowded else 0)  # fmt: skip
