"""Boyan's chain: a walk to the end that is there to be evaluated, not controlled."""

from __future__ import annotations

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.finite import FiniteMDP, TabularDomain
from expectant.domains.outcomes import END
from expectant.rules import number, whole


@description
class BoyanChain(TabularDomain):
    """A chain walked down one or two states at a time (Boyan 1999; Sutton et al. 2008).

    Dynamics
        one action. State n leads to n − 1 or n − 2, equally likely; state 1 to state 0; state 0 to
        the end. (Sutton et al. count from the end, so that their state s is n + 1 here.)
    Reward
        ``step_reward`` for a step from state 2 or above, ``last_reward`` from state 1, 0 from state
        0. As they are, state n is worth −2 n exactly.
    Start
        state ``length`` − 1.
    End
        after state 0.
    """

    length: int = option(whole(3), default=98)
    step_reward: float = option(number(), default=-3.0)
    last_reward: float = option(number(), default=-2.0)

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
