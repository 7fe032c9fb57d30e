"""The cliff: a short way along an abyss and a long, safe one."""

from __future__ import annotations

from functools import cached_property

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
from expectant.rules import number, whole

EDGE = "C"


@description
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

    rows: int = option(whole(2), default=4)
    columns: int = option(whole(3), default=12)
    step_reward: float = option(number(), default=-1.0)
    cliff_reward: float = option(number(), default=-100.0)

    @cached_property
    def grid(self) -> Grid:
        """The cells; those of the cliff are free to be stepped into."""
        upper = "\n".join(["." * self.columns] * (self.rows - 1))
        return grid_in(f"{upper}\nS{EDGE * (self.columns - 2)}G")

    @cached_property
    def numbers(self) -> np.ndarray:
        """The number of every cell, as far as it has one."""
        return numbers_of_cells([Grid(np.where(self.grid.cells == EDGE, "#", self.grid.cells))])

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
