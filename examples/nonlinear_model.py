"""Compare a linear model with a network where the linear one cannot be right.

Which action opens a door depends on cell and signal together; the features are one-hot in each.
"""

from typing import Any

import numpy as np

import expectant as ex
from expectant.features.discrete import TablePart

SIGNALS = 2


def doors(cells: int = 6) -> ex.FiniteMDP:
    """Return a corridor of doors: state 2 x + y is cell x with signal y.

    Action (x + y) mod 2 opens the door to cell x + 1, the other action leads back to cell x − 1;
    a new signal is then drawn. Every step costs 1 but the one through the last door, which pays 10
    and ends the episode. Optimal values depend on the cell only, so they are linear in the features
    below. The expected next features are not: what a linear map can learn is nearly the same for
    both actions.
    """
    shape = (cells * SIGNALS, 2, SIGNALS)
    successors, rewards = np.zeros(shape, int), np.zeros(shape)
    for state in range(cells * SIGNALS):
        cell, signal = divmod(state, SIGNALS)
        for action in range(2):
            opens = action == (cell + signal) % 2
            cell_after = cell + 1 if opens else max(cell - 1, 0)
            ends = cell_after == cells
            successors[state, action] = -1 if ends else cell_after * SIGNALS + np.arange(SIGNALS)
            rewards[state, action] = 10.0 if ends else -1.0
    start = np.zeros(cells * SIGNALS)
    start[:SIGNALS] = 1.0 / SIGNALS
    return ex.FiniteMDP(np.full(shape, 1.0 / SIGNALS), rewards, successors, start)


class CellAndSignal(ex.Features):
    """Two ones: which cell, and which signal."""

    def shape(self, domain: Any) -> ex.extend.Shape:
        return ex.extend.Shape(domain.states // SIGNALS + SIGNALS, 2)

    def build(self, domain: Any, rng: np.random.Generator) -> TablePart:
        cell, signal = np.divmod(np.arange(domain.states), SIGNALS)
        return TablePart(np.stack([cell, domain.states // SIGNALS + signal], axis=1))


if __name__ == "__main__":
    for model in ("expectation", "network", "exact"):
        agent = ex.Lookahead(model=model)
        returns = ex.run(doors(), CellAndSignal(), agent, episodes=500, runs=20).returns
        print(f"{model:12} {returns[:, -100:].mean():6.2f}")
