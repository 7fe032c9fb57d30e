"""Planning from every pair of a state and an action that there is, one after the other."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.descriptions import description
from expectant.features.table import feature_table, numbered_states
from expectant.features.vector import BinaryTable, WeightedTable
from expectant.parts import Backups, Site
from expectant.verbs import draw, load, remember, stored


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
