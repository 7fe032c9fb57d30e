"""Planning from every state and action that has been tried, by what came of it last.

This is the memory of Dyna-Q (Sutton 1990; S&B section 8.2): of every pair of a state and an action
the latest outcome, all pairs alike.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.states import SeenPart, seen_row, seen_states
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext, model_fits_parameter
from expectant.core.memory import full, zeros
from expectant.core.rules import flag, whole
from expectant.core.vectors import BinaryTable, WeightedTable, empty_table
from expectant.core.verbs import (
    age,
    count_backups,
    draw,
    function,
    load,
    load_successor,
    relabel,
    remember,
    reward_now,
    save,
    stored_transition,
)

NONE = -1
COUNT, STEPS, DRAWN = 0, 1, 2


class PairsPart(NamedTuple):
    """The latest outcome of every pair; pair (row, a) is number row · A + a.

    ``successors``, ``rewards``, ``alive``, ``outcomes`` and ``times`` (n · A rows) are what came of
    each pair, and at which step. ``order`` (n · A,) lists the pairs to draw from, ``positions``
    (n · A,) says where each is in the list (−1: it is not). ``counters`` (3,): how long the list
    is, the steps so far and the draws so far. With ``untried`` all actions of a state that was
    acted in are listed.
    """

    seen: SeenPart
    successors: BinaryTable | WeightedTable
    rewards: np.ndarray
    alive: np.ndarray
    outcomes: np.ndarray
    times: np.ndarray
    order: np.ndarray
    positions: np.ndarray
    counters: np.ndarray
    actions: int
    untried: bool


@function
def enlist(pairs, pair):
    """Put a pair on the list, if it is not there."""
    if pairs.positions[pair] == NONE:
        last = pairs.counters[COUNT]
        pairs.order[last] = pair
        pairs.positions[pair] = last
        pairs.counters[COUNT] = last + 1


@function
def strike(pairs, pair):
    """Take a pair off the list, if it is there; the last one takes its place."""
    position = pairs.positions[pair]
    if position != NONE:
        last = pairs.counters[COUNT] - 1
        moved = pairs.order[last]
        pairs.order[position] = moved
        pairs.positions[moved] = position
        pairs.positions[pair] = NONE
        pairs.counters[COUNT] = last


@function
def enter(pairs, row, state):
    """Make the row of a state that is new: no pair of it is known, or all as self-loops."""
    for action in range(pairs.actions):
        pair = row * pairs.actions + action
        strike(pairs, pair)
        pairs.times[pair] = 0
        if pairs.untried:
            save(pairs.successors, pair, state)
            pairs.rewards[pair], pairs.alive[pair], pairs.outcomes[pair] = 0.0, 1.0, NONE
            enlist(pairs, pair)


@function
def pair_in(pairs, state, action):
    """The number of a pair, whose state is given a row now if it has none."""
    total = pairs.seen.total[0]
    row = seen_row(pairs.seen, state)
    if pairs.seen.total[0] > total:
        enter(pairs, row, state)
    return row * pairs.actions + action


@remember.register(PairsPart)
def _(pairs, transition):
    pair = pair_in(pairs, transition.state, transition.action)
    save(pairs.successors, pair, transition.next_state)
    pairs.rewards[pair] = transition.reward
    pairs.alive[pair] = transition.alive
    pairs.outcomes[pair] = transition.outcome
    pairs.counters[STEPS] += 1
    pairs.times[pair] = pairs.counters[STEPS]
    enlist(pairs, pair)


@function
def any_pair(pairs, rng):
    """A pair drawn evenly from the list."""
    return pairs.order[int(rng.random() * pairs.counters[COUNT])]


@function
def load_state(pairs, pair, state):
    """Write the state of a pair into ``state``."""
    load(pairs.seen.distinct.vectors, pair // pairs.actions, state)


@draw.register(PairsPart)
def _(pairs, state, rng):
    pair = any_pair(pairs, rng)
    pairs.counters[DRAWN] += 1
    load_state(pairs, pair, state)
    return pair


@stored_transition.register(PairsPart)
def _(pairs, slot):
    return slot % pairs.actions, pairs.rewards[slot], pairs.alive[slot]


@load_successor.register(PairsPart)
def _(pairs, slot, state):
    load(pairs.successors, slot, state)


@age.register(PairsPart)
def _(pairs, slot):
    return pairs.counters[STEPS] - pairs.times[slot]


@relabel.register(PairsPart)
def _(pairs, domain):
    for position in range(pairs.counters[COUNT]):
        pair = pairs.order[position]
        if pairs.outcomes[pair] != NONE:
            pairs.rewards[pair] = reward_now(domain, pairs.outcomes[pair])


@count_backups.register(PairsPart)
def _(pairs):
    return int(pairs.counters[DRAWN])


def rows_for(context: BuildContext, capacity: int) -> int:
    """How many distinct states to make room for: no more than there can be."""
    states = context.domain.states
    return capacity if states is None or context.shape.remembers else min(capacity, int(states))


def latest_pairs(context: BuildContext, capacity: int, untried: bool) -> PairsPart:
    """Room for the pairs of so many states."""
    rows = rows_for(context, capacity)
    size = rows * context.actions
    return PairsPart(
        seen_states(context.shape, rows),
        empty_table(context.shape, size),
        zeros(size),
        zeros(size),
        zeros(size, np.int64),
        zeros(size, np.int64),
        zeros(size, np.int64),
        full(size, NONE, np.int64),
        np.zeros(3, np.int64),
        context.actions,
        untried,
    )


class SeenPairs(Backups):
    """Uniform over the pairs of a state and an action that have been tried, with what came of it.

    Each keeps its latest outcome. With ``untried`` the other actions of states that were acted in
    are drawn too, as steps that stay in the state and pay 0 (Dyna-Q+). States are told apart by
    their feature vectors; there is room for ``capacity`` of them, and a new one then takes the
    place of the one that was first seen longest ago.
    """

    memory_advice: ClassVar[str] = "a smaller capacity of the backups"
    stores_transitions: ClassVar[bool] = True
    draws_actions: ClassVar[bool] = True

    capacity: int = parameter(whole(1), default=10_000)
    untried: bool = parameter(flag(), default=False)
    model_fits: int | str = model_fits_parameter()

    def build(self, context: BuildContext) -> PairsPart:
        return latest_pairs(context, self.capacity, self.untried)
