"""Grid worlds drawn as text: the textbook's mazes and cliff, and rooms for options.

In a picture ``#`` is a wall, ``S`` the start, ``G`` a goal, ``.`` any other cell. States are the
other cells in row-major order, without walls and goals.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Drawing, Exit
from expectant.core.rules import Rule, between, either, list_of, number, whole
from expectant.core.verbs import delegate, reset, reward_now, step
from expectant.domains.finite import END, PHASE, FiniteMDP, FinitePart, TabularDomain, register_now

UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3
MOVES = ("up", "right", "down", "left")
DIRECTIONS = ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0))  # across, down
WALL, GOAL, START, CLIFF, FREE, PIT = "#", "G", "S", "C", ".", "P"
BLOCKED = -2  # index of cells that are no state


def parse_grid(picture: str) -> np.ndarray:
    """Return the characters (rows, columns) of a picture."""
    return np.array([list(line.strip()) for line in picture.strip().splitlines()])


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


class GridWorld(TabularDomain, abstract=True):
    """A domain with one grid for every phase."""

    phase_names: ClassVar[tuple[str, ...]] = ("",)

    @property
    def grids(self) -> list[np.ndarray]:
        """The grid of each phase."""
        raise NotImplementedError

    @cached_property
    def indices(self) -> np.ndarray:
        """State index of every cell that is free in some grid, END at goals, BLOCKED elsewhere."""
        free = np.any([~np.isin(grid, (WALL, GOAL, CLIFF)) for grid in self.grids], axis=0)
        indices = np.full(free.shape, BLOCKED)
        indices[free] = np.arange(free.sum())
        indices[self.grids[0] == GOAL] = END
        return indices

    @property
    def sketch(self) -> Drawing:
        cells, goals = np.argwhere(self.indices >= 0), np.argwhere(self.indices == END)
        reward = getattr(self, "goal_reward", None)
        pays = () if reward is None else (reward,) * len(self.phase_names)
        return Drawing(
            names=("column", "row"),
            actions=MOVES,
            cells=tuple((int(column), int(row)) for row, column in cells),
            directions=DIRECTIONS,
            exits=tuple(Exit(float(column), float(row), pays) for row, column in goals),
            phases=self.phase_names,
        )


class Maze(GridWorld, abstract=True):
    """A deterministic maze."""

    goal_reward: float = parameter(number(), default=1.0, kw_only=True)
    step_reward: float = parameter(number(), default=0.0, kw_only=True)

    def table(self) -> FiniteMDP:
        """The maze as a finite MDP; outcome p of a move is that of phase p.

        If a move is the same in all phases, it has the first outcome only.
        """
        grids, indices = self.grids, self.indices
        phases = len(grids)
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

    @property
    def grids(self) -> list[np.ndarray]:
        n = self.resolution
        rows, columns = (n, n) if isinstance(n, int) else n
        return [parse_grid(DYNA_MAZE).repeat(rows, axis=0).repeat(columns, axis=1)]


class ChangingPart(NamedTuple):
    """A finite MDP whose phase changes after so many steps of the run, also within an episode.

    ``steps`` (1,) counts them; ``now`` is that of ``mdp``.
    """

    mdp: FinitePart
    change_after: int
    steps: np.ndarray
    now: np.ndarray


register_now(ChangingPart)
delegate(ChangingPart, "mdp", reward_now)


@reset.register(ChangingPart)
def _(domain, episode, rng):
    reset(domain.mdp, episode, rng)
    domain.now[PHASE] = 1 if domain.steps[0] >= domain.change_after else 0


@step.register(ChangingPart)
def _(domain, action, rng):
    reward, alive = step(domain.mdp, action, rng)
    domain.steps[0] += 1
    domain.now[PHASE] = 1 if domain.steps[0] >= domain.change_after else 0
    return reward, alive


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

    change_after: int = parameter(whole(1))

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
        return ChangingPart(mdp, self.change_after, np.zeros(1, np.int64), mdp.now)


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


class Cliff(GridWorld):
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
    step_reward: float = parameter(number(), default=-1.0)
    cliff_reward: float = parameter(number(), default=-100.0, meaning="reward in the cliff")

    @property
    def grids(self) -> list[np.ndarray]:
        upper = "\n".join([FREE * self.columns] * (self.rows - 1))
        return [parse_grid(f"{upper}\nS{CLIFF * (self.columns - 2)}G")]

    def table(self) -> FiniteMDP:
        (grid,) = self.grids
        moves, start = grid_moves(grid, self.indices), grid_start(grid, self.indices)
        fallen = moves == BLOCKED
        return FiniteMDP(
            probabilities=np.ones((*moves.shape, 1)),
            rewards=np.where(fallen, self.cliff_reward, self.step_reward),
            successors=np.where(fallen, int(start.argmax()), moves)[..., None],
            start=start,
        )


TWO_ROOMS = """\
###############
#.PPPP.#......#
#.PPPP.#......#
#SPPPP.H......#
#.PPPP.#......#
#.PPPP.#......#
#......#..G...#
###############"""
FOUR_ROOMS = """\
#############
#.....#.....#
#.....#.....#
#.....2.....#
#S....#.....#
#.....#.....#
##1####.....#
#.PPP.###3###
#.PPP.#.....#
#.PPP.#G....#
#.PPP.4.....#
#.....#.....#
#############"""


def _check_plan(value: Any) -> str:
    """Strip the lines of a map, which must have equal lengths."""
    if not isinstance(value, str):
        raise TypeError
    rows = [line.strip() for line in value.strip().splitlines()]
    letters = "".join(rows)
    if not letters or len({len(row) for row in rows}) > 1:
        raise ValueError
    if not all(letter in "#." or letter.isalnum() for letter in letters):
        raise ValueError
    return "\n".join(rows)


PLAN = Rule(
    "lines of equal length of # (a wall), . (a cell), S (a start), G (a goal), P (a pit) and "
    "other letters or digits (cells with a name)",
    _check_plan,
)


class Rooms(GridWorld):
    """A grid world drawn as text.

    States
        the cells of ``plan`` in row-major order, without walls and goals. ``named_states`` are the
        cells drawn as other letters or digits, such as hallways.
    Dynamics
        up (0), right (1), down (2), left (3). The intended move is made with probability
        1 − ``slip``, each of the others with ``slip`` / 3. Walls and edges block.
    Reward
        that of the cell entered, also after a blocked move: ``goal_reward`` for a goal G,
        ``pit_reward`` for a pit P, else 0.
    Start
        uniform over the cells S, or over all cells if there are none.
    End
        in a goal.
    """

    plan: str = parameter(PLAN, meaning="the rooms as text")
    slip: float = parameter(between(0, 1), default=0.0, kw_only=True)
    goal_reward: float = parameter(number(), default=1.0, kw_only=True)
    pit_reward: float = parameter(number(), default=-1.0, kw_only=True)

    def validate(self) -> None:
        if GOAL not in self.plan:
            raise ValueError(f"{type(self).__name__}: plan must have a goal G, where episodes end")
        if not self.letters.size:
            raise ValueError(f"{type(self).__name__}: plan must have a cell that is not a goal")

    @property
    def grids(self) -> list[np.ndarray]:
        return [parse_grid(self.plan)]

    @property
    def letters(self) -> np.ndarray:
        """The letter of every state: (S,)."""
        return self.grids[0][self.indices >= 0]

    @property
    def named_states(self) -> dict[str, int]:
        """The states that have a name in the map."""
        plain = (FREE, START, PIT)
        return {str(name): s for s, name in enumerate(self.letters) if name not in plain}

    def table(self) -> FiniteMDP:
        moves, letters = grid_moves(self.grids[0], self.indices), self.letters
        pays = np.where(letters[moves] == PIT, self.pit_reward, 0.0)
        pays = np.where(moves == END, self.goal_reward, pays)
        slips = np.full((4, 4), self.slip / 3) + (1.0 - 4 / 3 * self.slip) * np.eye(4)
        shape, starts = (letters.size, 4, 4), letters == START
        return FiniteMDP(
            probabilities=np.broadcast_to(slips, shape),
            rewards=np.broadcast_to(pays[:, None, :], shape),
            successors=np.broadcast_to(moves[:, None, :], shape),
            start=starts / starts.sum() if starts.any() else None,
        )


class TwoRooms(Rooms):
    """Two rooms and a hallway, with pits on the short way to it (Sutton et al. 2023).

    Dynamics, reward, start, end
        as in ``Rooms``; without slips.
    """

    plan: str = parameter(PLAN, default=TWO_ROOMS, meaning="the rooms as text")


class FourRooms(Rooms):
    """Four rooms and four hallways, with pits in one room (Sutton et al. 2023).

    Dynamics, reward, start, end
        as in ``Rooms``; the intended move is made with probability 2/3.
    """

    plan: str = parameter(PLAN, default=FOUR_ROOMS, meaning="the rooms as text")
    slip: float = parameter(between(0, 1), default=1 / 3, kw_only=True)
