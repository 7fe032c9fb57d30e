"""Prioritized sweeping over distinct states or state-action pairs.

After Moore & Atkeson (1993), Peng & Williams (1993) and Sutton et al. (2008). Priorities belong to
distinct feature vectors, so any model and agent can be used. The priority of a state bounds the
error that a backup would find: the error that its last update left, plus every later change of a
successor's value times the probability of that successor.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.heap import HeapPart, empty_heap, pop, set_priority
from expectant.backups.state_action_pairs import (
    PairsPart,
    draw_pair,
    empty_pairs,
    find_or_add_pair,
    load_drawn,
)
from expectant.backups.states import SeenBackups, SeenPart, draw_row, empty_rows, find_or_add_row
from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, model_fits_parameter
from expectant.core.memory import full, zeros
from expectant.core.rules import at_least, flag, whole
from expectant.core.vectors import dot
from expectant.core.verbs import delegate, function
from expectant.features.distinct_vectors import find_vector

NONE = -1


class LinksPart(NamedTuple):
    """Up to L predecessors of every seen state, by serial number: ``sources`` (n, L).

    ``counts`` (n, L, A) are transitions from each by each action, ``tries`` (n, A) all transitions
    by each action.
    """

    sources: np.ndarray
    counts: np.ndarray
    tries: np.ndarray


def empty_links(rows: int, links: int, actions: int) -> LinksPart:
    return LinksPart(
        full((rows, links), NONE, np.int64),
        zeros((rows, links, actions), np.int64),
        zeros((rows, actions), np.int64),
    )


@function
def clear_link(links, row, link):
    links.sources[row, link] = NONE
    for action in range(links.counts.shape[2]):
        links.counts[row, link, action] = 0


@function
def clear_links(links, row):
    for action in range(links.tries.shape[1]):
        links.tries[row, action] = 0
    for link in range(links.sources.shape[1]):
        clear_link(links, row, link)


@function
def source_row(links, seen, row, link):
    """Row of a predecessor; −1 if the link is free or its state was evicted."""
    serial, rows = links.sources[row, link], seen.serials.shape[0]
    return serial % rows if serial != NONE and serial >= seen.total[0] - rows else NONE


@function
def count_transition(links, seen, serial, action, row):
    """Count a transition to a row; a new predecessor replaces a free or the least used link."""
    chosen, fewest = 0, -1
    for link in range(links.sources.shape[1]):
        if links.sources[row, link] == serial:
            links.counts[row, link, action] += 1
            return
        uses = 0
        if source_row(links, seen, row, link) != NONE:
            for other in range(links.counts.shape[2]):
                uses += links.counts[row, link, other]
        if fewest < 0 or uses < fewest:
            chosen, fewest = link, uses
    clear_link(links, row, chosen)
    links.sources[row, chosen] = serial
    links.counts[row, chosen, action] = 1


class SweepingPart(NamedTuple):
    """``links`` lead back from every seen state; ``drawn`` (1,) is the row drawn last."""

    seen: SeenPart
    heap: HeapPart
    links: LinksPart
    drawn: np.ndarray
    threshold: float


@function
def find_or_add_state(sweeping, state):
    """Return the row of a state, cleared if the state is new."""
    total = sweeping.seen.total[0]
    row = find_or_add_row(sweeping.seen, state)
    if sweeping.seen.total[0] > total:
        set_priority(sweeping.heap, row, 0.0, sweeping.threshold)
        clear_links(sweeping.links, row)
    return row


@function
def max_probability(links, row, link, source):
    """max_a p(row | source, a), by transition counts."""
    highest = 0.0
    for action in range(links.tries.shape[1]):
        count = links.counts[row, link, action]
        if count > 0 and count > highest * links.tries[source, action]:
            highest = count / links.tries[source, action]
    return highest


@verbs.on_priority.register(SweepingPart)
def _(sweeping, state, moved, left):
    """Set the priority of an updated state and raise those of its predecessors.

    States that were never remembered are ignored.
    """
    heap, links, row = sweeping.heap, sweeping.links, find_vector(sweeping.seen.distinct, state)
    if row < 0:
        return
    priority = abs(left)
    if row == sweeping.drawn[0]:
        sweeping.drawn[0] = NONE
    else:
        priority = max(priority + abs(moved), heap.priorities[row])
    set_priority(heap, row, priority, sweeping.threshold)
    for link in range(links.sources.shape[1]):
        source = source_row(links, sweeping.seen, row, link)
        if source != NONE:
            change = abs(moved) * max_probability(links, row, link, source)
            set_priority(heap, source, heap.priorities[source] + change, sweeping.threshold)


@verbs.remember.register(SweepingPart)
def _(sweeping, transition):
    links, seen, action = sweeping.links, sweeping.seen, transition.action
    source = find_or_add_state(sweeping, transition.state)
    serial = seen.serials[source]
    links.tries[source, action] += 1
    if transition.alive > 0.0:
        row = find_or_add_state(sweeping, transition.next_state)  # may evict the source
        count_transition(links, seen, serial, action, row)


@verbs.draw.register(SweepingPart)
def _(sweeping, state, rng):
    heap, seen = sweeping.heap, sweeping.seen
    row = pop(heap, sweeping.threshold) if heap.length[0] > 0 else draw_row(seen, rng)
    sweeping.drawn[0] = row
    verbs.load(seen.distinct.vectors, row, state)
    return -1


class PrioritizedBackups(SeenBackups, abstract=True):
    """Base of prioritized sweeping: up to ``links`` predecessors of every state are kept."""

    threshold: float = parameter(at_least(0.0), default=1e-4)
    links: int = parameter(whole(1), default=8, meaning="predecessors kept of every state")


class PrioritizedSweeping(PrioritizedBackups):
    """The seen state whose backup is expected to change most; a random one if none waits.

    A change of a value raises the priorities of up to ``links`` predecessors by as much, times the
    probability of the transition; states wait for a backup while their priority exceeds
    ``threshold``, in units of value. States that only share features are not affected. Beyond
    ``capacity`` distinct states the one first seen is evicted.
    """

    short_name: ClassVar[str] = "prioritized"

    def build(self, context: BuildContext) -> SweepingPart:
        return SweepingPart(
            empty_rows(context.shape, self.capacity),
            empty_heap(self.capacity),
            empty_links(self.capacity, self.links, context.actions),
            np.full(1, NONE, np.int64),
            self.threshold,
        )


class PairSweepingPart(NamedTuple):
    """``errors`` (n · A,) are the signed errors that backups of the pairs are expected to find.

    ``drawn`` (1,) is the pair drawn last, until it is backed up. If it ``idles``, nothing is drawn
    while no pair waits.
    """

    pairs: PairsPart
    heap: HeapPart
    errors: np.ndarray
    links: LinksPart
    drawn: np.ndarray
    threshold: float
    idles: bool


delegate(
    PairSweepingPart, "pairs", verbs.stored_transition, verbs.load_successor, verbs.age,
    verbs.relabel,
)  # fmt: skip


@function
def set_error(sweeping, pair, error):
    """Set the expected error of a pair; only pairs that were tried wait for a backup."""
    sweeping.errors[pair] = error
    tried = sweeping.pairs.positions[pair] != NONE
    set_priority(sweeping.heap, pair, abs(error) if tried else 0.0, sweeping.threshold)


@function
def find_or_add_swept_pair(sweeping, state, action):
    """Return the number of a pair, cleared if the state is new."""
    total, actions = sweeping.pairs.seen.total[0], sweeping.pairs.actions
    pair = find_or_add_pair(sweeping.pairs, state, action)
    if sweeping.pairs.seen.total[0] > total:
        row = pair // actions
        for other in range(actions):
            set_error(sweeping, row * actions + other, 0.0)
        clear_links(sweeping.links, row)
    return pair


@function
def max_value_change(weights, state, action, moved):
    """Change of max_a w_aᵀ s after w_aᵀ s of one action has moved."""
    now, others = dot(state, weights[action]), -np.inf
    for other in range(weights.shape[0]):
        if other != action:
            candidate = dot(state, weights[other])
            if candidate > others:
                others = candidate
    return max(now, others) - max(now - moved, others)


@function
def sweep_back(sweeping, row, change):
    """Add a change of a state's value, times p(row | source, a), to the errors of predecessors."""
    links, actions = sweeping.links, sweeping.pairs.actions
    for link in range(links.sources.shape[1]):
        source = source_row(links, sweeping.pairs.seen, row, link)
        if source != NONE:
            for action in range(actions):
                count = links.counts[row, link, action]
                if count > 0:
                    pair = source * actions + action
                    share = count / links.tries[source, action]
                    set_error(sweeping, pair, sweeping.errors[pair] + share * change)


@verbs.on_action_priority.register(PairSweepingPart)
def _(sweeping, weights, state, action, moved, error, discount):
    """Leave ``error − moved`` at the pair and sweep the change of max_a q̂ back.

    A pair that has just been backed up does not wait because of its own remaining error, or small
    steps would be spent on it repeatedly; it waits once its successor changes or it is tried.
    """
    row = find_vector(sweeping.pairs.seen.distinct, state)
    if row < 0:
        return
    pair = row * sweeping.pairs.actions + action
    if pair == sweeping.drawn[0]:
        sweeping.errors[pair] = error - moved
        sweeping.drawn[0] = NONE
    else:
        set_error(sweeping, pair, error - moved)
    change = max_value_change(weights, state, action, moved)
    if change != 0.0:
        sweep_back(sweeping, row, discount * change)


@verbs.on_priority.register(PairSweepingPart)
def _(sweeping, state, moved, left):
    """Leave the same error at all pairs of a state, for agents with state values."""
    row, actions = find_vector(sweeping.pairs.seen.distinct, state), sweeping.pairs.actions
    if row < 0:
        return
    for action in range(actions):
        set_error(sweeping, row * actions + action, left)
    sweep_back(sweeping, row, moved)


@verbs.remember.register(PairSweepingPart)
def _(sweeping, transition):
    action, links, seen = transition.action, sweeping.links, sweeping.pairs.seen
    pair = find_or_add_swept_pair(sweeping, transition.state, action)
    source = pair // sweeping.pairs.actions
    serial = seen.serials[source]
    verbs.remember(sweeping.pairs, transition)
    set_error(sweeping, pair, sweeping.errors[pair])
    links.tries[source, action] += 1
    if transition.alive > 0.0:
        next_pair = find_or_add_swept_pair(sweeping, transition.next_state, 0)
        count_transition(links, seen, serial, action, next_pair // sweeping.pairs.actions)


@verbs.can_draw.register(PairSweepingPart)
def _(sweeping):
    return not sweeping.idles or sweeping.heap.length[0] > 0


@verbs.draw.register(PairSweepingPart)
def _(sweeping, state, rng):
    pairs = sweeping.pairs
    pair = sweeping.heap.order[0] if sweeping.heap.length[0] > 0 else draw_pair(pairs, rng)
    set_priority(sweeping.heap, pair, 0.0, sweeping.threshold)
    sweeping.drawn[0] = pair
    load_drawn(pairs, pair, state)
    return pair


class PrioritizedPairs(PrioritizedBackups):
    """The tried state-action pair whose backup is expected to change most.

    For agents with action values, though others may use it. A pair waits for a backup once it was
    tried or its successor changed, if its expected error exceeds ``threshold``, in units of value.
    If none waits, a random pair is drawn, or none if it ``idles``. Up to ``links`` predecessors are
    kept for each of at most ``capacity`` distinct states.
    """

    stores_transitions: ClassVar[bool] = True
    draws_actions: ClassVar[bool] = True

    idles: bool = parameter(flag(), default=False)
    model_fits: int | str = model_fits_parameter()

    def build(self, context: BuildContext) -> PairSweepingPart:
        pairs = empty_pairs(context, self.capacity, untried=False)
        return PairSweepingPart(
            pairs,
            empty_heap(len(pairs.rewards)),
            zeros(len(pairs.rewards)),
            empty_links(len(pairs.seen.serials), self.links, context.actions),
            np.full(1, NONE, np.int64),
            self.threshold,
            self.idles,
        )
