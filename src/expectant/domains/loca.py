"""Domains of the local-change adaptation test (LoCA; Van Seijen et al. 2020, Wan et al. 2022).

There are two exits. In phase 1 the right one pays more; from phase 2 on it pays less than the left
one, and in phase 2 episodes start next to it, so that the change is seen only locally.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Domain, Drawing, Exit
from expectant.core.memory import claim
from expectant.core.rules import between, list_of, number, or_none, whole
from expectant.core.verbs import delegate, function
from expectant.domains.finite import (
    END,
    PHASE,
    STATE,
    FiniteMDP,
    FinitePart,
    TabularDomain,
    register_now,
    sample,
)
from expectant.domains.grids import DIRECTIONS, LEFT, MOVES, RIGHT
from expectant.domains.mountain_car import (
    LEFT_END,
    MAX_SPEED,
    POSITION,
    SPEED,
    car_drawing,
    drive_car,
)

PHASE_STEPS = list_of(whole(1), "three whole numbers, 1 or more: the steps of each phase", 3)
NEVER = 2**62


def describe_phases(first: float, later: float) -> tuple[str, ...]:
    """The three phases in words, given the reward of the right exit."""
    return (
        f"right exit pays {first:g}",
        f"right exit pays {later:g}, starts beside it",
        f"right exit pays {later:g}, starts anywhere",
    )


class PhaseClock(NamedTuple):
    """``ends`` (P,) are the steps after which each phase is over; the last one never is.

    ``steps`` (1,) counts the steps so far.
    """

    ends: np.ndarray
    steps: np.ndarray


@function
def current_phase(clock):
    """Return the phase of the next step."""
    ends, phase = clock.ends, 0
    while phase < ends.shape[0] - 1 and clock.steps[0] >= ends[phase]:
        phase += 1
    return phase


def start_clock(phase_steps: Sequence[int]) -> PhaseClock:
    """Make a clock at step 0."""
    return PhaseClock(np.cumsum(np.array(phase_steps, np.int64)), np.zeros(1, np.int64))


class LocaGridPart(NamedTuple):
    """A finite MDP whose phases are counted in steps.

    ``starts`` (P, S) are cumulative start distributions; ``now`` is that of ``mdp``.
    """

    mdp: FinitePart
    starts: np.ndarray
    clock: PhaseClock
    now: np.ndarray


register_now(LocaGridPart)
delegate(LocaGridPart, "mdp", verbs.reward_now)


@verbs.reset.register(LocaGridPart)
def _(domain, episode, rng):
    now = domain.now
    now[PHASE] = current_phase(domain.clock)
    now[STATE] = sample(domain.starts[now[PHASE]], rng.random())


@verbs.step.register(LocaGridPart)
def _(domain, action, rng):
    domain.clock.steps[0] += 1
    return verbs.step(domain.mdp, action, rng)


class LocaGrid(TabularDomain):
    """A grid with an exit on either side, for the local-change adaptation test.

    States
        the ``rows`` × ``columns`` cells in row-major order.
    Dynamics
        up (0), right (1), down (2), left (3). With probability ``noise`` the action is replaced by
        a uniformly random one. Upper and lower edges block. Left in the last column stays there:
        from that column only the right exit can be reached.
    Reward
        at the left exit ``left_reward``; at the right exit ``right_reward`` in phase 1,
        ``later_reward`` in phases 2 and 3.
    Start
        uniform over all cells; in phase 2 over the last column.
    End
        on leaving the grid to the left or to the right. Truncated after ``step_limit`` steps and at
        the end of a phase.
    Phases
        three, of ``phase_steps`` steps; the third lasts until the end of the run. The agent does
        not observe them.
    """

    rows: int = parameter(whole(1), default=4, meaning="rows of the grid")
    columns: int = parameter(whole(2), default=25, meaning="columns of the grid")
    noise: float = parameter(between(0, 1), default=0.25)
    left_reward: float = parameter(number(), default=2.0, meaning="reward at the left exit")
    right_reward: float = parameter(number(), default=4.0)
    later_reward: float = parameter(number(), default=1.0)
    phase_steps: Sequence[int] = parameter(PHASE_STEPS, default=(100_000, 50_000, 50_000))
    step_limit: int | None = parameter(or_none(whole(1)), default=100)

    @property
    def sketch(self) -> Drawing:
        middle, rows, columns = (self.rows - 1) / 2, range(self.rows), range(self.columns)
        right = (self.right_reward, self.later_reward, self.later_reward)
        return Drawing(
            names=("column", "row"),
            actions=MOVES,
            cells=tuple((column, row) for row in rows for column in columns),
            directions=DIRECTIONS,
            exits=(
                Exit(-1.0, middle, (self.left_reward,) * 3),
                Exit(float(self.columns), middle, right),
            ),
            phases=describe_phases(self.right_reward, self.later_reward),
        )

    def table(self) -> FiniteMDP:
        """The grid as a finite MDP, for exact solutions of every phase; starts are uniform."""
        states, last = self.rows * self.columns, self.columns - 1
        claim(8 * 16 * 14 * states)  # tables of three phases, and copies
        row, column = np.divmod(np.arange(states), self.columns)
        moves = np.stack(
            [
                np.maximum(row - 1, 0) * self.columns + column,
                np.where(column == last, END, row * self.columns + column + 1),
                np.minimum(row + 1, self.rows - 1) * self.columns + column,
                np.where(column == 0, END, row * self.columns + column - (column < last)),
            ],
            axis=1,
        )
        noise = np.full((4, 4), self.noise / 4) + (1.0 - self.noise) * np.eye(4)
        exits = np.zeros((3, states, 4, 4))
        exits[:, column == 0, :, LEFT] = self.left_reward
        exits[0, column == last, :, RIGHT] = self.right_reward
        exits[1:, column == last, :, RIGHT] = self.later_reward
        shape = (states, 4, 4)
        return FiniteMDP(
            probabilities=np.broadcast_to(noise, shape),
            rewards=exits,
            successors=np.broadcast_to(moves[:, None, :], shape),
            switch_every=1,
        )

    def start_distributions(self) -> np.ndarray:
        """Start distributions (P, S) of the phases."""
        everywhere = np.full(self.states, 1.0 / self.states)
        zone = np.arange(self.states) % self.columns == self.columns - 1
        return np.stack([everywhere, zone / zone.sum(), everywhere])

    def build(self, rng: np.random.Generator) -> LocaGridPart:
        mdp = self.mdp().build(rng)
        starts = np.cumsum(self.start_distributions(), axis=1)
        starts /= starts[:, -1:]
        return LocaGridPart(mdp, starts, start_clock(self.phase_steps), mdp.now)


INSIDE, LEFT_EXIT, RIGHT_EXIT = 0, 1, 2
THRUSTS = (-1, 0, 1)
RIGHT_END, ZONE = 0.5, 0.4  # the right exit, and the left end of the zone before it
BOTTOM, STRETCH, SIZE = -0.52, 100.0, 0.0049  # the left exit: position, weight of speed², size
EVALUATION_STARTS = ((-0.2, -0.1), (-0.01, 0.01))  # (low, high) of position and speed


class LocaCarPart(NamedTuple):
    """``car`` (2,) is position and speed; ``rewards`` (P, 3) of staying inside and of the exits;
    ``starts`` (P, 2, 2) the box (component, low or high) of starts; with probability ``noise`` an
    action is random; ``now`` has the phase."""

    car: np.ndarray
    rewards: np.ndarray
    starts: np.ndarray
    noise: float
    clock: PhaseClock
    now: np.ndarray


@function
def exit_of(car):
    """The exit that a car is in: INSIDE, LEFT_EXIT or RIGHT_EXIT."""
    if car[POSITION] >= RIGHT_END and car[SPEED] >= 0.0:
        return RIGHT_EXIT
    distance = car[POSITION] - BOTTOM
    if distance * distance + STRETCH * car[SPEED] * car[SPEED] <= SIZE:
        return LEFT_EXIT
    return INSIDE


@function
def advance(car, thrust):
    """Drive one step, pushed right inside the zone; returns the exit reached."""
    if car[POSITION] >= ZONE and car[SPEED] >= 0.0:
        thrust = 1
    drive_car(car, thrust, RIGHT_END)
    return exit_of(car)


@function
def draw_car(box, car, rng):
    """Draw position and speed uniformly from a box (2, 2) of (low, high)."""
    for component in range(2):
        low, high = box[component, 0], box[component, 1]
        car[component] = low + (high - low) * rng.random()


@verbs.reset.register(LocaCarPart)
def _(domain, episode, rng):
    domain.now[PHASE] = current_phase(domain.clock)
    box = domain.starts[domain.now[PHASE]]
    draw_car(box, domain.car, rng)
    while exit_of(domain.car) == LEFT_EXIT:
        draw_car(box, domain.car, rng)


@verbs.step.register(LocaCarPart)
def _(domain, action, rng):
    domain.clock.steps[0] += 1
    if domain.noise > 0.0 and rng.random() < domain.noise:
        action = int(rng.random() * len(THRUSTS))
    reached = advance(domain.car, action - 1)
    return domain.rewards[domain.now[PHASE], reached], 1.0 if reached == INSIDE else 0.0


@verbs.observation.register(LocaCarPart)
def _(domain):
    return domain.car


@verbs.phase.register(LocaCarPart)
def _(domain):
    return domain.now[PHASE]


@verbs.truncated.register(LocaGridPart)
@verbs.truncated.register(LocaCarPart)
def _(domain):
    """End the episode with its phase."""
    return current_phase(domain.clock) != domain.now[PHASE]


class LocaMountainCar(Domain):
    """A mountain car with exits on the hill and at the bottom, for the adaptation test.

    Observation
        position and speed.
    Dynamics
        as in ``MountainCar``: push left (0), no push (1), push right (2). With probability
        ``noise`` the action is replaced by a uniformly random one. In the zone, positions from 0.4
        and speeds from 0 on, the car is always pushed right: only the right exit can be reached
        from there.
    Reward
        at the left exit ``left_reward``; at the right exit ``right_reward`` in phase 1,
        ``later_reward`` in phases 2 and 3.
    Start
        uniform over positions and speeds, except in the left exit; in phase 2 over the zone.
    End
        right exit: at 0.5 with a speed of 0 or more. Left exit: near the bottom at low speed,
        (position + 0.52)² + 100 speed² ≤ 0.0049. Truncated after ``step_limit`` steps and at the
        end of a phase.
    Phases
        three, of ``phase_steps`` steps; the third lasts until the end of the run.
    """

    left_reward: float = parameter(number(), default=2.0, meaning="reward at the left exit")
    right_reward: float = parameter(number(), default=4.0)
    later_reward: float = parameter(number(), default=1.0)
    phase_steps: Sequence[int] = parameter(PHASE_STEPS, default=(100_000, 50_000, 50_000))
    step_limit: int | None = parameter(or_none(whole(1)), default=500)
    noise: float = parameter(between(0, 1), default=0.0)

    @property
    def actions(self) -> int:
        return len(THRUSTS)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return (LEFT_END, RIGHT_END), (-MAX_SPEED, MAX_SPEED)

    @property
    def sketch(self) -> Drawing:
        right = (self.right_reward, self.later_reward, self.later_reward)
        left_exit = Exit(BOTTOM, 0.0, (self.left_reward,) * 3)
        exits = (left_exit, Exit((ZONE + RIGHT_END) / 2, MAX_SPEED / 2, right))
        return car_drawing(exits, describe_phases(self.right_reward, self.later_reward))

    def prepare_evaluation(self, part: LocaCarPart, phase: int) -> None:
        """Start between the exits, with the rewards of one phase."""
        part.starts[:] = EVALUATION_STARTS
        part.rewards[:] = part.rewards[phase].copy()
        part.clock.ends[:] = NEVER
        part.clock.steps[0] = 0

    def build(self, rng: np.random.Generator) -> LocaCarPart:
        pays = [
            [0.0, self.left_reward, right]
            for right in (self.right_reward, self.later_reward, self.later_reward)
        ]
        zone = [[ZONE, RIGHT_END], [0.0, MAX_SPEED]]
        everywhere = [list(bound) for bound in self.bounds]
        return LocaCarPart(
            np.zeros(2),
            np.array(pays),
            np.array([everywhere, zone, everywhere]),
            self.noise,
            start_clock(self.phase_steps),
            np.zeros(3, np.int64),
        )
