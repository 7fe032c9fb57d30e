"""Animations of a recording: GIF by Pillow, MP4 by ffmpeg, and single pictures for the page."""

from __future__ import annotations

import io
import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from expectant.progress import Tell
from expectant.show.animation.frames import GRID, PLANE, Frame, Layout, Recording
from expectant.show.animation.marks import Update
from expectant.show.animation.panels import (
    curve_panel,
    model_panel,
    policy_panel,
    values_panel,
)
from expectant.show.canvas import new_figure
from expectant.show.rendering import own_settings

DOTS = 110  # per inch
MILLISECONDS, AT_CHANGE, AT_END = 120, 700, 2500  # that a frame is shown
WIDE = 12  # cells from which on panels are stacked
WIDTH = 8.0  # inches


def durations(recording: Recording) -> list[int]:
    """How many milliseconds each frame is shown: longer before a change, and at the end."""
    times = [recording.time(frame) for frame in recording.frames]
    shown = [AT_CHANGE if time in recording.changes else MILLISECONDS for time in times]
    return [*shown[:-1], AT_END]


def pictures(recording: Recording, colour: str, tell: Tell) -> list[Any]:
    """Every frame as a Pillow image of few colours; ``colour`` is that of the learning curve."""
    from PIL import Image

    drawn = []
    with stage(recording, colour) as (figure, update):
        for number, frame in enumerate(recording.frames, 1):
            update(frame)
            figure.canvas.draw()
            picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
            drawn.append(
                picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
            )
            tell(number / len(recording.frames))
    return drawn


def gif(drawn: list[Any], shown: list[int]) -> bytes:
    """Pictures as a GIF that repeats itself, each shown for so many milliseconds."""
    buffer = io.BytesIO()
    drawn[0].save(
        buffer, format="GIF", save_all=True, append_images=drawn[1:], loop=0, duration=shown
    )
    return buffer.getvalue()


def check_ffmpeg() -> None:
    """An error where there is no ffmpeg to write MP4 with."""
    if shutil.which("ffmpeg") is None:
        raise ValueError("watch: .mp4 needs the program ffmpeg, which is not there; .gif does not")


def mp4(drawn: list[Any], shown: list[int]) -> bytes:
    """Pictures as a film, each repeated for as long as it is shown."""
    width, height = (side - side % 2 for side in drawn[0].size)  # what the format allows
    picture = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
    rate = ["-r", f"1000/{MILLISECONDS}"]
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.mp4"
        command = ["ffmpeg", "-loglevel", "error", *picture, *rate, "-i", "-"]
        raw = b"".join(
            image.convert("RGB").crop((0, 0, width, height)).tobytes()
            * math.ceil(time / MILLISECONDS)
            for image, time in zip(drawn, shown, strict=True)
        )
        done = subprocess.run(
            [*command, "-pix_fmt", "yuv420p", str(film)],
            input=raw, capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise OSError(f"ffmpeg failed: {done.stderr.decode(errors='replace').strip()}")
        return film.read_bytes()


@contextmanager
def stage(recording: Recording, colour: str) -> Iterator[tuple[Any, Update]]:
    """A figure and a function that shows a frame in it."""
    with own_settings():
        figure, update = _drawn(recording, colour)
        update(recording.frames[-1])
        figure.draw_without_rendering()  # find room for everything once, not in every frame
        figure.set_layout_engine("none")
        yield figure, update


def _drawn(recording: Recording, colour: str) -> tuple[Any, Update]:
    panels = [values_panel]
    if recording.layout.kind == PLANE:
        panels.append(policy_panel)
    if recording.has_model:
        panels.append(model_panel)
    stacked = recording.layout.kind != PLANE and recording.layout.across.size > WIDE
    rows, columns = (len(panels), 1) if stacked else (1, len(panels))
    height = _panel_height(recording.layout, stacked)
    width = WIDTH if columns < 3 else 1.3 * WIDTH
    figure = new_figure(width, rows * height + 2.2, dpi=DOTS)
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=[height] * rows + [1.5])
    updates = []
    for number, panel in enumerate(panels):
        place = grid[divmod(number, columns)]
        updates.append(panel(figure.add_subplot(place), recording))
    updates.append(curve_panel(figure.add_subplot(grid[rows, :]), recording, colour))
    title = figure.suptitle(" ", fontweight="bold")

    def update(frame: Frame) -> None:
        title.set_text(f"{recording.title}\n{recording.caption(frame)}")
        for each in updates:
            each(frame)

    return figure, update


def _panel_height(layout: Layout, stacked: bool) -> float:
    """Inches; cells of a grid are squares, so their number decides."""
    if not stacked:
        return 3.0
    if layout.kind != GRID:
        return 2.2
    return 0.85 * WIDTH * layout.along.size / layout.across.size + 0.8
