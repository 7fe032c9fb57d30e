"""``ex.watch``: record a run and write an animation with matplotlib."""

from __future__ import annotations

import html
import re
import tempfile
from pathlib import Path
from typing import Any

from expectant.extras import need
from expectant.files import write_bytes
from expectant.parts import Agent, Domain, Features
from expectant.progress import Reporter, Tell, reporter
from expectant.watching.recording import Recording, record

SUFFIXES = (".gif", ".mp4", ".html")
FPS, DOTS = 8, 110  # frames per second, dots per inch
AT_CHANGE, AT_END = 4, 8  # how often the frames before a change and at the end are repeated
MOST_MEGABYTES = 200  # of pictures in a page
# The player's buttons without matplotlib's icon font, which would need a network.
SYMBOLS = {"minus": "−", "plus": "+", "play": "▶", "pause": "❚❚", "step-forward": "▷|",
           "step-backward": "|◁", "fast-forward": "≫", "fast-backward": "≪"}  # fmt: skip
ICONS = "".join(f'.fa-{name}::before {{ content: "{text}"; }}\n' for name, text in SYMBOLS.items())
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
body {{ font-family: sans-serif; }} .animation img {{ max-width: 100%; }}
.fa {{ font-style: normal; }}
.fa-flip-horizontal {{ display: inline-block; transform: scaleX(-1); }}
{icons}</style></head><body><h1>{title}</h1>
{player}
{settings}</body></html>
"""


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
    compiled: bool | None = None,
    progress: bool | Reporter = True,
) -> Path:
    """Write an animation of one run to ``path``: a .gif, an .mp4 or an .html page with a player.

    All else is as in :func:`expectant.watching.recording.record`. Returns the path.
    """
    path = check_path(Path(path))
    show = reporter(progress)
    recording = record(
        domain, features, agent, episodes=episodes, steps=steps, frames=frames, seed=seed,
        lattice=lattice, step_limit=step_limit, compiled=compiled, progress=show,
    )  # fmt: skip
    settings = {"domain": domain, "features": features, "agent": agent, "seed": seed}
    with show.running(f"drawing {path}") as tell:
        return write_animation(recording, path, tell, settings)


def check_path(path: Path) -> Path:
    """Refuse what cannot be written."""
    need("watch", "show")
    from matplotlib.animation import FFMpegWriter

    if path.suffix not in SUFFIXES:
        raise ValueError(f"watch: path must end in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    if path.suffix == ".mp4" and not FFMpegWriter.isAvailable():
        raise ValueError("watch: .mp4 needs the program ffmpeg, which is not there; .gif does not")
    return path


def write_animation(
    recording: Recording, path: Path, tell: Tell, settings: dict[str, Any] | None = None
) -> Path:
    """Draw all frames of a recording into a file; ``settings`` are listed on an .html page."""
    import matplotlib
    from matplotlib.animation import FFMpegWriter, FuncAnimation, HTMLWriter, PillowWriter

    from expectant.show.canvas import own_settings
    from expectant.watching.drawing import draw_recording

    page = path.suffix == ".html"
    shown = list(recording.frames) if page else hold_frames(recording)
    writer: Any = {".gif": PillowWriter, ".mp4": FFMpegWriter, ".html": HTMLWriter}[path.suffix]
    more = {"embed_frames": True, "default_mode": "once"} if page else {}
    with tempfile.TemporaryDirectory() as folder, own_settings():
        matplotlib.rcParams["animation.embed_limit"] = MOST_MEGABYTES
        figure, update = draw_recording(recording)
        animation = FuncAnimation(figure, update, shown, init_func=lambda: [], blit=False)
        target = Path(folder, f"film{path.suffix}")
        animation.save(
            target, writer(fps=FPS, **more), dpi=DOTS,
            progress_callback=lambda number, total: tell((number + 1) / len(shown)),
        )  # fmt: skip
        content = target.read_bytes()
    if page:
        content = _page(recording.title, content.decode(), settings or {}).encode()
    return write_bytes(path, content)


def hold_frames(recording: Recording) -> list[Any]:
    """The frames, repeated right before each change and at the end."""
    shown = []
    for frame in recording.frames:
        at_change = recording.time(frame) in recording.changes
        shown += [frame] * (AT_CHANGE if at_change else 1)
    return shown + [recording.frames[-1]] * AT_END


def _page(title: str, player: str, settings: dict[str, Any]) -> str:
    """Matplotlib's player as a page that needs no network."""
    player = re.sub(r"<link[^>]*font-awesome[^>]*>", "", player)
    listed = "".join(f"<p>{html.escape(f'{n}: {value}')}</p>\n" for n, value in settings.items())
    return PAGE.format(title=html.escape(title), icons=ICONS, player=player, settings=listed)
