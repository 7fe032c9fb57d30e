"""Planning from any state, or pair of a state and an action, that there is, visited or not."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.features.table import feature_table, numbered_states
from expectant.features.vector import BinaryTable, WeightedTable
from expectant.parts import Backups, Site
from expectant.rules import flag
from expectant.verbs import draw, function, load, remember, stored


class AllStatesPart(NamedTuple):
    """``features`` has the vector of every state of the domain; ``states`` is how many.

    In sweeps ``order`` (S,) is that of the present one and ``drawn`` (1,) how many of it are drawn;
    without them there is no order.
    """

    features: BinaryTable | WeightedTable
    states: int
    order: np.ndarray
    drawn: np.ndarray


@remember.register(AllStatesPart)
def _(backups, transition):
    pass


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


@description
class AllStates(Backups):
    """Uniform over all states of the domain, which must number them, whether seen or not.

    Every draw is on its own; in ``sweeps`` each state comes once before any comes again, in an
    order that is drawn for every sweep.
    """

    sweeps: bool = option(flag(), default=False)

    def build(self, site: Site) -> AllStatesPart:
        states = numbered_states(site.domain, "AllStates")
        if site.shape.remembers:
            raise ValueError(
                "AllStates: needs features of the present state alone, these remember earlier ones"
            )
        order = np.arange(states * self.sweeps)
        return AllStatesPart(feature_table(site), states, order, np.zeros(1, np.int64))


class AllPairsPart(NamedTuple):
    """``features`` has the vector of every state; pair (s, a) is number s · A + a.

    ``following`` (1,) is the pair that comes next, of ``pairs`` in all.
    """

    features: BinaryTable | WeightedTable
    pairs: int
    actions: int
    following: np.ndarray


@remember.register(AllPairsPart)
def _(backups, transition):
    pass


@draw.register(AllPairsPart)
def _(backups, state, rng):
    pair = backups.following[0]
    backups.following[0] = pair + 1 if pair + 1 < backups.pairs else 0
    load(backups.features, pair // backups.actions, state)
    return pair


@stored.register(AllPairsPart)
def _(backups, slot):
    """The action of a pair; nothing is known of what came of it."""
    return slot % backups.actions, 0.0, 1.0


@description
class AllPairs(Backups):
    """All pairs of a state and an action in turn, tried or not: exhaustive sweeps.

    The domain must number its states. Agents with action values back up the drawn action; for those
    with state values every state comes as often in a row as there are actions.
    """

    draws_actions: ClassVar[bool] = True

    def build(self, site: Site) -> AllPairsPart:
        states = numbered_states(site.domain, "AllPairs")
        if site.shape.remembers:
            raise ValueError(
                "AllPairs: needs features of the present state alone, these remember earlier ones"
            )
        pairs = states * site.actions
        return AllPairsPart(feature_table(site), pairs, site.actions, np.zeros(1, np.int64))
