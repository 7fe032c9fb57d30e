"""Fixed points of planning updates (AVI, AAVI, the invalid update) and TD, and the planning gap.

AVI backs up state values with the maximum outside the expectation, AAVI action values with the
maximum inside. The invalid update (Sorg & Singh 2010) combines action values with an expectation
model, which moves the maximum outside; in a stochastic MDP its fixed point differs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.interfaces import Domain, Features
from expectant.core.rng import SEED, generator
from expectant.core.rules import between, one_of, whole
from expectant.exact.dynamic_programming import (
    Dynamics,
    as_array,
    as_frequencies,
    check_discount,
    epsilon_greedy_policy,
    expected_next,
    get_dynamics,
    greedy_policy,
    optimal_action_values,
    policy_values,
    start_return,
)

SWEEPS = 200_000
UPDATES = ("avi", "aavi", "invalid")


class FixedPoint(NamedTuple):
    """``weights`` (d,) for AVI, (A, d) for the others, their ``action_values`` (S, A), the greedy
    ``policy`` (S, A) and the return from the start of acting ε-greedily, ``start_return``."""

    weights: np.ndarray
    action_values: np.ndarray
    policy: np.ndarray
    start_return: float


def fixed_point(
    domain: Domain,
    update: str,
    *,
    features: np.ndarray | None = None,
    state_weights: np.ndarray | None = None,
    epsilon: float = 0.1,
    discount: float = 1.0,
    phase: int = 0,
) -> FixedPoint:
    """Iterate an update in expectation until it converges.

    ``features`` (S, d) are the rows of a linear approximation (None: one-hot). ``state_weights``
    (S,) are the relative frequencies of backups (None: equal), which matter if the features cannot
    represent the values. Raises a ``ValueError`` if the update diverges, as it may with linear
    approximation.
    """
    one_of(*UPDATES).check("fixed_point", "update", update)
    dynamics, discount = get_dynamics(domain, phase), check_discount(discount)
    rows = as_features(features, dynamics.rewards.shape[0])
    projection, avi = _projection(rows, state_weights), update == "avi"
    weights = np.zeros((1 if avi else dynamics.rewards.shape[1], rows.shape[1]))
    for _ in range(SWEEPS):
        targets = _targets(update, dynamics, rows, weights, discount)
        if avi:
            targets = targets.max(axis=1, keepdims=True)
        old, weights = weights, (projection @ targets).T
        size = np.abs(weights).max()
        if not np.isfinite(size) or size > 1e12:
            break
        if np.abs(weights - old).max() <= 1e-12 * max(1.0, size):
            backed_up = _targets(update, dynamics, rows, weights, discount)
            values = backed_up if avi else rows @ weights.T
            policy = greedy_policy(values)
            noisy = epsilon_greedy_policy(policy, epsilon)
            returns = policy_values(domain, noisy, discount=discount, phase=phase)
            weights = weights[0] if avi else weights
            return FixedPoint(weights, values, policy, start_return(domain, returns))
    raise ValueError(f"fixed_point: {update!r} does not converge with these features")


def planning_gap(
    domain: Domain,
    action_values: np.ndarray | None = None,
    *,
    discount: float = 1.0,
    phase: int = 0,
) -> np.ndarray:
    """Σ p max_a' q(s', a') − max_a' Σ p q(s', a') ≥ 0 for every state and action: (S, A).

    The loss of planning with action values through an expectation model. It is zero exactly if one
    action is greedy in all successors. ``action_values`` (S, A) default to q*.
    """
    dynamics = get_dynamics(domain, phase)
    if action_values is None:
        action_values = optimal_action_values(domain, discount=discount, phase=phase)
    q = as_array("planning_gap", "action_values", action_values, dynamics.rewards.shape)
    mean_of_max = expected_next(dynamics, q.max(axis=1))
    max_of_mean = expected_next(dynamics, q).max(axis=2)
    return np.maximum(mean_of_max - max_of_mean, 0.0)


def linear_model(
    domain: Domain, features: np.ndarray, *, phase: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The aligned linear expectation model: F (A, d, d) and b (A, d), s̄ = F_a s and r = b_aᵀ s.

    Raises a ``ValueError`` if none exists, because equal features need unequal predictions.
    """
    dynamics = get_dynamics(domain, phase)
    rows = as_features(features, dynamics.rewards.shape[0])
    inverse = np.linalg.pinv(rows)
    expected = expected_next(dynamics, rows)
    model = np.einsum("ds,sai->aid", inverse, expected)
    rewards = np.einsum("ds,sa->ad", inverse, dynamics.rewards)
    errors = np.abs(np.einsum("aid,sd->sai", model, rows) - expected).max(axis=2)
    errors = np.maximum(errors, np.abs(rows @ rewards.T - dynamics.rewards))
    if errors.max() > 1e-8:
        state, action = np.unravel_index(int(errors.argmax()), errors.shape)
        raise ValueError(
            f"linear_model: no linear model is aligned with these features: state {state}, action "
            f"{action} would be predicted with an error of {errors.max():.3g}"
        )
    return model, rewards


def feature_matrix(
    domain: Domain, features: Features, *, seed: int = 0, run: int = 0
) -> np.ndarray:
    """Feature vectors (S, d) of all states, as drawn in run ``run`` of ``ex.run`` with ``seed``."""
    from expectant.core.vectors import dense, empty_state
    from expectant.core.verbs import encode

    SEED.check("feature_matrix", "seed", seed)
    whole(0).check("feature_matrix", "run", run)
    shape = features.shape(domain)
    if shape.remembers:
        raise ValueError(
            "feature_matrix: features must depend on the present state alone, "
            f"got {features!r}, which remembers earlier ones"
        )
    part, state = features.build(domain, generator(seed, run)), empty_state(shape)
    rows = []
    for index in range(get_dynamics(domain).rewards.shape[0]):
        encode(part, np.array([index]), -1, state)
        rows.append(dense(state, shape.size))
    return np.array(rows)


def as_features(features: np.ndarray | None, states: int) -> np.ndarray:
    """Validate feature vectors (S, d); None: one-hot ones."""
    if features is None:
        return np.eye(states)
    return as_array("exact", "features", features, (states, None))


def _projection(rows: np.ndarray, state_weights: np.ndarray | None) -> np.ndarray:
    """Matrix (d, S) from targets to the weights of least squared error and smallest norm."""
    root = np.sqrt(as_frequencies("fixed_point", "state_weights", state_weights, len(rows)))
    return np.linalg.pinv(root[:, None] * rows) * root


def _targets(
    update: str, dynamics: Dynamics, rows: np.ndarray, weights: np.ndarray, discount: float
) -> np.ndarray:
    """Targets (S, A) of all states and actions; that of AVI is their maximum."""
    values = rows @ weights.T
    if update == "avi":
        return dynamics.rewards + discount * expected_next(dynamics, values[:, 0])
    if update == "aavi":
        return dynamics.rewards + discount * expected_next(dynamics, values.max(axis=1))
    return dynamics.rewards + discount * expected_next(dynamics, values).max(axis=2)


def lstd(
    features: ArrayLike,
    rewards: ArrayLike,
    next_features: ArrayLike,
    *,
    discount: float = 1.0,
    weights: ArrayLike | None = None,
) -> np.ndarray:
    """Return the fixed point θ (d,) of TD(0) on some transitions (Bradtke & Barto 1996).

    Transitions are rows: features φ (n, d), rewards (n,), next features φ' (n, d), zero at the end
    of an episode; ``weights`` (n,) are their frequencies. Solves Σ φ (φ − γ φ')ᵀ θ = Σ φ r, with
    minimal norm if θ is not unique. θ also is the value of the best linear model of the same data
    (Sutton et al. 2008; Parr et al. 2008).
    """
    phi = as_array("lstd", "features", features, (None, None))
    reward = as_array("lstd", "rewards", rewards, phi.shape[:1])
    next_phi = as_array("lstd", "next_features", next_features, phi.shape)
    discount = between(0, 1).check("lstd", "discount", discount)
    weighted = phi * as_frequencies("lstd", "weights", weights, len(phi))[:, None]
    left = weighted.T @ (phi - discount * next_phi)
    return np.linalg.lstsq(left, weighted.T @ reward, rcond=None)[0]
