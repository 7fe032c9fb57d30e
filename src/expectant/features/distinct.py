"""Numbering the distinct feature vectors that have been seen.

Open addressing in arrays: a vector's active entries and values are hashed to a place in ``slots``,
which holds the vector's number. Looking one up costs O(k) however many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.features.vector import BinaryTable, WeightedTable, empty_table, table_bytes
from expectant.integrity import require, within
from expectant.parts import Shape, Site, bytes_of
from expectant.verbs import check_restored, function, index, matches, save, size, value

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
    if distinct.slots[slot] == EMPTY and distinct.used[0] < distinct.vectors.places.shape[0]:
        save(distinct.vectors, distinct.used[0], state)
        distinct.slots[slot] = distinct.used[0]
        distinct.used[0] += 1
    return distinct.slots[slot]


def _slots_for(capacity: int) -> int:
    """A power of two, so that the slots are never more than half full."""
    return 1 << (2 * capacity - 1).bit_length()


def distinct_vectors(shape: Shape, capacity: int) -> DistinctPart:
    """Room for so many distinct vectors."""
    slots = np.full(_slots_for(capacity), EMPTY, np.int64)
    return DistinctPart(empty_table(shape, capacity), slots, np.zeros(1, np.int64))


def distinct_bytes(shape: Shape, capacity: int) -> int:
    """The memory of :func:`distinct_vectors`."""
    return table_bytes(shape, capacity) + bytes_of((_slots_for(capacity),), (1,))


# ------------------------------------------------------------------------------ learners' files


def check_numbers(distinct: DistinctPart, built: DistinctPart, site: Site, count: int) -> None:
    """Refuse slots that are not those of the first ``count`` vectors, each of them once.

    A vector that a look-up does not find would be entered again and again, until no slot is empty
    and looking up never ends.
    """
    check_restored(distinct.vectors, built.vectors, site)
    rows, slots = distinct.vectors.places.shape[0], distinct.slots
    within("distinct states: slots", slots, EMPTY, rows - 1)
    taken = np.flatnonzero(slots != EMPTY)
    numbers = slots[taken]
    require(
        0 <= count <= rows and np.array_equal(np.sort(numbers), np.arange(count)),
        f"distinct states: slots must be those of {count} states",
    )
    entries = _entries(distinct.vectors, count)
    require(np.unique(entries, axis=0).shape[0] == count, "distinct states: no two may be the same")
    homes, known = _homes(distinct, count)
    empty = np.concatenate([[0], np.cumsum(np.tile(slots == EMPTY, 2))])
    homes, known = homes[numbers], known[numbers]
    gaps = empty[homes + (taken - homes) % slots.shape[0]] - empty[homes]
    require(
        not gaps[known].any(), "distinct states: slots must be where their states are looked up"
    )


def _entries(vectors: BinaryTable | WeightedTable, count: int) -> np.ndarray:
    """The first rows of a table as numbers that are the same where the vectors are."""
    active = vectors.active[:count].astype(float)
    if isinstance(vectors, BinaryTable):
        return active
    return np.concatenate([active, vectors.values[:count] + 0.0], axis=1)  # −0.0 is 0.0


def _homes(distinct: DistinctPart, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The slot where the look-up of each vector begins (see ``slot_of``), and whether it is known.

    It is not for a value too large to be made a whole number.
    """
    vectors, active = distinct.vectors, distinct.vectors.active[:count]
    values = np.ones(active.shape)
    if isinstance(vectors, WeightedTable):
        values = vectors.values[:count]
    scaled = values * FINENESS
    large = np.abs(scaled) >= 2.0**62
    fine = np.where(large, 0.0, scaled).astype(np.int64)
    code = np.full(count, 7, np.int64)
    for n in range(active.shape[1]):
        code = (code * MULTIPLIER + active[:, n] + 1) % MODULUS
        code = (code + fine[:, n]) % MODULUS
    return code % distinct.slots.shape[0], np.logical_not(large.any(axis=1))
