"""Asking an agent about many states at once: what it values, prefers and predicts there.

The model is asked where each coordinate will be: with weights w_x for which w_xᵀs is a coordinate x
of the state s. They are found by least squares over the states that are looked at, so it can be
asked whatever its features are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from expectant.engine.asking import States
from expectant.engine.compile.kernels import Kernel
from expectant.engine.look import look, set_aside
from expectant.engine.loop import Run
from expectant.engine.memory.demand import Also
from expectant.features.vector import table_bytes
from expectant.lanes import padded
from expectant.parts import Need, Site, bytes_of
from expectant.show.animation.frames import UNDECIDED

ASKED = ("features", "values", "preferences", "model")


def probing_memory(count: int) -> Also:
    """What looking at so many states takes: above all, their vectors written out."""

    def needs(site: Site) -> Sequence[Need]:
        shape, matrix = site.shape, (2, count, site.shape.size)
        held = table_bytes(shape, count) + bytes_of(matrix, (5, site.width))
        what = f"looking at {count:,} states ({shape.size:,} features each)"
        building = bytes_of(matrix)  # least squares work on copies
        return [Need(what, held, "a smaller lattice", building)]

    return needs


class Prober:
    """Asks the agent of one run about the same states again and again, without touching the run.

    ``points`` (n, g) are the coordinates of the states.
    """

    def __init__(self, kernel: Kernel, states: States, points: np.ndarray) -> None:
        self.kernel, self.states, self.points = kernel, states, points
        self.measures: np.ndarray | None = None  # (1 + g, D), weights for a one and the coordinates
        self.solved = self.fitted = np.zeros(0)  # the features that the measures are for

    def look(self, run: Run) -> tuple[np.ndarray, ...]:
        """(values, actions, rewards, moves) of the states, see ``Frame``."""
        answers = look(self.kernel, set_aside(run), self.states, ASKED, measures=self.measures)
        if not np.array_equal(answers.features, self.solved):
            self._learn_measures(answers.features)
            answers = look(self.kernel, set_aside(run), self.states, ASKED, measures=self.measures)
        rows, chosen = np.arange(len(self.points)), answers.greedy
        futures = answers.futures[rows, chosen]
        moves = futures[:, 1:] - self.fitted * futures[:, :1]
        actions = np.where(answers.ties == 1, chosen, UNDECIDED)
        return answers.values, actions, answers.rewards[rows, chosen], moves

    def _learn_measures(self, table: np.ndarray) -> None:
        """Find weights that give a one and the coordinates by features (n, d)."""
        wanted = np.column_stack([np.ones(len(self.points)), self.points])
        found = np.linalg.lstsq(table, wanted, rcond=None)[0]
        self.measures = np.zeros((found.shape[1], padded(table.shape[1])))
        self.measures[:, : table.shape[1]] = found.T
        self.solved, self.fitted = table, (table @ found)[:, 1:]
