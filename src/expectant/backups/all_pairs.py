"""Planning from every pair of a state and an action that there is, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.descriptions import description
from expectant.features.feature_table import feature_table
from expectant.features.table import numbered_states
from expectant.features.vector import BinaryTable, WeightedTable, table_bytes
from expectant.integrity import within
from expectant.parts import Backups, Need, Site, bytes_of
from expectant.verbs import check_restored, draw, load, remember, stored


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


@check_restored.register(AllPairsPart)
def _(backups, built, site):
    check_restored(backups.features, built.features, site)
    within("the pair of a sweep that comes next", backups.following, 0, backups.pairs - 1)


@description
class AllPairs(Backups):
    """All pairs of a state and an action in turn, tried or not: exhaustive sweeps.

    The domain must number its states. Agents with action values back up the drawn action; for those
    with state values every state comes as often in a row as there are actions.
    """

    draws_actions: ClassVar[bool] = True

    def estimate_memory(self, site: Site) -> Sequence[Need]:
        states = numbered_states(site.domain, "AllPairs")
        held = table_bytes(site.shape, states) + bytes_of((1,))
        return [Need(f"the features of all {states:,} states", held, 'backups="pairs"')]

    def build(self, site: Site) -> AllPairsPart:
        states = numbered_states(site.domain, "AllPairs")
        if site.shape.remembers:
            raise ValueError(
                "AllPairs: needs features of the present state alone, these remember earlier ones"
            )
        pairs = states * site.actions
        return AllPairsPart(feature_table(site), pairs, site.actions, np.zeros(1, np.int64))
