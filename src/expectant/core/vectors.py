"""Feature vectors in compiled code: the active entries only.

A state s is a sparse vector. Binary vectors hold the indices of their ones; weighted vectors also
hold values (zero switches an entry off). ``state_index`` is the environment's state, which only
exact models may use.
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
    "Binary", "BinaryTable", "Transition", "Weighted", "WeightedTable", "add", "dense", "dot",
    "empty_state", "empty_table", "max_action_value", "state_value",
]  # fmt: skip

UNKNOWN_STATES = 2**31  # assumed if a domain does not number its states


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


Vector = Binary | Weighted
Table = BinaryTable | WeightedTable


class Transition(NamedTuple):
    """A real step: s, a, r, s', alive (0.0 if s' is terminal) and the domain's outcome."""

    state: Vector
    action: int
    reward: float
    next_state: Vector
    alive: float
    outcome: int


def empty_state(shape: Shape) -> Vector:
    """Make a vector of the given shape to write into."""
    active, state_index = np.zeros(shape.active, np.int64), np.array([-1], np.int64)
    if shape.weighted:
        return Weighted(active, np.zeros(shape.active), state_index)
    return Binary(active, state_index)


def empty_table(shape: Shape, rows: int, states: int = UNKNOWN_STATES) -> Table:
    """Make a table of vectors of the given shape, for a domain with so many states.

    Integers are as narrow as possible, because long tables exceed the processor's cache; all have
    one type, because every combination of types is compiled separately.
    """
    kind = smallest_int_type(max(shape.size, states) - 1)
    active, numbers = zeros((rows, shape.active), kind), full(rows, -1, kind)
    if shape.weighted:
        return WeightedTable(active, zeros((rows, shape.active)), numbers)
    return BinaryTable(active, numbers)


def dense(state: Vector, length: int) -> np.ndarray:
    """Return the dense vector (plain Python only)."""
    result = np.zeros(length)
    for n in range(size(state)):
        result[index(state, n)] += value(state, n)
    return result


@function
def dot(state, weights):
    """Return wᵀs."""
    total = 0.0
    for n in range(size(state)):
        total += value(state, n) * weights[index(state, n)]
    return total


@function
def max_action_value(weights, state):
    """Return max_a w_aᵀ s."""
    best = -math.inf
    for action in range(weights.shape[0]):
        candidate = dot(state, weights[action])
        if candidate > best:
            best = candidate
    return best


@optional
def state_value(weights, state):
    """Return v̂(s) = wᵀs for weights (D,), or max_a q̂(s, a) = max_a w_aᵀ s for weights (A, D).

    Non-linear values (:class:`expectant.extend.Values`) implement it as a verb of their part.
    """
    if weights.ndim == 1:  # decided at compile time
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
@copy.register(Weighted)
def _(state, source):
    for n in range(size(state)):
        put(state, n, index(source, n), value(source, n))
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
