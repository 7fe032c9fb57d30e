"""The paper's three-state counterexample to planning with action values."""

from __future__ import annotations

import numpy as np

from expectant.core.config import parameter
from expectant.core.rules import number
from expectant.domains.finite import END, FiniteMDP, TabularDomain


class Counterexample(TabularDomain):
    """Three states in which the mean of the maxima is not the maximum of the mean.

    Dynamics
        states 1, 2, 3 (numbered 0, 1, 2), actions A (0) and B (1). From state 1, A leads to 2 or 3
        with probability one half each.
    Reward
        A in state 1 pays nothing. In state 2, A pays 0 and B pays −5; in state 3 the opposite.
    Start
        state 1.
    End
        B in state 1 ends the episode with ``exit_reward`` (the paper does not say what it does; any
        value between −2.5 and −0.25 makes its point), and so does every action in states 2 and 3.
    """

    exit_reward: float = parameter(number(), default=-1.0)

    def table(self) -> FiniteMDP:
        probabilities = np.array([[[0.5, 0.5], [1.0, 0.0]]] + 2 * [[[1.0, 0.0], [1.0, 0.0]]])
        successors = np.full((3, 2, 2), END)
        successors[0, 0] = [1, 2]
        rewards = np.array([[0.0, self.exit_reward], [0.0, -5.0], [-5.0, 0.0]])
        return FiniteMDP(probabilities, rewards, successors, start=np.array([1.0, 0.0, 0.0]))
