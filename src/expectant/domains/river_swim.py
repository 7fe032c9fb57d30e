"""River swim: a poor reward downstream, a rich one that has to be swum for."""

from __future__ import annotations

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.finite import FiniteMDP
from expectant.domains.tabular import TabularDomain
from expectant.parts import Drawing
from expectant.rules import between, number, whole

LEFT, RIGHT = 0, 1


@description
class RiverSwim(TabularDomain):
    """A row of states with a current to the left (Strehl & Littman 2008).

    Dynamics
        left (0) always succeeds. Right (1) leads on with probability ``forward``, back with
        probability ``back``, and otherwise nowhere; from the first state it cannot lead back, and
        in the last one it holds with probability ``hold`` and leads back otherwise.
    Reward
        ``low_reward`` for left in the first state, ``high_reward`` for right in the last one when
        it holds; else 0.
    Start
        the second or the third state, equally likely (the second, if there are only two).
    End
        never.
    """

    length: int = option(whole(2), default=6)
    forward: float = option(between(0, 1), default=0.3)
    back: float = option(between(0, 1), default=0.1)
    hold: float = option(between(0, 1), default=0.3)
    low_reward: float = option(number(), default=5.0)
    high_reward: float = option(number(), default=10_000.0)

    def validate(self) -> None:
        if self.forward + self.back > 1.0:
            raise ValueError(
                f"RiverSwim: forward and back must add up to 1 at most, got {self.forward:g} and "
                f"{self.back:g}"
            )

    @property
    def drawing(self) -> Drawing:
        return Drawing(("state", ""), ("left", "right"), directions=((-1.0, 0.0), (1.0, 0.0)))

    def table(self) -> FiniteMDP:
        last, states = self.length - 1, np.arange(self.length)
        probabilities, rewards = np.zeros((2, self.length, 2, self.length))
        probabilities[states, LEFT, np.maximum(states - 1, 0)] = 1.0
        for state in range(last):
            back = self.back if state > 0 else 0.0
            probabilities[state, RIGHT, max(state - 1, 0)] = back
            probabilities[state, RIGHT, state] += 1.0 - self.forward - back
            probabilities[state, RIGHT, state + 1] = self.forward
        probabilities[last, RIGHT, [last, last - 1]] = [self.hold, 1.0 - self.hold]
        rewards[0, LEFT, 0], rewards[last, RIGHT, last] = self.low_reward, self.high_reward
        first = states[1:3]
        start = np.isin(states, first) / first.size
        return FiniteMDP(probabilities, rewards, start=start, endless=True)
