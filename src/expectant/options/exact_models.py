"""Exact models of given options on a finite MDP, looked up by the environment's own state."""

from __future__ import annotations

from typing import Any

import numpy as np

from expectant.exact.options import option_model
from expectant.features.vector import dense, empty_state
from expectant.models.expectation import ExactPart
from expectant.models.places import feature_table, finite_mdp
from expectant.parts import Site
from expectant.verbs import load, policy_of, stop_of

OWNER = "Repertoire: models='exact'"


def exact_models(options: Any, count: int, site: Site, discount: float) -> ExactPart:
    """The models of so many options in all phases, with the discount inside."""
    mdp = finite_mdp(site, OWNER)
    policies, stops, vectors = _written_out(options, count, site)
    expected = np.zeros((mdp.phases, site.domain.states, count, site.width))
    rewards = np.zeros(expected.shape[:3])
    for phase in range(mdp.phases):
        for option in range(count):
            found = option_model(mdp, policies[option], stops[option], discount, phase=phase)
            rewards[phase, :, option] = found[0]
            expected[phase, :, option] = found[1] @ vectors
    return ExactPart(
        expected.reshape(-1, site.width),
        rewards.ravel(),
        int(site.domain.states),
        count,
        site.domain_part.now,
    )


def _written_out(options: Any, count: int, site: Site) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Policies (n, S, A) and stopping (n, S) in every state, and the states' features (S, D)."""
    states = int(site.domain.states)
    table, state = feature_table(site), empty_state(site.shape)
    policies = np.zeros((count, states, site.actions))
    stops, vectors = np.zeros((count, states)), np.zeros((states, site.width))
    for number in range(states):
        load(table, number, state)
        vectors[number] = dense(state, site.width)
        for option in range(count):
            policy_of(options, option, state, policies[option, number])
            stops[option, number] = stop_of(options, option, state)
    return policies, stops, vectors
