"""Backups from states: the current one, all states of the domain, or all states seen."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext, Shape
from expectant.core.memory import full
from expectant.core.rules import flag, whole
from expectant.core.vectors import Table, Vector, empty_state
from expectant.core.verbs import copy, draw, function, load, remember, save
from expectant.features.discrete import feature_table
from expectant.features.distinct_vectors import EMPTY, DistinctPart, empty_vectors, find_slot


class CurrentPart(NamedTuple):
    """The state that the agent has just reached."""

    state: Vector


@remember.register(CurrentPart)
def _(backups, transition):
    copy(backups.state, transition.next_state if transition.alive > 0.0 else transition.state)


@draw.register(CurrentPart)
def _(backups, state, rng):
    copy(state, backups.state)
    return -1


class CurrentState(Backups):
    """The state that the agent has just reached; after termination, the last one before it."""

    short_name: ClassVar[str] = "current"

    def build(self, context: BuildContext) -> CurrentPart:
        return CurrentPart(empty_state(context.shape))


class AllStatesPart(NamedTuple):
    """``features`` of all ``states`` of the domain.

    For sweeps, ``order`` (S,) is the order of the present one (otherwise empty) and ``drawn`` (1,)
    the number of its states drawn so far.
    """

    features: Table
    states: int
    order: np.ndarray
    drawn: np.ndarray


@function
def draw_in_sweep(backups, rng):
    """Draw a state not yet drawn in this sweep (Fisher-Yates); start a new sweep after the last."""
    order, count = backups.order, backups.drawn[0]
    if count == backups.states:
        count = 0
    position = count + int(rng.random() * (backups.states - count))
    state = order[position]
    order[position] = order[count]
    order[count] = state
    backups.drawn[0] = count + 1
    return state


@remember.register(AllStatesPart)
def _(backups, transition):
    pass


@draw.register(AllStatesPart)
def _(backups, state, rng):
    if backups.order.shape[0] > 0:
        load(backups.features, draw_in_sweep(backups, rng), state)
    else:
        load(backups.features, int(rng.random() * backups.states), state)
    return -1


class AllStates(Backups):
    """Uniform over all states of the domain, which must number them, seen or not.

    Draws are independent, or in ``sweeps`` over all states in a new random order each.
    """

    short_name: ClassVar[str] = "all"

    sweeps: bool = parameter(flag(), default=False)

    def build(self, context: BuildContext) -> AllStatesPart:
        table = feature_table(context, "AllStates")
        states = len(table.state_indices)
        return AllStatesPart(table, states, np.arange(states * self.sweeps), np.zeros(1, np.int64))


class SeenPart(NamedTuple):
    """``distinct`` holds every distinct state in a row.

    ``serials`` (n,) are the rows' serial numbers, in the order in which states were first seen;
    ``total`` (1,) is the number of serials given.
    """

    distinct: DistinctPart
    serials: np.ndarray
    total: np.ndarray
    scratch: Vector


@function
def evict_row(seen, row):
    """Remove a state from the hash table, and insert those in the slots behind it again."""
    vectors, slots, scratch = seen.distinct.vectors, seen.distinct.slots, seen.scratch
    load(vectors, row, scratch)
    slot = find_slot(seen.distinct, scratch)
    slots[slot] = EMPTY
    slot = slot + 1 if slot + 1 < slots.shape[0] else 0
    while slots[slot] != EMPTY:
        moved = slots[slot]
        slots[slot] = EMPTY
        load(vectors, moved, scratch)
        slots[find_slot(seen.distinct, scratch)] = moved
        slot = slot + 1 if slot + 1 < slots.shape[0] else 0


@function
def find_or_add_row(seen, state):
    """Return the row of a state; if all are in use, a new one replaces the one first seen.

    Of environment states with the same features the row keeps the latest state index.
    """
    distinct, serial, rows = seen.distinct, seen.total[0], seen.serials.shape[0]
    slot = find_slot(distinct, state)
    row = distinct.slots[slot]
    if row == EMPTY:
        row = serial % rows
        if serial >= rows:
            evict_row(seen, row)
            slot = find_slot(distinct, state)  # eviction may have freed an earlier slot
        distinct.slots[slot] = row
        seen.serials[row] = serial
        seen.total[0] = serial + 1
    save(distinct.vectors, row, state)
    return row


@function
def draw_row(seen, rng):
    """Draw uniformly from the rows in use."""
    rows = seen.serials.shape[0]
    return int(rng.random() * (seen.total[0] if seen.total[0] < rows else rows))


@remember.register(SeenPart)
def _(seen, transition):
    find_or_add_row(seen, transition.state)


@draw.register(SeenPart)
def _(seen, state, rng):
    load(seen.distinct.vectors, draw_row(seen, rng), state)
    return -1


def empty_rows(shape: Shape, capacity: int) -> SeenPart:
    """Allocate rows for ``capacity`` distinct states."""
    return SeenPart(
        empty_vectors(shape, capacity),
        full(capacity, -1, np.int64),
        np.zeros(1, np.int64),
        empty_state(shape),
    )


class SeenBackups(Backups, abstract=True):
    """Base of distributions over distinct states; beyond ``capacity`` the first seen is evicted."""

    memory_advice: ClassVar[str] = "a smaller capacity of the backups"
    capacity: int = parameter(whole(1), default=10_000, meaning="maximum number of distinct states")


class SeenStates(SeenBackups):
    """Uniform over the distinct feature vectors that the agent has acted from.

    Beyond ``capacity`` a new one replaces the one that was first seen longest ago.
    """

    short_name: ClassVar[str] = "seen"

    def build(self, context: BuildContext) -> SeenPart:
        return empty_rows(context.shape, self.capacity)
