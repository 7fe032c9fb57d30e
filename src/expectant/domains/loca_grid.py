"""The grid of the local-change adaptation test: two exits, one of which comes to pay less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.core.memory import claim
from expectant.descriptions import description, option
from expectant.domains.finite import (
    PHASE,
    STATE,
    FiniteMDP,
    FinitePart,
    TabularDomain,
    sample,
    tell_what_is_now,
)
from expectant.domains.grids import DIRECTIONS, LEFT, MOVES, RIGHT
from expectant.domains.outcomes import END
from expectant.domains.phases import (
    PHASE_STEPS,
    PhaseClock,
    cut_off_with_phases,
    entered_phase,
    phase_clock,
    right_exit_pays,
    tick_clock,
)
from expectant.parts import Drawing, Exit
from expectant.rules import between, number, or_none, whole
from expectant.verbs import reset, reward_now, step


class LocaGridPart(NamedTuple):
    """A finite MDP whose phases go by steps.

    ``starts`` (P, S) are cumulative, one distribution per phase; ``now`` is the MDP's own.
    """

    mdp: FinitePart
    starts: np.ndarray
    clock: PhaseClock
    now: np.ndarray


tell_what_is_now(LocaGridPart)
cut_off_with_phases(LocaGridPart)


@reset.register(LocaGridPart)
def _(domain, episode, rng):
    now = domain.now
    now[PHASE] = entered_phase(domain.clock)
    now[STATE] = sample(domain.starts[now[PHASE]], rng.random())


@step.register(LocaGridPart)
def _(domain, action, rng):
    tick_clock(domain.clock)
    return step(domain.mdp, action, rng)


@reward_now.register(LocaGridPart)
def _(domain, outcome):
    return reward_now(domain.mdp, outcome)


@description
class LocaGrid(TabularDomain):
    """A grid with an exit on either side, for the local-change adaptation test.

    Dynamics
        four actions: up (0), right (1), down (2), left (3). With probability ``noise`` the action
        is replaced by one drawn evenly from the four. Up and down stop at the edges. Left in the
        last column stays there: from that column only the right exit can be reached.
    Reward
        ``left_reward`` on leaving to the left of the first column; on leaving to the right of the
        last one ``right_reward`` in the first phase, ``later_reward`` in the second and third.
    Start
        uniform over all cells; in the second phase over those of the last column.
    End
        either exit. Episodes are cut off after ``step_limit`` steps, and where a phase is over.
    Phases
        three, of ``phase_steps`` steps; the third lasts as long as the run does. The agent is not
        told.
    """

    rows: int = option(whole(1), default=4)
    columns: int = option(whole(2), default=25)
    noise: float = option(between(0, 1), default=0.25)
    left_reward: float = option(number(), default=2.0)
    right_reward: float = option(number(), default=4.0)
    later_reward: float = option(number(), default=1.0)
    phase_steps: Sequence[int] = option(PHASE_STEPS, default=(100_000, 50_000, 50_000))
    step_limit: int | None = option(or_none(whole(1)), default=100)

    @property
    def states(self) -> int:
        return self.rows * self.columns

    @property
    def actions(self) -> int:
        return 4

    @property
    def drawing(self) -> Drawing:
        middle, states = (self.rows - 1) / 2, range(self.states)
        right = (self.right_reward, self.later_reward, self.later_reward)
        return Drawing(
            names=("column", "row"),
            actions=MOVES,
            cells=tuple((state % self.columns, state // self.columns) for state in states),
            directions=DIRECTIONS,
            exits=(
                Exit(-1.0, middle, (self.left_reward,) * 3),
                Exit(float(self.columns), middle, right),
            ),
            phases=right_exit_pays(self.right_reward, self.later_reward),
        )

    def table(self) -> FiniteMDP:
        """The grid as a finite MDP, for exact answers in every phase.

        Outcome o is the move o. Its phases are the grid's, but go by episodes there, as those of
        every ``FiniteMDP`` do, and all start evenly.
        """
        claim(8 * 16 * 14 * self.states)  # tables of three phases, and copies
        row, column = np.divmod(np.arange(self.states), self.columns)
        last = self.columns - 1
        moves = np.stack(
            [
                np.maximum(row - 1, 0) * self.columns + column,
                np.where(column == last, END, row * self.columns + column + 1),
                np.minimum(row + 1, self.rows - 1) * self.columns + column,
                np.where(column == 0, END, row * self.columns + column - (column < last)),
            ],
            axis=1,
        )
        chances = np.full((4, 4), self.noise / 4) + (1.0 - self.noise) * np.eye(4)
        exits = np.zeros((3, self.states, 4, 4))
        exits[:, column == 0, :, LEFT] = self.left_reward
        for present, pay in enumerate((self.right_reward, self.later_reward, self.later_reward)):
            exits[present, column == last, :, RIGHT] = pay
        shape = (self.states, 4, 4)
        return FiniteMDP(
            probabilities=np.broadcast_to(chances, shape),
            rewards=exits,
            successors=np.broadcast_to(moves[:, None, :], shape),
            switch_every=1,
        )

    def start_distributions(self) -> np.ndarray:
        """The probability of starting in each state (P, S), phase by phase."""
        everywhere = np.full(self.states, 1.0 / self.states)
        zone = np.arange(self.states) % self.columns == self.columns - 1
        return np.stack([everywhere, zone / zone.sum(), everywhere])

    def build(self, rng: np.random.Generator) -> LocaGridPart:
        mdp = self.mdp().build(rng)
        starts = np.cumsum(self.start_distributions(), axis=1)
        starts /= starts[:, -1:]
        return LocaGridPart(mdp, starts, phase_clock(self.phase_steps), mdp.now)
