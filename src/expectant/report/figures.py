"""Static figures for a paper: PNG and SVG, the same bytes for the same curves."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.panel import Panel
from expectant.report.files import write_whole
from expectant.report.style import (
    BAND_OPACITY,
    MANY_BINS,
    OPTIMUM_COLOUR,
    OPTIMUM_DASH,
    SWITCH_COLOUR,
    style_of,
    tell_apart,
)
from expectant.report.summaries import (
    Curve,
    ValueRange,
    agents_of,
    arranged,
    divergence_note,
    label_of,
    middle_episodes,
    number,
    panel_heading,
    summarise,
    value_range,
)

WIDTH = 6.0  # inches: the width of a text block, so that nothing is scaled when printed
HEIGHTS = {1: 3.1, 2: 2.4, 3: 2.0}  # of one row, by the number of columns
TICKS = {1: 8, 2: 5, 3: 4}  # at most, along the episodes
PLAIN_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}  # keeps lines off letters
MARKS = 8  # markers along a curve
SETTINGS: Any = {  # matplotlib's releases disagree about the type of its keys
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the figure is the same everywhere
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "figure.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "lines.scale_dashes": True,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.hashsalt": "expectant",
    "svg.fonttype": "path",
}


def draw_panels(panels: Sequence[Panel], title: str, path_stem: str | Path) -> list[Path]:
    """Draw panels side by side into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``.

    Up to three panels make one row; more make one row for each reading. A line is the mean over
    runs, its band the 95 % bootstrap interval; a curve ends, with a cross, where a run diverged.
    """
    if not panels:
        raise ValueError("draw_panels: panels must have at least one panel, got none")
    tell_apart(agents_of(panels))
    import matplotlib

    # The settings in force must not depend on the user's own.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        figure = _figure(panels, title)
        return [
            write_whole(Path(f"{path_stem}.{kind}"), _rendered(figure, kind))
            for kind in ("png", "svg")
        ]


def _rendered(figure: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    # The date would make every file different.
    metadata = {"Date": None} if kind == "svg" else {}
    figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    return buffer.getvalue()


def _figure(panels: Sequence[Panel], title: str) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import MaxNLocator

    panels, columns = arranged(panels)
    rows = math.ceil(len(panels) / columns)
    curves = [summarise(panel) for panel in panels]
    covered = value_range(panels, curves)
    handles = _legend_handles(panels)
    legend_columns = _legend_columns([handle.get_label() for handle in handles])
    legend_height = 0.18 * math.ceil(len(handles) / legend_columns)
    height = 0.45 + rows * HEIGHTS[columns] + legend_height
    figure = Figure(figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(w_pad=0.06))
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for place, panel, row in zip(axes.flat, panels, curves, strict=False):
        _draw(place, panel, row, covered)
        place.xaxis.set_major_locator(MaxNLocator(TICKS[columns], steps=[1, 2, 5, 10]))
        place.set_title(panel_heading(panel, panels))
    for unused in list(axes.flat)[len(panels) :]:
        unused.remove()
    for row_of_axes in axes:
        row_of_axes[0].set_ylabel("return per episode")
    figure.suptitle(title, wrap=True)
    figure.legend(
        handles=handles,
        labels=[handle.get_label() for handle in handles],
        loc="outside lower center",
        ncols=legend_columns,
        frameon=False,
        handlelength=4.2,
        columnspacing=1.4,
        labelspacing=0.35,
    )
    return figure


def _draw(axes: Any, panel: Panel, curves: Sequence[Curve], covered: ValueRange) -> None:
    from matplotlib.ticker import StrMethodFormatter

    episodes = middle_episodes(panel)
    for switch in panel.switches:
        axes.axvline(panel.first_episodes[switch], color=SWITCH_COLOUR, linewidth=0.6, zorder=1)
    _draw_optimum(axes, panel.optimum)
    for place, curve in enumerate(curves):
        _draw_curve(axes, episodes, curve, place / len(curves))
    axes.set_xlim(0, panel.first_episodes[-1] + panel.bin)
    axes.set_ylim(covered.low, covered.high)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("episode")
    if covered.left_out is not None:
        text = f"axis cut: values reach {number(covered.left_out)}"
        axes.annotate(
            text, (0.98, 0.02), xycoords="axes fraction", ha="right", fontsize=6.5, bbox=PLAIN_BOX
        ).set_zorder(5)


def _draw_optimum(axes: Any, optimum: float) -> None:
    if not math.isfinite(optimum):
        return
    axes.axhline(
        optimum, color=OPTIMUM_COLOUR, linewidth=0.9, linestyle=(0, OPTIMUM_DASH), zorder=2
    )
    axes.annotate(
        f"exact optimum {number(optimum)}",
        (0.02, optimum),
        xycoords=("axes fraction", "data"),
        xytext=(0, 1.5),
        textcoords="offset points",
        va="bottom",
        fontsize=7,
        color="#333333",
        bbox=PLAIN_BOX,
    )


def _draw_curve(axes: Any, episodes: np.ndarray, curve: Curve, offset: float) -> None:
    """One line with its band; ``offset`` (0 to 1) keeps markers of different curves apart."""
    look = style_of(curve.agent)
    step = max(1, episodes.size // MARKS)
    axes.fill_between(
        episodes, curve.low, curve.high, color=look.colour, alpha=BAND_OPACITY, linewidth=0
    )
    line, marks = line_look(curve.agent), marker_look(curve.agent)
    if episodes.size > MANY_BINS:
        line["linewidth"] = 0.8
    axes.plot(episodes, curve.mean, **line)
    # Markers in a second pass: no line may cover the marker of another.
    first = int(offset * step)
    axes.plot(episodes[first::step], curve.mean[first::step], **marks, linestyle="none")
    finite = np.flatnonzero(np.isfinite(curve.mean))
    if 0 < finite.size < episodes.size:
        last = finite[-1]
        axes.plot(episodes[last], curve.mean[last], "x", color=look.colour, markersize=7, mew=1.6)


def line_look(agent: str) -> dict[str, Any]:
    """Matplotlib's arguments for an agent's line."""
    look = style_of(agent)
    linestyle = (0, look.dash) if look.dash else "-"
    return {"color": look.colour, "linestyle": linestyle, "zorder": 3}


def marker_look(agent: str) -> dict[str, Any]:
    """Matplotlib's arguments for an agent's markers."""
    look = style_of(agent)
    return {
        "color": look.colour,
        "marker": look.marker,
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
        "zorder": 4,
    }


def _legend_columns(labels: Sequence[str]) -> int:
    """As many columns as fit the width, by the average width of a letter."""
    widest = max(len(line) for label in labels for line in label.split("\n"))
    return max(1, min(len(labels), int(WIDTH / (0.68 + 0.055 * widest))))


def _legend_handles(panels: Sequence[Panel]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for agent in agents_of(panels):
        label = f"{label_of(panels, agent)}\n{divergence_note(panels, agent)}".strip()
        look = line_look(agent) | marker_look(agent)
        handles.append(Line2D([], [], label=label, **look))
    handles.append(Patch(color="#777777", alpha=0.3, linewidth=0, label="95 % bootstrap interval"))
    if any(panel.switches for panel in panels):
        look = {"color": SWITCH_COLOUR, "linestyle": "none", "marker": "|", "markersize": 9}
        handles.append(Line2D([], [], label="goal moves", **look))
    return handles
