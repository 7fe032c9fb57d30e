"""The maze of the textbook's first Dyna example, at any resolution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.finite import FiniteMDP
from expectant.domains.grids import (
    Grid,
    grid_drawing,
    grid_in,
    moves_in,
    numbers_of_cells,
    start_in,
)
from expectant.domains.outcomes import END
from expectant.domains.tabular import TabularDomain
from expectant.parts import Drawing
from expectant.rules import Rule, either, number, whole

PICTURE = """
    .......#G
    ..#....#.
    S.#....#.
    ..#......
    .....#...
    .........
"""


def _pair(value: Any) -> tuple[int, ...]:
    pair = tuple(whole(1).convert(item) for item in value)
    if len(pair) != 2:
        raise ValueError
    return pair


RESOLUTION = either(whole(1), Rule("two of them, for rows and for columns", _pair))


def maze_mdp(grid: Grid, goal_reward: float, step_reward: float) -> FiniteMDP:
    """A grid as a finite MDP: moves are certain, entering a goal pays and ends the episode."""
    numbers = numbers_of_cells([grid])
    moves = moves_in(grid, numbers)
    return FiniteMDP(
        probabilities=np.ones((*moves.shape, 1)),
        rewards=np.where(moves == END, goal_reward, step_reward),
        successors=moves[..., None],
        start=start_in(grid, numbers),
    )


@description
class DynaMaze(TabularDomain):
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

    resolution: int | Sequence[int] = option(RESOLUTION, default=1)
    goal_reward: float = option(number(), default=1.0)
    step_reward: float = option(number(), default=0.0)

    @cached_property
    def grid(self) -> Grid:
        """The cells."""
        given = self.resolution
        rows, columns = (given, given) if isinstance(given, int) else given
        return grid_in(PICTURE).refined(rows, columns)

    @property
    def drawing(self) -> Drawing:
        return grid_drawing(numbers_of_cells([self.grid]), (self.goal_reward,))

    def table(self) -> FiniteMDP:
        return maze_mdp(self.grid, self.goal_reward, self.step_reward)
