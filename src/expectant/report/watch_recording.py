"""Record values, policy and model of an agent at many moments of one run.

Shape letters: n probed states, m components of an observation, c points of the learning curve;
g is 1 for states in a row, 2 for states in a grid or a plane.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import Agent, Domain, Drawing, Features
from expectant.core.reductions import padded_size
from expectant.core.rng import SEED
from expectant.core.rules import or_none, whole
from expectant.engine.driver import Stop, drive, fraction_done, new_control
from expectant.engine.loop import DONE, Run
from expectant.engine.probe import States, copy_subject, load_probe, probe_agent
from expectant.engine.progress import Reporter, make_reporter
from expectant.engine.setup import Setup, load_loop
from expectant.engine.workers import iterate_interruptibly

BINS = 200  # of the learning curve, where steps are counted
LATTICE = 40  # points along each axis of a plane
ROW, GRID, PLANE = "row", "grid", "plane"
UNDECIDED = -1  # instead of a greedy action, where several are equally good
TOPICS = ("values", "preferences", "model")


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of the probed states, row by row.

    ``kind`` is ROW, GRID or PLANE; ``across`` are the coordinates of the columns, ``along`` those
    of the rows. ``observations`` are (n, m). ``cells`` (n,) are the positions of the states in the
    grid, counted row by row; None if every position has a state.
    """

    kind: str
    across: np.ndarray
    along: np.ndarray
    observations: np.ndarray
    drawing: Drawing
    cells: np.ndarray | None = None

    @property
    def points(self) -> np.ndarray:
        """Coordinates (n, g) of the states."""
        pairs = np.stack(np.meshgrid(self.across, self.along), axis=-1).reshape(-1, 2)
        pairs = pairs if self.cells is None else pairs[self.cells]
        return pairs[:, :1] if self.kind == ROW else pairs

    def image(self, numbers: np.ndarray) -> np.ndarray:
        """Arrange one number per state (n,) in rows and columns, NaN where there is no state."""
        if self.cells is not None:
            grid = np.full(self.along.size * self.across.size, np.nan)
            grid[self.cells] = numbers
            numbers = grid
        return numbers.reshape(self.along.size, self.across.size)


class Frame(NamedTuple):
    """The agent's knowledge after some episodes and steps.

    ``values`` (n,), the greedy ``actions`` (n,) (−1 where several are equally good), and the
    model's predictions for them: ``rewards`` (n,) and displacements ``moves`` (n, g), NaN without
    a model.
    """

    episode: int
    step: int
    phase: int
    values: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    moves: np.ndarray


@dataclass(frozen=True, eq=False)
class Recording:
    """One run, ready to be drawn.

    Time is counted in ``unit`` ("episode" or "step"), up to ``length``. ``times`` and ``curve``
    (c,) are the learning curve of a ``measure``. The domain changes at the times ``changes``.
    """

    title: str
    layout: Layout
    frames: tuple[Frame, ...]
    unit: str
    length: int
    times: np.ndarray
    curve: np.ndarray
    measure: str
    changes: tuple[int, ...]
    diverged: bool
    settings: str = ""

    @property
    def has_model(self) -> bool:
        return not np.isnan(self.frames[0].rewards).all()

    def time(self, frame: Frame) -> int:
        """Return the time of a frame."""
        return frame.episode if self.unit == "episode" else frame.step

    def caption(self, frame: Frame) -> str:
        """Describe a frame: 'episode 612 · step 8,431 · goal on the left'."""
        phases = self.layout.drawing.phases
        phase = phases[frame.phase] if frame.phase < len(phases) else ""
        ended = "diverged" if self.diverged and frame is self.frames[-1] else ""
        parts = (f"episode {frame.episode:,}", f"step {frame.step:,}", phase, ended)
        return " · ".join(filter(None, parts))


def record(
    domain: Domain,
    features: Features,
    agent: Agent,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    frames: int = 80,
    seed: int = 0,
    step_limit: int | None = None,
    compiled: bool | None = None,
    progress: bool | Reporter = True,
) -> Recording:
    """Run an agent once and probe it at up to ``frames`` moments.

    It is run 0 of ``expectant.run`` with the same arguments: probing does not change it.
    """
    if (episodes is None) == (steps is None):
        raise ValueError(f"watch: give episodes or steps, got {episodes=}, {steps=}")
    for argument, value in (("episodes", episodes), ("steps", steps), ("frames", frames)):
        or_none(whole(2 if argument == "frames" else 1)).check("watch", argument, value)
    SEED.check("watch", "seed", seed)
    if steps is not None and domain.external:
        raise ValueError(
            f"watch: an environment cannot stop within an episode, give episodes, got {steps=}"
        )
    setup = Setup(
        domain, features, agent, episodes=episodes or 0, steps=steps or 0, bins=BINS,
        step_limit=step_limit, seed=seed,
    )  # fmt: skip
    unit, layout = "episode" if episodes else "step", layout_of(domain)
    changes = changes_of(domain, unit, setup.length)
    title, show = f"{agent.title()} in {domain.display_name}", make_reporter(progress)
    kernel, prober = load_loop(setup, compiled, title, show), Prober(setup, layout, compiled, show)
    taken, control = [], new_control()
    course = drive(setup, 0, kernel, control, moments(setup.length, frames, changes))
    with show.progress(title) as tell:
        for stop in iterate_interruptibly(course, control):
            taken.append(Frame(stop.episodes, stop.steps, stop.phase, *prober.probe(stop.run)))
            tell(fraction_done(setup, stop.run.clock))
    settings = f"domain: {domain}\nfeatures: {features}\nagent: {agent}\nseed: {seed}"
    return Recording(
        title, layout, tuple(taken), unit, setup.length, *_curve(setup, stop), changes,
        stop.status != DONE, settings,
    )  # fmt: skip


def _curve(setup: Setup, stop: Stop) -> tuple[np.ndarray, np.ndarray, str]:
    """Return times, curve and its name: returns of episodes, or rewards of steps in bins."""
    run = stop.run
    if setup.episodes:
        return np.arange(1, stop.episodes + 1), run.returns[: stop.episodes], "return"
    ends = np.minimum(np.arange(1, run.rewards.size + 1) * setup.bin, stop.steps)
    sizes = np.diff(ends, prepend=0)
    begun = sizes > 0
    return ends[begun], run.rewards[begun] / sizes[begun], "reward per step"


def layout_of(domain: Domain) -> Layout:
    """Lay out the states of a domain; a plane is probed at ``LATTICE`` × ``LATTICE`` points."""
    drawing = domain.drawing or _default_drawing(domain)
    bounds = domain.bounds or ()
    if domain.states is not None:
        states: np.ndarray = np.arange(domain.states, dtype=np.int64).reshape(-1, 1)
        if drawing.cells is not None:
            across, along, cells = _grid(drawing)
            return Layout(GRID, across, along, states, drawing, cells)
        return Layout(ROW, np.arange(float(domain.states)), np.zeros(1), states, drawing)
    if len(bounds) != 2 or not all(math.isfinite(end) for bound in bounds for end in bound):
        raise ValueError(
            "watch: domain must be one with numbered states, or with two components that have "
            f"finite bounds, got {domain!r}"
        )
    middles = (np.arange(LATTICE) + 0.5) / LATTICE
    across, along = (low + (high - low) * middles for low, high in bounds)
    observations = np.stack(np.meshgrid(across, along), axis=-1).reshape(-1, 2)
    return Layout(PLANE, across, along, observations, drawing)


def _default_drawing(domain: Domain) -> Drawing:
    """Name states and actions by their numbers."""
    phases = tuple(f"phase {phase + 1} of {domain.phases}" for phase in range(domain.phases))
    return Drawing(
        names=("state", "") if domain.states is not None else ("component 0", "component 1"),
        actions=tuple(f"action {action}" for action in range(domain.actions)),
        phases=phases if len(phases) > 1 else ("",),
    )


def _grid(drawing: Drawing) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return across, along and cells of a grid; exits may lie in cells of their own."""
    cells = np.array(drawing.cells, np.int64).reshape(-1, 2)
    columns, rows = cells.max(axis=0) + 1
    if len(cells) < columns * rows:  # some of the missing ones may be exits at the edge
        exits = [(place.x, place.y) for place in drawing.exits if min(place.x, place.y) >= 0]
        columns, rows = (int(n) for n in np.vstack([cells, *exits]).max(axis=0) + 1)
    return np.arange(float(columns)), np.arange(float(rows)), cells[:, 1] * columns + cells[:, 0]


def changes_of(domain: Domain, unit: str, length: int) -> tuple[int, ...]:
    """Return the times at which a domain changes, none if they are known in the other unit only."""
    if unit == "step":
        ends = np.cumsum(domain.phase_steps)[:-1]
        return tuple(int(end) for end in ends if end < length)
    every = domain.switch_every
    return tuple(range(every, length, every)) if every else ()


def moments(length: int, frames: int, changes: Sequence[int]) -> list[int]:
    """Choose up to ``frames`` times from 0 to ``length``, denser after the start and each change.

    Changes are among them: a frame at that time shows the agent before it noticed anything.
    """
    bounds = (0, *changes, length)
    share = (frames - 1) // (len(bounds) - 1)  # of every phase
    if share < 2:  # too few to show every change
        return sorted({int(moment) for moment in np.linspace(0, length, frames).round()})
    squares = (np.arange(1, share + 1) / share) ** 2
    chosen = {0}
    for start, end in itertools.pairwise(bounds):
        spread = np.round(start + (end - start) * squares).astype(int)
        earliest = start + np.arange(1, share + 1)
        chosen |= set(np.minimum(end, np.maximum(earliest, spread)).tolist())
    return sorted(chosen)


class Prober:
    """Probe the agent of one run in the same states, without changing the run.

    The model's expected coordinate x is w_xᵀs̄; the weights w_x are fitted by least squares such
    that w_xᵀs is the coordinate of the state s, so that any features will do.
    """

    def __init__(self, setup: Setup, layout: Layout, compiled: bool | None, show: Reporter) -> None:
        points = layout.points
        numbers = (
            np.full(len(points), -1) if setup.domain.states is None else np.arange(len(points))
        )
        self.states = States(layout.observations, numbers)
        subject = copy_subject(setup.build(0)[0])
        self.kernel = load_probe(subject, self.states, compiled, setup.agent.title(), show)
        table = probe_agent(self.kernel, subject, self.states, ("features",)).features
        wanted = np.column_stack([np.ones(len(points)), points])
        weights = np.linalg.lstsq(table, wanted, rcond=None)[0]
        self.measures = np.zeros((weights.shape[1], padded_size(table.shape[1])))  # (1 + g, D)
        self.measures[:, : table.shape[1]] = weights.T
        self.fitted = (table @ weights)[:, 1:]

    def probe(self, run: Run) -> tuple[np.ndarray, ...]:
        """Return values, actions, rewards and moves of the states, see ``Frame``."""
        answers = probe_agent(
            self.kernel, copy_subject(run), self.states, TOPICS, measures=self.measures
        )
        rows, chosen = np.arange(len(self.fitted)), answers.greedy
        futures = answers.futures[rows, chosen]
        moves = futures[:, 1:] - self.fitted * futures[:, :1]
        actions = np.where(answers.ties == 1, chosen, UNDECIDED)
        return answers.values, actions, answers.rewards[rows, chosen], moves
