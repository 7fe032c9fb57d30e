"""One run, stopped at many moments to record what the agent knows.

Shape letters: n states that are looked at, m components of an observation, A actions, c points of
the learning curve; g is 1 for states in a row, 2 for states in a grid or a plane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from expectant.core.memory import claim
from expectant.engine.course import Stop, drive, going_on, share_done
from expectant.engine.job import Job, loop_for
from expectant.engine.look import States, look, look_for, set_aside
from expectant.engine.loop import DONE, Run
from expectant.engine.workers import iterate_interruptibly
from expectant.lanes import padded
from expectant.parts import Agent, Domain, Drawing, Features
from expectant.progress import Reporter, reporter
from expectant.rules import flag, or_none, whole
from expectant.seeds import SEED
from expectant.verbs import followed

BINS = 200  # of the learning curve, where steps are counted
ROW, GRID, PLANE = "row", "grid", "plane"
UNDECIDED = -1  # instead of a greedy action, where several are equally good
ASKED = ("features", "values", "preferences", "model")


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the states that are looked at lie, row by row.

    ``kind`` is a row of cells, a grid of cells or a plane; ``across`` are the coordinates of the
    columns, ``along`` those of the rows. ``observations`` (n, m) is what the agent sees there.
    ``cells`` (n,) are the positions of the states in the grid, counted row by row; None if every
    position has a state.
    """

    kind: str
    across: np.ndarray
    along: np.ndarray
    observations: np.ndarray
    drawing: Drawing
    cells: np.ndarray | None = None

    @property
    def points(self) -> np.ndarray:
        """The coordinates (n, g) of the states."""
        pairs = np.stack(np.meshgrid(self.across, self.along), axis=-1).reshape(-1, 2)
        pairs = pairs if self.cells is None else pairs[self.cells]
        return pairs[:, :1] if self.kind == ROW else pairs

    def image(self, numbers: np.ndarray) -> np.ndarray:
        """One number per state (n,) as rows and columns, NaN where there is no state."""
        if self.cells is not None:
            everywhere = np.full(self.along.size * self.across.size, np.nan)
            everywhere[self.cells] = numbers
            numbers = everywhere
        return numbers.reshape(self.along.size, self.across.size)


class Frame(NamedTuple):
    """What an agent knows after some episodes and steps.

    ``values`` (n,), the greedy ``actions`` (n,) (−1 where several are equally good), and the
    model's predictions for them: ``rewards`` (n,) and displacements ``moves`` (n, g), NaN without
    a model. ``option`` is the number of the option that is followed, −1 if none is.
    """

    episode: int
    step: int
    phase: int
    values: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    moves: np.ndarray
    option: int = -1


@dataclass(frozen=True, eq=False)
class Recording:
    """One run, to be drawn.

    Time is counted in ``unit`` ("episode" or "step"), up to ``length``. ``times``, ``curve`` (c,)
    are the learning curve, whose axis is named ``measure``. ``changes`` are the times at which the
    domain changes.
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

    @property
    def has_model(self) -> bool:
        return not np.isnan(self.frames[0].rewards).all()

    def time(self, frame: Frame) -> int:
        """When a frame was taken."""
        return frame.episode if self.unit == "episode" else frame.step

    def caption(self, frame: Frame) -> str:
        """A frame in words: 'episode 612 · step 8,431 · goal on the left'."""
        phases = self.layout.drawing.phases
        phase = phases[frame.phase] if frame.phase < len(phases) else ""
        ended = "diverged" if self.diverged and frame is self.frames[-1] else ""
        option = f"follows option {frame.option}" if frame.option >= 0 else ""
        parts = (f"episode {frame.episode:,}", f"step {frame.step:,}", phase, option, ended)
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
    lattice: int = 40,
    step_limit: int | None = None,
    compiled: bool | None = None,
    progress: bool | Reporter = True,
) -> Recording:
    """Run an agent once and look at it in at most ``frames`` moments.

    It is run 0 of ``expectant.run`` with the same arguments: looking does not change it. In a plane
    ``lattice`` × ``lattice`` states are looked at.
    """
    if (episodes is None) == (steps is None):
        raise ValueError(f"watch: give episodes or steps, got {episodes=}, {steps=}")
    for argument, value, rule in (
        ("episodes", episodes, or_none(whole(1))),
        ("steps", steps, or_none(whole(1))),
        ("frames", frames, whole(2)),
        ("seed", seed, SEED),
        ("lattice", lattice, whole(2)),
        ("step_limit", step_limit, or_none(whole(1))),
        ("compiled", compiled, or_none(flag())),
    ):
        rule.check("watch", argument, value)
    if steps is not None and domain.outside:
        raise ValueError(
            f"watch: an environment cannot stop within an episode, give episodes, got {steps=}"
        )
    job = Job(
        domain, features, agent, episodes=episodes or 0, steps=steps or 0, bins=BINS,
        step_limit=step_limit, seed=seed,
    )  # fmt: skip
    unit, layout = "episode" if episodes else "step", layout_of(domain, lattice)
    changes = changes_of(domain, unit, job.length)
    name, show = f"{type(agent).__name__} in {type(domain).__name__}", reporter(progress)
    claim(4 * 8 * len(layout.points) * features.shape(domain).size)  # least squares on all states
    kernel, prober = loop_for(job, compiled, name, show), Prober(job, layout, compiled, name, show)
    taken, control = [], going_on()
    course = drive(job, 0, kernel, control, moments(job.length, frames, changes))
    with show.running(name) as tell:
        for stop in iterate_interruptibly(course, control):
            counts = (stop.episodes, stop.steps, stop.phase)
            seen = prober.look(stop.run)
            taken.append(Frame._make((*counts, *seen, followed(stop.run.agent))))
            tell(share_done(job, stop.run.clock))
    times, curve, measure = _curve(job, stop)
    return Recording(
        name, layout, tuple(taken), unit, job.length, times, curve, measure, changes,
        stop.status != DONE,
    )  # fmt: skip


def _curve(job: Job, stop: Stop) -> tuple[np.ndarray, np.ndarray, str]:
    """(times, measurements, their name): returns of episodes, or rewards of steps in bins."""
    run = stop.run
    if job.episodes:
        return np.arange(1, stop.episodes + 1), run.returns[: stop.episodes], "return"
    ends = np.minimum(np.arange(1, run.rewards.size + 1) * job.bin, stop.steps)
    sizes = np.diff(ends, prepend=0)
    begun = sizes > 0
    return ends[begun], run.rewards[begun] / sizes[begun], "reward per step"


# ---------------------------------------------------------------------------------------- layout


def layout_of(domain: Domain, lattice: int) -> Layout:
    """How a domain is drawn; in a plane ``lattice`` × ``lattice`` points are looked at."""
    drawing = domain.drawing or _default_drawing(domain)
    bounds, kind, cells = domain.bounds or (), ROW, None
    if domain.states is not None:
        observations = np.arange(domain.states, dtype=np.int64).reshape(-1, 1)
        across, along = np.arange(float(domain.states)), np.zeros(1)
        if drawing.cells is not None:
            kind, (across, along, cells) = GRID, _grid(drawing)
    elif len(bounds) == 2 and all(math.isfinite(end) for bound in bounds for end in bound):
        kind = PLANE
        across, along = (_middles(low, high, lattice) for low, high in bounds)
        observations = np.stack(np.meshgrid(across, along), axis=-1).reshape(-1, 2)
    else:
        raise ValueError(
            "watch: domain must be one with numbered states, or with two components that have "
            f"finite bounds, got {domain!r}"
        )
    return Layout(kind, across, along, observations, drawing, cells)


def _default_drawing(domain: Domain) -> Drawing:
    """States and actions by their numbers."""
    phases = tuple(f"phase {phase + 1} of {domain.phases}" for phase in range(domain.phases))
    return Drawing(
        names=("state", "") if domain.states is not None else ("component 0", "component 1"),
        actions=tuple(f"action {action}" for action in range(domain.actions)),
        phases=phases if len(phases) > 1 else ("",),
    )


def _grid(drawing: Drawing) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """(across, along, cells) of a grid; exits may lie in cells of their own."""
    cells = np.array(drawing.cells, np.int64).reshape(-1, 2)
    inside = [(place.x, place.y) for place in drawing.exits if place.x >= 0 and place.y >= 0]
    columns, rows = cells.max(axis=0) + 1
    if len(cells) < columns * rows:  # some of the missing ones may be exits at the edge
        columns, rows = (int(n) for n in np.vstack([cells, *inside]).max(axis=0) + 1)
    positions = cells[:, 1] * columns + cells[:, 0]
    complete = np.array_equal(positions, np.arange(columns * rows))
    return np.arange(float(columns)), np.arange(float(rows)), None if complete else positions


def _middles(low: float, high: float, cells: int) -> np.ndarray:
    return low + (high - low) * (np.arange(cells) + 0.5) / cells


# --------------------------------------------------------------------------------------- moments


def changes_of(domain: Domain, unit: str, length: int) -> tuple[int, ...]:
    """The known times at which a domain changes, in episodes or steps.

    Finite MDPs change after some episodes, domains of the adaptation test after some steps;
    counted in the other unit, changes are unknown beforehand.
    """
    if unit == "step":
        ends = np.cumsum(domain.phase_steps)[:-1]
        return tuple(int(end) for end in ends if end < length)
    every = domain.switch_every
    return tuple(range(every, length, every)) if every else ()


def moments(length: int, frames: int, changes: Sequence[int]) -> list[int]:
    """At most ``frames`` times from 0 to ``length``, denser after the start and every change.

    The last moment before a change is the change itself, of which nothing has been seen by then.
    """
    bounds = (0, *changes, length)
    stretches = len(bounds) - 1
    if frames - 1 < 2 * stretches:  # too few to show every change
        return sorted({int(moment) for moment in np.linspace(0, length, frames).round()})
    shares = np.diff(np.linspace(0, frames - 1, stretches + 1).round().astype(int))
    chosen = {0}
    for start, end, share in zip(bounds[:-1], bounds[1:], shares, strict=True):
        last = start
        for n in range(1, int(share) + 1):
            last = min(end, max(last + 1, round(start + (end - start) * (n / int(share)) ** 2)))
            chosen.add(last)
    return sorted(chosen)


# --------------------------------------------------------------------------------------- probing


class Prober:
    """Asks the agent of one run about the same states again and again, without touching the run.

    ``points`` (n, g) are the coordinates of the states. The model is asked where each coordinate
    will be, with weights w_x for which w_xᵀs is the coordinate x of the state s. They are found by
    least squares over the states, so it works for all features.
    """

    def __init__(
        self, job: Job, layout: Layout, compiled: bool | None, name: str, show: Reporter
    ) -> None:
        self.points, count = layout.points, len(layout.points)
        numbers = np.full(count, -1) if job.domain.states is None else np.arange(count)
        self.states = States(layout.observations, numbers)
        subject = set_aside(job.prepare(0)[0])
        self.kernel = look_for(subject, self.states, compiled, name, show)
        self.measures: np.ndarray | None = None  # (1 + g, D), weights for a one and the coordinates
        self.solved = self.fitted = np.zeros(0)  # the features that the measures are for

    def look(self, run: Run) -> tuple[np.ndarray, ...]:
        """(values, actions, rewards, moves) of the states, see ``Frame``."""
        answers = look(self.kernel, set_aside(run), self.states, ASKED, measures=self.measures)
        if not np.array_equal(answers.features, self.solved):
            self._fit_measures(answers.features)
            answers = look(self.kernel, set_aside(run), self.states, ASKED, measures=self.measures)
        rows, chosen = np.arange(len(self.points)), answers.greedy
        futures = answers.futures[rows, chosen]
        moves = futures[:, 1:] - self.fitted * futures[:, :1]
        actions = np.where(answers.ties == 1, chosen, UNDECIDED)
        return answers.values, actions, answers.rewards[rows, chosen], moves

    def _fit_measures(self, table: np.ndarray) -> None:
        """Find weights that give a one and the coordinates by features (n, d)."""
        wanted = np.column_stack([np.ones(len(self.points)), self.points])
        weights = np.linalg.lstsq(table, wanted, rcond=None)[0]
        self.measures = np.zeros((weights.shape[1], padded(table.shape[1])))
        self.measures[:, : table.shape[1]] = weights.T
        self.solved, self.fitted = table, (table @ weights)[:, 1:]
