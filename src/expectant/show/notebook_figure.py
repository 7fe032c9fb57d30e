"""Learning curves as a matplotlib figure that needs no pyplot and shows itself in notebooks.

Colours are those of Okabe and Ito (2008), told apart by people with any colour vision; dashes and
markers differ as well, so that a figure printed in grey can still be read.
"""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from expectant.show.references import Optimum, common_optimum, common_switch
from expectant.show.shown_curves import Curve, Drawable, curves_of, shown_switches, value_range
from expectant.show.small_tables import decimals_for, number

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
DASHES: tuple[Any, ...] = ("-", (4, 1.5), (1.5, 1.2), (6, 1.5, 1, 1.5), (9, 1.5), (3, 1, 1, 1))
MARKERS = "osD^vXP<>"
OPTIMUM_LOOK: Any = {"color": "#555555", "linewidth": 0.9, "linestyle": (0, (5, 3))}
SWITCH_COLOUR = "#9a9a9a"
WIDTH, HEIGHT, LEGEND_LINE = 6.0, 3.3, 0.2  # inches
MARKS = 8  # along a curve
LABEL_LETTERS = 60  # in a line of the legend
PLAIN_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}  # keeps lines off letters
SETTINGS: Any = {  # matplotlib's releases disagree about the type of its keys
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the figure is the same everywhere
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.hashsalt": "expectant",
}
DOTS, SCREEN_DOTS = 200, 110  # an inch


class ShownFigure(Figure):
    """A figure that a notebook shows whether or not matplotlib's own support for it is on."""

    def _repr_png_(self) -> bytes:
        return rendered(self, "png", SCREEN_DOTS)


def drawn(results: Mapping[str, Drawable]) -> Figure:
    """The figure of some results, all over episodes or all over steps."""
    some = list(results.values())
    switch, optimum = common_switch(some), common_optimum(some)
    longest = max(result.steps or result.returns.shape[1] for result in some)
    curves, switches = curves_of(results, switch), shown_switches(longest, switch)
    over_steps = some[0].steps is not None
    with _settings():
        figure, axes = _empty(_legend(curves, optimum, bool(switches)))
        for episode in switches:
            axes.axvline(episode, color=SWITCH_COLOUR, linewidth=0.6, zorder=1)
        if optimum.known:
            axes.axhline(optimum.value, **OPTIMUM_LOOK, zorder=2)
        for place, curve in enumerate(curves):
            _draw_curve(axes, curve, place, len(curves))
        _frame(axes, curves, optimum, longest)
        axes.set_xlabel("step" if over_steps else "episode")
        axes.set_ylabel("reward per step" if over_steps else "return per episode")
        axes.set_title(_title(some), loc="left")
    return figure


def write(figure: Figure, path: Path) -> None:
    """Write a figure under another name and rename it, so that it appears whole or not at all."""
    content = rendered(figure, path.suffix[1:].lower())
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        scratch.write_bytes(content)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def rendered(figure: Figure, kind: str, dots: int = DOTS) -> bytes:
    """The bytes of a figure, the same for the same figure."""
    buffer = io.BytesIO()
    undated: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with _settings():
        figure.savefig(buffer, format=kind, dpi=dots, metadata=undated)
    return buffer.getvalue()


@contextmanager
def _settings() -> Iterator[None]:
    """Settings that do not depend on the user's own."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def _empty(handles: Sequence[Any]) -> tuple[Figure, Any]:
    """A figure with a legend below its axes, as high as it takes."""
    labels = [str(handle.get_label()) for handle in handles]
    widest = max(len(line) for label in labels for line in label.split("\n"))
    columns = max(1, min(len(labels), int(WIDTH / (0.75 + 0.066 * widest))))
    rows = [labels[start : start + columns] for start in range(0, len(labels), columns)]
    lines = sum(max(label.count("\n") + 1 for label in row) for row in rows)
    figure = ShownFigure(figsize=(WIDTH, HEIGHT + LEGEND_LINE * lines), layout="constrained")
    FigureCanvasAgg(figure)
    figure.legend(
        handles=list(handles),
        labels=labels,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=3.6,
        columnspacing=1.6,
    )
    return figure, figure.subplots()


def _frame(axes: Any, curves: Sequence[Curve], optimum: Optimum, longest: int) -> None:
    """Set the ranges of both axes, and say what lies beyond."""
    covered = value_range(curves, optimum.value)
    axes.set_xlim(0, longest)
    axes.set_ylim(covered.low, covered.high)
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if covered.left_out is not None:
        text = f"axis cut: values reach {_written(covered.left_out)}"
        note = {"xycoords": "axes fraction", "ha": "right", "fontsize": 7, "bbox": PLAIN_BOX}
        axes.annotate(text, (0.99, 0.02), **note).set_zorder(6)


def _draw_curve(axes: Any, curve: Curve, place: int, count: int) -> None:
    """One line with its band; markers of different curves are kept apart."""
    line, marks = _line_look(place), _marker_look(place)
    axes.fill_between(
        curve.places, curve.low, curve.high, color=line["color"], alpha=0.18, linewidth=0
    )
    axes.plot(curve.places, curve.mean, **line)
    # markers in a second pass: no line may cover the marker of another
    step = max(1, curve.places.size // MARKS)
    some = slice(place * step // count, None, step)
    axes.plot(curve.places[some], curve.mean[some], linestyle="none", **marks)
    known = np.flatnonzero(np.isfinite(curve.mean))
    if 0 < known.size < curve.mean.size:
        end, look = known[-1], {"color": line["color"], "markersize": 8, "mew": 1.8, "zorder": 5}
        axes.plot(curve.places[end], curve.mean[end], "x", **look)


def _line_look(place: int) -> dict[str, Any]:
    dash = DASHES[place % len(DASHES)]
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": dash if dash == "-" else (0, dash),
        "zorder": 3,
    }


def _marker_look(place: int) -> dict[str, Any]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
        "zorder": 4,
    }


def _legend(curves: Sequence[Curve], optimum: Optimum, switches: bool) -> list[Any]:
    """What the lines are, one entry each."""
    handles: list[Any] = [
        Line2D([], [], label=_label(curve), **_line_look(place) | _marker_look(place))
        for place, curve in enumerate(curves)
    ]
    if any(np.isfinite(curve.low).any() for curve in curves):
        handles.append(Patch(color="#777777", alpha=0.3, linewidth=0, label="95 % interval"))
    if optimum.known:
        label = f"exact, ε-greedy on q*, ε = {optimum.epsilon:g}: {_written(optimum.value)}"
        handles.append(Line2D([], [], label=label, **OPTIMUM_LOOK))
    if switches:
        look: Any = {"color": SWITCH_COLOUR, "linestyle": "none", "marker": "|", "markersize": 9}
        handles.append(Line2D([], [], label="switch", **look))
    return handles


def _label(curve: Curve) -> str:
    # matplotlib takes a label that begins with an underscore for none
    name = textwrap.fill(curve.name, LABEL_LETTERS) or "(no name)"
    name = f"\u200b{name}" if name.startswith("_") else name
    return f"{name}\n({curve.diverged} of {curve.runs} runs diverged)" if curve.diverged else name


def _title(results: Sequence[Drawable]) -> str:
    """Where the results are from, and how many runs they are of, if that is the same for all."""
    kinds = {result.domain.called for result in results}
    runs = {
        f"{result.diverged.size:,} run" + "s" * (result.diverged.size > 1) for result in results
    }
    return ", ".join(fact for facts in (kinds, runs) if len(facts) == 1 for fact in facts)


def _written(value: float) -> str:
    return number(value, decimals_for([value])).replace("-", "−")
