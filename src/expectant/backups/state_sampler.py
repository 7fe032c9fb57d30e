"""A learned distribution of states: planning without stored experience."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext
from expectant.core.memory import zeros
from expectant.core.rules import whole
from expectant.core.verbs import draw, function, index, put, remember, size, value

SAME = 1e-9  # relative squared distance of states that count as equal


class SamplerPart(NamedTuple):
    """Statistics of the states assigned to each of C prototypes.

    ``uses`` (C,) counts states, ``counts`` (C, d) how often each feature was active, ``sums``
    (C, d) are sums of its values, ``squares`` (C,) are ‖sums‖²; ``total`` (1,) counts all states.
    """

    uses: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    total: np.ndarray


@function
def nearest_prototype(sampler, state):
    """Nearest prototype to a state; an unused one, while there is any, if none equals it."""
    nearest, least, length = 0, math.inf, 0.0
    for n in range(size(state)):
        length += value(state, n) * value(state, n)
    for c in range(sampler.uses.shape[0]):
        uses = sampler.uses[c]
        if uses == 0:
            return c if least > SAME * length else nearest
        inner = 0.0
        for n in range(size(state)):
            inner += value(state, n) * sampler.sums[c, index(state, n)]
        distance = length - 2.0 * inner / uses + sampler.squares[c] / uses / uses
        if distance < least:
            nearest, least = c, distance
    return nearest


@remember.register(SamplerPart)
def _(sampler, transition):
    """Online k-means (MacQueen 1967): add the state to the mean of the nearest prototype."""
    state = transition.state
    c, sums = nearest_prototype(sampler, state), sampler.sums
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        if x != 0.0:
            sampler.squares[c] += x * (2.0 * sums[c, j] + x)
            sums[c, j] += x
            sampler.counts[c, j] += 1
    sampler.uses[c] += 1
    sampler.total[0] += 1


@draw.register(SamplerPart)
def _(sampler, state, rng):
    """Draw a prototype by its share, then features by systematic sampling (Madow 1949).

    Features lie end to end, each as long as its count; those under marks ``uses`` apart are active,
    the first mark being random. Every feature is active as often as in the prototype's states, and
    as many are active at once: with tile coding, one tile per tiling.
    """
    counts, mark, c = sampler.counts, int(rng.random() * sampler.total[0]), 0
    while mark >= sampler.uses[c]:
        mark -= sampler.uses[c]
        c += 1
    n, end = 0, 0
    for j in range(counts.shape[1]):
        end += counts[c, j]
        while end > mark and n < size(state):
            put(state, n, j, sampler.sums[c, j] / counts[c, j])
            n += 1
            mark += sampler.uses[c]
    while n < size(state):  # entries with value zero
        put(state, n, 0, 0.0)
        n += 1
    state.state_index[0] = -1
    return -1


class StateSampler(Backups):
    """States drawn from a mixture of ``clusters`` prototypes, learned online.

    This is the empirical distribution with one-hot features, or if there are no more distinct
    states than clusters. Otherwise feature frequencies are exact, but drawn states need not exist
    in the environment and have no state index.
    """

    short_name: ClassVar[str] = "sampler"
    knows_state_index: ClassVar[bool] = False

    clusters: int = parameter(whole(1), default=32)

    def build(self, context: BuildContext) -> SamplerPart:
        shape = (self.clusters, context.shape.size)
        return SamplerPart(
            zeros(self.clusters, np.int64),
            zeros(shape, np.int64),
            zeros(shape),
            zeros(self.clusters),
            np.zeros(1, np.int64),
        )
