"""A hash table that numbers the distinct feature vectors seen so far.

Open addressing with linear probing: a look-up costs O(k) however many vectors there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import Shape
from expectant.core.memory import full
from expectant.core.vectors import Table, empty_table
from expectant.core.verbs import function, index, matches, save, size, value

EMPTY = -1
MULTIPLIER, MODULUS = 1_000_003, 2_147_483_647  # products stay below 2⁶³
RESOLUTION = 1_048_576.0  # closer values may have the same hash, but not the same number


class DistinctPart(NamedTuple):
    """``vectors`` holds vector n in row n; ``slots`` maps hashes to numbers; ``used`` (1,)."""

    vectors: Table
    slots: np.ndarray
    used: np.ndarray


@function
def find_slot(distinct, state):
    """Return the slot of a vector: the first one from its hash on that holds it or is empty."""
    code = 7
    for n in range(size(state)):
        code = (code * MULTIPLIER + index(state, n) + 1) % MODULUS
        code = (code + int(value(state, n) * RESOLUTION)) % MODULUS
    slots = distinct.slots
    slot = code % slots.shape[0]
    while slots[slot] != EMPTY and not matches(distinct.vectors, slots[slot], state):
        slot = slot + 1 if slot + 1 < slots.shape[0] else 0
    return slot


@function
def find_vector(distinct, state):
    """Return the number of a vector, −1 if it has none."""
    return distinct.slots[find_slot(distinct, state)]


@function
def find_or_add_vector(distinct, state):
    """Return the number of a vector, a new one if needed; −1 if the table is full."""
    slot = find_slot(distinct, state)
    if distinct.slots[slot] == EMPTY and distinct.used[0] < distinct.vectors.state_indices.shape[0]:
        save(distinct.vectors, distinct.used[0], state)
        distinct.slots[slot] = distinct.used[0]
        distinct.used[0] += 1
    return distinct.slots[slot]


def empty_vectors(shape: Shape, capacity: int) -> DistinctPart:
    """Allocate a table for ``capacity`` distinct vectors."""
    slots = 1 << (2 * capacity - 1).bit_length()  # a power of two, at most half full
    return DistinctPart(
        empty_table(shape, capacity), full(slots, EMPTY, np.int64), np.zeros(1, np.int64)
    )
