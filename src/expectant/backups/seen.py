"""Planning from every state that has been seen, rare ones as often as frequent ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.backups.base import Backups
from expectant.descriptions import Setting, Shape, description, setting
from expectant.features.distinct import EMPTY, DistinctPart, distinct_vectors, numbered, slot_of
from expectant.features.vector import Binary, Weighted, empty_state
from expectant.rules import whole
from expectant.verbs import draw, function, load, remember, save


class SeenPart(NamedTuple):
    """``distinct`` keeps every distinct state in a row.

    ``serials`` (n,) numbers the states in the order they were first seen, ``total`` (1,) is how
    many numbers have been given; ``scratch`` is for states on the move.
    """

    distinct: DistinctPart
    serials: np.ndarray
    total: np.ndarray
    scratch: Binary | Weighted


@function
def vacate(seen, row):
    """Take the state in a row out of the table.

    The states in the slots behind it may have been put there because its slot was taken: they are
    entered again, so that looking them up finds them without a gap.
    """
    vectors, slots, scratch = seen.distinct.vectors, seen.distinct.slots, seen.scratch
    load(vectors, row, scratch)
    slot = slot_of(seen.distinct, scratch)
    slots[slot] = EMPTY
    slot = slot + 1 if slot + 1 < slots.shape[0] else 0
    while slots[slot] != EMPTY:
        moving = slots[slot]
        slots[slot] = EMPTY
        load(vectors, moving, scratch)
        slots[slot_of(seen.distinct, scratch)] = moving
        slot = slot + 1 if slot + 1 < slots.shape[0] else 0


@function
def row_of(seen, state):
    """The row of a state; where no room is left, a new one replaces the one first seen."""
    distinct, total = seen.distinct, seen.total
    count = distinct.count[0]
    row = numbered(distinct, state)
    is_new = distinct.count[0] > count
    if row < 0:
        row, is_new = total[0] % seen.serials.shape[0], True
        vacate(seen, row)
        distinct.slots[slot_of(distinct, state)] = row
    if is_new:
        seen.serials[row] = total[0]
        total[0] += 1
    # Places may differ behind one vector; the latest is as good as any and may be the only one
    # of the present phase.
    save(distinct.vectors, row, state)
    return row


@remember.register(SeenPart)
def _(seen, transition):
    row_of(seen, transition.state)


@draw.register(SeenPart)
def _(seen, state, rng):
    load(seen.distinct.vectors, int(rng.random() * seen.distinct.count[0]), state)
    return -1


def seen_states(shape: Shape, capacity: int) -> SeenPart:
    """Room for so many distinct states."""
    return SeenPart(
        distinct_vectors(shape, capacity),
        np.full(capacity, -1, np.int64),
        np.zeros(1, np.int64),
        empty_state(shape),
    )


@description
class SeenStates(Backups):
    """Uniform over the distinct states that the agent has acted from.

    States are told apart by their feature vectors. There is room for ``capacity`` of them; after
    that a new one takes the place of the one that was first seen longest ago.
    """

    capacity: int = setting(whole(1), default=10_000)

    def build(self, setting: Setting) -> SeenPart:
        return seen_states(setting.shape, self.capacity)
