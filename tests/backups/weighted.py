"""Features with values, for the tests: some of them zero, so that entries are switched off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import expectant as ex
from expectant.core.verbs import encode


class ValuesPart(NamedTuple):
    active: np.ndarray
    values: np.ndarray


@encode.register(ValuesPart)
def _(features, observation, action, state):
    row = observation[0]
    for n in range(features.active.shape[1]):
        state.active[n] = features.active[row, n]
        state.values[n] = features.values[row, n]


class Values(ex.Features):
    """Three entries of seven per state; every third entry is zero."""

    def shape(self, domain):
        return ex.extend.Shape(7, 3, weighted=True)

    def build(self, domain, rng):
        states = domain.states
        active = np.array([np.sort(rng.choice(7, 3, replace=False)) for _ in range(states)])
        values = rng.normal(size=(states, 3)) / 2.0
        values[::2, 2] = 0.0
        return ValuesPart(active.astype(np.int64), values)
