"""A priority queue of the items 0 to n − 1: a binary heap in arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import full, zeros
from expectant.core.verbs import function

ABSENT = -1


class HeapPart(NamedTuple):
    """``order`` (n,) is the heap of ``length`` (1,) items, the one with the highest priority first.

    ``positions`` (n,) are the items' positions in it (−1: absent), ``priorities`` (n,) those of all
    items.
    """

    order: np.ndarray
    positions: np.ndarray
    priorities: np.ndarray
    length: np.ndarray


@function
def put_at(heap, position, item):
    heap.order[position] = item
    heap.positions[item] = position


@function
def sift_up(heap, position):
    order, priorities = heap.order, heap.priorities
    item = order[position]
    while position > 0:
        parent = (position - 1) // 2
        if priorities[order[parent]] >= priorities[item]:
            break
        put_at(heap, position, order[parent])
        position = parent
    put_at(heap, position, item)


@function
def sift_down(heap, position):
    order, priorities, length = heap.order, heap.priorities, heap.length[0]
    item = order[position]
    child = 2 * position + 1
    while child < length:
        if child + 1 < length and priorities[order[child + 1]] > priorities[order[child]]:
            child += 1
        if priorities[item] >= priorities[order[child]]:
            break
        put_at(heap, position, order[child])
        position, child = child, 2 * child + 1
    put_at(heap, position, item)


@function
def set_priority(heap, item, priority, threshold):
    """Change the priority of an item, which is in the heap while that exceeds the threshold."""
    order, positions, length = heap.order, heap.positions, heap.length
    heap.priorities[item] = priority
    if priority > threshold:
        if positions[item] == ABSENT:
            put_at(heap, length[0], item)
            length[0] += 1
    elif positions[item] != ABSENT:
        length[0] -= 1
        last = order[length[0]]
        put_at(heap, positions[item], last)
        positions[item] = ABSENT  # also if it was the last one
        item = last
    if positions[item] != ABSENT:
        sift_up(heap, positions[item])
        sift_down(heap, positions[item])


@function
def pop(heap, threshold):
    """Remove the item with the highest priority."""
    item = heap.order[0]
    set_priority(heap, item, 0.0, threshold)
    return item


def empty_heap(size: int) -> HeapPart:
    """Allocate a heap without items; all priorities are zero."""
    positions = full(size, ABSENT, np.int64)
    return HeapPart(zeros(size, np.int64), positions, zeros(size), np.zeros(1, np.int64))
