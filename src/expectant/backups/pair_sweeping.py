"""Prioritized sweeping over pairs of a state and an action, for agents with action values.

After Moore & Atkeson (1993) and Peng & Williams (1993), as in S&B section 8.4. The priority of a
pair is the size of the error that a backup of it would find. That error is kept, not looked up:
what the pair's own last update left, plus what its successor's greatest action value has changed
since, times how often that successor followed. In a world without chance, with one feature per
state, it is exact.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.heap import HeapPart, empty_heap, rank
from expectant.backups.pairs import (
    DRAWN,
    PairsPart,
    any_pair,
    latest_pairs,
    load_state,
    pair_in,
    rows_for,
)
from expectant.backups.sweeping import forget_link, is_kept, link_from
from expectant.core.memory import full, zeros
from expectant.descriptions import description, option
from expectant.features.distinct import number_of
from expectant.features.vector import dot
from expectant.parts import Backups, Site
from expectant.rules import at_least, flag, whole
from expectant.verbs import (
    age,
    changed,
    changed_action,
    draw,
    function,
    load_successor,
    pass_on,
    relabel,
    remember,
    stored,
    waiting,
)

NONE = -1


class PairSweepingPart(NamedTuple):
    """``errors`` (n · A,) are what backups of the pairs are expected to find, with their signs.

    ``sources`` (n, L) are the serial numbers of up to L predecessors of every state, ``counts``
    (n, L, A) how often each came from there by each action, ``tries`` (n, A) how often each action
    was taken in a state; ``drawn`` (1,) is the pair that was drawn last, until it is backed up. If
    it ``idles``, nothing is drawn while no pair waits.
    """

    pairs: PairsPart
    heap: HeapPart
    errors: np.ndarray
    sources: np.ndarray
    counts: np.ndarray
    tries: np.ndarray
    drawn: np.ndarray
    threshold: float
    idles: bool


pass_on(PairSweepingPart, "pairs", stored, load_successor, age, relabel)


@function
def expect(sweeping, pair, error):
    """Note the error that a backup of a pair would find; only pairs that were tried are ranked."""
    sweeping.errors[pair] = error
    known = sweeping.pairs.positions[pair] != NONE
    rank(sweeping.heap, pair, abs(error) if known else 0.0, sweeping.threshold)


@function
def clear(sweeping, row):
    """Leave nothing in a row of the state that had it before."""
    for action in range(sweeping.tries.shape[1]):
        sweeping.tries[row, action] = 0
        expect(sweeping, row * sweeping.tries.shape[1] + action, 0.0)
    for link in range(sweeping.sources.shape[1]):
        forget_link(sweeping, row, link)


@function
def pair_of(sweeping, state, action):
    """The number of a pair; a state that is new begins with nothing."""
    total = sweeping.pairs.seen.total[0]
    pair = pair_in(sweeping.pairs, state, action)
    if sweeping.pairs.seen.total[0] > total:
        clear(sweeping, pair // sweeping.tries.shape[1])
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
    actions, rows = sweeping.tries.shape[1], sweeping.tries.shape[0]
    for link in range(sweeping.sources.shape[1]):
        serial = sweeping.sources[row, link]
        if is_kept(sweeping.pairs.seen, serial):
            source = serial % rows
            for action in range(actions):
                count = sweeping.counts[row, link, action]
                if count > 0:
                    pair = source * actions + action
                    share = count / sweeping.tries[source, action]
                    expect(sweeping, pair, sweeping.errors[pair] + share * gained)


@changed_action.register(PairSweepingPart)
def _(sweeping, weights, state, action, moved, error, discount):
    """The pair has ``error − moved`` left; those that lead to its state gain or lose with it.

    A pair that has just been backed up does not wait for another backup because of what is left of
    its own error, or small steps would be spent on it again and again: only when its successor
    changes, or when it is tried.
    """
    row = number_of(sweeping.pairs.seen.distinct, state)
    if row < 0:
        return
    pair = row * sweeping.tries.shape[1] + action
    if pair == sweeping.drawn[0]:
        sweeping.errors[pair] = error - moved
        sweeping.drawn[0] = NONE
    else:
        expect(sweeping, pair, error - moved)
    gained = gain_of(weights, state, action, moved)
    if gained != 0.0:
        sweep_to_sources(sweeping, row, discount * gained)


@changed.register(PairSweepingPart)
def _(sweeping, state, moved, left):
    """An agent with state values: all pairs of the state have the same error left."""
    row, actions = number_of(sweeping.pairs.seen.distinct, state), sweeping.tries.shape[1]
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
    state, action = transition.state, transition.action
    pair = pair_of(sweeping, state, action)
    source = pair // sweeping.tries.shape[1]
    serial = sweeping.pairs.seen.serials[source]
    remember(sweeping.pairs, transition)
    expect(sweeping, pair, sweeping.errors[pair])
    sweeping.tries[source, action] += 1
    if transition.alive > 0.0:
        row = pair_of(sweeping, transition.next_state, 0) // sweeping.tries.shape[1]
        link = link_from(sweeping, sweeping.pairs.seen, row, serial)
        sweeping.counts[row, link, action] += 1


@waiting.register(PairSweepingPart)
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


@description
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

    capacity: int = option(whole(1), default=10_000)
    threshold: float = option(at_least(0.0), default=1e-4)
    links: int = option(whole(1), default=8)
    idles: bool = option(flag(), default=False)

    def build(self, site: Site) -> PairSweepingPart:
        rows = rows_for(site, self.capacity)
        pairs = latest_pairs(site, self.capacity, untried=False)
        return PairSweepingPart(
            pairs,
            empty_heap(rows * site.actions),
            zeros(rows * site.actions),
            full((rows, self.links), NONE, np.int64),
            zeros((rows, self.links, site.actions), np.int64),
            zeros((rows, site.actions), np.int64),
            np.full(1, NONE, np.int64),
            self.threshold,
            self.idles,
        )
