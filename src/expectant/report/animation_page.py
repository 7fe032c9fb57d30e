"""The page of an animation: one HTML file with a player, which needs nothing else."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from expectant.report.animation import durations
from expectant.report.animation_data import Recording
from expectant.report.markup import Html, element, markup, script_json, table

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'"
)
SPEEDS = ("0.25", "0.5", "1", "2", "4")
Rows = Sequence[tuple[str, Any]]


def animation_page(recording: Recording, drawn: Sequence[Any], settings: Rows) -> str:
    """The whole page as text; ``drawn`` are its frames as pictures, ``settings`` stand below."""
    times = [recording.time(frame) for frame in recording.frames]
    changes = [times.index(change) for change in recording.changes if change in times]
    captions = [recording.caption(frame) for frame in recording.frames]
    data = {
        "frames": [_encoded(picture) for picture in drawn],
        "durations": durations(recording),
        "captions": captions,
        "changes": changes,
    }
    style = _part("page.css") + _part("animation_page.css")
    body = element(
        "main",
        element("header", element("h1", recording.title)),
        _player(len(drawn), [captions[change] for change in changes]),
        element("section", element("h2", "Settings"), table(settings, "settings"), id="settings"),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{markup(recording.title)}</title>\n<style>\n{style}\n</style>\n</head>\n"
        f"<body>\n{body}\n"
        f'<script type="application/json" id="frames">{script_json(data)}</script>\n'
        f"<script>\n{_part('animation_page.js')}</script>\n</body>\n</html>\n"
    )


def _encoded(picture: Any) -> str:
    """A picture as the text of a PNG."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def _part(name: str) -> str:
    return files("expectant.report").joinpath(name).read_text(encoding="utf-8")


def _player(count: int, changes: Sequence[str]) -> Html:
    speeds = [
        element("option", f"{speed} ×", value=speed, selected="" if speed == "1" else None)
        for speed in SPEEDS
    ]
    jumps = [
        element("button", f"before change {n + 1}", type="button", data_change=n, title=caption)
        for n, caption in enumerate(changes)
    ]
    return element(
        "section",
        element("img", id="picture", alt=""),
        element(
            "div",
            element("button", "▶ play", type="button", id="play"),
            element(
                "input", type="range", id="slider", min=0, max=count - 1, value=0,
                aria_label="frame",
            ),
            element("select", speeds, id="speed", aria_label="speed"),
            jumps,
            class_="controls",
        ),
        element("p", id="caption", class_="caption quiet", aria_live="off"),
        element("noscript", element("p", "The player needs JavaScript; a GIF does not.")),
        class_="player",
    )  # fmt: skip
