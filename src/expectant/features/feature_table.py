"""The feature vectors of all states of a domain."""

from __future__ import annotations

from expectant.features.table import numbered_states
from expectant.features.vector import BinaryTable, WeightedTable, empty_state, empty_table
from expectant.parts import Site
from expectant.verbs import encode_all


def feature_table(site: Site) -> BinaryTable | WeightedTable:
    """The feature vectors of all states, in the order of their numbers."""
    if site.shape.remembers:
        raise ValueError(
            "an exact model needs features of the present state alone, these remember earlier ones"
        )
    states = numbered_states(site.domain, "an exact model")
    table = empty_table(site.shape, states)
    encode_all(site.features_part, states, table, empty_state(site.shape))
    return table
