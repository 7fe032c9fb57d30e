"""Write a domain: a drunkard's walk along a ledge, at compiled speed."""

from typing import NamedTuple

import numpy as np

import expectant as ex
from expectant.extend import observation, reset, step


class LedgePart(NamedTuple):  # the part that compiled code works on
    position: np.ndarray
    length: int
    wind: float


@reset.register(LedgePart)
def _(ledge, episode, rng):
    ledge.position[0] = 0


@step.register(LedgePart)
def _(ledge, action, rng):  # 0: walk, 1: run; running is faster and riskier
    if rng.random() < ledge.wind * (1 + 2 * action):
        return -20.0, 0.0  # reward, and 0.0 because the episode has ended
    ledge.position[0] += 1 + action
    return (10.0, 0.0) if ledge.position[0] >= ledge.length else (-1.0, 1.0)


@observation.register(LedgePart)
def _(ledge):
    return ledge.position


class Ledge(ex.Domain):  # the config: parameters, checked by rules
    length: int = ex.parameter(ex.rules.whole(2), default=12)
    wind: float = ex.parameter(ex.rules.between(0, 1), default=0.02)
    actions = 2
    states = property(lambda self: self.length)

    def build(self, rng):
        return LedgePart(np.zeros(1, np.int64), self.length, self.wind)


if __name__ == "__main__":
    for agent in (ex.QLearning(), ex.Lookahead(planning_steps=10)):
        returns = ex.run(Ledge(), ex.OneHot(), agent, episodes=500, runs=30).returns
        print(f"{type(agent).__name__:10} {returns.mean():6.2f}")
