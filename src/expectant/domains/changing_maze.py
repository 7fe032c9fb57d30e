"""The textbook's two mazes that change: the blocking maze and the shortcut maze."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.descriptions import abstract, description, option
from expectant.domains.finite import PHASE, FiniteMDP, FinitePart, tell_what_is_now
from expectant.domains.grids import (
    Grid,
    grid_drawing,
    grid_in,
    moves_in,
    numbers_of_cells,
    start_in,
)
from expectant.domains.outcomes import END
from expectant.domains.phases import PhaseClock, phase_clock, present_phase, tick_clock
from expectant.domains.tabular import TabularDomain
from expectant.parts import Drawing
from expectant.rules import number, whole
from expectant.verbs import reset, reward_now, step

PICTURE = """
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


tell_what_is_now(ChangingPart)


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


def changing_mdp(grids: Sequence[Grid], goal_reward: float, step_reward: float) -> FiniteMDP:
    """Grids, one for each phase, as a finite MDP; outcome p of a move is the one of phase p."""
    numbers = numbers_of_cells(grids)
    moves = np.stack([moves_in(grid, numbers) for grid in grids], axis=-1)
    chances = np.broadcast_to(np.eye(len(grids))[:, None, None], (len(grids), *moves.shape))
    same = (moves == moves[..., :1]).all(axis=-1)
    certain = np.eye(len(grids))[0]  # where a move does the same in all phases, one outcome is it
    return FiniteMDP(
        probabilities=np.where(same[None, ..., None], certain, chances),
        rewards=np.where(moves == END, goal_reward, step_reward),
        successors=moves,
        start=start_in(grids[0], numbers),
        switch_every=1,
    )


@abstract
class ChangingMaze(TabularDomain):
    """A maze of 6 × 9 cells whose wall, in row 3, changes once, after so many steps."""

    change_after: int = option(whole(1))
    goal_reward: float = option(number(), default=1.0)
    step_reward: float = option(number(), default=0.0)

    walls: ClassVar[tuple[str, str]]
    phases_in_words: ClassVar[tuple[str, str]]

    @property
    def grids(self) -> list[Grid]:
        """The cells in each phase."""
        return [grid_in(PICTURE.format(wall=wall)) for wall in self.walls]

    @property
    def phase_steps(self) -> tuple[int, int]:
        """The steps of each phase; the last one lasts as long as the run does."""
        return self.change_after, 1

    @property
    def drawing(self) -> Drawing:
        pays = (self.goal_reward,) * 2
        return grid_drawing(numbers_of_cells(self.grids), pays, self.phases_in_words)

    def table(self) -> FiniteMDP:
        return changing_mdp(self.grids, self.goal_reward, self.step_reward)

    def build(self, rng: np.random.Generator) -> ChangingPart:
        mdp = self.mdp().build(rng)
        return ChangingPart(mdp, phase_clock(self.phase_steps), mdp.now)


@description
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

    change_after: int = option(whole(1), default=1000)

    walls: ClassVar[tuple[str, str]] = ("########.", ".########")
    phases_in_words: ClassVar[tuple[str, str]] = ("the right way is open", "the left way is open")


@description
class ShortcutMaze(ChangingMaze):
    """A maze in which a shorter way opens (Sutton & Barto 2018, figure 8.5).

    Dynamics
        four actions: up (0), right (1), down (2), left (3). Walls and edges stop a move. A wall in
        row 3 spans columns 1 to 8, and columns 1 to 7 after ``change_after`` steps in all,
        whatever the episode.
    Reward, start, end
        as in ``BlockingMaze``.
    """

    change_after: int = option(whole(1), default=3000)

    walls: ClassVar[tuple[str, str]] = (".########", ".#######.")
    phases_in_words: ClassVar[tuple[str, str]] = ("the left way is open", "both ways are open")
