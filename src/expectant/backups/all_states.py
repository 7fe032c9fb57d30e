"""Planning from any state that there is, visited or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.features.table import feature_table, numbered_states
from expectant.features.vector import BinaryTable, WeightedTable
from expectant.parts import Backups, Site
from expectant.rules import flag
from expectant.verbs import draw, function, load, remember


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
