"""Sensitivity curves: what every value of a setting is worth, one panel for each setting."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from expectant.report.figures import PLAIN_BOX, SETTINGS, WIDTH, line_look, marker_look
from expectant.report.files import write_whole
from expectant.report.style import style_of, tell_apart
from expectant.report.summaries import number

COLUMNS = 3
HEIGHT = 2.1  # of one row, in inches
FEW = 5  # values, up to which each has a tick of its own
MANY = 30  # values, from which on markers would only clutter
CUT = 4.0  # the axis reaches down at most so many times the distance from the top to the median


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """One agent and one setting: ``envelope`` (values, 3) has mean, low and high with the other
    settings at their best, ``slice`` (values,) the mean with the others as in the best setting.

    NaN where every setting diverged, or where the slice was not tried.
    """

    agent: str
    label: str
    setting: str
    values: Sequence[Any]
    envelope: np.ndarray
    slice: np.ndarray | None = None


def draw_sensitivity(
    found: Sequence[Sensitivity], title: str, measure: str, path_stem: str | Path
) -> list[Path]:
    """Draw into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``."""
    if not found:
        raise ValueError("draw_sensitivity: found must have at least one setting, got none")
    tell_apart(line.agent for line in found)
    return write_figure(lambda: _figure(found, title, measure), path_stem)


def write_figure(make: Callable[[], Any], path_stem: str | Path) -> list[Path]:
    """Write what ``make`` draws as PNG and SVG, the same bytes for the same data."""
    import matplotlib

    with matplotlib.rc_context():  # the settings in force must not depend on the user's own
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        figure = make()
        paths = []
        for kind in ("png", "svg"):
            buffer = io.BytesIO()
            metadata = {"Date": None} if kind == "svg" else {}
            figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
            paths.append(write_whole(Path(f"{path_stem}.{kind}"), buffer.getvalue()))
        return paths


def empty_figure(places: int, height: float, *, share: bool = False) -> tuple[Any, list[Any]]:
    """A figure with so many axes in rows of three, and the axes, which may share their heights."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(places, COLUMNS)
    rows = math.ceil(places / columns)
    figure = Figure(figsize=(WIDTH, 0.9 + rows * height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=share).flat)
    for unused in axes[places:]:
        unused.remove()
    return figure, axes[:places]


def lowest_shown(means: np.ndarray) -> float:
    """Where an axis of means ends below, so that a few disasters do not flatten all the rest."""
    known = means[np.isfinite(means)]
    if known.size == 0:
        return 0.0
    top, room = known.max(), CUT * (known.max() - np.median(known))
    return float(known.min()) if room == 0.0 else float(max(known.min(), top - room))


def setting_name(setting: str) -> str:
    """A column of the table of cells as people would call it: agent.value_step, value step.

    >>> setting_name("agent.model.step")
    'model step'
    """
    return setting.removeprefix("agent.").replace("_", " ").replace(".", " ")


def _figure(found: Sequence[Sensitivity], title: str, measure: str) -> Any:
    settings = list(dict.fromkeys(line.setting for line in found))
    figure, places = empty_figure(len(settings), HEIGHT, share=True)
    lowest = lowest_shown(np.concatenate([line.envelope[:, 0] for line in found]))
    highest = np.nanmax([np.nan_to_num(line.envelope, nan=lowest).max() for line in found])
    room = 0.08 * (highest - lowest or 1.0)
    for axes, setting in zip(places, settings, strict=True):
        lines = [line for line in found if line.setting == setting]
        positions = _positions(axes, lines)
        axes.set_ylim(lowest - room, highest + room)
        for line in lines:
            _draw(axes, line, [positions(value) for value in line.values])
        axes.set_xlabel(setting_name(setting))
        if any((line.envelope[:, 0] < lowest - room).any() for line in lines):
            axes.annotate("axis cut", (0.02, 0.02), xycoords="axes fraction", fontsize=6.5,
                          bbox=PLAIN_BOX)  # fmt: skip
    for axes in places[::COLUMNS]:
        axes.set_ylabel(measure)
    figure.suptitle(title, wrap=True)
    handles = _handles(found)
    figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)),
                  frameon=False, handlelength=3.2)  # fmt: skip
    return figure


def _draw(axes: Any, line: Sensitivity, places: Sequence[float]) -> None:
    mean, low, high = line.envelope.T
    marks = marker_look(line.agent) if len(places) < MANY else {}
    look = line_look(line.agent) | marks
    bars = [np.nan_to_num(mean - low), np.nan_to_num(high - mean)]
    axes.errorbar(places, mean, bars, **look, capsize=1.5, elinewidth=0.8)
    if line.slice is not None:
        axes.plot(places, line.slice, color=style_of(line.agent).colour, linewidth=0.8,
                  linestyle=":", zorder=2)  # fmt: skip
    gone = [place for place, value in zip(places, mean, strict=True) if math.isnan(value)]
    if gone:
        ground = [axes.get_ylim()[0]] * len(gone)
        axes.plot(gone, ground, "x", color=style_of(line.agent).colour, clip_on=False)


def _positions(axes: Any, lines: Sequence[Sensitivity]) -> Callable[[Any], float]:
    """Prepare the axis of a setting: its logarithm, itself, or its values side by side."""
    values = list(dict.fromkeys(value for line in lines for value in line.values))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        if min(values) > 0 and max(values) >= 10 * min(values):
            _logarithmic(axes)
        elif len(values) <= FEW:
            axes.set_xticks(values, [number(value) for value in values])
        return float
    axes.set_xticks(range(len(values)), [number(value) for value in values],
                    rotation=30 if len(values) > 3 else 0)  # fmt: skip
    return lambda value: float(values.index(value))


def _logarithmic(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _handles(found: Sequence[Sensitivity]) -> list[Any]:
    from matplotlib.lines import Line2D

    agents = {line.agent: line.label for line in found}
    handles = [
        Line2D([], [], label=label, **(line_look(agent) | marker_look(agent)))
        for agent, label in agents.items()
    ]
    if any(line.slice is not None for line in found):
        handles.append(Line2D([], [], color="#555555", linewidth=0.8, linestyle=":",
                              label="others as in the best setting"))  # fmt: skip
    if any(np.isnan(line.envelope[:, 0]).any() for line in found):
        handles.append(Line2D([], [], color="#555555", marker="x", linestyle="none",
                              label="all diverged"))  # fmt: skip
    return handles
