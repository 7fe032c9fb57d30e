"""Planning from any state that there is, visited or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from expectant.descriptions import description
from expectant.features.table import numbered_states
from expectant.features.vector import BinaryTable, WeightedTable, table_bytes
from expectant.models.places import feature_table
from expectant.parts import Backups, Need, Site
from expectant.verbs import draw, load, remember


class AllStatesPart(NamedTuple):
    """``features`` has the vector of every state of the domain; ``states`` is how many."""

    features: BinaryTable | WeightedTable
    states: int


@remember.register(AllStatesPart)
def _(backups, transition):
    pass


@draw.register(AllStatesPart)
def _(backups, state, rng):
    load(backups.features, int(rng.random() * backups.states), state)
    return -1


@description
class AllStates(Backups):
    """Uniform over all states of the domain, which must number them, whether seen or not."""

    def estimate_memory(self, site: Site) -> Sequence[Need]:
        states = numbered_states(site.domain, "AllStates")
        held = table_bytes(site.shape, states)
        return [Need(f"the features of all {states:,} states", held, 'backups="seen"')]

    def build(self, site: Site) -> AllStatesPart:
        states = numbered_states(site.domain, "AllStates")
        if site.shape.remembers:
            raise ValueError(
                "AllStates: needs features of the present state alone, these remember earlier ones"
            )
        return AllStatesPart(feature_table(site), states)
