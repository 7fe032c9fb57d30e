"""Verbs of feature maps, feature vectors and tables of vectors."""

from __future__ import annotations

from expectant.core.dispatch import verb

__all__ = [
    "copy",
    "dot_through",
    "encode",
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
    """The state update s' = u(s, a, o): write the feature vector of an observation into ``state``.

    ``action`` is the action that led here, −1 at the start of an episode. A map with memory
    keeps what it needs of the previous state in arrays of its own.
    """


@verb
def size(state):
    """How many entries of a feature vector are active (k)."""


@verb
def index(state, n):
    """Which feature the n-th active entry is."""


@verb
def value(state, n):
    """The value of the n-th active entry."""


@verb
def dot_through(state, rows, action, weights):
    """wᵀ F_a s, where rows[a, j] (A, d, D) is column j of F_a."""


@verb
def sum_through(state, rows, action, total):
    """Write F_a s into ``total`` (D,), where rows[a, j] (A, d, D) is column j of F_a."""


@verb
def copy(state, source):
    """Overwrite one feature vector with another."""


@verb
def put(state, n, index, value):
    """Make the n-th active entry of a feature vector this feature with this value."""


@verb
def save(table, row, state):
    """Write a feature vector into a row of a table of feature vectors."""


@verb
def matches(table, row, state):
    """Whether a row of a table of feature vectors is this vector."""


@verb
def load(table, row, state):
    """Read a row of a table of feature vectors into ``state``."""
