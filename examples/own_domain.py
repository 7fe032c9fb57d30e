"""A domain of one's own: a drunkard's walk along a cliff, at compiled speed."""

from typing import NamedTuple

import numpy as np

import expectant as ex
from expectant.kit import observation, reset, step


class CliffPart(NamedTuple):  # what compiled code sees: arrays and numbers
    place: np.ndarray
    length: int
    wind: float


@reset.register(CliffPart)
def _(cliff, episode, rng):
    cliff.place[0] = 0


@step.register(CliffPart)
def _(cliff, action, rng):  # 0: walk, 1: run; running is faster and riskier
    if rng.random() < cliff.wind * (1 + 2 * action):
        return -20.0, 0.0  # reward, and 0.0 because the episode has ended
    cliff.place[0] += 1 + action
    return (10.0, 0.0) if cliff.place[0] >= cliff.length else (-1.0, 1.0)


@observation.register(CliffPart)
def _(cliff):
    return cliff.place


@ex.description
class Cliff(ex.Domain):  # what users write: settings, checked by rules
    length: int = ex.option(ex.rules.whole(2), default=12)
    wind: float = ex.option(ex.rules.between(0, 1), default=0.02)
    actions = 2
    states = property(lambda self: self.length)

    def build(self, rng):
        return CliffPart(np.zeros(1, np.int64), self.length, self.wind)


if __name__ == "__main__":
    for agent in (ex.QLearning(0.1), ex.Lookahead(0.1, 0.1, planning_steps=10)):
        returns = ex.run(Cliff(), ex.OneHot(), agent, episodes=500, runs=30).returns
        print(f"{type(agent).__name__:10} {returns.mean():6.2f}")
