"""Remember in a maze: a sign at the start tells which way to turn at the far end."""

from typing import NamedTuple

import numpy as np

import expectant as ex
from expectant.extend import observation, reset, step

PASSAGE, JUNCTION = 2, 3  # what is seen; 0 and 1 are the signs


class MazePart(NamedTuple):
    seen: np.ndarray  # (1,): the observation
    now: np.ndarray  # (2,): which way the goal is, and how many cells have been walked
    passage: int


@reset.register(MazePart)
def _(maze, episode, rng):
    maze.now[0] = maze.seen[0] = 0 if rng.random() < 0.5 else 1
    maze.now[1] = 0


@step.register(MazePart)
def _(maze, action, rng):  # 0: left, 1: right; in the passage both lead on
    if maze.now[1] > maze.passage:
        return 1.0 if action == maze.now[0] else -1.0, 0.0
    maze.now[1] += 1
    maze.seen[0] = JUNCTION if maze.now[1] > maze.passage else PASSAGE
    return 0.0, 1.0


@observation.register(MazePart)
def _(maze):
    return maze.seen


class Maze(ex.Domain):
    passage: int = ex.parameter(ex.rules.whole(0), default=4)  # cells that look alike
    actions, states = 2, 4

    def build(self, rng):
        return MazePart(np.zeros(1, np.int64), np.zeros(2, np.int64), self.passage)


FEATURES = {
    "no memory": ex.features.History(ex.OneHot(), steps=1),
    "the last 3 observations": ex.features.History(ex.OneHot(), steps=3),
    "the last 6 observations": ex.features.History(ex.OneHot(), steps=6),
}


def mean_return(features, episodes=2000, runs=30):
    """Return the mean return of the second half, with its interval."""
    agent = ex.QLearning.paper(action_step=0.1)
    returns = ex.run(Maze(), features, agent, episodes=episodes, runs=runs).returns
    return ex.analysis.interval(returns[:, episodes // 2 :].mean(axis=1))


if __name__ == "__main__":  # at best 1 − ε = 0.9, and 0 without memory
    for name, features in FEATURES.items():
        mean, low, high = mean_return(features)
        print(f"{name:24} {mean:5.2f} ({low:5.2f} to {high:5.2f})")
