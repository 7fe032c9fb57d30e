"""Average reward on continuing finite MDPs: gains and differential values.

The gain of a policy is its mean reward per step in the long run. It is independent of the start if
the policy is a unichain; otherwise the functions here raise an error. The differential value of a
state is the total reward in excess of the gain when starting there (S&B 2018, section 10.3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.interfaces import Domain
from expectant.exact import dynamic_programming as dp

LAZINESS = 0.5  # step size of lazy backups, which also converge in periodic MDPs
SWEEPS = 200_000
TOLERANCE = 1e-13


def gain(domain: Domain, policy: ArrayLike, *, phase: int = 0) -> float:
    """Mean reward per step of a policy, (S, A) probabilities or (S,) actions, in the long run."""
    _, rewards, frequencies = _stationary(domain, policy, phase)
    return float(frequencies @ rewards)


def stationary_distribution(domain: Domain, policy: ArrayLike, *, phase: int = 0) -> np.ndarray:
    """Stationary distribution (S,) of a policy."""
    return _stationary(domain, policy, phase)[2]


def differential_values(domain: Domain, policy: ArrayLike, *, phase: int = 0) -> np.ndarray:
    """h = r_π − g + P_π h (S,), with zero mean under the stationary distribution."""
    transitions, rewards, frequencies = _stationary(domain, policy, phase)
    centred = rewards - frequencies @ rewards
    matrix = np.eye(rewards.size) - transitions
    return np.linalg.solve(matrix + np.outer(np.ones(rewards.size), frequencies), centred)


def optimal_gain(domain: Domain, *, phase: int = 0) -> float:
    """The highest gain of any policy."""
    return _best_gain(_continuing_dynamics(domain, phase))


def best_epsilon_soft_gain(domain: Domain, epsilon: float = 0.1, *, phase: int = 0) -> float:
    """The highest gain of any ε-soft policy."""
    return _best_gain(dp.soften(_continuing_dynamics(domain, phase), epsilon))


def _continuing_dynamics(domain: Domain, phase: int) -> dp.Dynamics:
    """Return the dynamics of a domain; raise ValueError if episodes can end."""
    dynamics = dp.get_dynamics(domain, phase)
    ends = (dynamics.probabilities > 0) & (dynamics.successors < 0)
    if ends.any():
        state = int(np.argmax(ends.any(axis=(1, 2))))
        raise ValueError(
            f"exact: domain must go on for ever, and an episode can end in state {state}; let "
            "its end lead back to the start (and say endless=True), or ask for policy_values"
        )
    return dynamics


def _stationary(
    domain: Domain, policy: ArrayLike, phase: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P_π (S, S), r_π (S,) and the stationary distribution (S,)."""
    dynamics = _continuing_dynamics(domain, phase)
    probabilities = dp.as_policy(policy, dynamics.rewards.shape)
    matrix = dp.transition_matrix(dynamics, probabilities)
    classes = _recurrent_classes(matrix > 0)
    if len(classes) > 1:
        raise ValueError(
            "exact: the policy must end up in one set of states wherever it starts, and from "
            f"state {classes[0][0]} it never comes to state {classes[1][0]} nor back; let it "
            "explore (epsilon_greedy_policy)"
        )
    states = classes[0]
    closed = matrix[np.ix_(states, states)]
    equations = np.vstack([closed.T - np.eye(len(states)), np.ones(len(states))])
    right_side = np.eye(1, len(states) + 1, len(states))[0]
    frequencies = np.zeros(len(matrix))
    frequencies[states] = np.linalg.lstsq(equations, right_side, rcond=None)[0]
    return matrix, (probabilities * dynamics.rewards).sum(axis=1), frequencies


def _recurrent_classes(edges: np.ndarray) -> list[np.ndarray]:
    """Closed communicating classes of a graph, ``edges`` (S, S)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(csr_matrix(edges), connection="strong")
    leaving = edges & (labels[:, None] != labels[None, :])
    transient = {int(label) for label in labels[leaving.any(axis=1)]}
    return [np.flatnonzero(labels == label) for label in range(count) if label not in transient]


def _best_gain(dynamics: dp.Dynamics) -> float:
    """Relative value iteration (White 1963) with lazy steps."""
    values = np.zeros(dynamics.rewards.shape[0])
    scale = max(1.0, float(np.abs(dynamics.rewards).max()))
    low = high = 0.0
    for _ in range(SWEEPS):
        change = (dynamics.rewards + dp.expected_next(dynamics, values)).max(axis=1) - values
        low, high = float(change.min()), float(change.max())
        if high - low <= TOLERANCE * scale:
            return (low + high) / 2
        values = values + LAZINESS * change
        values -= values[0]
    raise ValueError(
        f"exact: the best gain depends on the start, or converges too slowly (from {low:g} to "
        f"{high:g} after {SWEEPS:,} sweeps)"
    )
