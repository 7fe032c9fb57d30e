"""Static figures of learning curves: PNG and SVG, the same bytes for the same curves."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.analysis.panel import Panel
from expectant.report.chart import Chart, Curve, Plot, chart_of, palette_of
from expectant.report.figure import (
    SMALL,
    add_legend,
    agent_key,
    key_of,
    line_look,
    marker_look,
    panel_figure,
    write_figure,
)
from expectant.report.palette import BAND_OPACITY, OPTIMUM_COLOUR, SWITCH_COLOUR, Palette, Style
from expectant.report.wording import shown_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHTS = {1: 3.1, 2: 2.4, 3: 2.0}  # of one row, by the number of columns
FEW_ROWS, FLATTER = 2, 1.9  # from how many rows on they are not higher than this
TICKS = {1: 8, 2: 5, 3: 4}  # at most, along the x-axis
LETTERS = {1: 90, 2: 40, 3: 26}  # of a heading that fits into one line
LEVEL_DASHES = ((5.0, 3.0), (1.0, 2.0))
LONG_AXIS = 100_000  # from here on four numbers below an axis take half the width of a figure
LETTERS_AN_INCH = 13  # of a name that stands upright
MARKERS = 8  # along a curve
MANY_POINTS = 300  # from here on lines are thin, or noise would smear them into a band


def draw_panels(
    panels: Sequence[Panel], title: str, path_stem: str | Path, palette: Palette | None = None
) -> list[Path]:
    """Draw panels side by side into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``.

    Up to three panels make one row; more make one row for each interpretation. A line is the mean
    over runs, its band the 95 % bootstrap interval; a curve ends, with a cross, where a run
    diverged.
    ``palette`` is that of the page to which the figure belongs, or has the agents of the panels.
    """
    if not panels:
        raise ValueError("draw_panels: panels must have at least one panel, got none")
    return draw_chart(chart_of(panels), title, path_stem, palette or palette_of(panels))


def draw_chart(chart: Chart, title: str, path_stem: str | Path, palette: Palette) -> list[Path]:
    """Draw a chart into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``."""
    return write_figure(lambda: chart_figure(chart, title, palette), path_stem)


def chart_figure(chart: Chart, title: str, palette: Palette) -> Figure:
    """A chart as a figure of matplotlib."""
    from matplotlib.ticker import MaxNLocator

    columns = _columns(chart)
    few = len(chart.plots) <= FEW_ROWS * columns
    height = HEIGHTS[columns] if few else min(HEIGHTS[columns], FLATTER)
    figure, places = panel_figure(len(chart.plots), columns, height)
    for place, (axes, plot) in enumerate(zip(places, chart.plots, strict=True)):
        _draw(axes, plot, chart, palette)
        if not plot.scale:
            ticks = MaxNLocator(TICKS[columns], steps=[1, 2, 5, 10], integer=True)
            axes.xaxis.set_major_locator(ticks)
        long = len(plot.heading) > LETTERS[columns]
        axes.set_title(plot.heading.replace(" · ", "\n") if long else plot.heading)
        if place % columns == 0:
            axes.set_ylabel(textwrap.fill(chart.y_name, int(LETTERS_AN_INCH * height)))
        below = chart.plots[place + columns] if place + columns < len(places) else None
        if below is None or below.x_name != plot.x_name:
            axes.set_xlabel(plot.x_name or chart.x_name)
    figure.suptitle(title, wrap=True)
    add_legend(figure, _keys(chart, palette))
    return figure


def _columns(chart: Chart) -> int:
    """How many stand side by side: three only where headings and numbers have room for it."""
    lines = [line for plot in chart.plots for line in plot.heading.split(" · ")]
    crowded = any(len(line) > LETTERS[3] for line in lines)
    crowded = crowded or any(plot.end >= LONG_AXIS for plot in chart.plots)
    return 2 if chart.columns > 2 and crowded else chart.columns


def _draw(axes: Axes, plot: Plot, chart: Chart, palette: Palette) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter, StrMethodFormatter

    for place in plot.breaks:
        axes.axvline(place, color=SWITCH_COLOUR, linewidth=0.6, zorder=1)
    _draw_levels(axes, plot, chart)
    for place, curve in enumerate(plot.curves):
        offset = place / len(plot.curves)
        _draw_curve(axes, plot.x_of(curve), curve, palette[curve.key], offset)
    axes.set_ylim(chart.range.low, chart.range.high)
    if not plot.scale:
        axes.set_xlim(plot.begin, plot.end)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        return
    axes.set_xscale(plot.scale)
    if plot.scale == "log":
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: shown_number(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if plot.ticks:
        axes.set_xticks(range(len(plot.ticks)), plot.ticks, rotation=30, ha="right")


def _draw_levels(axes: Axes, plot: Plot, chart: Chart) -> None:
    """The levels; the number of one that reaches the end of the axis stands beside it."""
    from matplotlib.collections import LineCollection

    for level in plot.levels:
        dash = LEVEL_DASHES[chart.level_names.index(level.name) % len(LEVEL_DASHES)]
        ends = [(level.start, level.height), (level.end, level.end_height)]
        line = LineCollection(
            [ends], colors=OPTIMUM_COLOUR, linewidths=0.9, linestyles=[(0, dash)], zorder=2
        )
        axes.add_collection(line)
        if level.end >= plot.end:
            axes.annotate(
                shown_number(level.end_height), (1.0, level.end_height),
                xycoords=("axes fraction", "data"),
                xytext=(2, 0), textcoords="offset points", va="center", fontsize=SMALL,
                color=OPTIMUM_COLOUR, annotation_clip=False,
            )  # fmt: skip


def _draw_curve(axes: Axes, x: np.ndarray, curve: Curve, style: Style, offset: float) -> None:
    """One line with its band; ``offset`` (0 to 1) keeps markers of different curves apart."""
    step = max(1, x.size // MARKERS)
    axes.fill_between(x, curve.low, curve.high, color=style.colour, alpha=BAND_OPACITY, linewidth=0)
    line = line_look(style) | ({"linewidth": 0.8} if x.size > MANY_POINTS else {})
    axes.plot(x, curve.mean, **line)
    # Markers in a second pass: no line may cover the marker of another.
    shown = slice(int(offset * step), None, step)
    axes.plot(x[shown], curve.mean[shown], **marker_look(style), linestyle="none")
    finite = np.flatnonzero(np.isfinite(curve.mean))
    if 0 < finite.size < x.size:
        last = finite[-1]
        axes.plot(x[last], curve.mean[last], "x", color=style.colour, markersize=7, mew=1.6)


def _keys(chart: Chart, palette: Palette) -> list[Any]:
    from matplotlib.patches import Patch

    keys = [agent_key(palette[key], chart.note(key)) for key in chart.keys]
    curves = [curve for plot in chart.plots for curve in plot.curves]
    if any(np.isfinite(curve.low).any() for curve in curves):
        keys.append(Patch(color="#777777", alpha=0.3, linewidth=0, label="95 % bootstrap interval"))
    for name, dash in zip(chart.level_names, LEVEL_DASHES, strict=False):
        keys.append(key_of(name, color=OPTIMUM_COLOUR, linewidth=0.9, linestyle=(0, dash)))
    if any(plot.breaks for plot in chart.plots):
        look = {"color": SWITCH_COLOUR, "linestyle": "none", "marker": "|", "markersize": 9}
        keys.append(key_of(chart.break_name, **look))
    return keys
