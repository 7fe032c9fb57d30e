"""Exact models of given options on a finite MDP, looked up by the environment's own state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import zeros
from expectant.domains.finite import finite_mdp, phase_now
from expectant.exact.options import option_durations, option_model
from expectant.features.table import feature_table
from expectant.features.vector import dense, empty_state
from expectant.models.expectation import ExactPart, row_of
from expectant.parts import Site
from expectant.verbs import (
    add_expected,
    backed_up_value,
    duration,
    load,
    pass_on,
    policy_of,
    stop_of,
)

OWNER = "Repertoire: models='exact'"


class ExactOptionsPart(NamedTuple):
    """``model`` has r̂ and n̂ as if options were actions, ``durations`` (P·S·n,) are E[Σ γᵏ]."""

    model: ExactPart
    durations: np.ndarray


pass_on(ExactOptionsPart, "model", add_expected)


@backed_up_value.register(ExactOptionsPart)
def _(models, state, option, weights, discount):
    """r̂ + wᵀn̂: the discount is inside."""
    return backed_up_value(models.model, state, option, weights, 1.0)


@duration.register(ExactOptionsPart)
def _(models, state, option):
    return models.durations[row_of(models.model, state, option)]


def exact_models(options: object, count: int, site: Site, discount: float) -> ExactOptionsPart:
    """The models of so many options in all phases, with the discount inside."""
    mdp = finite_mdp(site, OWNER)
    policies, stops, vectors = _written_out(options, count, mdp.states, site)
    expected = zeros((mdp.phases, mdp.states, count, site.width))
    rewards, durations = zeros(expected.shape[:3]), zeros(expected.shape[:3])
    for phase in range(mdp.phases):
        for option in range(count):
            given = mdp, policies[option], stops[option], discount
            found = option_model(*given, phase=phase)
            durations[phase, :, option] = option_durations(*given, phase=phase)
            rewards[phase, :, option] = found[0]
            expected[phase, :, option] = found[1] @ vectors
    model = ExactPart(
        expected.reshape(-1, site.width),
        rewards.ravel(),
        mdp.states,
        count,
        phase_now(site),
    )
    return ExactOptionsPart(model, durations.ravel())


def _written_out(
    options: object, count: int, states: int, site: Site
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Policies (n, S, A) and stopping (n, S) in every state, and the states' features (S, D)."""
    table, state = feature_table(site), empty_state(site.shape)
    policies = zeros((count, states, site.actions))
    stops, vectors = zeros((count, states)), zeros((states, site.width))
    for number in range(states):
        load(table, number, state)
        vectors[number] = dense(state, site.width)
        for option in range(count):
            policy_of(options, option, state, policies[option, number])
            stops[option, number] = stop_of(options, option, state)
    return policies, stops, vectors
