"""The true distribution model of a finite MDP."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import BuildContext, Model
from expectant.core.vectors import (
    Binary,
    BinaryTable,
    Weighted,
    WeightedTable,
    empty_state,
    state_value,
)
from expectant.core.verbs import backed_up_action_value, backed_up_value, fit, function, load
from expectant.domains.finite import END, PHASE, phase_array, require_mdp
from expectant.features.discrete import feature_table


class TruePart(NamedTuple):
    """Probabilities and rewards (P, S, A, O), successors (S, A, O) and all states' features.

    ``now`` is the domain's own, so the model knows the present phase; ``successor`` is scratch.
    """

    probabilities: np.ndarray
    rewards: np.ndarray
    successors: np.ndarray
    features: BinaryTable | WeightedTable
    successor: Binary | Weighted
    now: np.ndarray


@fit.register(TruePart)
def _(model, transition):
    return 0.0


@function
def expected_outlook(model, state, action, weights, discount):
    """Σ p(s' | s, a) [r + γ · the outlook of s']."""
    number, phase, total = state.state_index[0], model.now[PHASE], 0.0
    for o in range(model.successors.shape[2]):
        probability = model.probabilities[phase, number, action, o]
        total += probability * model.rewards[phase, number, action, o]
        successor = model.successors[number, action, o]
        if successor != END:
            load(model.features, successor, model.successor)
            total += probability * discount * state_value(weights, model.successor)
    return total


@backed_up_value.register(TruePart)
def _(model, state, action, weights, discount):
    """The bracket of AVI's target: the mean of v̂(s')."""
    return expected_outlook(model, state, action, weights, discount)


@backed_up_action_value.register(TruePart)
def _(model, state, action, weights, discount):
    """AAVI's target: the mean of the maxima of q̂(s', ·)."""
    return expected_outlook(model, state, action, weights, discount)


class TrueModel(Model):
    """The distribution model of a known finite MDP, always of its present phase."""

    learns = False

    def build(self, context: BuildContext) -> TruePart:
        table = require_mdp(context, "TrueModel").outcomes
        return TruePart(
            table.probabilities.copy(),
            table.rewards.copy(),
            table.successors.copy(),
            feature_table(context),
            empty_state(context.shape),
            phase_array(context),
        )
