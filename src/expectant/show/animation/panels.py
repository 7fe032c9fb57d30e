"""The panels of an animation: each is drawn once and returns a function that shows a frame in it.

Colour scales and axes are the same in all frames, so that frames can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from expectant.show.animation.frames import PLANE, UNDECIDED, Frame, Recording
from expectant.show.animation.marks import (
    ARROW_COLOUR,
    Update,
    draw_choices,
    draw_displacements,
    draw_exits,
    draw_image,
    draw_numbers,
)
from expectant.show.canvas import draw_marks
from expectant.show.palette import SWITCH_COLOUR
from expectant.show.ranges import marks_below, value_range

ROBUST = (0.5, 99.5)  # percentiles that the scales span
ACTION_COLOURS = ("#0072B2", "#d8dee4", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#882255")
NO_PREFERENCE = "#ffffff"
SMOOTHED = 50  # a point of the curve averages this part of it, up to there


def frames_to_scale_for(recording: Recording) -> list[Frame]:
    """The frames that scales are made for: those right before each change, and the last one.

    What comes between may be far off for a moment, such as values that were high to begin with.
    """
    frames = recording.frames
    found = [frame for frame in frames[:-1] if recording.time(frame) in recording.changes]
    return [*found, frames[-1]]


def scale_of(numbers: Iterable[np.ndarray]) -> tuple[float, float]:
    """(low, high) of nearly all finite numbers, never the same."""
    together = np.concatenate([part.ravel() for part in numbers])
    finite = together[np.isfinite(together)]
    if finite.size == 0:
        return 0.0, 1.0
    low, high = (float(end) for end in np.percentile(finite, ROBUST))
    return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)


def values_panel(axes: Any, recording: Recording) -> Update:
    """The values; in cells also the greedy actions."""
    layout = recording.layout
    axes.set_title("values" if layout.kind == PLANE else "values and greedy actions")
    scale = scale_of(frame.values for frame in frames_to_scale_for(recording))
    updates = [draw_numbers(axes, layout, scale, lambda frame: frame.values)]
    updates.append(draw_exits(axes, layout))
    if layout.kind != PLANE:
        updates.append(draw_choices(axes, layout))
    return _together(updates)


def policy_panel(axes: Any, recording: Recording) -> Update:
    """The greedy actions of a plane, each with its colour."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    layout = recording.layout
    axes.set_title("greedy actions")
    shades = [ACTION_COLOURS[n % len(ACTION_COLOURS)] for n in range(len(layout.actions))]
    low, high = UNDECIDED - 0.5, len(shades) - 0.5
    colours = ListedColormap([NO_PREFERENCE, *shades])
    image = draw_image(axes, layout, (low, high), colours)
    handles = [Patch(color=c, label=n) for c, n in zip(shades, layout.actions, strict=True)]
    axes.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=min(3, len(shades)),
        frameon=False, handlelength=1.0, columnspacing=0.9, handletextpad=0.4,
    )  # fmt: skip
    showing = draw_exits(axes, layout)

    def update(frame: Frame) -> None:
        image.set_data(layout.image(frame.actions))
        showing(frame)

    return update


def model_panel(axes: Any, recording: Recording) -> Update:
    """What the model predicts of the greedy actions: rewards and displacements."""
    layout = recording.layout
    axes.set_title("model: their reward, and where they lead")
    scale = scale_of(frame.rewards for frame in frames_to_scale_for(recording))
    return _together(
        [
            draw_numbers(axes, layout, scale, lambda frame: frame.rewards),
            draw_displacements(axes, recording),
            draw_exits(axes, layout),
        ]
    )


def curve_panel(axes: Any, recording: Recording, colour: str) -> Update:
    """The learning curve, as far as the frame has come, with the changes of the domain."""
    times, curve = recording.times, _smoothed(recording.curve)
    for change in recording.changes:
        axes.axvline(change, color=SWITCH_COLOUR, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.plot(times, curve, color=colour, alpha=0.25, linewidth=1.0)
    (past,) = axes.plot([], [], color=colour, linewidth=1.6)
    cursor = axes.axvline(0, color=ARROW_COLOUR, linewidth=1.0)
    covered = value_range({"": curve})
    axes.set_ylim(covered.low, covered.high)
    draw_marks(axes, times, marks_below(curve, covered.floor), colour, 0)
    axes.set_xlim(0, recording.length)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(recording.unit)
    axes.set_ylabel(recording.measure)

    def update(frame: Frame) -> None:
        now = recording.time(frame)
        past.set_data(times[times <= now], curve[times <= now])
        cursor.set_xdata([now, now])

    return update


def _smoothed(curve: np.ndarray) -> np.ndarray:
    """The mean of each point and the few before it."""
    window = max(1, curve.size // SMOOTHED)
    sums = np.cumsum(np.concatenate([[0.0], curve]))
    ends = np.arange(1, curve.size + 1)
    starts = np.maximum(ends - window, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def _together(updates: list[Update]) -> Update:
    def update(frame: Frame) -> None:
        for each in updates:
            each(frame)

    return update
