"""Rooms drawn as text, for the study of options."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Drawing
from expectant.core.rules import Rule, between, number
from expectant.domains.finite import END, FiniteMDP, TabularDomain
from expectant.domains.grids import (
    GOAL,
    START,
    grid_drawing,
    grid_moves,
    index_cells,
    parse_grid,
)

FREE, PIT = ".", "P"

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
    """A map as rows of equal length, stripped."""
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


class Rooms(TabularDomain):
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

    @cached_property
    def grid(self) -> np.ndarray:
        """The letters (rows, columns) of the map."""
        return parse_grid(self.plan)

    @cached_property
    def indices(self) -> np.ndarray:
        """State index of every cell of the map, −1 at goals."""
        return index_cells([self.grid])

    @property
    def letters(self) -> np.ndarray:
        """The letter of every state: (S,)."""
        return self.grid[self.indices >= 0]

    @property
    def named_states(self) -> dict[str, int]:
        """The states that have a name in the map."""
        plain = (FREE, START, PIT)
        return {str(name): s for s, name in enumerate(self.letters) if name not in plain}

    def table(self) -> FiniteMDP:
        moves, letters = grid_moves(self.grid, self.indices), self.letters
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

    @property
    def sketch(self) -> Drawing:
        return grid_drawing(self.indices, (self.goal_reward,))


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
