"""Backups from state-action pairs: all pairs in turn, or those tried, with their latest outcome.

The latter are the model of Dyna-Q (Sutton 1990; S&B section 8.2).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.states import SeenBackups, SeenPart, empty_rows, find_or_add_row
from expectant.core import tree, verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext, model_fits_parameter
from expectant.core.memory import full, zeros
from expectant.core.rules import flag
from expectant.core.vectors import Table, empty_table
from expectant.core.verbs import function
from expectant.features.discrete import feature_table

NONE = -1
COUNT, STEPS, DRAWN = 0, 1, 2


class AllPairsPart(NamedTuple):
    """``features`` of all states; pair (s, a) is number s · A + a, and ``next`` (1,) comes next."""

    features: Table
    pairs: int
    actions: int
    next: np.ndarray


@verbs.remember.register(AllPairsPart)
def _(backups, transition):
    pass


@verbs.draw.register(AllPairsPart)
def _(backups, state, rng):
    pair = backups.next[0]
    backups.next[0] = pair + 1 if pair + 1 < backups.pairs else 0
    verbs.load(backups.features, pair // backups.actions, state)
    return pair


@verbs.stored_transition.register(AllPairsPart)
def _(backups, slot):
    return slot % backups.actions, 0.0, 1.0  # only the action is known


class AllPairs(Backups):
    """All state-action pairs in turn, tried or not: exhaustive sweeps.

    The domain must number its states. Agents with action values back up the drawn action; for those
    with state values each state is drawn once per action.
    """

    short_name: ClassVar[str] = "all_pairs"

    draws_actions: ClassVar[bool] = True

    def build(self, context: BuildContext) -> AllPairsPart:
        table, actions = feature_table(context, "AllPairs"), context.actions
        pairs = len(table.state_indices) * actions
        return AllPairsPart(table, pairs, actions, np.zeros(1, np.int64))


class PairsPart(NamedTuple):
    """The latest outcome of every pair; pair (row, a) is number row · A + a.

    ``successors``, ``rewards``, ``alive``, ``outcomes`` and ``times`` (n · A rows) are the latest
    outcome of each pair and its step. ``order`` (n · A,) lists the pairs to draw from,
    ``positions`` (n · A,) are their positions there (−1: absent). ``counters`` (3,): the length of
    the list, steps and draws so far. If ``untried``, all actions of a state acted in are listed.
    """

    seen: SeenPart
    successors: Table
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
def list_pair(pairs, pair):
    if pairs.positions[pair] == NONE:
        last = pairs.counters[COUNT]
        pairs.order[last] = pair
        pairs.positions[pair] = last
        pairs.counters[COUNT] = last + 1


@function
def unlist_pair(pairs, pair):
    position = pairs.positions[pair]
    if position != NONE:
        last = pairs.counters[COUNT] - 1
        moved = pairs.order[last]
        pairs.order[position] = moved
        pairs.positions[moved] = position
        pairs.positions[pair] = NONE
        pairs.counters[COUNT] = last


@function
def reset_pairs(pairs, row, state):
    """Reset the pairs of a new state: unlisted, or listed as self-loops if ``untried``."""
    for action in range(pairs.actions):
        pair = row * pairs.actions + action
        unlist_pair(pairs, pair)
        pairs.times[pair] = 0
        if pairs.untried:
            verbs.save(pairs.successors, pair, state)
            pairs.rewards[pair], pairs.alive[pair], pairs.outcomes[pair] = 0.0, 1.0, NONE
            list_pair(pairs, pair)


@function
def find_or_add_pair(pairs, state, action):
    """Return the number of a pair; a new state gets a row."""
    total = pairs.seen.total[0]
    row = find_or_add_row(pairs.seen, state)
    if pairs.seen.total[0] > total:
        reset_pairs(pairs, row, state)
    return row * pairs.actions + action


@verbs.remember.register(PairsPart)
def _(pairs, transition):
    pair = find_or_add_pair(pairs, transition.state, transition.action)
    verbs.save(pairs.successors, pair, transition.next_state)
    pairs.rewards[pair] = transition.reward
    pairs.alive[pair] = transition.alive
    pairs.outcomes[pair] = transition.outcome
    pairs.counters[STEPS] += 1
    pairs.times[pair] = pairs.counters[STEPS]
    list_pair(pairs, pair)


@function
def draw_pair(pairs, rng):
    """Draw uniformly from the listed pairs."""
    return pairs.order[int(rng.random() * pairs.counters[COUNT])]


@function
def load_drawn(pairs, pair, state):
    """Count a draw and write the state of the pair into ``state``."""
    pairs.counters[DRAWN] += 1
    verbs.load(pairs.seen.distinct.vectors, pair // pairs.actions, state)


@verbs.draw.register(PairsPart)
def _(pairs, state, rng):
    pair = draw_pair(pairs, rng)
    load_drawn(pairs, pair, state)
    return pair


@verbs.stored_transition.register(PairsPart)
def _(pairs, slot):
    return slot % pairs.actions, pairs.rewards[slot], pairs.alive[slot]


@verbs.load_successor.register(PairsPart)
def _(pairs, slot, state):
    verbs.load(pairs.successors, slot, state)


@verbs.age.register(PairsPart)
def _(pairs, slot):
    return pairs.counters[STEPS] - pairs.times[slot]


@verbs.relabel.register(PairsPart)
def _(pairs, domain):
    for position in range(pairs.counters[COUNT]):
        pair = pairs.order[position]
        if pairs.outcomes[pair] != NONE:
            pairs.rewards[pair] = verbs.reward_now(domain, pairs.outcomes[pair])


def count_backups(part: tuple[object, ...]) -> int:
    """Return the number of pairs drawn by the parts inside a part."""
    pairs = [item for _, item in tree.items(part) if isinstance(item, PairsPart)]
    return sum(int(item.counters[DRAWN]) for item in pairs)


def empty_pairs(context: BuildContext, capacity: int, untried: bool) -> PairsPart:
    """Allocate the pairs of ``capacity`` distinct states, or of all if there are fewer."""
    states = context.domain.states
    if states is not None and not context.shape.remembers:
        capacity = min(capacity, int(states))
    size = capacity * context.actions
    return PairsPart(
        empty_rows(context.shape, capacity),
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


class SeenPairs(SeenBackups):
    """Uniform over the state-action pairs that were tried, each with its latest outcome.

    If ``untried``, the other actions of states acted in are drawn too, as self-loops with reward 0
    (Dyna-Q+). Beyond ``capacity`` distinct feature vectors a new one replaces the one that was
    first seen longest ago.
    """

    short_name: ClassVar[str] = "pairs"
    stores_transitions: ClassVar[bool] = True
    draws_actions: ClassVar[bool] = True

    untried: bool = parameter(flag(), default=False)
    model_fits: int | str = model_fits_parameter()

    def build(self, context: BuildContext) -> PairsPart:
        return empty_pairs(context, self.capacity, self.untried)
