"""A chain that is walked once and then never again: where RVI Q-learning can lose its reference."""

from __future__ import annotations

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.finite import FiniteMDP
from expectant.domains.tabular import TabularDomain
from expectant.rules import number, whole

LINGER, GO = 0, 1


@description
class TransientChain(TabularDomain):
    """Transient states that lead to one in which all the rest is spent.

    Dynamics
        two actions. In the ``length`` states of the chain, go (1) leads to the next and linger (0)
        stays. The state after them, the last, is never left.
    Reward
        in the last state ``reward`` for go and 0 for linger; 0 in the chain.
    Start
        the first state.
    End
        never. The chain's states are not visited again, so a value of one of them, used as the
        reference of relative value iteration, stays what it was while all the others grow.
    """

    length: int = option(whole(1), default=3)
    reward: float = option(number(), default=1.0)

    def table(self) -> FiniteMDP:
        states = np.arange(self.length + 1)
        successors = np.stack([states, np.minimum(states + 1, self.length)], axis=1)
        rewards = np.zeros(successors.shape)
        rewards[-1, GO] = self.reward
        return FiniteMDP(
            np.ones((*successors.shape, 1)), rewards, successors[..., None],
            start=np.eye(1, self.length + 1)[0], endless=True,
        )  # fmt: skip
