"""Numbering the distinct feature vectors that have been seen.

Open addressing in arrays: a vector's active entries and values are hashed to a place in ``slots``,
which holds the vector's number. Looking one up costs O(k) however many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import Shape
from expectant.core.memory import full
from expectant.core.vectors import BinaryTable, WeightedTable, empty_table
from expectant.core.verbs import function, index, matches, save, size, value

EMPTY = -1
MULTIPLIER, MODULUS = 1_000_003, 2_147_483_647  # products stay below 2⁶³
FINENESS = 1_048_576.0  # values that differ by less may share a slot's chain, never a number


class DistinctPart(NamedTuple):
    """``vectors`` holds vector n in row n; ``slots`` (a power of two) maps hashes to numbers."""

    vectors: BinaryTable | WeightedTable
    slots: np.ndarray
    used: np.ndarray


@function
def slot_of(distinct, state):
    """Where a vector is, or would go: the first slot from its hash that holds it or nothing."""
    code = 7
    for n in range(size(state)):
        code = (code * MULTIPLIER + index(state, n) + 1) % MODULUS
        code = (code + int(value(state, n) * FINENESS)) % MODULUS
    slots = distinct.slots
    slot = code % slots.shape[0]
    while slots[slot] != EMPTY and not matches(distinct.vectors, slots[slot], state):
        slot = slot + 1 if slot + 1 < slots.shape[0] else 0
    return slot


@function
def number_of(distinct, state):
    """The number of a vector, −1 if it has none."""
    return distinct.slots[slot_of(distinct, state)]


@function
def numbered(distinct, state):
    """The number of a vector, given to it now if it is new; −1 if there are no numbers left."""
    slot = slot_of(distinct, state)
    if distinct.slots[slot] == EMPTY and distinct.used[0] < distinct.vectors.state_indices.shape[0]:
        save(distinct.vectors, distinct.used[0], state)
        distinct.slots[slot] = distinct.used[0]
        distinct.used[0] += 1
    return distinct.slots[slot]


def _slots_for(capacity: int) -> int:
    """A power of two, so that the slots are never more than half full."""
    return 1 << (2 * capacity - 1).bit_length()


def distinct_vectors(shape: Shape, capacity: int) -> DistinctPart:
    """Room for so many distinct vectors."""
    slots = full(_slots_for(capacity), EMPTY, np.int64)
    return DistinctPart(empty_table(shape, capacity), slots, np.zeros(1, np.int64))
