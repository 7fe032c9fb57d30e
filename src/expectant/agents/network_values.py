"""Nonlinear state values with one hidden layer, v̂(s) = uᵀ tanh(Wᵀ s).

There are no biases, so that the zero vector, which stands for the end, has value 0. u starts at 0,
hidden weights are normal with variance 1 / k. Every operation costs O(k H).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Values
from expectant.core.memory import zeros
from expectant.core.reductions import dot_row, padded_size
from expectant.core.rules import whole
from expectant.core.updates import correct, displacement
from expectant.core.vectors import state_value
from expectant.core.verbs import function, index, size, value
from expectant.models.network import tanh


class NetworkValuesPart(NamedTuple):
    """``inner`` (d, M) is W and ``outer`` (1, M) uᵀ, where M is H padded with zeros.

    Scratch: ``hidden`` (M,) for tanh(Wᵀ s), ``moved`` (1,) for the change of v̂(s) in the last step.
    """

    inner: np.ndarray
    outer: np.ndarray
    hidden: np.ndarray
    moved: np.ndarray


@function
def compute_hidden(values, state):
    """Write tanh(Wᵀ s) into the scratch of the network."""
    inner, hidden = values.inner, values.hidden
    for i in range(hidden.shape[0]):
        hidden[i] = 0.0
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        for i in range(hidden.shape[0]):
            hidden[i] += x * inner[j, i]
    for i in range(hidden.shape[0]):
        hidden[i] = tanh(hidden[i])


@state_value.register(NetworkValuesPart)
def _(values, state):
    compute_hidden(values, state)
    return dot_row(values.outer, 0, values.hidden)


@correct.register(NetworkValuesPart)
def _(values, state, error, step, row):
    """u_i += α δ h_i and W_ji += α δ u_i (1 − h_i²) s_j, both with the old u."""
    inner, outer, hidden = values.inner, values.outer, values.hidden
    before, amount = state_value(values, state), step * error
    for i in range(hidden.shape[0]):
        slope = outer[0, i] * (1.0 - hidden[i] * hidden[i])
        outer[0, i] += amount * hidden[i]
        hidden[i] = slope
    for n in range(size(state)):
        j, change = index(state, n), amount * value(state, n)
        for i in range(hidden.shape[0]):
            inner[j, i] += change * hidden[i]
    values.moved[0] = state_value(values, state) - before


@displacement.register(NetworkValuesPart)
def _(values, state, error, step):
    return values.moved[0]


class NetworkValues(Values):
    """State values with ``hidden`` tanh units, v̂(s) = uᵀ tanh(Wᵀ s), moved by ``value_step``.

    Hidden weights are drawn from a spawned generator, so that features do not depend on them.
    """

    hidden: int = parameter(whole(1), default=16, meaning="units in the hidden layer")

    def build(self, context: BuildContext) -> NetworkValuesPart:
        width = padded_size(self.hidden)
        inner = zeros((context.shape.size, width))
        draws = context.rng.spawn(1)[0].normal(size=(context.shape.size, self.hidden))
        inner[:, : self.hidden] = draws / math.sqrt(context.shape.active)
        return NetworkValuesPart(inner, zeros((1, width)), zeros(width), np.zeros(1))
