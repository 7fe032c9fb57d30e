"""What panels of an animation are made of: bars, colours, arrows and the marks of exits.

Each function draws once and returns a function that shows a frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from expectant.show.animation.frames import PLANE, ROW, UNDECIDED, Frame, Layout, Recording
from expectant.show.palette import SWITCH_COLOUR

Update = Callable[[Frame], None]

COLOURS = "viridis"
BAR_COLOUR, ARROW_COLOUR, GOAL_COLOUR = "#56B4E9", "#1b1f24", "#D55E00"
WALL_COLOUR = "#8c959f"
ARROWS = 13  # along each axis of a plane
SHORTER = 0.75  # arrows that lead to the next cell end a little before it
LONGEST = 1.5  # of an arrow of the model, in cells
OUTLINE = 2.0  # points of white around the marks of exits


def draw_numbers(
    axes: Any, layout: Layout, scale: tuple[float, float], numbers: Callable[[Frame], np.ndarray]
) -> Update:
    """One number per state: bars for a row of cells, colours otherwise."""
    if layout.kind == ROW:
        return _bars(axes, layout, scale, numbers)
    image = draw_image(axes, layout, scale, COLOURS)
    axes.figure.colorbar(image, cax=axes.inset_axes((1.02, 0.0, 0.025, 1.0)))

    def update(frame: Frame) -> None:
        image.set_data(layout.image(numbers(frame)))

    return update


def _bars(
    axes: Any, layout: Layout, scale: tuple[float, float], numbers: Callable[[Frame], np.ndarray]
) -> Update:
    low, high = min(scale[0], 0.0), max(scale[1], 0.0)
    bars = axes.bar(layout.across, np.zeros(layout.across.size), width=0.8, color=BAR_COLOUR)
    axes.axhline(0.0, color=SWITCH_COLOUR, linewidth=0.6)
    axes.set_ylim(low - 0.28 * (high - low), high + 0.06 * (high - low))  # room for arrows
    axes.set_xlim(
        -1.6 if layout.exits else -0.6, layout.across[-1] + (1.6 if layout.exits else 0.6)
    )
    _name(axes, layout)

    def update(frame: Frame) -> None:
        for bar, height in zip(bars, numbers(frame), strict=True):
            bar.set_height(height if np.isfinite(height) else 0.0)

    return update


def draw_image(axes: Any, layout: Layout, scale: tuple[float, float], colours: Any) -> Any:
    half_x, half_y = _half(layout.across), _half(layout.along)
    left, right = layout.across[0] - half_x, layout.across[-1] + half_x
    first, last = layout.along[0] - half_y, layout.along[-1] + half_y
    plane = layout.kind == PLANE
    image = axes.imshow(
        np.zeros((layout.along.size, layout.across.size)),
        origin="lower" if plane else "upper",
        extent=(left, right, first, last) if plane else (left, right, last, first),
        aspect="auto" if plane else "equal",
        cmap=colours, vmin=scale[0], vmax=scale[1], interpolation="nearest",
    )  # fmt: skip
    if layout.cells is not None:
        axes.set_facecolor(WALL_COLOUR)
    if not plane and any(not left < place.x < right for place in layout.exits):
        axes.set_xlim(left - 1.6, right + 1.6)
    _name(axes, layout)
    return image


def _half(coordinates: np.ndarray) -> float:
    """Half of the distance between neighbours."""
    return float(coordinates[1] - coordinates[0]) / 2 if coordinates.size > 1 else 0.5


def _name(axes: Any, layout: Layout) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(layout.names[0])
    if layout.kind == PLANE:
        axes.set_ylabel(layout.names[1])
        return
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    if layout.kind != ROW:
        axes.set_ylabel(layout.names[1])
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))


def _heights(axes: Any, layout: Layout) -> np.ndarray:
    """Where arrows are drawn along the vertical axis: below the bars, or in the cells (n,)."""
    if layout.kind != ROW:
        return layout.points[:, 1]
    low, high = axes.get_ylim()
    return np.full(layout.across.size, low + 0.1 * (high - low))


def draw_choices(axes: Any, layout: Layout) -> Update:
    """The greedy actions of cells: arrows where actions have directions, numbers otherwise."""
    x, y = layout.points[:, 0], _heights(axes, layout)
    if layout.directions is None:
        texts = [
            axes.text(*place, "", ha="center", va="center", fontsize=7)
            for place in zip(x, y, strict=True)
        ]

        def number(frame: Frame) -> None:
            for text, action in zip(texts, frame.actions, strict=True):
                text.set_text("·" if action == UNDECIDED else str(action))

        return number
    nowhere = np.zeros(x.size)
    arrows = _quiver(axes, layout, x, y, nowhere, nowhere)
    directions = np.vstack([layout.directions, [0.0, 0.0]])  # the last is for no preference

    def point(frame: Frame) -> None:
        towards = SHORTER * directions[frame.actions]
        arrows.set_UVC(towards[:, 0], towards[:, 1])

    return point


def draw_displacements(axes: Any, recording: Recording) -> Update:
    """Where the model expects the greedy actions to lead, from some of the states."""
    layout = recording.layout
    x, y, shown = layout.points[:, 0], _heights(axes, layout), _shown(layout)
    stretch = _stretch(recording, shown)
    nowhere = np.zeros(shown.size)
    arrows = _quiver(axes, layout, x[shown], y[shown], nowhere, nowhere)

    def update(frame: Frame) -> None:
        moves = np.nan_to_num(frame.moves[shown], posinf=0.0, neginf=0.0) * stretch
        across = np.clip(moves[:, 0], -LONGEST, LONGEST) if layout.kind != PLANE else moves[:, 0]
        arrows.set_UVC(across, moves[:, 1] if moves.shape[1] > 1 else nowhere)

    return update


def _shown(layout: Layout) -> np.ndarray:
    """Which states get an arrow: every cell, or a few of a plane."""
    numbers = np.arange(len(layout.points))
    if layout.kind != PLANE:
        return numbers
    apart = max(1, layout.across.size // ARROWS)
    inner = slice(apart // 2, None, apart)
    return layout.image(numbers)[inner, inner].ravel()


def _stretch(recording: Recording, shown: np.ndarray) -> np.ndarray:
    """By how much displacements (g,) are stretched: in a plane they would hardly show."""
    layout = recording.layout
    if layout.kind != PLANE:
        return np.full(recording.frames[0].moves.shape[1], SHORTER)
    spacing = np.array([np.ptp(layout.across), np.ptp(layout.along)]) / ARROWS
    relative = np.abs(np.concatenate([f.moves[shown] for f in recording.frames])) / spacing
    finite = relative[np.isfinite(relative) & (relative > 1e-6)]
    usual = float(np.percentile(finite, 90)) if finite.size else 1.0
    return np.full(2, 1.0 / usual)


def _quiver(axes: Any, layout: Layout, x: Any, y: Any, across: Any, along: Any) -> Any:
    """Arrows in the units of the axes; nothing is drawn as a dot."""
    plane = layout.kind == PLANE
    return axes.quiver(
        x, y, across, along, angles="xy", scale_units="xy", scale=1.0,
        pivot="tail" if plane else "middle",
        units="width" if plane else "x", width=0.006 if plane else 0.07,
        color=ARROW_COLOUR if layout.kind == ROW else "white",
        minlength=0.5, headwidth=4.0, headlength=4.5, headaxislength=4.0,
    )  # fmt: skip


def draw_exits(axes: Any, layout: Layout) -> Update:
    """The places where episodes end, with what they pay; the best has a star."""
    from matplotlib.patheffects import withStroke

    around = [withStroke(linewidth=OUTLINE, foreground="white")]
    texts = [
        axes.text(
            place.x, _height(axes, layout, place.y), "", ha="center", va="center", fontsize=10,
            color=GOAL_COLOUR, fontweight="bold", zorder=5, path_effects=around, linespacing=0.9,
        )
        for place in layout.exits
    ]  # fmt: skip

    def update(frame: Frame) -> None:
        best = max((_pay(place.pays, frame.phase) for place in layout.exits), default=0.0)
        for text, place in zip(texts, layout.exits, strict=True):
            pay = _pay(place.pays, frame.phase)
            star = "★" if pay == best else ""
            text.set_text(f"{star}\n{pay:g}".strip() if place.pays else star)

    return update


def _height(axes: Any, layout: Layout, y: float) -> float:
    if layout.kind != ROW:
        return y
    low, high = axes.get_ylim()
    return float(low + 0.1 * (high - low))


def _pay(pays: tuple[float, ...], phase: int) -> float:
    return pays[min(phase, len(pays) - 1)] if pays else 0.0
