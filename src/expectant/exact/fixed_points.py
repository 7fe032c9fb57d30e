"""Where the planning updates end up: fixed points of AVI, AAVI and the invalid update; the gap.

AVI backs up state values with a maximum outside the mean, AAVI action values with the maximum
inside it. The invalid update (Sorg & Singh 2010) has an expectation model and action values, so
that the maximum ends up outside. In a stochastic world that is a different fixed point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from expectant.core.formatting import short_repr
from expectant.core.interfaces import Domain, Features
from expectant.core.rng import SEED, generator
from expectant.core.rules import one_of, whole
from expectant.exact.dynamic_programming import (
    Dynamics,
    checked_discount,
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
    """``weights`` (d,) for AVI, (A, d) for the others; (S, A) ``action_values`` to act on.

    ``start_return`` is the return of acting on them ε-greedily.
    """

    weights: np.ndarray
    action_values: np.ndarray
    policy: np.ndarray
    start_return: float

    def __repr__(self) -> str:
        return short_repr(self)


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
    """Where an update converges if it is applied in expectation until nothing changes.

    ``features`` (S, d) are the rows of a linear approximation (None: one-hot), and
    ``state_weights`` (S,) says how often each state is backed up (None: equally; it matters only
    where the features cannot represent the values exactly). A ``ValueError`` says if there is no
    convergence, which linear approximation does not promise.
    """
    one_of(*UPDATES).check("fixed_point", "update", update)
    world, discount = get_dynamics(domain, phase), checked_discount(discount)
    matrix = feature_rows(features, world.rewards.shape[0])
    solve = _projection(matrix, state_weights)
    shape = (1, matrix.shape[1]) if update == "avi" else (world.rewards.shape[1], matrix.shape[1])
    weights = np.zeros(shape)
    for _ in range(SWEEPS):
        targets = _targets(update, world, matrix, weights, discount)
        if update == "avi":
            targets = targets.max(axis=1, keepdims=True)
        old, weights = weights, (solve @ targets).T
        size = np.abs(weights).max()
        if not np.isfinite(size) or size > 1e12:
            break
        if np.abs(weights - old).max() <= 1e-12 * max(1.0, size):
            avi = update == "avi"
            values = (
                _targets(update, world, matrix, weights, discount) if avi else matrix @ weights.T
            )
            policy = greedy_policy(values)
            returns = policy_values(
                domain, epsilon_greedy_policy(policy, epsilon), discount=discount, phase=phase
            )
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
    """Σ p max_a' q(s', a') − max_a' Σ p q(s', a') for every state and action: (S, A), never < 0.

    It is what planning with action values loses by an expectation model, and zero exactly where
    one action is greedy in all successors at once. ``action_values`` (S, A) default to q*.
    """
    world = get_dynamics(domain, phase)
    if action_values is None:
        action_values = optimal_action_values(domain, discount=discount, phase=phase)
    action_values = np.asarray(action_values, float)
    if action_values.shape != world.rewards.shape:
        raise ValueError(
            f"planning_gap: action_values must have the shape {world.rewards.shape}, "
            f"got {action_values.shape}"
        )
    mean_of_max = expected_next(world, action_values.max(axis=1))
    max_of_mean = expected_next(world, action_values).max(axis=2)
    return np.maximum(mean_of_max - max_of_mean, 0.0)


def linear_model(
    domain: Domain, features: np.ndarray, *, phase: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The aligned linear expectation model: F (A, d, d) and b (A, d), s̄ = F_a s and r = b_aᵀ s.

    Exists only if equal features never need unequal predictions; a ``ValueError`` names the state
    where they do.
    """
    world = get_dynamics(domain, phase)
    matrix = feature_rows(features, world.rewards.shape[0])
    inverse = np.linalg.pinv(matrix)
    expected = expected_next(world, matrix)
    model = np.einsum("ds,sai->aid", inverse, expected)
    rewards = np.einsum("ds,sa->ad", inverse, world.rewards)
    errors = np.abs(np.einsum("aid,sd->sai", model, matrix) - expected).max(axis=2)
    errors = np.maximum(errors, np.abs(matrix @ rewards.T - world.rewards))
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
    """The feature vectors (S, d) of all states, as run number ``run`` of that seed draws them."""
    from expectant.core.vectors import dense, empty_state
    from expectant.core.verbs import encode

    SEED.check("feature_matrix", "seed", seed)
    whole(0).check("feature_matrix", "run", run)
    rng = generator(seed, run)
    shape = features.shape(domain)
    if shape.remembers:
        raise ValueError(
            "feature_matrix: features must depend on the present state alone, "
            f"got {features!r}, which remembers earlier ones"
        )
    part, state = features.build(domain, rng), empty_state(shape)
    rows = []
    for number in range(get_dynamics(domain).rewards.shape[0]):
        encode(part, np.array([number]), -1, state)
        rows.append(dense(state, shape.size))
    return np.array(rows)


def feature_rows(features: np.ndarray | None, states: int) -> np.ndarray:
    """The feature vectors of all states as they were given; one-hot ones for None."""
    if features is None:
        return np.eye(states)
    matrix = np.asarray(features, float)
    if matrix.ndim != 2 or matrix.shape[0] != states:
        raise ValueError(f"exact: features must be ({states}, d) rows, got {matrix.shape}")
    return matrix


def _projection(matrix: np.ndarray, state_weights: np.ndarray | None) -> np.ndarray:
    """From targets (S,) to the weights (d,) of least squared error, smallest norm."""
    root = np.ones(matrix.shape[0])
    if state_weights is not None:
        root = np.sqrt(np.asarray(state_weights, float))
        if root.shape != (matrix.shape[0],) or not (root >= 0).all() or root.sum() == 0:
            raise ValueError(
                f"fixed_point: state_weights must be {(matrix.shape[0],)} numbers, 0 or more"
            )
    return np.linalg.pinv(root[:, None] * matrix) * root


def _targets(
    update: str, world: Dynamics, matrix: np.ndarray, weights: np.ndarray, discount: float
) -> np.ndarray:
    """What every state and action is backed up to: (S, A); AVI takes the greatest."""
    values = matrix @ weights.T
    if update == "avi":
        return world.rewards + discount * expected_next(world, values[:, 0])
    if update == "aavi":
        return world.rewards + discount * expected_next(world, values.max(axis=1))
    return world.rewards + discount * expected_next(world, values).max(axis=2)


def jensen_gap(
    domain: Domain,
    value: np.ndarray | Callable[[np.ndarray], np.ndarray],
    *,
    features: np.ndarray | None = None,
    phase: int = 0,
) -> np.ndarray:
    """E[v̂(S')] − v̂(s̄(s, a)) for every state and action: (S, A), times γ AVI's bracket less LEVI's.

    ``value`` is v̂: weights (d,), for which the gap is zero, or a function from feature vectors
    (n, d) to their values (n,), such as ``Learner.value_of``. ``features`` (S, d) are the vectors
    of all states (None: one-hot). The end is a vector of zeros in s̄ and has no value, as in a
    zero-terminal model. The name is Jensen's, whose inequality says that the gap is never positive
    where v̂ is concave.
    """
    world = get_dynamics(domain, phase)
    rows = feature_rows(features, world.rewards.shape[0])
    values = _asked(value, rows)
    means = expected_next(world, rows)
    at_means = _asked(value, means.reshape(-1, rows.shape[1])).reshape(means.shape[:2])
    return expected_next(world, values) - at_means


def _asked(value: Any, vectors: np.ndarray) -> np.ndarray:
    """v̂ of feature vectors, whichever way it is given."""
    if callable(value):
        values = np.asarray(value(vectors), float)
    else:
        weights = np.asarray(value, float)
        if weights.shape != vectors.shape[1:]:
            raise ValueError(
                f"jensen_gap: value must be {vectors.shape[1:]} weights or a function of feature "
                f"vectors, got weights of the shape {weights.shape}"
            )
        values = vectors @ weights
    if values.shape != vectors.shape[:1]:
        raise ValueError(
            f"jensen_gap: value must return {vectors.shape[:1]} values, got {values.shape}"
        )
    return values
