"""A binary heap of numbered things whose priorities may change at any time, in arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import full, zeros
from expectant.core.verbs import function

ABSENT = -1


class HeapPart(NamedTuple):
    """``order`` (n,) is the heap: things by number, the one with the highest priority first.

    ``positions`` (n,) says where each thing is in it (−1: nowhere), ``priorities`` (n,) are those
    of all things, in the heap or not; ``length`` (1,) is how many are in it.
    """

    order: np.ndarray
    positions: np.ndarray
    priorities: np.ndarray
    length: np.ndarray


@function
def put_at(heap, position, thing):
    """Let a thing stand at a position."""
    heap.order[position] = thing
    heap.positions[thing] = position


@function
def rise(heap, position):
    """Move what stands at a position up to where it belongs."""
    order, priorities = heap.order, heap.priorities
    thing = order[position]
    while position > 0:
        parent = (position - 1) // 2
        if priorities[order[parent]] >= priorities[thing]:
            break
        put_at(heap, position, order[parent])
        position = parent
    put_at(heap, position, thing)


@function
def sink(heap, position):
    """Move what stands at a position down to where it belongs."""
    order, priorities, length = heap.order, heap.priorities, heap.length[0]
    thing = order[position]
    child = 2 * position + 1
    while child < length:
        if child + 1 < length and priorities[order[child + 1]] > priorities[order[child]]:
            child += 1
        if priorities[thing] >= priorities[order[child]]:
            break
        put_at(heap, position, order[child])
        position, child = child, 2 * child + 1
    put_at(heap, position, thing)


@function
def rank(heap, thing, priority, threshold):
    """Give a thing a priority; it is in the heap as long as that exceeds the threshold."""
    order, positions, length = heap.order, heap.positions, heap.length
    heap.priorities[thing] = priority
    if priority > threshold:
        if positions[thing] == ABSENT:
            put_at(heap, length[0], thing)
            length[0] += 1
    elif positions[thing] != ABSENT:
        length[0] -= 1
        last = order[length[0]]
        put_at(heap, positions[thing], last)
        positions[thing] = ABSENT  # also where it was the last one itself
        thing = last
    if positions[thing] != ABSENT:
        rise(heap, positions[thing])
        sink(heap, positions[thing])


def empty_heap(size: int) -> HeapPart:
    """Room for the things 0 to size − 1, all of priority zero."""
    return HeapPart(
        zeros(size, np.int64),
        full(size, ABSENT, np.int64),
        zeros(size),
        np.zeros(1, np.int64),
    )
