"""``ex.watch``: record a run and write an animation with matplotlib."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from expectant.core.config import KINDS, suggest_name
from expectant.core.errors import require_extra
from expectant.core.files import write_bytes
from expectant.core.interfaces import Agent, Domain, Features
from expectant.domains.corridor import Corridor
from expectant.engine.progress import Reporter, ShowFraction, make_reporter
from expectant.features.discrete import OneHot
from expectant.features.tiles import Tiles
from expectant.report.page import render
from expectant.report.watch_recording import Recording, record

SUFFIXES = (".gif", ".mp4", ".html")
FPS, DOTS = 8, 110  # frames per second, dots per inch
AT_CHANGE, AT_END = 4, 8  # repeats of the frames before a change and at the end
MOST_MEGABYTES = 200  # of pictures in a page


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
    step_limit: int | None = None,
    compiled: bool | None = None,
    progress: bool | Reporter = True,
) -> Path:
    """Write an animation of one run to ``path``: a .gif, an .mp4 or an .html page with a player.

    Everything else as in :func:`expectant.report.watch_recording.record`. Returns the path.
    """
    require_extra("watch", "report")
    from matplotlib.animation import FFMpegWriter

    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"watch: path must end in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    if path.suffix == ".mp4" and not FFMpegWriter.isAvailable():
        raise ValueError("watch: .mp4 needs the program ffmpeg, which is not there; .gif does not")
    show = make_reporter(progress)
    recording = record(
        domain, features, agent, episodes=episodes, steps=steps, frames=frames, seed=seed,
        step_limit=step_limit, compiled=compiled, progress=show,
    )  # fmt: skip
    with show.progress(f"drawing {path}") as tell:
        return write_animation(recording, path, tell)


def write_animation(recording: Recording, path: Path, tell: ShowFraction) -> Path:
    """Draw all frames of a recording into a file."""
    import matplotlib
    from matplotlib.animation import FFMpegWriter, FuncAnimation, HTMLWriter, PillowWriter

    from expectant.report.figure import use_style
    from expectant.report.watch_panels import draw_recording

    is_page = path.suffix == ".html"
    frames = list(recording.frames)
    if not is_page:  # pause right before each change and at the end
        at_change = [recording.time(frame) in recording.changes for frame in frames]
        repeats = np.where(at_change, AT_CHANGE, 1)
        repeats[-1] += AT_END
        frames = [frame for frame, n in zip(frames, repeats, strict=True) for _ in range(n)]
    writer: Any = {".gif": PillowWriter, ".mp4": FFMpegWriter, ".html": HTMLWriter}[path.suffix]
    more = {"embed_frames": True, "default_mode": "once"} if is_page else {}
    with tempfile.TemporaryDirectory() as folder, use_style():
        matplotlib.rcParams["animation.embed_limit"] = MOST_MEGABYTES
        figure, update = draw_recording(recording)
        animation = FuncAnimation(figure, update, frames, init_func=lambda: [], blit=False)
        target = Path(folder, f"film{path.suffix}")
        animation.save(
            target, writer(fps=FPS, **more), dpi=DOTS,
            progress_callback=lambda number, total: tell((number + 1) / len(frames)),
        )  # fmt: skip
        content = target.read_bytes()
    if is_page:
        player = re.sub(r"<link[^>]*font-awesome[^>]*>", "", content.decode())
        content = render("watch.html", title=recording.title, player=player,
                         settings=recording.settings).encode()  # fmt: skip
    return write_bytes(path, content)


def make_scene(domain: str, agent: str) -> tuple[Domain, Features, Agent]:
    """Return a domain, features and an agent by kind, with their defaults."""
    world = Corridor(switch_every=500) if domain == "corridor" else _make(domain, Domain)
    features: Features = Tiles(8, 8) if world.states is None else OneHot()
    return world, features, _make(agent, Agent)


def _make(name: str, base: type) -> Any:
    """Return a domain or an agent with its defaults."""
    kinds = sorted(kind for kind, component in KINDS.items() if issubclass(component, base))
    if name not in kinds:
        raise ValueError(f"--{base.__name__.lower()}: unknown {name!r}" + suggest_name(name, kinds))
    return KINDS[name]()
