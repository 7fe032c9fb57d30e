"""Planning from every state that has been seen, rare ones as often as frequent ones."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.memory import full
from expectant.descriptions import description, option
from expectant.features.distinct import (
    EMPTY,
    DistinctPart,
    distinct_vectors,
    slot_of,
)
from expectant.features.vector import Binary, Weighted, empty_state
from expectant.parts import Backups, Shape, Site
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
def seen_row(seen, state):
    """The row of a state; where no room is left, a new one replaces the one first seen.

    Several places may look alike: the row always has the latest.
    """
    distinct, serial, rows = seen.distinct, seen.total[0], seen.serials.shape[0]
    slot = slot_of(distinct, state)
    row = distinct.slots[slot]
    if row == EMPTY:
        row = serial % rows
        if serial >= rows:
            vacate(seen, row)
            slot = slot_of(distinct, state)  # what was vacated may have stood in the way
        distinct.slots[slot] = row
        seen.serials[row] = serial
        seen.total[0] = serial + 1
    save(distinct.vectors, row, state)
    return row


@function
def any_row(seen, rng):
    """A row drawn evenly from those in use."""
    rows = seen.serials.shape[0]
    return int(rng.random() * (seen.total[0] if seen.total[0] < rows else rows))


@remember.register(SeenPart)
def _(seen, transition):
    seen_row(seen, transition.state)


@draw.register(SeenPart)
def _(seen, state, rng):
    load(seen.distinct.vectors, any_row(seen, rng), state)
    return -1


def seen_states(shape: Shape, capacity: int) -> SeenPart:
    """Room for so many distinct states."""
    return SeenPart(
        distinct_vectors(shape, capacity),
        full(capacity, -1, np.int64),
        np.zeros(1, np.int64),
        empty_state(shape),
    )


@description
class SeenStates(Backups):
    """Uniform over the distinct states that the agent has acted from.

    States are told apart by their feature vectors. There is room for ``capacity`` of them; after
    that a new one takes the place of the one that was first seen longest ago.
    """

    memory_advice: ClassVar[str] = "a smaller capacity of the backups"
    capacity: int = option(whole(1), default=10_000)

    def build(self, site: Site) -> SeenPart:
        return seen_states(site.shape, self.capacity)
