"""Look-ahead weights kept up to date, so that a decision costs O(A k) instead of O(A k d).

b(s, a, w) = b_aᵀ s + γ wᵀ F_a s is itself linear in s, with weights u_a = b_a + γ F_aᵀ w. A model
step changes u_a at the active features only; a value step w += c s adds γ c F_aᵀ s to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import zeros
from expectant.features.vector import dot
from expectant.lanes import dot_row
from expectant.models.expectation import LinearPart
from expectant.verbs import answering, backed_up_value, fit, follow, index, size, value


class MaintainedPart(NamedTuple):
    """A linear model with ``lookahead`` (A, D), the u_a, and ``transposed`` (A, d, D), whose row i
    is row i of F_a; ``weights`` (D,) and ``discount`` are the agent's."""

    model: LinearPart
    lookahead: np.ndarray
    transposed: np.ndarray
    weights: np.ndarray
    discount: float


@fit.register(MaintainedPart)
def _(maintained, transition):
    model, transposed = maintained.model, maintained.transposed
    state, action = transition.state, transition.action
    error = fit(model, transition)
    for n in range(size(state)):
        j = index(state, n)
        for i in range(transposed.shape[1]):
            transposed[action, i, j] = model.rows[action, j, i]
        future = dot_row(model.rows[action], j, maintained.weights)
        maintained.lookahead[action, j] = model.rewards[action, j] + maintained.discount * future
    return error


@backed_up_value.register(MaintainedPart)
def _(maintained, state, action, weights, discount):
    """b(s, a, w) = u_aᵀ s."""
    return dot(state, maintained.lookahead[action])


@answering.register(MaintainedPart)
def _(maintained):
    return maintained.model


@follow.register(MaintainedPart)
def _(maintained, state, change, discount):
    lookahead, transposed = maintained.lookahead, maintained.transposed
    for action in range(lookahead.shape[0]):
        for n in range(size(state)):
            i, amount = index(state, n), discount * change * value(state, n)
            for j in range(lookahead.shape[1]):
                lookahead[action, j] += amount * transposed[action, i, j]


def maintained(model: LinearPart, weights: np.ndarray, discount: float) -> MaintainedPart:
    """Keep the look-ahead weights of a linear model up to date from here on."""
    lookahead = model.rewards.copy()
    transposed = zeros(model.rows.shape)
    size = model.rows.shape[1]
    transposed[:, :, :size] = np.swapaxes(model.rows[:, :, :size], 1, 2)
    lookahead[:, :size] += discount * (model.rows @ weights)
    return MaintainedPart(model, lookahead, transposed, weights, discount)
