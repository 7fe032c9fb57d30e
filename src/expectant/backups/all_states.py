"""Planning from any state that there is, visited or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.features.feature_table import feature_table
from expectant.features.table import numbered_states
from expectant.features.vector import BinaryTable, WeightedTable, table_bytes
from expectant.integrity import require, within
from expectant.parts import Backups, Need, Site, bytes_of
from expectant.rules import flag
from expectant.verbs import check_restored, draw, function, load, remember


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


@check_restored.register(AllStatesPart)
def _(backups, built, site):
    check_restored(backups.features, built.features, site)
    require(
        np.array_equal(np.sort(backups.order), np.sort(built.order)),
        "the order of a sweep must have every state once",
    )
    within("the states of a sweep that are drawn", backups.drawn, 0, backups.states)


@description
class AllStates(Backups):
    """Uniform over all states of the domain, which must number them, whether seen or not.

    Every draw is on its own; in ``sweeps`` each state comes once before any comes again, in an
    order that is drawn for every sweep.
    """

    sweeps: bool = option(flag(), default=False)

    def estimate_memory(self, site: Site) -> Sequence[Need]:
        states = numbered_states(site.domain, "AllStates")
        held = table_bytes(site.shape, states) + bytes_of((states * self.sweeps,), (1,))
        return [Need(f"the features of all {states:,} states", held, 'backups="seen"')]

    def build(self, site: Site) -> AllStatesPart:
        states = numbered_states(site.domain, "AllStates")
        if site.shape.remembers:
            raise ValueError(
                "AllStates: needs features of the present state alone, these remember earlier ones"
            )
        order = np.arange(states * self.sweeps)
        return AllStatesPart(feature_table(site), states, order, np.zeros(1, np.int64))
