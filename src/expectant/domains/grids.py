"""Grids of cells: pictures of them, the numbers of their cells, and where moves lead.

In a picture ``#`` is a wall, ``S`` the start, ``G`` a goal, ``.`` any other cell. Cells are
numbered row by row, walls and goals left out: a state is a cell in which something can be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.domains.outcomes import END
from expectant.parts import Drawing, Exit

UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3
MOVES = ("up", "right", "down", "left")
DIRECTIONS = ((0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0))
WALL, GOAL, START = "#", "G", "S"
BLOCKED = -2  # instead of a number: no cell to be in


class Grid(NamedTuple):
    """``cells`` (rows, columns) of one character each."""

    cells: np.ndarray

    def refined(self, rows: int, columns: int) -> Grid:
        """The same grid with every cell split into so many rows and columns of cells."""
        return Grid(self.cells.repeat(rows, axis=0).repeat(columns, axis=1))


def grid_in(picture: str) -> Grid:
    """The grid that a picture shows."""
    return Grid(np.array([list(line.strip()) for line in picture.strip().splitlines()]))


def numbers_of_cells(grids: Sequence[Grid]) -> np.ndarray:
    """The number of every cell that is free in one of these grids; END at goals, else BLOCKED."""
    free = np.any([(grid.cells != WALL) & (grid.cells != GOAL) for grid in grids], axis=0)
    numbers = np.full(free.shape, BLOCKED)
    numbers[free] = np.arange(free.sum())
    numbers[grids[0].cells == GOAL] = END
    return numbers


def places_of(numbers: np.ndarray) -> np.ndarray:
    """(row, column) of every numbered cell, (S, 2)."""
    return np.argwhere(numbers >= 0)


def moves_in(grid: Grid, numbers: np.ndarray) -> np.ndarray:
    """Where each move leads (S, 4): a state, or END; walls and edges stop it."""
    places, (rows, columns) = places_of(numbers), numbers.shape
    found = np.empty((len(places), 4), np.int64)
    for move, (across, down) in enumerate(DIRECTIONS):
        row, column = places[:, 0] + int(down), places[:, 1] + int(across)
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        row, column = np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)
        stopped = ~inside | (grid.cells[row, column] == WALL)
        found[:, move] = np.where(stopped, np.arange(len(places)), numbers[row, column])
    return found


def start_in(grid: Grid, numbers: np.ndarray) -> np.ndarray:
    """The distribution (S,) that puts all on the first cell of the start, row by row."""
    row, column = np.argwhere(grid.cells == START)[0]
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
