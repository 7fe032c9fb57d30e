"""Two loops from one state: a small reward now or a larger one later, for ever."""

from __future__ import annotations

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.finite import FiniteMDP
from expectant.domains.tabular import TabularDomain
from expectant.rules import number, whole


@description
class TwoChoice(TabularDomain):
    """Two loops through state 0, one of which pays at once and the other more (Wan et al. 2021).

    Dynamics
        two actions, which differ only in state 0: action 0 leads around the first loop, states 1 to
        ``length`` − 1 and back, action 1 around the second, states ``length`` to 2 ``length`` − 2
        and back. Either takes ``length`` steps.
    Reward
        ``soon`` on the first step of the first loop, ``late`` on the last step of the second one;
        else 0. As they are, the first loop earns 0.2 a step and the second 0.4.
    Start
        uniform over all states.
    End
        never.
    """

    length: int = option(whole(2), default=5)
    soon: float = option(number(), default=1.0)
    late: float = option(number(), default=2.0)

    def table(self) -> FiniteMDP:
        last = 2 * self.length - 2
        successors = np.repeat(np.arange(1, last + 2)[:, None], 2, axis=1)
        successors[0] = [1, self.length]
        successors[[self.length - 1, last]] = 0
        rewards = np.zeros(successors.shape)
        rewards[0, 0], rewards[last] = self.soon, self.late
        return FiniteMDP(
            np.ones((*successors.shape, 1)), rewards, successors[..., None], endless=True
        )
