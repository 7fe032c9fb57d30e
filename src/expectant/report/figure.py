"""What all figures share: settings, size, axes and legend; the same data, the same bytes."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from expectant.core.errors import require_extra
from expectant.core.files import write_bytes
from expectant.report.palette import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.0  # inches: the width of a text block, so that nothing is scaled when printed
COLUMNS = 3
SMALL = 6.5  # points
DOTS, SCREEN_DOTS = 200, 110  # per inch
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
# A date would make every file different.
UNDATED: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


@contextmanager
def own_settings() -> Iterator[None]:
    """Matplotlib with the settings of these figures, whatever the user's own are."""
    require_extra("drawing", "report")
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def rendered(figure: Figure, kind: str, dots: int = DOTS) -> bytes:
    """The figure as a file: "png", "svg" or "pdf"."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=dots, metadata=UNDATED.get(kind, {}))
    return buffer.getvalue()


@cache
def _notebook_figure() -> Any:
    """A figure that a notebook shows whether or not matplotlib's own support for it is on."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def _repr_png_(self) -> bytes:
            with own_settings():
                return rendered(self, "png", SCREEN_DOTS)

    return NotebookFigure


def new_figure(width: float, height: float, **more: Any) -> Figure:
    """An empty figure that needs no screen; its parts find room for each other."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.06)
    figure: Figure = _notebook_figure()(figsize=(width, height), layout=layout, **more)
    FigureCanvasAgg(figure)
    return figure


def columns_for(places: int) -> int:
    """How many places stand side by side: at most three, and four as two by two."""
    return 2 if places == 4 else min(places, COLUMNS)


def panel_figure(places: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with so many axes, each of a height in inches, row by row."""
    rows = math.ceil(places / columns)
    figure = new_figure(WIDTH, 0.55 + rows * height)
    axes = list(figure.subplots(rows, columns, squeeze=False, sharey=True).flat)
    for unused in axes[places:]:
        unused.remove()
    return figure, axes[:places]


def write_figure(make: Callable[[], Figure], path_stem: str | Path) -> list[Path]:
    """Write what ``make`` draws into ``<path_stem>.png`` (200 dpi) and ``<path_stem>.svg``."""
    with own_settings():
        figure = make()
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # everything has its place, in both files the same
        return [
            write_bytes(Path(f"{path_stem}.{kind}"), rendered(figure, kind))
            for kind in ("png", "svg")
        ]


def add_legend(figure: Figure, handles: Sequence[Any]) -> None:
    """Put a legend below all panels, in as many columns as fit by the usual width of a letter."""
    labels = [handle.get_label() for handle in handles]
    widest = max(len(line) for label in labels for line in label.split("\n"))
    columns = max(1, min(len(labels), int(WIDTH / (0.68 + 0.055 * widest))))
    rows = math.ceil(len(labels) / columns) + sum(label.count("\n") for label in labels) / columns
    figure.set_figheight(figure.get_figheight() + 0.17 * rows)
    figure.legend(
        handles=handles, labels=labels, loc="outside lower center", ncols=columns, frameon=False,
        handlelength=4.2, columnspacing=1.4, labelspacing=0.35,
    )  # fmt: skip


def line_look(style: Style) -> dict[str, Any]:
    """Matplotlib's arguments for an agent's line."""
    linestyle = (0, style.dash) if style.dash else "-"
    return {"color": style.colour, "linestyle": linestyle, "zorder": 3}


def marker_look(style: Style) -> dict[str, Any]:
    """Matplotlib's arguments for an agent's markers."""
    return {
        "color": style.colour,
        "marker": style.marker,
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
        "zorder": 4,
    }


def key_of(label: str, **look: Any) -> Any:
    """An entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def agent_key(style: Style, note: str = "") -> Any:
    """The entry of an agent in a legend."""
    return key_of(f"{style.name}\n{note}".strip(), **(line_look(style) | marker_look(style)))
