"""From descriptions to a file that moves: record a run, then draw it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from expectant.files import write_bytes
from expectant.parts import Agent, Domain, Features
from expectant.progress import Reporter, reporter
from expectant.show.animation.drawing import check_ffmpeg, durations, gif, mp4, pictures
from expectant.show.animation.frames import Recording
from expectant.show.page import page as whole_page
from expectant.show.palette import Palette
from expectant.show.sections import Animation, Header, Parameters
from expectant.watching.recording import record

SUFFIXES = (".gif", ".mp4", ".html")


def watch(
    domain: Domain,
    features: Features,
    agent: Agent,
    path: str | Path,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    frames: int = 80,
    seed: int = 0,
    lattice: int = 40,
    step_limit: int | None = None,
    page: bool = False,
    compiled: bool | None = None,
    progress: bool | Reporter = True,
) -> list[Path]:
    """Write an animation of one run to ``path``, by its suffix a .gif, an .mp4 or an .html page.

    ``page=True`` writes the page beside the animation too. All else is as in
    :func:`expectant.watching.recording.record`. Returns what has been written.
    """
    paths = check_path(Path(path), page)
    show = reporter(progress)
    recording = record(
        domain, features, agent, episodes=episodes, steps=steps, frames=frames, seed=seed,
        lattice=lattice, step_limit=step_limit, compiled=compiled, progress=show,
    )  # fmt: skip
    kind = getattr(agent, "kind", type(agent).__name__)
    palette = Palette({kind: type(agent).__name__})
    with show.running(f"drawing {paths[0]}") as tell:
        drawn = pictures(recording, palette[kind].colour, tell)
    settings = [
        ("domain", repr(domain)),
        ("features", repr(features)),
        ("agent", repr(agent)),
        ("length", f"{recording.length:,} {recording.unit}s"),
        ("seed", seed),
    ]
    for place in paths:
        write_bytes(place, _content(place.suffix, recording, drawn, settings, palette))
    return paths


def check_path(path: Path, page: bool) -> list[Path]:
    """What will be written; an error where that cannot be."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f"watch: path must end in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    if path.suffix == ".mp4":
        check_ffmpeg()
    beside = page and path.suffix != ".html"
    return [path, path.with_suffix(".html")] if beside else [path]


def _content(
    suffix: str,
    recording: Recording,
    drawn: list[Any],
    settings: list[tuple[str, Any]],
    palette: Palette,
) -> bytes:
    if suffix == ".html":
        sections = [
            Header(recording.title),
            Animation(recording, drawn),
            Parameters([("", settings)]),
        ]
        return whole_page(sections, palette).encode()
    write = mp4 if suffix == ".mp4" else gif
    return write(drawn, durations(recording))
