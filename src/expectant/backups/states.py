"""Planning from states: the current one, all there are (or all pairs), or all that were seen."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext, Shape
from expectant.core.memory import full
from expectant.core.rules import flag, whole
from expectant.core.vectors import Binary, BinaryTable, Weighted, WeightedTable, empty_state
from expectant.core.verbs import copy, draw, function, load, remember, save, stored_transition
from expectant.features.discrete import feature_table
from expectant.features.distinct_vectors import EMPTY, DistinctPart, distinct_vectors, slot_of


class CurrentPart(NamedTuple):
    """``state`` is the one that the agent has just reached."""

    state: Binary | Weighted


@remember.register(CurrentPart)
def _(backups, transition):
    if transition.alive > 0.0:
        copy(backups.state, transition.next_state)
    else:
        copy(backups.state, transition.state)  # nothing can be planned from the end itself


@draw.register(CurrentPart)
def _(backups, state, rng):
    copy(state, backups.state)
    return -1


class CurrentState(Backups):
    """Always the state that the agent has just reached; after the end, the last one before it."""

    def build(self, context: BuildContext) -> CurrentPart:
        return CurrentPart(empty_state(context.shape))


class AllStatesPart(NamedTuple):
    """``features`` has the vector of every state of the domain; ``states`` is how many.

    In sweeps ``order`` (S,) is that of the present one and ``drawn`` (1,) how many of it are drawn;
    without them there is no order.
    """

    features: BinaryTable | WeightedTable
    states: int
    order: np.ndarray
    drawn: np.ndarray


@function
def next_in_sweep(backups, rng):
    """Draw one of the states that the sweep has not been to; a new sweep begins after the last."""
    order, count = backups.order, backups.drawn[0]
    if count == backups.states:
        count = 0
    chosen = count + int(rng.random() * (backups.states - count))
    found = order[chosen]
    order[chosen] = order[count]
    order[count] = found
    backups.drawn[0] = count + 1
    return found


@draw.register(AllStatesPart)
def _(backups, state, rng):
    if backups.order.shape[0] > 0:
        load(backups.features, next_in_sweep(backups, rng), state)
    else:
        load(backups.features, int(rng.random() * backups.states), state)
    return -1


class AllStates(Backups):
    """Uniform over all states of the domain, which must number them, whether seen or not.

    Every draw is on its own; in ``sweeps`` each state comes once before any comes again, in an
    order that is drawn for every sweep.
    """

    sweeps: bool = parameter(flag(), default=False)

    def build(self, context: BuildContext) -> AllStatesPart:
        table = feature_table(context, "AllStates")
        states = len(table.state_indices)
        order = np.arange(states * self.sweeps)
        return AllStatesPart(table, states, order, np.zeros(1, np.int64))


class AllPairsPart(NamedTuple):
    """``features`` has the vector of every state; pair (s, a) is number s · A + a.

    ``following`` (1,) is the pair that comes next, of ``pairs`` in all.
    """

    features: BinaryTable | WeightedTable
    pairs: int
    actions: int
    following: np.ndarray


@remember.register(AllStatesPart)
@remember.register(AllPairsPart)
def _(backups, transition):
    pass


@draw.register(AllPairsPart)
def _(backups, state, rng):
    pair = backups.following[0]
    backups.following[0] = pair + 1 if pair + 1 < backups.pairs else 0
    load(backups.features, pair // backups.actions, state)
    return pair


@stored_transition.register(AllPairsPart)
def _(backups, slot):
    """The action of a pair; nothing is known of what came of it."""
    return slot % backups.actions, 0.0, 1.0


class AllPairs(Backups):
    """All pairs of a state and an action in turn, tried or not: exhaustive sweeps.

    The domain must number its states. Agents with action values back up the drawn action; for those
    with state values every state comes as often in a row as there are actions.
    """

    draws_actions: ClassVar[bool] = True

    def build(self, context: BuildContext) -> AllPairsPart:
        table, actions = feature_table(context, "AllPairs"), context.actions
        pairs = len(table.state_indices) * actions
        return AllPairsPart(table, pairs, actions, np.zeros(1, np.int64))


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


class SeenStates(Backups):
    """Uniform over the distinct states that the agent has acted from.

    States are told apart by their feature vectors. There is room for ``capacity`` of them; after
    that a new one takes the place of the one that was first seen longest ago.
    """

    memory_advice: ClassVar[str] = "a smaller capacity of the backups"
    capacity: int = parameter(whole(1), default=10_000)

    def build(self, context: BuildContext) -> SeenPart:
        return seen_states(context.shape, self.capacity)
