"""Grids drawn as text, and the textbook's mazes and cliff.

In a picture ``#`` is a wall, ``S`` the start, ``G`` a goal, ``.`` any other cell. States are the
other cells in row-major order, without walls and goals.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Drawing, Exit
from expectant.core.rules import either, list_of, number, whole
from expectant.core.verbs import delegate, reset, reward_now, step
from expectant.domains.finite import (
    END,
    PHASE,
    FiniteMDP,
    FinitePart,
    TabularDomain,
    register_now,
)
from expectant.domains.phase_clock import PhaseClock, current_phase, start_clock, tick_clock

UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3
MOVES = ("up", "right", "down", "left")
DIRECTIONS = ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0))  # across, down
WALL, GOAL, START = "#", "G", "S"
BLOCKED = -2  # index of cells that are no state


def parse_grid(picture: str) -> np.ndarray:
    """The characters (rows, columns) of a picture."""
    return np.array([list(line.strip()) for line in picture.strip().splitlines()])


def index_cells(grids: Sequence[np.ndarray]) -> np.ndarray:
    """State index of every cell that is free in some grid; END at goals, else BLOCKED."""
    free = np.any([(grid != WALL) & (grid != GOAL) for grid in grids], axis=0)
    indices = np.full(free.shape, BLOCKED)
    indices[free] = np.arange(free.sum())
    indices[grids[0] == GOAL] = END
    return indices


def grid_moves(grid: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Successor index (S, 4) of every move; walls and edges block."""
    cells, (rows, columns) = np.argwhere(indices >= 0), indices.shape
    successors = np.empty((len(cells), 4), np.int64)
    for move, (across, down) in enumerate(DIRECTIONS):
        row, column = cells[:, 0] + int(down), cells[:, 1] + int(across)
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        row, column = np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)
        blocked = ~inside | (grid[row, column] == WALL)
        successors[:, move] = np.where(blocked, np.arange(len(cells)), indices[row, column])
    return successors


def grid_start(grid: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Start distribution (S,): the first start cell in row-major order."""
    row, column = np.argwhere(grid == START)[0]
    return np.eye(1, int(indices.max()) + 1, indices[row, column])[0]


def grid_drawing(
    indices: np.ndarray, pays: tuple[float, ...] = (), phases: tuple[str, ...] = ("",)
) -> Drawing:
    """Drawing of a grid whose goals pay ``pays`` in the phases."""
    return Drawing(
        names=("column", "row"),
        actions=MOVES,
        cells=tuple((int(column), int(row)) for row, column in np.argwhere(indices >= 0)),
        directions=DIRECTIONS,
        exits=tuple(
            Exit(float(column), float(row), pays) for row, column in np.argwhere(indices == END)
        ),
        phases=phases,
    )


class Maze(TabularDomain, abstract=True):
    """A deterministic maze with one grid for every phase."""

    goal_reward: float
    step_reward: float
    phase_names: ClassVar[tuple[str, ...]] = ("",)

    @property
    def grids(self) -> list[np.ndarray]:
        """The grid of each phase."""
        raise NotImplementedError

    @property
    def sketch(self) -> Drawing:
        pays = (self.goal_reward,) * len(self.phase_names)
        return grid_drawing(index_cells(self.grids), pays, self.phase_names)

    def table(self) -> FiniteMDP:
        """The maze as a finite MDP; outcome p of a move is that of phase p.

        If a move is the same in all phases, it has the first outcome only.
        """
        grids = self.grids
        indices, phases = index_cells(grids), len(grids)
        moves = np.stack([grid_moves(grid, indices) for grid in grids], axis=-1)
        same = (moves == moves[..., :1]).all(axis=-1)
        by_phase = np.eye(phases)[:, None, None]
        return FiniteMDP(
            probabilities=np.where(same[None, ..., None], np.eye(phases)[0], by_phase),
            rewards=np.where(moves == END, self.goal_reward, self.step_reward),
            successors=moves,
            start=grid_start(grids[0], indices),
            switch_every=1 if phases > 1 else None,
        )


DYNA_MAZE = """
    .......#G
    ..#....#.
    S.#....#.
    ..#......
    .....#...
    .........
"""
RESOLUTION = either(whole(1), list_of(whole(1), "two of them, for rows and for columns", 2))


class DynaMaze(Maze):
    """The Dyna maze: 6 × 9 cells with seven walls (Sutton & Barto 2018, figure 8.2).

    States
        the 46 cells that are neither wall nor goal. With ``resolution`` n every cell becomes n × n
        cells; a pair is for rows and columns.
    Dynamics
        up (0), right (1), down (2), left (3), deterministic. Walls and edges block.
    Reward
        ``goal_reward`` on entering the goal, ``step_reward`` on every other step.
    Start
        row 2, column 0; in a finer maze the first of its cells.
    End
        the goal, row 0, column 8; in a finer maze any of its cells.
    """

    resolution: int | Sequence[int] = parameter(RESOLUTION, default=1)
    goal_reward: float = parameter(number(), default=1.0)
    step_reward: float = parameter(number(), default=0.0, meaning="reward of every other step")

    @property
    def grids(self) -> list[np.ndarray]:
        n = self.resolution
        rows, columns = (n, n) if isinstance(n, int) else n
        return [parse_grid(DYNA_MAZE).repeat(rows, axis=0).repeat(columns, axis=1)]


class ChangingPart(NamedTuple):
    """A finite MDP whose phase changes with the number of steps, also within an episode."""

    mdp: FinitePart
    clock: PhaseClock
    now: np.ndarray  # that of ``mdp``


register_now(ChangingPart)


@reset.register(ChangingPart)
def _(domain, episode, rng):
    reset(domain.mdp, episode, rng)
    domain.now[PHASE] = current_phase(domain.clock)


@step.register(ChangingPart)
def _(domain, action, rng):
    reward, alive = step(domain.mdp, action, rng)
    tick_clock(domain.clock)
    domain.now[PHASE] = current_phase(domain.clock)
    return reward, alive


delegate(ChangingPart, "mdp", reward_now)


CHANGING_MAZE = """
    ........G
    .........
    .........
    {wall}
    .........
    ...S.....
"""


class ChangingMaze(Maze, abstract=True):
    """A maze of 6 × 9 cells whose wall, in row 3, changes once, after ``change_after`` steps."""

    change_after: int = parameter(whole(1))  # type: ignore[misc]
    goal_reward: float = parameter(number(), default=1.0)
    step_reward: float = parameter(number(), default=0.0, meaning="reward of every other step")

    walls: ClassVar[tuple[str, str]]

    @property
    def grids(self) -> list[np.ndarray]:
        return [parse_grid(CHANGING_MAZE.format(wall=wall)) for wall in self.walls]

    @property
    def phase_steps(self) -> tuple[int, int]:
        """Steps of each phase; the last phase lasts until the end of the run."""
        return self.change_after, 1

    def build(self, rng: np.random.Generator) -> ChangingPart:
        mdp = self.mdp().build(rng)
        return ChangingPart(mdp, start_clock(self.phase_steps), mdp.now)


class BlockingMaze(ChangingMaze):
    """A maze whose short way closes while a longer one opens (Sutton & Barto 2018, figure 8.4).

    Dynamics
        up (0), right (1), down (2), left (3), deterministic. Walls and edges block. A wall in row 3
        spans columns 0 to 7, and columns 1 to 8 after ``change_after`` steps of the run. An agent
        inside the new wall can walk out of it.
    Reward
        ``goal_reward`` on entering the goal, ``step_reward`` on every other step.
    Start
        row 5, column 3.
    End
        the goal, row 0, column 8.
    """

    change_after: int = parameter(whole(1), default=1000)

    walls: ClassVar[tuple[str, str]] = ("########.", ".########")
    phase_names: ClassVar[tuple[str, ...]] = ("the right way is open", "the left way is open")


class ShortcutMaze(ChangingMaze):
    """A maze in which a shorter way opens (Sutton & Barto 2018, figure 8.5).

    Dynamics
        as in ``BlockingMaze``, with a wall in row 3 that spans columns 1 to 8, and columns 1 to 7
        after ``change_after`` steps of the run.
    Reward, start, end
        as in ``BlockingMaze``.
    """

    change_after: int = parameter(whole(1), default=3000)

    walls: ClassVar[tuple[str, str]] = (".########", ".#######.")
    phase_names: ClassVar[tuple[str, ...]] = ("the left way is open", "both ways are open")


CLIFF = "C"


class Cliff(TabularDomain):
    """Cliff walking (Sutton & Barto 2018, example 6.6).

    States
        the cells except goal and cliff, 37 by default. The cliff lies between start and goal in the
        bottom row.
    Dynamics
        up (0), right (1), down (2), left (3), deterministic. Edges block. A step into the cliff
        leads back to the start without ending the episode.
    Reward
        ``cliff_reward`` for a step into the cliff, ``step_reward`` for every other one.
    Start
        the lower left corner.
    End
        the goal, the lower right corner.
    """

    rows: int = parameter(whole(2), default=4, meaning="rows of the grid")
    columns: int = parameter(whole(3), default=12, meaning="columns of the grid")
    step_reward: float = parameter(number(), default=-1.0, meaning="reward of every other step")
    cliff_reward: float = parameter(number(), default=-100.0, meaning="reward in the cliff")

    @cached_property
    def grid(self) -> np.ndarray:
        """The cells; those of the cliff can be stepped into."""
        upper = "\n".join(["." * self.columns] * (self.rows - 1))
        return parse_grid(f"{upper}\nS{CLIFF * (self.columns - 2)}G")

    @cached_property
    def indices(self) -> np.ndarray:
        """State index of every cell; BLOCKED in the cliff."""
        return index_cells([np.where(self.grid == CLIFF, WALL, self.grid)])

    @property
    def sketch(self) -> Drawing:
        return grid_drawing(self.indices)

    def table(self) -> FiniteMDP:
        moves, start = grid_moves(self.grid, self.indices), grid_start(self.grid, self.indices)
        fallen = moves == BLOCKED
        return FiniteMDP(
            probabilities=np.ones((*moves.shape, 1)),
            rewards=np.where(fallen, self.cliff_reward, self.step_reward),
            successors=np.where(fallen, int(start.argmax()), moves)[..., None],
            start=start,
        )
