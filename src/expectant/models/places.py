"""What exact models need to know: the finite MDP behind a setting, and its states' features."""

from __future__ import annotations

from expectant.domains.finite import FiniteMDP
from expectant.features.vector import BinaryTable, WeightedTable, empty_state, empty_table
from expectant.parts import Site
from expectant.verbs import encode_all


def finite_mdp(site: Site, owner: str) -> FiniteMDP:
    """The MDP of the setting's domain; an error where it has none."""
    mdp = site.domain.mdp()
    if mdp is None:
        raise ValueError(
            f"{owner}: needs a domain that is a finite MDP, {type(site.domain).__name__} is not"
        )
    return mdp


def feature_table(site: Site) -> BinaryTable | WeightedTable:
    """The feature vectors of all states, in the order of their numbers."""
    if site.shape.remembers:
        raise ValueError(
            "an exact model needs features of the present state alone, these remember earlier ones"
        )
    states, table = site.domain.states, empty_table(site.shape, site.domain.states)
    encode_all(site.features_part, states, table, empty_state(site.shape))
    return table
