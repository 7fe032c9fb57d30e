"""Grids drawn as text, and the textbook's mazes and cliff.

In a picture ``#`` is a wall, ``S`` the start, ``G`` a goal, ``.`` any other cell. Cells are
numbered row by row, walls and goals left out: a state is a cell in which something can be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Drawing, Exit
from expectant.core.rules import either, list_of, number, whole
from expectant.core.verbs import reset, reward_now, step
from expectant.domains.finite import (
    END,
    PHASE,
    FiniteMDP,
    FinitePart,
    TabularDomain,
    register_now,
)
from expectant.domains.phase_clock import PhaseClock, phase_clock, present_phase, tick_clock

UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3
MOVES = ("up", "right", "down", "left")
DIRECTIONS = ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0))
WALL, GOAL, START = "#", "G", "S"
BLOCKED = -2  # instead of a number: no cell to be in


def grid_in(picture: str) -> np.ndarray:
    """The characters (rows, columns) of a picture."""
    return np.array([list(line.strip()) for line in picture.strip().splitlines()])


def numbers_of_cells(grids: Sequence[np.ndarray]) -> np.ndarray:
    """The number of every cell that is free in one of these grids; END at goals, else BLOCKED."""
    free = np.any([(grid != WALL) & (grid != GOAL) for grid in grids], axis=0)
    numbers = np.full(free.shape, BLOCKED)
    numbers[free] = np.arange(free.sum())
    numbers[grids[0] == GOAL] = END
    return numbers


def places_of(numbers: np.ndarray) -> np.ndarray:
    """(row, column) of every numbered cell, (S, 2)."""
    return np.argwhere(numbers >= 0)


def moves_in(grid: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Where each move leads (S, 4): a state, or END; walls and edges stop it."""
    places, (rows, columns) = places_of(numbers), numbers.shape
    found = np.empty((len(places), 4), np.int64)
    for move, (across, down) in enumerate(DIRECTIONS):
        row, column = places[:, 0] + int(down), places[:, 1] + int(across)
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        row, column = np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)
        stopped = ~inside | (grid[row, column] == WALL)
        found[:, move] = np.where(stopped, np.arange(len(places)), numbers[row, column])
    return found


def start_in(grid: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The distribution (S,) that puts all on the first cell of the start, row by row."""
    row, column = np.argwhere(grid == START)[0]
    start = np.zeros(int(numbers.max()) + 1)
    start[numbers[row, column]] = 1.0
    return start


def grid_drawing(
    numbers: np.ndarray, pays: tuple[float, ...] = (), phases: tuple[str, ...] = ("",)
) -> Drawing:
    """A grid with its goals, which pay so much in each phase."""
    goals = np.argwhere(numbers == END)
    return Drawing(
        names=("column", "row"),
        actions=MOVES,
        cells=tuple((int(column), int(row)) for row, column in places_of(numbers)),
        directions=DIRECTIONS,
        exits=tuple(Exit(float(column), float(row), pays) for row, column in goals),
        phases=phases,
    )


PICTURE = """
    .......#G
    ..#....#.
    S.#....#.
    ..#......
    .....#...
    .........
"""


RESOLUTION = either(whole(1), list_of(whole(1), "two of them, for rows and for columns", 2))


def maze_mdp(grids: Sequence[np.ndarray], goal_reward: float, step_reward: float) -> FiniteMDP:
    """Grids, one for each phase, as a finite MDP; entering a goal pays and ends the episode.

    Moves are certain: outcome p of a move is the one of phase p, or the first if all do the same.
    """
    numbers, phases = numbers_of_cells(grids), len(grids)
    moves = np.stack([moves_in(grid, numbers) for grid in grids], axis=-1)
    same = (moves == moves[..., :1]).all(axis=-1)
    own = np.eye(phases)[:, None, None]
    return FiniteMDP(
        probabilities=np.where(same[None, ..., None], np.eye(phases)[0], own),
        rewards=np.where(moves == END, goal_reward, step_reward),
        successors=moves,
        start=start_in(grids[0], numbers),
        switch_every=1 if phases > 1 else None,
    )


class Maze(TabularDomain, abstract=True):
    """A maze of certain moves, with a picture for every phase."""

    goal_reward: float
    step_reward: float
    phases_in_words: ClassVar[tuple[str, ...]] = ("",)

    @property
    def grids(self) -> list[np.ndarray]:
        """The cells in each phase."""
        raise NotImplementedError

    @property
    def drawing(self) -> Drawing:
        words = self.phases_in_words
        pays = (self.goal_reward,) * len(words)
        return grid_drawing(numbers_of_cells(self.grids), pays, words)

    def table(self) -> FiniteMDP:
        return maze_mdp(self.grids, self.goal_reward, self.step_reward)


class DynaMaze(Maze):
    """The Dyna maze: 6 × 9 cells with seven walls (Sutton & Barto 2018, figure 8.2).

    Dynamics
        four actions: up (0), right (1), down (2), left (3). Walls and edges stop a move. With
        ``resolution`` n every cell becomes n × n cells; a pair splits rows and columns apart.
    Reward
        ``goal_reward`` on entering the goal, ``step_reward`` on every other step.
    Start
        row 2, column 0; in a finer maze the first of its cells.
    End
        the goal, row 0, column 8; in a finer maze any of its cells. Goals and walls have no number:
        there are 46 states, and 46 n² of them at resolution n.
    """

    resolution: int | Sequence[int] = parameter(RESOLUTION, default=1)
    goal_reward: float = parameter(number(), default=1.0)
    step_reward: float = parameter(number(), default=0.0)

    @property
    def grids(self) -> list[np.ndarray]:
        given = self.resolution
        rows, columns = (given, given) if isinstance(given, int) else given
        return [grid_in(PICTURE).repeat(rows, axis=0).repeat(columns, axis=1)]


CHANGING_PICTURE = """
    ........G
    .........
    .........
    {wall}
    .........
    ...S.....
"""


class ChangingPart(NamedTuple):
    """A finite MDP whose phases go by steps, in the middle of an episode; ``now`` is its own."""

    mdp: FinitePart
    clock: PhaseClock
    now: np.ndarray


register_now(ChangingPart)


@reset.register(ChangingPart)
def _(domain, episode, rng):
    reset(domain.mdp, episode, rng)
    domain.now[PHASE] = present_phase(domain.clock)


@step.register(ChangingPart)
def _(domain, action, rng):
    reward, alive = step(domain.mdp, action, rng)
    tick_clock(domain.clock)
    domain.now[PHASE] = present_phase(domain.clock)
    return reward, alive


@reward_now.register(ChangingPart)
def _(domain, outcome):
    return reward_now(domain.mdp, outcome)


class ChangingMaze(Maze, abstract=True):
    """A maze of 6 × 9 cells whose wall, in row 3, changes once, after so many steps."""

    change_after: int = parameter(whole(1))  # type: ignore[misc]
    goal_reward: float = parameter(number(), default=1.0)
    step_reward: float = parameter(number(), default=0.0)

    walls: ClassVar[tuple[str, str]]

    @property
    def grids(self) -> list[np.ndarray]:
        return [grid_in(CHANGING_PICTURE.format(wall=wall)) for wall in self.walls]

    @property
    def phase_steps(self) -> tuple[int, int]:
        """The steps of each phase; the last one lasts as long as the run does."""
        return self.change_after, 1

    def build(self, rng: np.random.Generator) -> ChangingPart:
        mdp = self.mdp().build(rng)
        return ChangingPart(mdp, phase_clock(self.phase_steps), mdp.now)


class BlockingMaze(ChangingMaze):
    """A maze whose short way is closed while a long one opens (Sutton & Barto 2018, figure 8.4).

    Dynamics
        four actions: up (0), right (1), down (2), left (3). Walls and edges stop a move. A wall in
        row 3 spans columns 0 to 7, and columns 1 to 8 after ``change_after`` steps in all,
        whatever the episode. Who stands where the wall comes to be can walk out of it.
    Reward
        ``goal_reward`` on entering the goal, ``step_reward`` on every other step.
    Start
        row 5, column 3.
    End
        the goal, row 0, column 8.
    """

    change_after: int = parameter(whole(1), default=1000)

    walls: ClassVar[tuple[str, str]] = ("########.", ".########")
    phases_in_words: ClassVar[tuple[str, ...]] = ("the right way is open", "the left way is open")


class ShortcutMaze(ChangingMaze):
    """A maze in which a shorter way opens (Sutton & Barto 2018, figure 8.5).

    Dynamics
        four actions: up (0), right (1), down (2), left (3). Walls and edges stop a move. A wall in
        row 3 spans columns 1 to 8, and columns 1 to 7 after ``change_after`` steps in all,
        whatever the episode.
    Reward, start, end
        as in ``BlockingMaze``.
    """

    change_after: int = parameter(whole(1), default=3000)

    walls: ClassVar[tuple[str, str]] = (".########", ".#######.")
    phases_in_words: ClassVar[tuple[str, ...]] = ("the left way is open", "both ways are open")


EDGE = "C"


class Cliff(TabularDomain):
    """A grid whose lower edge is a cliff, from the start to the goal (Sutton & Barto, example 6.6).

    Dynamics
        four actions: up (0), right (1), down (2), left (3). Edges stop a move. A step into the
        cliff, the cells between start and goal, leads back to the start; the episode goes on.
    Reward
        ``cliff_reward`` for a step into the cliff, ``step_reward`` for every other one.
    Start
        the lower left corner.
    End
        the goal, the lower right corner. Goal and cliff have no number: there are 37 states.
    """

    rows: int = parameter(whole(2), default=4)
    columns: int = parameter(whole(3), default=12)
    step_reward: float = parameter(number(), default=-1.0)
    cliff_reward: float = parameter(number(), default=-100.0)

    @cached_property
    def grid(self) -> np.ndarray:
        """The cells; those of the cliff are free to be stepped into."""
        upper = "\n".join(["." * self.columns] * (self.rows - 1))
        return grid_in(f"{upper}\nS{EDGE * (self.columns - 2)}G")

    @cached_property
    def numbers(self) -> np.ndarray:
        """The number of every cell, as far as it has one."""
        return numbers_of_cells([np.where(self.grid == EDGE, WALL, self.grid)])

    @property
    def drawing(self) -> Drawing:
        return grid_drawing(self.numbers)

    def table(self) -> FiniteMDP:
        moves, start = moves_in(self.grid, self.numbers), start_in(self.grid, self.numbers)
        fallen = moves < END  # cells that can be stepped into but have no number
        return FiniteMDP(
            probabilities=np.ones((*moves.shape, 1)),
            rewards=np.where(fallen, self.cliff_reward, self.step_reward),
            successors=np.where(fallen, int(start.argmax()), moves)[..., None],
            start=start,
        )
