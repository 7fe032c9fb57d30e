"""The paper's corridor and counterexample, and Boyan's chain."""

from __future__ import annotations

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Drawing, Exit
from expectant.core.memory import claim
from expectant.core.rules import between, number, or_none, whole
from expectant.domains.finite import END, FiniteMDP, TabularDomain

LEFT, RIGHT = 0, 1


class Corridor(TabularDomain):
    """The paper's corridor: a row of cells between two terminal ends, one of them the goal.

    States
        the ``cells``, from left to right.
    Dynamics
        left (0) or right (1); with probability ``slip`` the move goes the other way.
    Reward
        ``goal_reward`` on entering the goal, ``other_reward`` on entering the other end,
        ``step_reward`` on every other step.
    Start
        uniform over the cells.
    End
        at either end. The goal is at the right end; the ends swap roles every ``switch_every``
        episodes, if that is given.
    """

    cells: int = parameter(whole(1), default=9, meaning="cells between the two ends")
    slip: float = parameter(between(0, 1), default=0.1)
    goal_reward: float = parameter(number(), default=20.0)
    other_reward: float = parameter(number(), default=0.0, meaning="reward at the other end")
    step_reward: float = parameter(number(), default=-1.0)
    switch_every: int | None = parameter(or_none(whole(1)), default=None)

    @property
    def sketch(self) -> Drawing:
        pays = (self.goal_reward, self.other_reward)
        switched = self.switch_every is not None
        return Drawing(
            names=("cell", ""),
            actions=("left", "right"),
            directions=((-1.0, 0.0), (1.0, 0.0)),
            exits=(
                Exit(-1.0, 0.0, pays[::-1] if switched else pays[1:]),
                Exit(float(self.cells), 0.0, pays if switched else pays[:1]),
            ),
            phases=("goal on the right", "goal on the left")[: 2 if switched else 1],
        )

    def table(self) -> FiniteMDP:
        claim(8 * 30 * self.cells)  # tables of two actions with two outcomes, and copies
        cell = np.arange(self.cells)
        moves = np.stack([cell - 1, cell + 1], axis=1)
        targets = np.stack([moves, moves[:, ::-1]], axis=2)  # outcomes: intended move, slip
        left, right = targets < 0, targets >= self.cells
        ends = [(self.other_reward, self.goal_reward), (self.goal_reward, self.other_reward)]
        rewards = np.stack(
            [
                np.where(left, at_left, np.where(right, at_right, self.step_reward))
                for at_left, at_right in ends[: 1 if self.switch_every is None else 2]
            ]
        )
        return FiniteMDP(
            probabilities=np.broadcast_to([1.0 - self.slip, self.slip], targets.shape),
            rewards=rewards,
            successors=np.where(left | right, END, targets),
            switch_every=self.switch_every,
        )


class Counterexample(TabularDomain):
    """The paper's three-state MDP where the mean of maxima differs from the maximum of means.

    States
        1, 2 and 3 (indices 0, 1, 2).
    Dynamics
        actions A (0) and B (1). From state 1, A leads to 2 or 3 with probability ½ each.
    Reward
        0 for A in state 1. In state 2, 0 for A and −5 for B; in state 3 the opposite.
    Start
        state 1.
    End
        after any action in states 2 and 3, and after B in state 1, which pays ``exit_reward``. The
        paper leaves B in state 1 open; values between −2.5 and −0.25 make its point.
    """

    exit_reward: float = parameter(number(), default=-1.0, meaning="reward of B in state 1")

    def table(self) -> FiniteMDP:
        probabilities = np.array([[[0.5, 0.5], [1.0, 0.0]]] + 2 * [[[1.0, 0.0], [1.0, 0.0]]])
        successors = np.full((3, 2, 2), END)
        successors[0, 0] = [1, 2]
        rewards = np.array([[0.0, self.exit_reward], [0.0, -5.0], [-5.0, 0.0]])
        return FiniteMDP(probabilities, rewards, successors, start=np.array([1.0, 0.0, 0.0]))


class BoyanChain(TabularDomain):
    """Boyan's chain, for prediction (Boyan 1999; Sutton et al. 2008).

    Dynamics
        one action. State n leads to n − 1 or n − 2, equally likely; state 1 to state 0; state 0 to
        the end. (State n here is state n + 1 of Sutton et al.)
    Reward
        ``step_reward`` from state 2 or above, ``last_reward`` from state 1, 0 from state 0. By
        default the value of state n is −2 n.
    Start
        state ``length`` − 1.
    End
        after state 0.
    """

    length: int = parameter(whole(3), default=98, meaning="states in a row")
    step_reward: float = parameter(number(), default=-3.0)
    last_reward: float = parameter(number(), default=-2.0, meaning="reward from state 1")

    def table(self) -> FiniteMDP:
        number = np.arange(self.length)
        successors = np.stack([number - 1, number - 2], axis=-1)
        successors[:2] = [[END, END], [0, 0]]
        rewards = np.full(self.length, self.step_reward)
        rewards[:2] = [0.0, self.last_reward]
        return FiniteMDP(
            probabilities=np.full((self.length, 1, 2), 0.5),
            rewards=rewards[:, None],
            successors=successors[:, None],
            start=np.eye(1, self.length, self.length - 1)[0],
        )
