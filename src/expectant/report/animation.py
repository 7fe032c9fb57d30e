"""``ex.watch``: probe an agent at many moments of one run and animate what it has learned.

Shape letters: n probed states, m components of an observation, c points of the learning curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.core.errors import require_extra
from expectant.core.files import make_folder
from expectant.core.interfaces import Agent, Domain, Drawing, Features
from expectant.core.rules import whole
from expectant.engine.driver import drive, fraction_done, new_control
from expectant.engine.loop import DONE
from expectant.engine.probe import States, copy_subject, load_probe, probe_agent
from expectant.engine.progress import Reporter, ShowFraction, make_reporter
from expectant.engine.run import RULES, check_arguments
from expectant.engine.setup import Setup, load_loop
from expectant.report.chart_data import value_range
from expectant.report.figure import new_figure, use_style
from expectant.report.palette import SWITCH_COLOUR

FPS, DOTS = 8, 110  # frames per second, dots per inch
AT_CHANGE, AT_END = 4, 8  # repeats of the frames before a change and at the end
BINS = 200  # of the learning curve, where steps are counted
LATTICE, APART = 40, 3  # probed points along each axis of a plane; every third has a mark
UNDECIDED = -1  # in the place of a greedy action
WIDTH = 8.0  # inches
ROBUST = (0.5, 99.5)  # percentiles that the scales span
SMOOTHED = 50  # a point of the curve averages the last fiftieth of it
GOAL_COLOUR, WALL_COLOUR, CURVE_COLOUR = "#D55E00", "#8c959f", "#0072B2"
ACTION_COLOURS = ("#0072B2", "#d8dee4", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#882255")


class Frame(NamedTuple):
    """The agent's knowledge at a ``time``, in episodes or steps, and its description.

    ``values`` (n,) and the greedy ``actions`` (n,), UNDECIDED where several are equally good.
    """

    time: int
    caption: str
    phase: int
    values: np.ndarray
    actions: np.ndarray


Update = Callable[[Frame], Any]


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of the probed states in a plane, or in the cells of a grid of squares.

    ``across`` are the coordinates of the columns, ``along`` those of the rows. ``observations`` are
    (n, m). ``cells`` (n,) are the positions of the states, counted row by row.
    """

    across: np.ndarray
    along: np.ndarray
    cells: np.ndarray
    observations: np.ndarray
    drawing: Drawing
    is_plane: bool = False

    @property
    def points(self) -> np.ndarray:
        """Coordinates (n, 2) of the states."""
        return np.stack(np.meshgrid(self.across, self.along), axis=-1).reshape(-1, 2)[self.cells]

    def image(self, numbers: np.ndarray) -> np.ndarray:
        """Arrange one number per state (n,) in rows and columns, NaN where there is no state."""
        grid = np.full(self.along.size * self.across.size, np.nan)
        grid[self.cells] = numbers
        return grid.reshape(self.along.size, self.across.size)


@dataclass(frozen=True, eq=False)
class Recording:
    """One run, ready to be drawn.

    ``times`` and ``curve`` (c,) are the learning curve: returns of episodes, or rewards per step.
    The domain changes at the times ``changes``.
    """

    setup: Setup
    layout: Layout
    frames: tuple[Frame, ...]
    times: np.ndarray
    curve: np.ndarray
    changes: tuple[int, ...]

    @property
    def title(self) -> str:
        return f"{self.setup.agent.title()} in {self.setup.domain.display_name}"


@check_arguments(**{**RULES, "frames": whole(2)})
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
    """Write an animation of one run to ``path``, a .gif.

    It shows run 0 of ``ex.run`` with the same arguments at up to ``frames`` moments: values and
    greedy actions of all states. Returns the path.
    """
    require_extra("watch", "report")
    path = Path(path)
    if path.suffix != ".gif":
        raise ValueError(f"watch: path must end in .gif, got {str(path)!r}")
    if (episodes is None) == (steps is None):
        raise ValueError(f"watch: give episodes or steps, got {episodes=}, {steps=}")
    setup = Setup(
        domain, features, agent, episodes=episodes or 0, steps=steps or 0, bins=BINS,
        step_limit=step_limit, seed=seed,
    )  # fmt: skip
    show = make_reporter(progress)
    recording = record(setup, frames, compiled, show)
    with show.progress(f"drawing {path}") as tell:
        return write_animation(recording, path, tell)


def record(setup: Setup, frames: int, compiled: bool | None, show: Reporter) -> Recording:
    """Run an agent once and probe it at up to ``frames`` moments, which does not change the run."""
    domain, layout = setup.domain, layout_of(setup.domain)
    if setup.steps and domain.external:
        raise ValueError("watch: an environment cannot stop within an episode; give episodes")
    changes = tuple(np.cumsum(setup.phase_lengths)[:-1].tolist())
    title, probed = setup.title, list[Frame]()
    kernel, probe = load_loop(setup, compiled, title, show), make_probe(setup, layout, compiled)
    stops = moments(setup.length, frames, changes)
    with show.progress(title) as tell:
        for stop in drive(setup, 0, kernel, new_control(), stops):
            phases = layout.drawing.phases
            parts = (
                f"episode {stop.episodes:,} · step {stop.steps:,}",
                phases[stop.phase] if stop.phase < len(phases) else "",
                "diverged" if stop.status != DONE else "",
            )
            time, caption = stop.episodes if setup.episodes else stop.steps, filter(None, parts)
            probed.append(Frame(time, " · ".join(caption), stop.phase, *probe(stop.run)))
            tell(fraction_done(setup, stop.run.clock))
    if setup.episodes:
        times, curve = np.arange(1, stop.episodes + 1), stop.run.returns[: stop.episodes]
    else:
        times = np.minimum(np.arange(1, stop.run.rewards.size + 1) * setup.bin, stop.steps)
        sizes = np.diff(times, prepend=0)
        times, curve = times[sizes > 0], stop.run.rewards[sizes > 0] / sizes[sizes > 0]
    return Recording(setup, layout, tuple(probed), times, curve, changes)


def layout_of(domain: Domain) -> Layout:
    """Lay out the states of a domain; a plane is probed at ``LATTICE`` × ``LATTICE`` points."""
    numbers, bounds = range(domain.states or 0), domain.bounds or ()
    drawing = domain.sketch or Drawing(  # names by number
        names=("state", "") if numbers else ("component 0", "component 1"),
        actions=tuple(f"action {action}" for action in range(domain.actions)),
        phases=tuple(f"phase {phase + 1} of {domain.phases}" for phase in range(domain.phases)),
    )
    if numbers:
        columns_rows = np.array(drawing.cells or [(state, 0) for state in numbers])
        columns, rows = (int(n) for n in columns_rows.max(axis=0) + 1)
        if len(numbers) < columns * rows:  # some of the missing cells may be exits at the edge
            exits = [(e.x, e.y) for e in drawing.exits if min(e.x, e.y) >= 0]
            columns, rows = (int(n) for n in np.vstack([columns_rows, *exits]).max(axis=0) + 1)
        across, along = np.arange(float(columns)), np.arange(float(rows))
        cells = columns_rows[:, 1] * columns + columns_rows[:, 0]
        return Layout(across, along, cells, np.array(numbers).reshape(-1, 1), drawing)
    if len(bounds) != 2 or not all(math.isfinite(end) for bound in bounds for end in bound):
        raise ValueError(
            "watch: domain must be one with numbered states, or with two components that have "
            f"finite bounds, got {domain!r}"
        )
    middles = (np.arange(LATTICE) + 0.5) / LATTICE
    across, along = (low + (high - low) * middles for low, high in bounds)
    observations = np.stack(np.meshgrid(across, along), axis=-1).reshape(-1, 2)
    return Layout(across, along, np.arange(LATTICE**2), observations, drawing, is_plane=True)


def moments(length: int, frames: int, changes: Sequence[int]) -> list[int]:
    """Choose about ``frames`` times from 0 to ``length``, changes among them if they fit.

    A frame at the time of a change shows the agent before it noticed anything.
    """
    at_changes = list(changes) if len(changes) < frames - 1 else []
    evenly = np.linspace(0, length, frames - len(at_changes)).round().astype(int).tolist()
    return sorted({*evenly, *at_changes})


def make_probe(
    setup: Setup, layout: Layout, compiled: bool | None
) -> Callable[[Any], tuple[np.ndarray, ...]]:
    """Return a function of a run: values and greedy actions of all states, see Frame."""
    rows = np.arange(len(layout.observations))
    states = States(layout.observations, np.where(setup.domain.states is None, -1, rows))
    subject = copy_subject(setup.build(0)[0])
    kernel = load_probe(subject, states, compiled, setup.title, make_reporter(False))

    def probe(run: Any) -> tuple[np.ndarray, ...]:
        answers = probe_agent(kernel, copy_subject(run), states, ("values", "preferences"))
        return answers.values, np.where(answers.ties == 1, answers.greedy, UNDECIDED)

    return probe


def draw_recording(recording: Recording) -> tuple[Any, Update]:
    """Draw a figure; returns it and a function that shows a frame in it.

    Colour scales and axes are the same in all frames, so that frames can be compared.
    """
    layout = recording.layout
    shape = 0.3 if layout.is_plane else min(layout.along.size / layout.across.size, 0.5)
    height = 0.85 * WIDTH * shape + 0.8
    figure = new_figure(WIDTH, height + 2.2, dpi=DOTS)
    states, curve = figure.subplots(2, 1, height_ratios=[height, 1.5])
    states.set_title("values and greedy actions")
    updates = [draw_curve(curve, recording), draw_values(states, recording)]
    updates += [draw_actions(states, layout), draw_exits(states, layout)]
    title = figure.suptitle(" ", fontweight="bold")

    def update(frame: Frame) -> None:
        title.set_text(f"{recording.title}\n{frame.caption}")
        for update_panel in updates:
            update_panel(frame)

    update(recording.frames[-1])
    figure.draw_without_rendering()  # lay out once, not in every frame
    figure.set_layout_engine("none")
    return figure, update


def draw_actions(axes: Any, layout: Layout) -> Update:
    """Draw greedy actions as arrows, or as dots if they have no directions."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    drawing, marks = layout.drawing, _marks(layout)
    if drawing.directions is not None:
        undecided = [0.0, 0.0]
        return _draw_arrows(axes, layout, np.vstack([drawing.directions, undecided]))
    shades = [ACTION_COLOURS[n % len(ACTION_COLOURS)] for n in range(len(drawing.actions))]
    dots = axes.scatter(
        *layout.points[marks].T, c=np.zeros(marks.size), s=24, edgecolors="black", linewidths=0.3,
        cmap=ListedColormap(["#ffffff00", *shades]), vmin=UNDECIDED - 0.5, vmax=len(shades) - 0.5,
    )  # fmt: skip
    legend = [Patch(color=c, label=n) for c, n in zip(shades, drawing.actions, strict=True)]
    axes.legend(handles=legend, loc="center left", bbox_to_anchor=(1.12, 0.5), frameon=False)
    return lambda frame: dots.set_array(frame.actions[marks])


def draw_curve(axes: Any, recording: Recording) -> Update:
    """Draw the learning curve up to the frame, with the changes of the domain."""
    setup, window = recording.setup, max(1, recording.curve.size // SMOOTHED)
    times = recording.times[window - 1 :]
    curve = np.convolve(recording.curve, np.full(window, 1.0 / window), "valid")
    for change in recording.changes:
        axes.axvline(change, color=SWITCH_COLOUR, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.plot(times, curve, color=CURVE_COLOUR, alpha=0.25, linewidth=1.0)
    (past,) = axes.plot([], [], color=CURVE_COLOUR, linewidth=1.6)
    cursor = axes.axvline(0, color="black", linewidth=1.0)
    covered = value_range({"": curve})
    axes.set(xlim=(0, setup.length), ylim=(covered.low, covered.high))
    axes.set(xlabel="episode" if setup.episodes else "step")
    axes.set(ylabel="return" if setup.episodes else "reward per step")
    axes.xaxis.set_major_formatter("{x:,.0f}")

    def update(frame: Frame) -> None:
        past.set_data(times[times <= frame.time], curve[times <= frame.time])
        cursor.set_xdata([frame.time, frame.time])

    return update


def draw_values(axes: Any, recording: Recording) -> Update:
    """Draw the value of every state as a colour.

    The scale spans the frames before each change and the last one: others, such as the first
    with optimistic initial values, may be far off.
    """
    layout, (*earlier, last) = recording.layout, recording.frames
    converged = [frame for frame in earlier if frame.time in recording.changes]
    numbers = np.concatenate([frame.values for frame in [*converged, last]])
    finite = numbers[np.isfinite(numbers)]
    low, high = np.percentile(finite, ROBUST).tolist() if finite.size else (0.0, 1.0)
    scale = (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)
    (left, right), (first, last_row) = _edges(layout.across), _edges(layout.along)
    image = axes.imshow(
        layout.image(last.values), vmin=scale[0], vmax=scale[1],
        origin="lower" if layout.is_plane else "upper",
        extent=(left, right, *((first, last_row) if layout.is_plane else (last_row, first))),
        aspect="auto" if layout.is_plane else "equal", cmap="viridis", interpolation="nearest",
    )  # fmt: skip
    axes.set_facecolor(WALL_COLOUR)  # of cells without a state
    if not layout.is_plane and any(not left < e.x < right for e in layout.drawing.exits):
        axes.set_xlim(left - 1.6, right + 1.6)
    axes.set(xlabel=layout.drawing.names[0], ylabel=layout.drawing.names[1])
    if not layout.is_plane:
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.yaxis.get_major_locator().set_params(nbins=4, integer=True)
    if layout.along.size == 1:
        axes.set_yticks([])
    axes.figure.colorbar(image, cax=axes.inset_axes((1.02, 0.0, 0.025, 1.0)))
    return lambda frame: image.set_data(layout.image(frame.values))


def _edges(middles: np.ndarray) -> tuple[float, float]:
    """Return the outer edges of the first and the last cell."""
    half = float(middles[1] - middles[0]) / 2 if middles.size > 1 else 0.5
    return middles[0] - half, middles[-1] + half


def _marks(layout: Layout) -> np.ndarray:
    """Return the states that have an arrow or a dot: all cells, some points of a plane."""
    states = np.arange(layout.cells.size)
    if not layout.is_plane:
        return states
    return states.reshape(LATTICE, LATTICE)[APART // 2 :: APART, APART // 2 :: APART].ravel()


def _draw_arrows(axes: Any, layout: Layout, directions: np.ndarray) -> Update:
    """Draw arrows in the units of the axes; those of length 0 are drawn as dots."""
    marks, is_plane = _marks(layout), layout.is_plane
    arrows = axes.quiver(
        *layout.points[marks].T, *np.zeros((2, marks.size)), color="white",
        angles="xy", scale_units="xy", scale=1.0, pivot="tail" if is_plane else "middle",
        units="width" if is_plane else "x", width=0.006 if is_plane else 0.07,
        minlength=0.5, headwidth=4.0, headlength=4.5, headaxislength=4.0,
    )  # fmt: skip
    return lambda frame: arrows.set_UVC(*0.75 * directions[frame.actions[marks]].T)


def draw_exits(axes: Any, layout: Layout) -> Update:
    """Draw the exits with their rewards; the best has a star."""
    from matplotlib.patheffects import withStroke

    exits, outline = layout.drawing.exits, [withStroke(linewidth=2.0, foreground="white")]
    style = {"ha": "center", "va": "center", "color": GOAL_COLOUR, "fontweight": "bold"}
    texts = [axes.text(e.x, e.y, "", path_effects=outline, zorder=5, **style) for e in exits]

    def update(frame: Frame) -> None:
        rewards = [e.pays[min(frame.phase, len(e.pays) - 1)] if e.pays else 0.0 for e in exits]
        for text, place, reward in zip(texts, exits, rewards, strict=True):
            star = "★" if reward == max(rewards) else ""
            text.set_text(f"{star}\n{reward:g}".strip() if place.pays else star)

    return update


def write_animation(recording: Recording, path: Path, tell: ShowFraction) -> Path:
    """Draw all frames of a recording into a file, with pauses before each change and at the end."""
    from matplotlib.animation import FuncAnimation, PillowWriter

    repeats = [AT_CHANGE if f.time in recording.changes else 1 for f in recording.frames]
    repeats[-1] += AT_END
    frames = [f for f, n in zip(recording.frames, repeats, strict=True) for _ in range(n)]
    make_folder(path.parent)
    with use_style():
        figure, update = draw_recording(recording)
        animation = FuncAnimation(figure, update, frames, init_func=lambda: [], blit=False)
        animation.save(
            path, PillowWriter(fps=FPS), dpi=DOTS,
            progress_callback=lambda number, total: tell((number + 1) / len(frames)),
        )  # fmt: skip
    return path
