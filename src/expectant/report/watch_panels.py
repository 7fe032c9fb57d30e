"""The panels of an animation; each is drawn once and returns a function that shows a frame.

Colour scales and axes are the same in all frames, so that frames can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from expectant.report.chart import value_range
from expectant.report.figure import new_figure
from expectant.report.palette import SWITCH_COLOUR
from expectant.report.watch_recording import GRID, PLANE, ROW, UNDECIDED, Frame, Layout, Recording

Update = Callable[[Frame], Any]
Numbers = Callable[[Frame], np.ndarray]

BAR_COLOUR, ARROW_COLOUR, GOAL_COLOUR, WALL_COLOUR = "#56B4E9", "#1b1f24", "#D55E00", "#8c959f"
CURVE_COLOUR = "#0072B2"
ACTION_COLOURS = ("#0072B2", "#d8dee4", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#882255")
WIDTH, DOTS = 8.0, 110  # inches, dots per inch
WIDE = 12  # cells from which on panels are stacked
ROBUST = (0.5, 99.5)  # percentiles that the scales span
ARROWS = 13  # along each axis of a plane
SHORTER, LONGEST = 0.75, 1.5  # length of arrows to the next cell, and at most, in cells
SMOOTHED = 50  # a point of the curve averages the last fiftieth of it


def draw_recording(recording: Recording) -> tuple[Any, Update]:
    """Draw a figure; returns it and a function that shows a frame in it."""
    layout, is_plane = recording.layout, recording.layout.kind == PLANE
    panels = [draw_values, *[draw_policy] * is_plane, *[draw_model] * recording.has_model]
    height, rows, columns = 3.0, 1, len(panels)
    if not is_plane and layout.across.size > WIDE:  # cells of a grid are squares
        grid_height = 0.85 * WIDTH * layout.along.size / layout.across.size + 0.8
        height, rows, columns = (grid_height if layout.kind == GRID else 2.2), len(panels), 1
    figure = new_figure(WIDTH * (1.3 if columns > 2 else 1.0), rows * height + 2.2, dpi=DOTS)
    places = figure.add_gridspec(rows + 1, columns, height_ratios=[height] * rows + [1.5])
    updates: list[Update] = []
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(places[divmod(number, columns)])
        updates += [*panel(axes, recording), _draw_exits(axes, layout)]
    updates.append(draw_curve(figure.add_subplot(places[rows, :]), recording))
    title = figure.suptitle(" ", fontweight="bold")

    def update(frame: Frame) -> None:
        title.set_text(f"{recording.title}\n{recording.caption(frame)}")
        for update_panel in updates:
            update_panel(frame)

    update(recording.frames[-1])
    figure.draw_without_rendering()  # lay out once, not in every frame
    figure.set_layout_engine("none")
    return figure, update


def draw_values(axes: Any, recording: Recording) -> list[Update]:
    """Draw the values; in cells also the greedy actions."""
    is_plane = recording.layout.kind == PLANE
    values = _draw_numbers(axes, recording, lambda frame: frame.values)
    axes.set_title("values" if is_plane else "values and greedy actions")
    return [values] if is_plane else [values, _draw_choices(axes, recording.layout)]


def draw_policy(axes: Any, recording: Recording) -> list[Update]:
    """Draw the greedy actions of a plane, one colour each, white where several are equal."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    layout, actions = recording.layout, recording.layout.drawing.actions
    axes.set_title("greedy actions")
    shades = [ACTION_COLOURS[n % len(ACTION_COLOURS)] for n in range(len(actions))]
    scale = UNDECIDED - 0.5, len(shades) - 0.5
    image = _draw_image(axes, layout, scale, ListedColormap(["#ffffff", *shades]))
    axes.legend(
        handles=[Patch(color=c, label=n) for c, n in zip(shades, actions, strict=True)],
        loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=min(3, len(shades)),
        frameon=False, handlelength=1.0, columnspacing=0.9, handletextpad=0.4,
    )  # fmt: skip
    return [lambda frame: image.set_data(layout.image(frame.actions))]


def draw_model(axes: Any, recording: Recording) -> list[Update]:
    """Draw the model's predictions for the greedy actions: rewards and displacements."""
    axes.set_title("model: their reward, and where they lead")
    rewards = _draw_numbers(axes, recording, lambda frame: frame.rewards)
    return [rewards, _draw_displacements(axes, recording)]


def draw_curve(axes: Any, recording: Recording) -> Update:
    """Draw the learning curve up to the frame, with the changes of the domain."""
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
    """Average each point with the few before it."""
    window = max(1, curve.size // SMOOTHED)
    sums = np.cumsum(np.concatenate([[0.0], curve]))
    ends = np.arange(1, curve.size + 1)
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def _draw_numbers(axes: Any, recording: Recording, numbers: Numbers) -> Update:
    """Draw one number per state: bars for a row of cells, colours otherwise.

    The scale spans the frames before each change and the last one: others, such as the first
    with optimistic initial values, may be far off.
    """
    layout, (*earlier, last) = recording.layout, recording.frames
    converged = [frame for frame in earlier if recording.time(frame) in recording.changes]
    values = np.concatenate([numbers(frame).ravel() for frame in [*converged, last]])
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, ROBUST).tolist() if finite.size else (0.0, 1.0)
    scale = (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)
    if layout.kind == ROW:
        return _draw_bars(axes, layout, scale, numbers)
    image = _draw_image(axes, layout, scale, "viridis")
    axes.figure.colorbar(image, cax=axes.inset_axes((1.02, 0.0, 0.025, 1.0)))
    return lambda frame: image.set_data(layout.image(numbers(frame)))


def _draw_bars(axes: Any, layout: Layout, scale: tuple[float, float], numbers: Numbers) -> Update:
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


def _draw_image(axes: Any, layout: Layout, scale: tuple[float, float], colours: Any) -> Any:
    (left, right), (first, last) = _ends(layout.across), _ends(layout.along)
    is_plane = layout.kind == PLANE
    image = axes.imshow(
        np.zeros((layout.along.size, layout.across.size)),
        origin="lower" if is_plane else "upper",
        extent=(left, right, first, last) if is_plane else (left, right, last, first),
        aspect="auto" if is_plane else "equal",
        cmap=colours, vmin=scale[0], vmax=scale[1], interpolation="nearest",
    )  # fmt: skip
    axes.set_facecolor(WALL_COLOUR)  # of cells without a state
    if not is_plane and any(not left < place.x < right for place in layout.drawing.exits):
        axes.set_xlim(left - 1.6, right + 1.6)
    _label(axes, layout)
    return image


def _ends(middles: np.ndarray) -> tuple[float, float]:
    """Return the outer edges of the first and the last cell."""
    half = float(middles[1] - middles[0]) / 2 if middles.size > 1 else 0.5
    return middles[0] - half, middles[-1] + half


def _label(axes: Any, layout: Layout) -> None:
    axes.set_xlabel(layout.drawing.names[0])
    if layout.kind != ROW:
        axes.set_ylabel(layout.drawing.names[1])
    if layout.kind != PLANE:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if layout.kind == GRID:
        axes.yaxis.get_major_locator().set_params(nbins=4, integer=True)


def _height(axes: Any, layout: Layout, y: Any) -> Any:
    """Return the vertical position of marks: in the cells, or below the bars of a row."""
    low, high = axes.get_ylim()
    return y if layout.kind != ROW else 0.0 * np.asarray(y) + low + 0.1 * (high - low)


def _draw_choices(axes: Any, layout: Layout) -> Update:
    """Draw greedy actions of cells: arrows where actions have directions, numbers otherwise."""
    if layout.drawing.directions is not None:
        directions = np.vstack([layout.drawing.directions, [0.0, 0.0]])  # the last: undecided
        return _draw_arrows(axes, layout, lambda frame: SHORTER * directions[frame.actions])
    x, y = layout.points[:, 0], _height(axes, layout, layout.points[:, -1])
    texts = [
        axes.text(*place, "", ha="center", va="center", fontsize=7)
        for place in zip(x, y, strict=True)
    ]

    def update(frame: Frame) -> None:
        for text, action in zip(texts, frame.actions, strict=True):
            text.set_text("·" if action == UNDECIDED else str(action))

    return update


def _draw_displacements(axes: Any, recording: Recording) -> Update:
    """Draw the model's expected displacements under the greedy actions.

    A plane has arrows at some points only, the longest of the last frame as long as their distance.
    """
    layout, points = recording.layout, recording.layout.points
    shown, unit, stretch = np.arange(len(points)), np.ones(points.shape[1]), SHORTER
    if layout.kind == PLANE:
        apart = max(1, layout.across.size // ARROWS)
        shown = layout.image(shown)[apart // 2 :: apart, apart // 2 :: apart].ravel()
        unit = np.ptp(points, axis=0) / ARROWS
        lengths = np.abs(np.nan_to_num(recording.frames[-1].moves[shown])) / unit
        stretch = 1.0 / max(float(lengths.max()), 1e-6)

    def shifts(frame: Frame) -> np.ndarray:
        moves = np.nan_to_num(frame.moves[shown], posinf=0.0, neginf=0.0) * stretch
        moves = np.clip(moves, -LONGEST * unit, LONGEST * unit)
        return np.column_stack([moves, np.zeros(len(moves))])[:, :2]

    return _draw_arrows(axes, layout, shifts, shown)


def _draw_arrows(axes: Any, layout: Layout, shifts: Numbers, shown: Any = slice(None)) -> Update:
    """Draw arrows in the units of the axes; those of length 0 are drawn as dots."""
    points, is_plane = layout.points[shown], layout.kind == PLANE
    zeros = np.zeros(len(points))
    arrows = axes.quiver(
        points[:, 0], _height(axes, layout, points[:, -1]), zeros, zeros,
        angles="xy", scale_units="xy", scale=1.0, pivot="tail" if is_plane else "middle",
        units="width" if is_plane else "x", width=0.006 if is_plane else 0.07,
        color=ARROW_COLOUR if layout.kind == ROW else "white",
        minlength=0.5, headwidth=4.0, headlength=4.5, headaxislength=4.0,
    )  # fmt: skip
    return lambda frame: arrows.set_UVC(*shifts(frame).T)


def _draw_exits(axes: Any, layout: Layout) -> Update:
    """Draw the exits with their rewards; the best has a star."""
    from matplotlib.patheffects import withStroke

    exits = layout.drawing.exits
    texts = [
        axes.text(
            place.x, _height(axes, layout, place.y), "", ha="center", va="center", fontsize=10,
            color=GOAL_COLOUR, fontweight="bold", zorder=5, linespacing=0.9,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
        for place in exits
    ]  # fmt: skip

    def update(frame: Frame) -> None:
        rewards = [
            place.pays[min(frame.phase, len(place.pays) - 1)] if place.pays else 0.0
            for place in exits
        ]
        for text, place, reward in zip(texts, exits, rewards, strict=True):
            star = "★" if reward == max(rewards) else ""
            text.set_text(f"{star}\n{reward:g}".strip() if place.pays else star)

    return update
