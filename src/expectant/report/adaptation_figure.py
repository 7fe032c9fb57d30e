"""The figure of the local-change adaptation test: one panel per agent, one line per backups."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval
from expectant.report.figures import SETTINGS, WIDTH
from expectant.report.files import write_whole
from expectant.report.style import BAND_OPACITY, OPTIMUM_COLOUR, SWITCH_COLOUR, Style

COLUMNS = 2
HEIGHT = 1.85  # of one panel, in inches
MARKS = 9  # markers along a curve
# Those that plan everywhere are blue or green, those that plan near the agent red or brown.
LOOKS = {
    "all": Style("#0072B2", (), "o"),
    "seen": Style("#56B4E9", (6.0, 1.5), "s"),
    "prioritized": Style("#009E73", (8.0, 1.5, 1.5, 1.5), "^"),
    "sampler": Style("#332288", (2.0, 1.2), "D"),
    "unlimited": Style("#44AA99", (4.0, 1.2, 1.0, 1.2), "v"),
    "replay": Style("#D55E00", (), "X"),
    "recency": Style("#E69F00", (6.0, 1.5), "P"),
    "trajectory": Style("#CC79A7", (3.0, 1.2), "<"),
    "current": Style("#661100", (1.2, 1.2), ">"),
    "none": Style("#000000", (), "o"),
}


@dataclass(frozen=True, eq=False)
class AdaptationPanel:
    """One agent: ``curves`` maps the names of backups to measures (runs, M)."""

    title: str
    curves: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class AdaptationFigure:
    """Panels over the same ``steps`` (M,); ``borders`` are where phases begin, after the first.

    ``levels`` are dashed lines: (first step, last step, height, name).
    """

    title: str
    panels: Sequence[AdaptationPanel]
    steps: np.ndarray
    borders: Sequence[int]
    levels: Sequence[tuple[int, int, float, str]]


def draw_adaptation(data: AdaptationFigure, path_stem: str | Path) -> list[Path]:
    """Draw into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``."""
    return [
        write_whole(Path(f"{path_stem}.{kind}"), rendered(data, kind)) for kind in ("png", "svg")
    ]


def rendered(data: AdaptationFigure, kind: str) -> bytes:
    """The figure as a file, the same bytes for the same data."""
    import matplotlib

    with matplotlib.rc_context():  # the settings in force must not depend on the user's own
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        buffer = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {}
        _figure(data).savefig(buffer, format=kind, dpi=200, metadata=metadata)
        return buffer.getvalue()


def _figure(data: AdaptationFigure) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(data.panels))
    rows = math.ceil(len(data.panels) / columns)
    figure = Figure(figsize=(WIDTH, 1.1 + rows * HEIGHT), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for place, panel in zip(axes.flat, data.panels, strict=False):
        _draw(place, panel, data)
    for unused in list(axes.flat)[len(data.panels) :]:
        unused.remove()
    for row in axes:
        row[0].set_ylabel("expected return")
    for place in axes[-1]:
        place.set_xlabel("step (thousands)")
    figure.suptitle(data.title, wrap=True)
    handles = _legend(data)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False,
                  handlelength=3.6, columnspacing=1.4)  # fmt: skip
    return figure


def _draw(axes: Any, panel: AdaptationPanel, data: AdaptationFigure) -> None:
    axes.set_title(panel.title)
    for border in data.borders:
        axes.axvline(border / 1000, color=SWITCH_COLOUR, linewidth=0.6, zorder=1)
    for first, last, height, name in data.levels:
        dash = (0, (5.0, 3.0)) if name == "optimum" else (0, (1.0, 2.0))
        axes.hlines(height, first / 1000, last / 1000, color=OPTIMUM_COLOUR, linewidth=0.9,
                    linestyle=dash, zorder=2)  # fmt: skip
    for number, (backups, measures) in enumerate(panel.curves.items()):
        offset = number / len(panel.curves)
        _draw_curve(axes, data.steps / 1000, measures, LOOKS[backups], offset)
    axes.set_xlim(0, data.steps[-1] / 1000)
    axes.set_ylim(bottom=0.0)


def _draw_curve(
    axes: Any, steps: np.ndarray, measures: np.ndarray, look: Style, offset: float
) -> None:
    mean, low, high = interval(finite_or_nan(measures))
    axes.fill_between(steps, low, high, color=look.colour, alpha=BAND_OPACITY, linewidth=0)
    axes.plot(steps, mean, color=look.colour, linestyle=_dash(look), linewidth=0.9, zorder=3)
    apart = max(1, steps.size // MARKS)
    shown = slice(int(offset * apart), None, apart)
    axes.plot(steps[shown], mean[shown], color=look.colour, marker=look.marker, markersize=3.5,
              markeredgecolor="white", markeredgewidth=0.4, linestyle="none", zorder=4)  # fmt: skip


def _dash(look: Style) -> Any:
    return (0, look.dash) if look.dash else "-"


def _legend(data: AdaptationFigure) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for backups in dict.fromkeys(name for panel in data.panels for name in panel.curves):
        look = LOOKS[backups]
        name = "no planning" if backups == "none" else backups
        handles.append(
            Line2D([], [], color=look.colour, linestyle=_dash(look), marker=look.marker, label=name,
                   linewidth=1.0, markersize=4, markeredgecolor="white", markeredgewidth=0.4)
        )  # fmt: skip
    for name, dash in (("optimum", (0, (5.0, 3.0))), ("outdated policy", (0, (1.0, 2.0)))):
        handles.append(Line2D([], [], color=OPTIMUM_COLOUR, linestyle=dash, label=name))
    handles.append(Patch(color="#777777", alpha=0.3, linewidth=0, label="95 % interval"))
    return handles
