"""Rooms with walls, drawn as text: the worlds in which options are studied."""

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
    grid_in,
    moves_in,
    numbers_of_cells,
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


def _plan(value: Any) -> str:
    """A map as rows of equal length, without the empty lines around it."""
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
    _plan,
)


class Rooms(TabularDomain):
    """A grid of cells between walls, drawn as text.

    Dynamics
        four actions: up (0), right (1), down (2), left (3). The wanted move is made with
        probability 1 − ``slip``, each of the others with ``slip`` / 3. Walls and edges block.
    Reward
        that of the cell arrived in, also by staying there: ``goal_reward`` for a goal G,
        ``pit_reward`` for a pit P, else 0.
    Start
        evenly in the cells S; anywhere if there are none.
    End
        in a goal.

    States are the cells in reading order, walls and goals left out. Every other letter or digit is
    a cell that has a name, such as a hallway: ``named`` tells its number.
    """

    plan: str = parameter(PLAN)
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
        """The map, a letter a cell."""
        return grid_in(self.plan)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The number of every cell of the map, −1 at goals."""
        return numbers_of_cells([self.grid])

    @property
    def letters(self) -> np.ndarray:
        """The letter of every state: (S,)."""
        return self.grid[self.numbers >= 0]

    @property
    def named(self) -> dict[str, int]:
        """The states that have a name of their own in the map."""
        plain = (FREE, START, PIT)
        return {str(name): s for s, name in enumerate(self.letters) if name not in plain}

    def table(self) -> FiniteMDP:
        """The rooms as a finite MDP; outcome o is the move o."""
        moves, letters = moves_in(self.grid, self.numbers), self.letters
        pays = np.where(letters[moves] == PIT, self.pit_reward, 0.0)
        pays = np.where(moves == END, self.goal_reward, pays)
        chances = np.full((4, 4), self.slip / 3) + (1.0 - 4 / 3 * self.slip) * np.eye(4)
        shape, starts = (letters.size, 4, 4), letters == START
        return FiniteMDP(
            probabilities=np.broadcast_to(chances, shape),
            rewards=np.broadcast_to(pays[:, None, :], shape),
            successors=np.broadcast_to(moves[:, None, :], shape),
            start=starts / starts.sum() if starts.any() else None,
        )

    @property
    def drawing(self) -> Drawing:
        return grid_drawing(self.numbers, (self.goal_reward,))


class TwoRooms(Rooms):
    """Two rooms and a hallway, with pits on the short way to it (Sutton et al. 2023).

    Dynamics, reward, start, end
        as in ``Rooms``; without slips.
    """

    plan: str = parameter(PLAN, default=TWO_ROOMS)


class FourRooms(Rooms):
    """Four rooms and four hallways, with pits in one room (Sutton et al. 2023).

    Dynamics, reward, start, end
        as in ``Rooms``; the wanted move is made with probability 2/3.
    """

    plan: str = parameter(PLAN, default=FOUR_ROOMS)
    slip: float = parameter(between(0, 1), default=1 / 3, kw_only=True)
