"""The paper's three-state counterexample to planning with action values."""

from __future__ import annotations

import numpy as np

from expectant.core.config import parameter
from expectant.core.rules import number
from expectant.domains.finite import END, FiniteMDP, TabularDomain


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
