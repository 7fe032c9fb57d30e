"""Prioritized sweeping: plan where values are wrong, and sweep changes back to predecessors.

After Moore & Atkeson (1993) and Peng & Williams (1993); Sutton, Szepesvári, Geramifard & Bowling
(2008) carry it over to linear features. Priorities are of distinct states here, so that it works
with every model and agent. The priority of a state is a bound on the error that a backup from it
would find: what its own last update left, plus every change of a successor's value since, times
how often that successor followed.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.heap import HeapPart, empty_heap, rank
from expectant.backups.state_action_pairs import (
    DRAWN,
    PairsPart,
    any_pair,
    latest_pairs,
    load_state,
    pair_in,
    rows_for,
)
from expectant.backups.states import SeenPart, any_row, seen_row, seen_states
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext, model_fits_parameter
from expectant.core.memory import full, zeros
from expectant.core.rules import at_least, flag, whole
from expectant.core.vectors import dot
from expectant.core.verbs import (
    age,
    can_draw,
    delegate,
    draw,
    function,
    load,
    load_successor,
    on_action_priority,
    on_priority,
    relabel,
    remember,
    stored_transition,
)
from expectant.features.distinct_vectors import number_of

NONE = -1


class LinksPart(NamedTuple):
    """``sources`` (n, L) are the serial numbers of up to L predecessors of every seen state.

    ``counts`` (n, L, A) says how often each came from there by each action, ``tries`` (n, A) how
    often each action was taken in a state.
    """

    sources: np.ndarray
    counts: np.ndarray
    tries: np.ndarray


class SweepingPart(NamedTuple):
    """``links`` lead back from every seen state; ``drawn`` (1,) is the row that was drawn last."""

    seen: SeenPart
    heap: HeapPart
    links: LinksPart
    drawn: np.ndarray
    threshold: float


def no_links(rows: int, links: int, actions: int) -> LinksPart:
    """Room for so many links of so many states."""
    return LinksPart(
        full((rows, links), NONE, np.int64),
        zeros((rows, links, actions), np.int64),
        zeros((rows, actions), np.int64),
    )


@function
def forget_link(links, row, link):
    """Free one link for another predecessor."""
    links.sources[row, link] = NONE
    for action in range(links.counts.shape[2]):
        links.counts[row, link, action] = 0


@function
def forget_row(links, row):
    """Leave nothing in a row of the state that had it before."""
    for action in range(links.tries.shape[1]):
        links.tries[row, action] = 0
    for link in range(links.sources.shape[1]):
        forget_link(links, row, link)


@function
def row_in(sweeping, state):
    """The row of a state, with nothing left in it of the state it replaces."""
    total = sweeping.seen.total[0]
    row = seen_row(sweeping.seen, state)
    if sweeping.seen.total[0] > total:
        rank(sweeping.heap, row, 0.0, sweeping.threshold)
        forget_row(sweeping.links, row)
    return row


@function
def is_kept(seen, serial):
    """Whether a link leads to a state that is still there."""
    return serial != NONE and serial >= seen.total[0] - seen.serials.shape[0]


@function
def link_from(links, seen, row, serial):
    """The link of a state to a predecessor; a new one takes a free link, or the least used."""
    chosen, fewest = 0, -1
    for link in range(links.sources.shape[1]):
        if links.sources[row, link] == serial:
            return link
        uses = 0
        if is_kept(seen, links.sources[row, link]):
            for action in range(links.counts.shape[2]):
                uses += links.counts[row, link, action]
        if fewest < 0 or uses < fewest:
            chosen, fewest = link, uses
    forget_link(links, row, chosen)
    links.sources[row, chosen] = serial
    return chosen


@function
def chance(links, row, link, source):
    """max_a of the share of the source's steps by action a that led to this state."""
    highest = 0.0
    for action in range(links.tries.shape[1]):
        count = links.counts[row, link, action]
        if count > 0 and count > highest * links.tries[source, action]:
            highest = count / links.tries[source, action]
    return highest


@function
def sweep_back(sweeping, row, moved):
    """Raise the priorities of a state's predecessors by what its change may mean to them."""
    heap, links = sweeping.heap, sweeping.links
    for link in range(links.sources.shape[1]):
        serial = links.sources[row, link]
        if is_kept(sweeping.seen, serial):
            source = serial % links.tries.shape[0]
            raised = abs(moved) * chance(links, row, link, source)
            rank(heap, source, heap.priorities[source] + raised, sweeping.threshold)


@on_priority.register(SweepingPart)
def _(sweeping, state, moved, left):
    """A backup has shown what error its state has left, a real step how much it may have.

    Of a state that has never been reached from another, nothing is known that could be kept.
    """
    heap, row, priority = sweeping.heap, number_of(sweeping.seen.distinct, state), abs(left)
    if row < 0:
        return
    if row == sweeping.drawn[0]:
        sweeping.drawn[0] = NONE
    else:
        priority += abs(moved)
        if priority < heap.priorities[row]:
            priority = heap.priorities[row]
    rank(heap, row, priority, sweeping.threshold)
    sweep_back(sweeping, row, moved)


@remember.register(SweepingPart)
def _(sweeping, transition):
    """Link the two states of a step."""
    source, action, links = row_in(sweeping, transition.state), transition.action, sweeping.links
    serial = sweeping.seen.serials[source]
    links.tries[source, action] += 1
    if transition.alive > 0.0:
        row = row_in(sweeping, transition.next_state)  # may replace the first state, if that is old
        links.counts[row, link_from(links, sweeping.seen, row, serial), action] += 1


@draw.register(SweepingPart)
def _(sweeping, state, rng):
    heap, seen = sweeping.heap, sweeping.seen
    if heap.length[0] > 0:
        row = heap.order[0]
        rank(heap, row, 0.0, sweeping.threshold)
    else:
        row = any_row(seen, rng)
    sweeping.drawn[0] = row
    load(seen.distinct.vectors, row, state)
    return -1


class PrioritizedSweeping(Backups):
    """The seen state whose backup is expected to change most; any of them if none is expected to.

    Of every state (``capacity`` distinct ones at most, then the first seen is given up) it keeps
    up to ``links`` predecessors. When a value changes, its predecessors gain priority by as much,
    times the chance of the step between them; a state waits for a backup while its priority
    exceeds ``threshold``, in units of value. States that merely share features with a changed one
    gain nothing by it.
    """

    memory_advice: ClassVar[str] = "a smaller capacity of the backups"
    capacity: int = parameter(whole(1), default=10_000)
    threshold: float = parameter(at_least(0.0), default=1e-4)
    links: int = parameter(whole(1), default=8)

    def build(self, context: BuildContext) -> SweepingPart:
        return SweepingPart(
            seen_states(context.shape, self.capacity),
            empty_heap(self.capacity),
            no_links(self.capacity, self.links, context.actions),
            np.full(1, NONE, np.int64),
            self.threshold,
        )


class PairSweepingPart(NamedTuple):
    """``errors`` (n · A,) are what backups of the pairs are expected to find, with their signs.

    ``links`` lead back from every state; ``drawn`` (1,) is the pair that was drawn last, until it
    is backed up. If it ``idles``, nothing is drawn while no pair waits.
    """

    pairs: PairsPart
    heap: HeapPart
    errors: np.ndarray
    links: LinksPart
    drawn: np.ndarray
    threshold: float
    idles: bool


delegate(PairSweepingPart, "pairs", stored_transition, load_successor, age, relabel)


@function
def expect(sweeping, pair, error):
    """Note the error that a backup of a pair would find; only pairs that were tried are ranked."""
    sweeping.errors[pair] = error
    known = sweeping.pairs.positions[pair] != NONE
    rank(sweeping.heap, pair, abs(error) if known else 0.0, sweeping.threshold)


@function
def pair_of(sweeping, state, action):
    """The number of a pair; a state that is new begins with nothing."""
    total, actions = sweeping.pairs.seen.total[0], sweeping.pairs.actions
    pair = pair_in(sweeping.pairs, state, action)
    if sweeping.pairs.seen.total[0] > total:
        row = pair // actions
        for other in range(actions):
            expect(sweeping, row * actions + other, 0.0)
        forget_row(sweeping.links, row)
    return pair


@function
def gain_of(weights, state, action, moved):
    """By how much max_a w_aᵀ s rose, now that w_aᵀ s of one action has moved."""
    now, others = dot(state, weights[action]), -np.inf
    for other in range(weights.shape[0]):
        if other != action:
            candidate = dot(state, weights[other])
            if candidate > others:
                others = candidate
    return max(now, others) - max(now - moved, others)


@function
def sweep_to_sources(sweeping, row, gained):
    """Add to the errors of the pairs that led to a state what its change means to them."""
    links, actions = sweeping.links, sweeping.pairs.actions
    for link in range(links.sources.shape[1]):
        serial = links.sources[row, link]
        if is_kept(sweeping.pairs.seen, serial):
            source = serial % links.tries.shape[0]
            for action in range(actions):
                count = links.counts[row, link, action]
                if count > 0:
                    pair = source * actions + action
                    share = count / links.tries[source, action]
                    expect(sweeping, pair, sweeping.errors[pair] + share * gained)


@on_action_priority.register(PairSweepingPart)
def _(sweeping, weights, state, action, moved, error, discount):
    """The pair has ``error − moved`` left; those that lead to its state gain or lose with it.

    A pair that has just been backed up does not wait for another backup because of what is left of
    its own error, or small steps would be spent on it again and again: only when its successor
    changes, or when it is tried.
    """
    row = number_of(sweeping.pairs.seen.distinct, state)
    if row < 0:
        return
    pair = row * sweeping.pairs.actions + action
    if pair == sweeping.drawn[0]:
        sweeping.errors[pair] = error - moved
        sweeping.drawn[0] = NONE
    else:
        expect(sweeping, pair, error - moved)
    gained = gain_of(weights, state, action, moved)
    if gained != 0.0:
        sweep_to_sources(sweeping, row, discount * gained)


@on_priority.register(PairSweepingPart)
def _(sweeping, state, moved, left):
    """An agent with state values: all pairs of the state have the same error left."""
    row, actions = number_of(sweeping.pairs.seen.distinct, state), sweeping.pairs.actions
    if row < 0:
        return
    for action in range(actions):
        expect(sweeping, row * actions + action, left)
    sweep_to_sources(sweeping, row, moved)


@remember.register(PairSweepingPart)
def _(sweeping, transition):
    """Link the two states of a step; its pair is ranked from now on.

    What was told of it before it was entered is lost, which concerns first states of episodes only.
    """
    state, action, links = transition.state, transition.action, sweeping.links
    pair = pair_of(sweeping, state, action)
    source = pair // sweeping.pairs.actions
    serial = sweeping.pairs.seen.serials[source]
    remember(sweeping.pairs, transition)
    expect(sweeping, pair, sweeping.errors[pair])
    links.tries[source, action] += 1
    if transition.alive > 0.0:
        row = pair_of(sweeping, transition.next_state, 0) // sweeping.pairs.actions
        links.counts[row, link_from(links, sweeping.pairs.seen, row, serial), action] += 1


@can_draw.register(PairSweepingPart)
def _(sweeping):
    return not sweeping.idles or sweeping.heap.length[0] > 0


@draw.register(PairSweepingPart)
def _(sweeping, state, rng):
    """The pair with the largest error expected; any pair where none exceeds the threshold."""
    pairs = sweeping.pairs
    pair = sweeping.heap.order[0] if sweeping.heap.length[0] > 0 else any_pair(pairs, rng)
    rank(sweeping.heap, pair, 0.0, sweeping.threshold)
    sweeping.drawn[0] = pair
    pairs.counters[DRAWN] += 1
    load_state(pairs, pair, state)
    return pair


class PrioritizedPairs(Backups):
    """The tried pair of a state and an action whose backup is expected to change most.

    For agents with action values, though others may use it. A pair that was tried, or whose
    successor has changed, waits for a backup if the error expected of it exceeds ``threshold``, in
    units of value; if none waits, any pair is drawn, or none if it ``idles``. Of every state
    (``capacity`` distinct ones at most) up to ``links`` predecessors are kept.
    """

    memory_advice: ClassVar[str] = "a smaller capacity of the backups"
    stores_transitions: ClassVar[bool] = True
    draws_actions: ClassVar[bool] = True

    capacity: int = parameter(whole(1), default=10_000)
    threshold: float = parameter(at_least(0.0), default=1e-4)
    links: int = parameter(whole(1), default=8)
    idles: bool = parameter(flag(), default=False)
    model_fits: int | str = model_fits_parameter()

    def build(self, context: BuildContext) -> PairSweepingPart:
        rows = rows_for(context, self.capacity)
        pairs = latest_pairs(context, self.capacity, untried=False)
        return PairSweepingPart(
            pairs,
            empty_heap(rows * context.actions),
            zeros(rows * context.actions),
            no_links(rows, self.links, context.actions),
            np.full(1, NONE, np.int64),
            self.threshold,
            self.idles,
        )
