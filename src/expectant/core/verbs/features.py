"""Verbs of feature maps, feature vectors and tables of vectors.

A feature map implements :func:`encode`. The other verbs are implemented for the vectors and tables
in :mod:`expectant.core.vectors`; components only call them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from expectant.core.dispatch import plain, verb

if TYPE_CHECKING:
    from expectant.core.vectors import Binary, BinaryTable, Weighted, WeightedTable

__all__ = [
    "copy",
    "dot_through",
    "encode",
    "encode_all",
    "index",
    "load",
    "matches",
    "put",
    "save",
    "size",
    "sum_through",
    "value",
]


@verb
def encode(features, observation, action, state):
    """Apply the state update s' = u(s, a, o): write the features of an observation into ``state``.

    ``action`` is the previous action, −1 at the start of an episode. A map with memory keeps what
    it needs of the past in arrays of its part.
    """


@plain
def encode_all(
    features: object,
    states: int,
    table: BinaryTable | WeightedTable,
    state: Binary | Weighted,
) -> None:
    """Write the vectors of all numbered states into a table, in order; ``state`` is scratch.

    Optional: the default calls :func:`encode` once per state.
    """
    for number in range(states):
        encode(features, np.array([number]), -1, state)
        state.state_index[0] = number
        save(table, number, state)


# ---------------------------------------------------------------------- vectors and tables


@verb
def size(state):
    """Return the number of active entries k."""


@verb
def index(state, n):
    """Return the feature that the n-th active entry stands for."""


@verb
def value(state, n):
    """Return the value of the n-th active entry."""


@verb
def put(state, n, index, value):
    """Set feature and value of the n-th active entry."""


@verb
def copy(state, source):
    """Overwrite ``state`` with another vector."""


@verb
def dot_through(state, rows, action, weights):
    """Return wᵀ F_a s, where rows[a, j] (A, d, D) is column j of F_a."""


@verb
def sum_through(state, rows, action, total):
    """Write F_a s into ``total`` (D,), where rows[a, j] (A, d, D) is column j of F_a."""


@verb
def save(table, row, state):
    """Write a vector into a row of a table."""


@verb
def load(table, row, state):
    """Read a row of a table into ``state``."""


@verb
def matches(table, row, state):
    """Return True if a row of a table equals this vector."""
