"""Feature vectors as compiled code sees them: the active entries only.

A state s is a sparse vector. Binary ones hold just the indices of their ones; weighted ones also
hold values (a value of zero switches an entry off). ``place`` is the number of the environment's
own state, which only exact models may look at.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import Shape, smallest_int_type
from expectant.core.memory import full, zeros
from expectant.core.reductions import dot_rows, dot_weighted_rows, sum_rows, sum_weighted_rows
from expectant.core.verbs import (
    copy,
    dot_through,
    function,
    index,
    load,
    matches,
    optional,
    put,
    save,
    size,
    sum_through,
    value,
)

__all__ = [
    "Binary",
    "BinaryTable",
    "Transition",
    "Weighted",
    "WeightedTable",
    "add",
    "dense",
    "dot",
    "empty_state",
    "empty_table",
    "max_action_value",
    "state_value",
]

SOME = 2**31  # states, if it is not known how many a domain numbers


class Binary(NamedTuple):
    """A vector of zeros and ones: ``active`` (k,) are the ones."""

    active: np.ndarray
    state_index: np.ndarray


class Weighted(NamedTuple):
    """A vector with ``values`` (k,) at ``active`` (k,)."""

    active: np.ndarray
    values: np.ndarray
    state_index: np.ndarray


class BinaryTable(NamedTuple):
    """Rows of binary vectors: ``active`` (n, k), ``state_indices`` (n,)."""

    active: np.ndarray
    state_indices: np.ndarray


class WeightedTable(NamedTuple):
    """Rows of weighted vectors: ``active`` and ``values`` (n, k), ``state_indices`` (n,)."""

    active: np.ndarray
    values: np.ndarray
    state_indices: np.ndarray


class Transition(NamedTuple):
    """One real step: s, a, r, s', alive = 0.0 if s' is terminal, and the domain's outcome."""

    state: Binary | Weighted
    action: int
    reward: float
    next_state: Binary | Weighted
    alive: float
    outcome: int


def empty_state(shape: Shape) -> Binary | Weighted:
    """A vector of the given shape to write into."""
    active, state_index = np.zeros(shape.active, np.int64), np.array([-1], np.int64)
    if shape.weighted:
        return Weighted(active, np.zeros(shape.active), state_index)
    return Binary(active, state_index)


def empty_table(shape: Shape, rows: int, state_indices: int = SOME) -> BinaryTable | WeightedTable:
    """A table of vectors of the given shape, of a domain that numbers so many states.

    Long tables do not fit into a processor's cache, so their numbers are as narrow as can be; of
    one kind, as every kind is compiled by itself.
    """
    kind = smallest_int_type(max(shape.size, state_indices) - 1)
    active, numbers = zeros((rows, shape.active), kind), full(rows, -1, kind)
    if shape.weighted:
        return WeightedTable(active, zeros((rows, shape.active)), numbers)
    return BinaryTable(active, numbers)


def dense(state: Binary | Weighted, length: int) -> np.ndarray:
    """The vector written out (plain Python only)."""
    result = np.zeros(length)
    for n in range(size(state)):
        result[index(state, n)] += value(state, n)
    return result


@function
def dot(state, weights):
    """wᵀs."""
    total = 0.0
    for n in range(size(state)):
        total += value(state, n) * weights[index(state, n)]
    return total


@function
def max_action_value(weights, state):
    """max_a w_aᵀ s."""
    best = -math.inf
    for action in range(weights.shape[0]):
        candidate = dot(state, weights[action])
        if candidate > best:
            best = candidate
    return best


@optional
def state_value(weights, state):
    """What a state promises: v̂ = wᵀs by weights (D,), max_a q̂ = max_a w_aᵀ s by weights (A, D).

    Values that are not linear are a part in the place of weights, and say by this verb what v̂ is.
    """
    if weights.ndim == 1:  # decided when it is compiled
        return dot(state, weights)
    return max_action_value(weights, state)


@function
def add(state, weights, amount):
    """w += amount · s."""
    for n in range(size(state)):
        weights[index(state, n)] += amount * value(state, n)


@size.register(Binary)
@size.register(Weighted)
def _(state):
    return state.active.shape[0]


@index.register(Binary)
@index.register(Weighted)
def _(state, n):
    return state.active[n]


@value.register(Binary)
def _(state, n):
    return 1.0


@dot_through.register(Binary)
def _(state, rows, action, weights):
    return dot_rows(rows, action, state.active, weights)


@sum_through.register(Binary)
def _(state, rows, action, total):
    sum_rows(total, rows, action, state.active)


@put.register(Binary)
def _(state, n, index, value):
    state.active[n] = index


@copy.register(Binary)
def _(state, source):
    for n in range(state.active.shape[0]):
        state.active[n] = source.active[n]
    state.state_index[0] = source.state_index[0]


@save.register(BinaryTable)
def _(table, row, state):
    for n in range(state.active.shape[0]):
        table.active[row, n] = state.active[n]
    table.state_indices[row] = state.state_index[0]


@matches.register(BinaryTable)
def _(table, row, state):
    same = True
    for n in range(state.active.shape[0]):
        same = same and table.active[row, n] == state.active[n]
    return same


@load.register(BinaryTable)
def _(table, row, state):
    for n in range(state.active.shape[0]):
        state.active[n] = table.active[row, n]
    state.state_index[0] = table.state_indices[row]


@value.register(Weighted)
def _(state, n):
    return state.values[n]


@dot_through.register(Weighted)
def _(state, rows, action, weights):
    return dot_weighted_rows(rows, action, state.active, state.values, weights)


@sum_through.register(Weighted)
def _(state, rows, action, total):
    sum_weighted_rows(total, rows, action, state.active, state.values)


@put.register(Weighted)
def _(state, n, index, value):
    state.active[n] = index
    state.values[n] = value


@copy.register(Weighted)
def _(state, source):
    for n in range(state.active.shape[0]):
        state.active[n] = source.active[n]
        state.values[n] = source.values[n]
    state.state_index[0] = source.state_index[0]


@save.register(WeightedTable)
def _(table, row, state):
    for n in range(state.active.shape[0]):
        table.active[row, n] = state.active[n]
        table.values[row, n] = state.values[n]
    table.state_indices[row] = state.state_index[0]


@matches.register(WeightedTable)
def _(table, row, state):
    same = True
    for n in range(state.active.shape[0]):
        same = same and table.active[row, n] == state.active[n]
        same = same and table.values[row, n] == state.values[n]
    return same


@load.register(WeightedTable)
def _(table, row, state):
    for n in range(state.active.shape[0]):
        state.active[n] = table.active[row, n]
        state.values[n] = table.values[row, n]
    state.state_index[0] = table.state_indices[row]
