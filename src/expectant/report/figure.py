"""Static figures with matplotlib: style, panels, legend, files, and learning curves.

The same data give the same bytes.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.analysis.panel import Panel
from expectant.core.errors import require_extra
from expectant.core.files import write_bytes
from expectant.report.chart_data import Chart, Curve, Plot, chart_of, palette_of
from expectant.report.formatting import format_number
from expectant.report.palette import BAND_OPACITY, OPTIMUM_COLOUR, SWITCH_COLOUR, Palette, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.0  # inches: the width of a text block, so that nothing is scaled when printed
SMALL = 6.5  # points
FILES = ("png", "svg", "pdf")
DOTS, SCREEN_DOTS = 200, 110  # per inch
HEIGHTS = {1: 3.1, 2: 2.4, 3: 2.0}  # inches of one row, by the number of columns
FEW_ROWS, FLATTER = 2, 1.9  # more rows than this are at most so high
TICKS = {1: 8, 2: 5, 3: 4}  # at most, along the x-axis
LETTERS = {1: 90, 2: 44, 3: 26}  # that fit into one line of a heading
LETTERS_AN_INCH = 13  # of a vertical label
LONG_AXIS = 100_000  # numbers this long need half the width of a figure
LEVEL_DASHES = ((5.0, 3.0), (1.0, 2.0))
MARKERS = 8  # along a curve
MANY_POINTS = 300  # lines with more are thin, or noise would smear them into a band
STYLE = Path(__file__).parent / "templates" / "figure.mplstyle"
# A date would make every file different.
UNDATED: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


# ---------------------------------------------------------------------------------- any figure


@contextmanager
def use_style() -> Iterator[None]:
    """Use the style of these figures instead of the user's."""
    require_extra("drawing", "report")
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(matplotlib.rc_params_from_file(STYLE, False, False))
        yield


def render(figure: Figure, kind: str, dots: int = DOTS) -> bytes:
    """Return the content of a "png", "svg" or "pdf" file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=dots, metadata=UNDATED.get(kind, {}))
    return buffer.getvalue()


@cache
def _notebook_figure() -> Any:
    """Return a class of figures that notebooks show without matplotlib's own support for them."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def _repr_png_(self) -> bytes:
            with use_style():
                return render(self, "png", SCREEN_DOTS)

    return NotebookFigure


def new_figure(width: float, height: float, **more: Any) -> Figure:
    """Return an empty figure that needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.06)
    figure: Figure = _notebook_figure()(figsize=(width, height), layout=layout, **more)
    FigureCanvasAgg(figure)
    return figure


def write_figure(draw: Callable[[], Figure], path_stem: str | Path) -> list[Path]:
    """Write what ``draw`` returns into ``<path_stem>.png`` (200 dpi), ``.svg`` and ``.pdf``."""
    with use_style():
        figure = draw()
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # the same layout in all files
        return [write_bytes(Path(f"{path_stem}.{kind}"), render(figure, kind)) for kind in FILES]


# -------------------------------------------------------------------------------------- curves


def draw_panels(
    panels: Sequence[Panel], title: str, path_stem: str | Path, palette: Palette | None = None
) -> list[Path]:
    """Draw panels side by side into ``<path_stem>.png`` (200 dpi), ``.svg`` and ``.pdf``.

    Up to three panels make one row, more make one row per interpretation. A line is the mean over
    runs, its band the 95 % bootstrap interval; a curve ends, with a cross, where a run diverged.
    By default the palette has the agents of the panels.
    """
    if not panels:
        raise ValueError("draw_panels: panels must have at least one panel, got none")
    return draw_chart(chart_of(panels), title, path_stem, palette or palette_of(panels))


def draw_chart(chart: Chart, title: str, path_stem: str | Path, palette: Palette) -> list[Path]:
    """Draw a chart into ``<path_stem>.png`` (200 dpi), ``.svg`` and ``.pdf``."""
    return write_figure(lambda: chart_figure(chart, title, palette), path_stem)


def chart_figure(chart: Chart, title: str, palette: Palette) -> Figure:
    """Return a chart as a figure."""
    from matplotlib.ticker import MaxNLocator

    columns, count = _columns(chart), len(chart.plots)
    height = HEIGHTS[columns]
    if count > FEW_ROWS * columns:
        height = min(height, FLATTER)
    rows = math.ceil(count / columns)
    figure = new_figure(WIDTH, 0.55 + rows * height)
    shared = all(chart.range_of(plot) is chart.range for plot in chart.plots)
    grid = list(figure.subplots(rows, columns, squeeze=False, sharey=shared).flat)
    for unused in grid[count:]:
        unused.remove()
    for number, (axes, plot) in enumerate(zip(grid, chart.plots, strict=False)):
        _draw(axes, plot, chart, palette)
        if not plot.scale:
            ticks = MaxNLocator(TICKS[columns], steps=[1, 2, 5, 10], integer=True)
            axes.xaxis.set_major_locator(ticks)
        heading = _heading(plot, chart)
        is_long = len(heading) > LETTERS[columns]
        axes.set_title(heading.replace(" · ", "\n") if is_long else heading)
        if number % columns == 0:
            axes.set_ylabel(textwrap.fill(chart.y_name, int(LETTERS_AN_INCH * height)))
        below = chart.plots[number + columns] if number + columns < count else None
        if below is None or below.x_name != plot.x_name:
            axes.set_xlabel(textwrap.fill(plot.x_name or chart.x_name, LETTERS[columns]))
    if title:
        figure.suptitle(title, wrap=True)
    _add_legend(figure, _legend_entries(chart, palette))
    return figure


def _heading(plot: Plot, chart: Chart) -> str:
    """Return the name of a plot, and its interpretations where plots differ in them."""
    if len(chart.interpretations) < 2:
        return plot.heading
    names = " and ".join(plot.interpretations)
    return f"{plot.heading} · {names}" if plot.heading else f"interpretation: {names}"


def _columns(chart: Chart) -> int:
    """Return the number of columns: three only if headings and numbers are short enough."""
    lines = [line for plot in chart.plots for line in _heading(plot, chart).split(" · ")]
    is_crowded = any(len(line) > LETTERS[3] for line in lines)
    is_crowded = is_crowded or any(plot.end >= LONG_AXIS for plot in chart.plots)
    return 2 if chart.columns > 2 and is_crowded else chart.columns


def _draw(axes: Axes, plot: Plot, chart: Chart, palette: Palette) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter, StrMethodFormatter

    for x in plot.breaks:
        axes.axvline(x, color=SWITCH_COLOUR, linewidth=0.6, zorder=1)
    _draw_levels(axes, plot, chart)
    for number, curve in enumerate(plot.curves):
        offset = number / len(plot.curves)
        _draw_curve(axes, plot.x_of(curve), curve, palette[curve.key], offset)
    axes.set_ylim(*chart.range_of(plot)[:2])
    if not plot.scale:
        axes.set_xlim(plot.begin, plot.end)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        return
    axes.set_xscale(plot.scale)
    if plot.scale == "log":
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if plot.ticks:
        axes.set_xticks(range(len(plot.ticks)), plot.ticks, rotation=30, ha="right")


def _draw_levels(axes: Axes, plot: Plot, chart: Chart) -> None:
    """Draw exact levels, each labelled with its number if it reaches the end of the axis."""
    names = list(chart.level_names)
    for level in plot.levels:
        if level.end_height < chart.range_of(plot).low:
            continue
        dash = LEVEL_DASHES[names.index(level.name) % len(LEVEL_DASHES)]
        ends = (level.start, level.end), (level.height, level.end_height)
        axes.plot(*ends, color=OPTIMUM_COLOUR, linewidth=0.9, linestyle=(0, dash), zorder=2)
        if level.end >= plot.end:
            axes.annotate(
                format_number(level.end_height), (1.0, level.end_height),
                xycoords=("axes fraction", "data"),
                xytext=(2, 0), textcoords="offset points", va="center", fontsize=SMALL,
                color=OPTIMUM_COLOUR, annotation_clip=False,
            )  # fmt: skip


def _draw_curve(axes: Axes, x: np.ndarray, curve: Curve, style: Style, offset: float) -> None:
    """Draw a line with its band; ``offset`` (0 to 1) keeps markers of different curves apart."""
    step = max(1, x.size // MARKERS)
    axes.fill_between(x, curve.low, curve.high, color=style.colour, alpha=BAND_OPACITY, linewidth=0)
    line = _line_style(style) | ({"linewidth": 0.8} if x.size > MANY_POINTS else {})
    axes.plot(x, curve.mean, **line)
    # Markers in a second pass: no line may cover the marker of another.
    marked = slice(int(offset * step), None, step)
    axes.plot(x[marked], curve.mean[marked], **_marker_style(style), linestyle="none")
    finite = np.flatnonzero(np.isfinite(curve.mean))
    if 0 < finite.size < x.size:
        last = finite[-1]
        axes.plot(x[last], curve.mean[last], "x", color=style.colour, markersize=7, mew=1.6)


def _line_style(style: Style) -> dict[str, Any]:
    linestyle = (0, style.dash) if style.dash else "-"
    return {"color": style.colour, "linestyle": linestyle, "zorder": 3}


def _marker_style(style: Style) -> dict[str, Any]:
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.5}
    return {"color": style.colour, "marker": style.marker, "zorder": 4, **edge}


def _legend_entries(chart: Chart, palette: Palette) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = []
    for key in chart.keys:
        style = palette[key]
        label = f"{style.name}\n{chart.note(key)}".strip()
        entries.append(Line2D([], [], label=label, **(_line_style(style) | _marker_style(style))))
    curves = [curve for plot in chart.plots for curve in plot.curves]
    if any(np.isfinite(curve.low).any() for curve in curves):
        runs = {curve.runs for curve in curves}
        counted = f"mean of {max(runs)} runs, " if len(runs) == 1 and max(runs) > 0 else ""
        label = f"{counted}95 % bootstrap interval"
        entries.append(Patch(color="#777777", alpha=0.3, linewidth=0, label=label))
    for name, dash in zip(chart.level_names.values(), LEVEL_DASHES, strict=False):
        line = Line2D([], [], label=name, color=OPTIMUM_COLOUR, linewidth=0.9, linestyle=(0, dash))
        entries.append(line)
    if any(plot.breaks for plot in chart.plots):
        mark = Line2D([], [], color=SWITCH_COLOUR, linestyle="none", marker="|", markersize=9)
        mark.set_label(chart.break_name)
        entries.append(mark)
    return entries


def _add_legend(figure: Figure, entries: Sequence[Any]) -> None:
    """Put a legend below all panels, in as many columns as fit by the usual width of a letter."""
    labels = [entry.get_label() for entry in entries]
    widest = max(len(line) for label in labels for line in label.split("\n"))
    columns = max(1, min(len(labels), int(WIDTH / (0.68 + 0.055 * widest))))
    rows = math.ceil(len(labels) / columns) + sum(label.count("\n") for label in labels) / columns
    figure.set_figheight(figure.get_figheight() + 0.17 * rows)
    figure.legend(
        handles=entries, labels=labels, loc="outside lower center", ncols=columns, frameon=False,
        handlelength=4.2, columnspacing=1.4, labelspacing=0.35,
    )  # fmt: skip
