"""The mountain car with tile coding: what planning saves in real steps.

``python examples/mountain_car.py 30 200`` takes 30 runs of 200 episodes, as in the documentation.
"""

import sys
from typing import Any

import numpy as np

import expectant as ex

LEVEL, WINDOW = 150, 10  # learned: ten episodes in a row take 150 steps each on average
domain, features = ex.MountainCar(), ex.Tiles(tilings=8, tiles=8)
common: dict[str, Any] = {"step_unit": "total", "epsilon": 0.0}
agents = {  # values start at 0, which is more than any can be: that explores enough
    "Q-learning": ex.QLearning.paper(1.0, **common),
    "Algorithm 1": ex.Lookahead.paper(0.2, 0.2, replay_capacity=None, **common),
    "Algorithm 2": ex.CachedValues.paper(0.1, 0.3, 0.3, replay_capacity=None, **common),
}


def steps_to_level(lengths: np.ndarray) -> float:
    """Count real steps until the level was reached; all of them if it never was."""
    means = np.convolve(lengths, np.ones(WINDOW) / WINDOW, "valid")
    first = int(np.argmax(means <= LEVEL)) if (means <= LEVEL).any() else lengths.size - WINDOW
    return float(lengths[: first + WINDOW].sum())


if __name__ == "__main__":
    runs, episodes = (int(word) for word in (sys.argv[1:] or ("4", "40")))
    print(f"{'':12} {'steps an episode, last half':>32} {'real steps to the level':>34}")
    for name, agent in agents.items():
        lengths = ex.run(domain, features, agent, episodes=episodes, runs=runs).lengths
        late = ex.analysis.interval(lengths[:, episodes // 2 :].mean(axis=1))
        needed = ex.analysis.interval(np.array([steps_to_level(row) for row in lengths]))
        print(f"{name:12} {late[0]:12.1f} ({late[1]:6.1f} to {late[2]:6.1f}) "
              f"{needed[0]:15.0f} ({needed[1]:6.0f} to {needed[2]:6.0f})")  # fmt: skip
