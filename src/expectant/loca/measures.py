"""What is measured of a policy in the grid, exactly, and what the references are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.domains.loca_grid import LocaGrid
from expectant.exact.solve import dynamics, expected_next, greedy_policy, optimal_policy

BEFORE, LOCAL, AFTER = 0, 1, 2  # the phases
DISCOUNT = 0.97
HORIZON = 40


class References(NamedTuple):
    """Mean returns: the optimum before and after the change, and the first optimum after it."""

    before: float
    after: float
    outdated: float


def policies_of(preferences: np.ndarray) -> np.ndarray:
    """Greedy policies, ties split evenly, of preferences (M, S, A)."""
    flat = preferences.reshape(-1, preferences.shape[-1])
    return greedy_policy(flat).reshape(preferences.shape)


def returns_within(
    domain: LocaGrid,
    policies: np.ndarray,
    phase: int,
    *,
    discount: float = DISCOUNT,
    horizon: int = HORIZON,
) -> np.ndarray:
    """Expected discounted returns (M,) of policies (M, S, A) within so many steps.

    Mean over all states as starts, under the rewards of one phase, by backward sweeps.
    """
    world = dynamics(domain, phase)
    chosen = policies.transpose(1, 2, 0)  # (S, A, M)
    values = np.zeros((domain.states, policies.shape[0]))
    for _ in range(horizon):
        targets = world.rewards[:, :, None] + discount * expected_next(world, values)
        values = (chosen * targets).sum(axis=1)
    return values.mean(axis=0)


def references(domain: LocaGrid) -> References:
    """By dynamic programming: the optimal policies of both reward functions, then measured."""
    old, new = (optimal_policy(domain, discount=DISCOUNT, phase=p)[None] for p in (BEFORE, LOCAL))
    return References(
        before=float(returns_within(domain, old, BEFORE)[0]),
        after=float(returns_within(domain, new, LOCAL)[0]),
        outdated=float(returns_within(domain, old, LOCAL)[0]),
    )
