"""Average reward on finite MDPs that go on for ever: gains and differential values.

The gain of a policy is the mean reward of a step in the long run. It is one number for all starts
only where the policy ends up in one set of states (a *unichain*); where it does not, the functions
here say so. The differential value of a state is how much more than the gain is earned, in all, by
starting there (S&B 2018, section 10.3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.interfaces import Domain
from expectant.exact.dynamic_programming import (
    Dynamics,
    checked_policy,
    expected_next,
    get_dynamics,
    softened,
    transitions_of,
)

LAZY = 0.5  # of the steps count, so that worlds that go round in circles settle too
SWEEPS = 200_000
SAME = 1e-13


def gain(domain: Domain, policy: ArrayLike, *, phase: int = 0) -> float:
    """The mean reward of a step, in the long run, of a policy: (S, A) or (S,) actions."""
    _, rewards, frequencies = _long_run(domain, policy, phase)
    return float(frequencies @ rewards)


def stationary_distribution(domain: Domain, policy: ArrayLike, *, phase: int = 0) -> np.ndarray:
    """How often each state is visited (S,), in the long run, under a policy."""
    return _long_run(domain, policy, phase)[2]


def differential_values(domain: Domain, policy: ArrayLike, *, phase: int = 0) -> np.ndarray:
    """h = r_π − g + P_π h, (S,); of all solutions the one whose mean over visits is zero."""
    transitions, rewards, frequencies = _long_run(domain, policy, phase)
    centred = rewards - frequencies @ rewards
    matrix = np.eye(rewards.size) - transitions
    return np.linalg.solve(matrix + np.outer(np.ones(rewards.size), frequencies), centred)


def optimal_gain(domain: Domain, *, phase: int = 0) -> float:
    """The highest mean reward of a step, in the long run."""
    return _best_gain(_endless(domain, phase))


def best_epsilon_soft_gain(domain: Domain, epsilon: float = 0.1, *, phase: int = 0) -> float:
    """The highest mean reward of a step, in the long run, of an ε-soft policy."""
    return _best_gain(softened(_endless(domain, phase), epsilon))


def _endless(domain: Domain, phase: int) -> Dynamics:
    world = get_dynamics(domain, phase)
    ends = (world.probabilities > 0) & (world.successors < 0)
    if ends.any():
        state = int(np.argmax(ends.any(axis=(1, 2))))
        raise ValueError(
            f"exact: domain must go on for ever, and an episode can end in state {state}; let "
            "its end lead back to the start (and say endless=True), or ask for policy_values"
        )
    return world


def _long_run(
    domain: Domain, policy: ArrayLike, phase: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P_π (S, S), r_π (S,) and the one distribution (S,) that P_π leaves as it is."""
    world = _endless(domain, phase)
    probabilities = checked_policy(policy, world.rewards.shape)
    matrix = transitions_of(world, probabilities)
    closed = _closed_classes(matrix > 0)
    if len(closed) > 1:
        raise ValueError(
            "exact: the policy must end up in one set of states wherever it starts, and from "
            f"state {closed[0][0]} it never comes to state {closed[1][0]} nor back; let it "
            "explore (epsilon_greedy_policy), or ask about each part as a domain of its own"
        )
    inside = closed[0]
    part = matrix[np.ix_(inside, inside)]
    equations = np.vstack([part.T - np.eye(len(inside)), np.ones(len(inside))])
    frequencies = np.zeros(len(matrix))
    wanted = np.eye(1, len(inside) + 1, len(inside))[0]
    frequencies[inside] = np.linalg.lstsq(equations, wanted, rcond=None)[0]
    return matrix, (probabilities * world.rewards).sum(axis=1), frequencies


def _closed_classes(leads: np.ndarray) -> list[np.ndarray]:
    """The sets of states that reach each other and are never left (``leads`` (S, S))."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(csr_matrix(leads), connection="strong")
    leaving = leads & (labels[:, None] != labels[None, :])
    left = {int(label) for label in labels[leaving.any(axis=1)]}
    return [np.flatnonzero(labels == label) for label in range(count) if label not in left]


def _best_gain(world: Dynamics) -> float:
    """Relative value iteration (White 1963), with lazy steps so that circles settle."""
    values, scale = np.zeros(world.rewards.shape[0]), max(1.0, float(np.abs(world.rewards).max()))
    low = high = 0.0
    for _ in range(SWEEPS):
        ahead = (world.rewards + expected_next(world, values)).max(axis=1)
        change = ahead - values
        low, high = float(change.min()), float(change.max())
        if high - low <= SAME * scale:
            return (low + high) / 2
        values = values + LAZY * change
        values -= values[0]
    raise ValueError(
        f"exact: the best gain depends on where one starts, or settles too slowly (from {low:g} "
        f"to {high:g} after {SWEEPS:,} sweeps)"
    )
