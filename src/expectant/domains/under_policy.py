"""What a given policy makes of a finite MDP: a chain, whose values are to be predicted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from expectant.domains.finite import FiniteMDP
from expectant.parts import Domain


def under_policy(domain: Domain, policy: ArrayLike | None = None, *, phase: int = 0) -> FiniteMDP:
    """The finite MDP with a single action, to do as a policy (S, A) does; None: anything, equally.

    Its optimal values are the values of the policy, so agents learn to predict in it, and every
    measure of value errors is one of prediction errors.
    """
    mdp = domain.mdp() if isinstance(domain, Domain) else None
    if mdp is None:
        raise ValueError(f"under_policy: domain must be a finite MDP, got {domain!r}")
    table = mdp.outcomes
    phases, states, actions, outcomes = table.probabilities.shape
    if not 0 <= phase < phases:
        raise ValueError(f"under_policy: phase must be below {phases}, got {phase!r}")
    chances = (
        np.full((states, actions), 1.0 / actions) if policy is None else np.array(policy, float)
    )
    if chances.shape != (states, actions):
        raise ValueError(
            f"under_policy: policy must have the shape {(states, actions)}, got {chances.shape}"
        )
    if (chances < 0.0).any() or np.abs(chances.sum(axis=1) - 1.0).max() > 1e-9:
        raise ValueError(
            "under_policy: policy must have probabilities that add up to 1 in each row"
        )
    flat = (states, 1, actions * outcomes)
    return FiniteMDP(
        probabilities=(chances[:, :, None] * table.probabilities[phase]).reshape(flat),
        rewards=table.rewards[phase].reshape(flat),
        successors=table.successors.reshape(flat),
        start=table.start,
    )
