"""The panels of an animation. Each is drawn once and returns a function that shows a frame in it.

Colour scales and axes are the same in all frames, so that frames can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from expectant.show.canvas import new_figure
from expectant.show.palette import SWITCH_COLOUR
from expectant.show.ranges import value_range
from expectant.watching.recording import GRID, PLANE, ROW, UNDECIDED, Frame, Layout, Recording

Update = Callable[[Frame], None]
Numbers = Callable[[Frame], np.ndarray]
Scale = tuple[float, float]

BAR_COLOUR, ARROW_COLOUR, GOAL_COLOUR, WALL_COLOUR = "#56B4E9", "#1b1f24", "#D55E00", "#8c959f"
CURVE_COLOUR = "#0072B2"
ACTION_COLOURS = ("#0072B2", "#d8dee4", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#882255")
NO_PREFERENCE = "#ffffff"
WIDTH, DOTS = 8.0, 110  # inches, dots per inch
WIDE = 12  # cells from which on panels are stacked
ROBUST = (0.5, 99.5)  # percentiles that the scales span
ARROWS = 13  # along each axis of a plane
SHORTER, LONGEST = 0.75, 1.5  # length of arrows to the next cell, and at most, in cells
SMOOTHED = 50  # a point of the curve averages the last fiftieth of it


def draw_recording(recording: Recording) -> tuple[Any, Update]:
    """A figure and a function that shows a frame in it."""
    layout = recording.layout
    plane, is_wide = layout.kind == PLANE, layout.across.size > WIDE
    panels = [draw_values, *([draw_policy] if plane else [])]
    panels += [draw_model] if recording.has_model else []
    stacked = not plane and is_wide
    rows, columns = (len(panels), 1) if stacked else (1, len(panels))
    height = _panel_height(layout) if stacked else 3.0
    width = WIDTH if columns < 3 else 1.3 * WIDTH
    figure = new_figure(width, rows * height + 2.2, dpi=DOTS)
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=[height] * rows + [1.5])
    updates = [
        panel(figure.add_subplot(grid[divmod(number, columns)]), recording)
        for number, panel in enumerate(panels)
    ]
    updates.append(draw_curve(figure.add_subplot(grid[rows, :]), recording))
    title = figure.suptitle(" ", fontweight="bold")

    def update(frame: Frame) -> None:
        title.set_text(f"{recording.title}\n{recording.caption(frame)}")
        for each in updates:
            each(frame)

    update(recording.frames[-1])
    figure.draw_without_rendering()  # lay out once, not in every frame
    figure.set_layout_engine("none")
    return figure, update


def _panel_height(layout: Layout) -> float:
    """Inches; cells of a grid are squares, so their number decides."""
    if layout.kind != GRID:
        return 2.2
    return 0.85 * WIDTH * layout.along.size / layout.across.size + 0.8


# ---------------------------------------------------------------------------------------- panels


def draw_values(axes: Any, recording: Recording) -> Update:
    """The values; in cells also the greedy actions."""
    plane = recording.layout.kind == PLANE
    axes.set_title("values" if plane else "values and greedy actions")
    updates = [_draw_numbers(axes, recording, lambda frame: frame.values)]
    updates.append(_draw_exits(axes, recording.layout))
    return _combine(updates if plane else [*updates, _draw_choices(axes, recording.layout)])


def draw_policy(axes: Any, recording: Recording) -> Update:
    """The greedy actions of a plane, one colour each."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    layout = recording.layout
    axes.set_title("greedy actions")
    shades = [ACTION_COLOURS[n % len(ACTION_COLOURS)] for n in range(len(layout.drawing.actions))]
    scale = UNDECIDED - 0.5, len(shades) - 0.5
    image = _draw_image(axes, layout, scale, ListedColormap([NO_PREFERENCE, *shades]))
    handles = [Patch(color=c, label=n) for c, n in zip(shades, layout.drawing.actions, strict=True)]
    axes.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=min(3, len(shades)),
        frameon=False, handlelength=1.0, columnspacing=0.9, handletextpad=0.4,
    )  # fmt: skip
    exits = _draw_exits(axes, layout)
    return _combine([lambda frame: image.set_data(layout.image(frame.actions)), exits])


def draw_model(axes: Any, recording: Recording) -> Update:
    """The model's predictions for the greedy actions: rewards and displacements."""
    axes.set_title("model: their reward, and where they lead")
    return _combine(
        [
            _draw_numbers(axes, recording, lambda frame: frame.rewards),
            _draw_displacements(axes, recording),
            _draw_exits(axes, recording.layout),
        ]
    )


def draw_curve(axes: Any, recording: Recording) -> Update:
    """The learning curve up to the frame, with the changes of the domain."""
    times, curve = recording.times, smooth(recording.curve)
    for change in recording.changes:
        axes.axvline(change, color=SWITCH_COLOUR, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.plot(times, curve, color=CURVE_COLOUR, alpha=0.25, linewidth=1.0)
    (past,) = axes.plot([], [], color=CURVE_COLOUR, linewidth=1.6)
    cursor = axes.axvline(0, color=ARROW_COLOUR, linewidth=1.0)
    covered = value_range({"": curve})
    axes.set_ylim(covered.low, covered.high)
    axes.set_xlim(0, recording.length)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(recording.unit)
    axes.set_ylabel(recording.measure)

    def update(frame: Frame) -> None:
        now = recording.time(frame)
        past.set_data(times[times <= now], curve[times <= now])
        cursor.set_xdata([now, now])

    return update


def smooth(curve: np.ndarray) -> np.ndarray:
    """The mean of each point and the few before it."""
    window = max(1, curve.size // SMOOTHED)
    sums = np.cumsum(np.concatenate([[0.0], curve]))
    ends = np.arange(1, curve.size + 1)
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def _combine(updates: Iterable[Callable[[Frame], Any]]) -> Update:
    def update(frame: Frame) -> None:
        for each in updates:
            each(frame)

    return update


def scale_of(recording: Recording, numbers: Numbers) -> Scale:
    """(low, high) of nearly all finite numbers in the frames before each change and at the end.

    Frames in between may be far off for a moment, such as initial values that are high.
    """
    *earlier, last = recording.frames
    frames = [frame for frame in earlier if recording.time(frame) in recording.changes]
    together = np.concatenate([numbers(frame).ravel() for frame in [*frames, last]])
    finite = together[np.isfinite(together)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = (float(end) for end in np.percentile(finite, ROBUST))
    return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)


# --------------------------------------------------------------------------- bars, images, arrows


def _draw_numbers(axes: Any, recording: Recording, numbers: Numbers) -> Update:
    """One number per state: bars for a row of cells, colours otherwise."""
    layout, scale = recording.layout, scale_of(recording, numbers)
    if layout.kind == ROW:
        return _draw_bars(axes, layout, scale, numbers)
    image = _draw_image(axes, layout, scale, "viridis")
    axes.figure.colorbar(image, cax=axes.inset_axes((1.02, 0.0, 0.025, 1.0)))
    return lambda frame: image.set_data(layout.image(numbers(frame)))


def _draw_bars(axes: Any, layout: Layout, scale: Scale, numbers: Numbers) -> Update:
    low, high = min(scale[0], 0.0), max(scale[1], 0.0)
    bars = axes.bar(layout.across, np.zeros(layout.across.size), width=0.8, color=BAR_COLOUR)
    axes.axhline(0.0, color=SWITCH_COLOUR, linewidth=0.6)
    axes.set_ylim(low - 0.28 * (high - low), high + 0.06 * (high - low))  # room for arrows
    margin = 1.6 if layout.drawing.exits else 0.6
    axes.set_xlim(-margin, layout.across[-1] + margin)
    _label(axes, layout)

    def update(frame: Frame) -> None:
        for bar, height in zip(bars, numbers(frame), strict=True):
            bar.set_height(height if np.isfinite(height) else 0.0)

    return update


def _draw_image(axes: Any, layout: Layout, scale: Scale, colours: Any) -> Any:
    (left, right), (first, last) = _edges(layout.across), _edges(layout.along)
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
    if not plane and any(not left < place.x < right for place in layout.drawing.exits):
        axes.set_xlim(left - 1.6, right + 1.6)
    _label(axes, layout)
    return image


def _edges(middles: np.ndarray) -> Scale:
    """Where the first cell begins and the last one ends."""
    half = float(middles[1] - middles[0]) / 2 if middles.size > 1 else 0.5
    return middles[0] - half, middles[-1] + half


def _label(axes: Any, layout: Layout) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(layout.drawing.names[0])
    if layout.kind != ROW:
        axes.set_ylabel(layout.drawing.names[1])
    if layout.kind != PLANE:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    if layout.kind == GRID:
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))


def _height(axes: Any, layout: Layout, y: Any) -> Any:
    """Where marks are drawn along the vertical axis: in the cells, or below the bars."""
    low, high = axes.get_ylim()
    return y if layout.kind != ROW else 0.0 * np.asarray(y) + low + 0.1 * (high - low)


def _draw_choices(axes: Any, layout: Layout) -> Update:
    """The greedy actions of cells: arrows where actions have directions, numbers otherwise."""
    x, y = layout.points[:, 0], _height(axes, layout, layout.points[:, -1])
    if layout.drawing.directions is None:
        texts = [
            axes.text(*place, "", ha="center", va="center", fontsize=7)
            for place in zip(x, y, strict=True)
        ]

        def number(frame: Frame) -> None:
            for text, action in zip(texts, frame.actions, strict=True):
                text.set_text("·" if action == UNDECIDED else str(action))

        return number
    arrows = _draw_arrows(axes, layout, x, y)
    directions = SHORTER * np.vstack(
        [layout.drawing.directions, [0.0, 0.0]]
    )  # the last: no preference
    return lambda frame: arrows.set_UVC(*directions[frame.actions].T)


def _draw_displacements(axes: Any, recording: Recording) -> Update:
    """Where the model expects the greedy actions to lead, in all cells or some of a plane."""
    layout, shown = recording.layout, np.arange(len(recording.layout.points))
    x, y = layout.points[:, 0], _height(axes, layout, layout.points[:, -1])
    stretch, most = SHORTER, LONGEST
    if layout.kind == PLANE:  # where they would hardly be seen otherwise
        apart = max(1, layout.across.size // ARROWS)
        inner = slice(apart // 2, None, apart)
        shown = layout.image(shown)[inner, inner].ravel()
        spacing = np.array([np.ptp(layout.across), np.ptp(layout.along)]) / ARROWS
        relative = np.abs(np.concatenate([f.moves[shown] for f in recording.frames])) / spacing
        finite = relative[np.isfinite(relative) & (relative > 1e-6)]
        stretch, most = 1.0 / float(np.percentile(finite, 90)) if finite.size else 1.0, np.inf
    arrows = _draw_arrows(axes, layout, x[shown], y[shown])

    def update(frame: Frame) -> None:
        moves = np.nan_to_num(frame.moves[shown], posinf=0.0, neginf=0.0) * stretch
        along = moves[:, 1] if moves.shape[1] > 1 else np.zeros(len(moves))
        arrows.set_UVC(np.clip(moves[:, 0], -most, most), along)

    return update


def _draw_arrows(axes: Any, layout: Layout, x: np.ndarray, y: np.ndarray) -> Any:
    """Arrows in the units of the axes; those of length 0 are drawn as dots."""
    plane, nowhere = layout.kind == PLANE, np.zeros(x.size)
    return axes.quiver(
        x, y, nowhere, nowhere, angles="xy", scale_units="xy", scale=1.0,
        pivot="tail" if plane else "middle",
        units="width" if plane else "x", width=0.006 if plane else 0.07,
        color=ARROW_COLOUR if layout.kind == ROW else "white",
        minlength=0.5, headwidth=4.0, headlength=4.5, headaxislength=4.0,
    )  # fmt: skip


def _draw_exits(axes: Any, layout: Layout) -> Update:
    """The exits with their rewards; the best has a star."""
    from matplotlib.patheffects import withStroke

    texts = [
        axes.text(
            place.x, _height(axes, layout, place.y), "", ha="center", va="center", fontsize=10,
            color=GOAL_COLOUR, fontweight="bold", zorder=5, linespacing=0.9,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
        for place in layout.drawing.exits
    ]  # fmt: skip

    def update(frame: Frame) -> None:
        rewards = [
            place.pays[min(frame.phase, len(place.pays) - 1)] if place.pays else 0.0
            for place in layout.drawing.exits
        ]
        for text, place, reward in zip(texts, layout.drawing.exits, rewards, strict=True):
            star = "★" if reward == max(rewards) else ""
            text.set_text(f"{star}\n{reward:g}".strip() if place.pays else star)

    return update
