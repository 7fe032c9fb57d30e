"""Dynamic programming on finite MDPs: optimal values and policies, policy evaluation.

Every function takes a domain that is a finite MDP (``FiniteMDP``, ``Corridor``, …), a discount and
the phase whose probabilities and rewards hold. Values are (S,), action values and policies (S, A).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.interfaces import Domain
from expectant.core.rules import between, whole
from expectant.domains.finite import reaches_end

TIE = 1e-9
DENSE_STATES = 1500
SWEEPS = 50_000


class Dynamics(NamedTuple):
    """One phase of an MDP: ``probabilities`` and ``successors`` (S, A, O), −1 being the end;
    expected ``rewards`` (S, A); ``start`` (S,)."""

    probabilities: np.ndarray
    successors: np.ndarray
    rewards: np.ndarray
    start: np.ndarray


def get_dynamics(domain: Domain, phase: int = 0) -> Dynamics:
    """Return the arrays of one phase of a domain."""
    mdp = domain.mdp() if isinstance(domain, Domain) else None
    if mdp is None:
        raise ValueError(f"exact: domain must be a finite MDP, got {domain!r}")
    table = mdp.outcomes
    whole(0).check("exact", "phase", phase)
    if phase >= table.probabilities.shape[0]:
        raise ValueError(f"exact: phase must be below {table.probabilities.shape[0]}, got {phase}")
    probabilities = table.probabilities[phase]
    rewards = (probabilities * table.rewards[phase]).sum(axis=-1)
    return Dynamics(probabilities, table.successors, rewards, table.start)


def expected_next(dynamics: Dynamics, values: np.ndarray) -> np.ndarray:
    """Σ p(s' | s, a) x(s'), the end counting as zero, for x (S,) or (S, n): (S, A) or (S, A, n)."""
    with_end = np.concatenate([values, np.zeros((1, *values.shape[1:]))])
    return np.einsum("sao,sao...->sa...", dynamics.probabilities, with_end[dynamics.successors])


def action_values_of(
    domain: Domain, values: ArrayLike, *, discount: float = 1.0, phase: int = 0
) -> np.ndarray:
    """Action values of state values by one backup: r(s, a) + γ Σ p(s' | s, a) v(s')."""
    dynamics, discount = get_dynamics(domain, phase), check_discount(discount)
    return dynamics.rewards + discount * expected_next(dynamics, np.asarray(values, float))


def optimal_values(domain: Domain, *, discount: float = 1.0, phase: int = 0) -> np.ndarray:
    """v*, by policy iteration; by value iteration if an intermediate policy never ends."""
    dynamics, discount = get_dynamics(domain, phase), check_discount(discount)
    try:
        return _iterate_policies(dynamics, discount)
    except ValueError:
        return _value_iteration(dynamics, discount)


def optimal_action_values(domain: Domain, *, discount: float = 1.0, phase: int = 0) -> np.ndarray:
    """q*."""
    values = optimal_values(domain, discount=discount, phase=phase)
    return action_values_of(domain, values, discount=discount, phase=phase)


def optimal_policy(domain: Domain, *, discount: float = 1.0, phase: int = 0) -> np.ndarray:
    """The greedy policy of q*, ties split evenly."""
    return greedy_policy(optimal_action_values(domain, discount=discount, phase=phase))


def greedy_policy(action_values: np.ndarray) -> np.ndarray:
    """Probabilities (..., S, A) of the greedy actions, ties split evenly."""
    best = action_values >= action_values.max(axis=-1, keepdims=True) - TIE
    return best / best.sum(axis=-1, keepdims=True)


def epsilon_greedy_policy(policy: np.ndarray, epsilon: float) -> np.ndarray:
    """Mix a policy (S, A) with uniformly random actions, which have probability ε."""
    epsilon = between(0, 1).check("exact", "epsilon", epsilon)
    return (1.0 - epsilon) * policy + epsilon / policy.shape[1]


def policy_values(
    domain: Domain, policy: ArrayLike, *, discount: float = 1.0, phase: int = 0
) -> np.ndarray:
    """v_π of a policy, (S, A) probabilities or (S,) actions, by solving its linear equations."""
    dynamics, discount = get_dynamics(domain, phase), check_discount(discount)
    probabilities = as_policy(policy, dynamics.rewards.shape)
    if discount == 1.0:
        _check_ends(dynamics, probabilities)
    return _evaluate(dynamics, probabilities, discount)


def start_return(domain: Domain, values: np.ndarray) -> float:
    """The mean of state values over the start distribution."""
    return float(get_dynamics(domain).start @ values)


def epsilon_greedy_optimal_return(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> float:
    """Expected return from the start of acting ε-greedily on q*.

    Q-learning converges to it. It is not the best return with that ε, which is
    ``best_epsilon_soft_return``.
    """
    policy = optimal_policy(domain, discount=discount, phase=phase)
    noisy = epsilon_greedy_policy(policy, epsilon)
    return start_return(domain, policy_values(domain, noisy, discount=discount, phase=phase))


def check_discount(discount: float) -> float:
    return between(0, 1).check("exact", "discount", discount)


def as_array(
    owner: str, name: str, numbers: ArrayLike, shape: tuple[int | None, ...]
) -> np.ndarray:
    """Convert numbers to an array of floats; None in its ``shape`` allows any size."""
    array = np.asarray(numbers, float)
    expected = tuple(n if m is None else m for m, n in zip(shape, array.shape, strict=False))
    if array.shape != expected or array.ndim != len(shape):
        text = str(shape).replace("None", "n")
        raise ValueError(f"{owner}: {name} must have the shape {text}, got {array.shape}")
    return array


def as_frequencies(owner: str, name: str, numbers: ArrayLike | None, count: int) -> np.ndarray:
    """Convert relative frequencies to an array (n,) of ``count`` floats (None: all 1)."""
    array = np.ones(count) if numbers is None else as_array(owner, name, numbers, (count,))
    if not ((array >= 0).all() and array.any()):
        raise ValueError(f"{owner}: {name} must be numbers from 0 on, not all 0, got {array}")
    return array


def as_policy(policy: ArrayLike, shape: tuple[int, ...], owner: str = "exact") -> np.ndarray:
    """Convert a policy, (S,) actions or (S, A) probabilities, to valid probabilities (S, A)."""
    array = np.asarray(policy)
    if array.shape == shape[:1] and array.dtype.kind in "iu":
        invalid = np.flatnonzero((array < 0) | (array >= shape[1]))
        if invalid.size:
            raise ValueError(
                f"{owner}: policy has action {array[invalid[0]]} in state {invalid[0]}, there are "
                f"{shape[1]}"
            )
        return np.eye(shape[1])[array]
    if array.shape != shape:
        raise ValueError(
            f"{owner}: policy must be {shape} probabilities or {shape[:1]} actions, "
            f"got {array.shape}"
        )
    invalid = np.flatnonzero((array < 0).any(axis=1) | (np.abs(array.sum(axis=1) - 1) > 1e-9))
    if invalid.size:
        raise ValueError(
            f"{owner}: policy in state {invalid[0]} must be probabilities that sum to 1, "
            f"got {array[invalid[0]]}"
        )
    return array.astype(float)


def _check_ends(dynamics: Dynamics, policy: np.ndarray) -> None:
    """Raise an error if the policy never ends from some state and so has no undiscounted value."""
    possible = (dynamics.probabilities > 0) & (policy[:, :, None] > 0)
    reaches = reaches_end(possible, dynamics.successors)
    if not reaches.all():
        raise ValueError(
            f"exact: the policy never ends from state {int(np.argmin(reaches))}: "
            "its value needs a discount below 1"
        )


def transition_matrix(dynamics: Dynamics, policy: np.ndarray) -> np.ndarray:
    """P(s, s') (S, S) under a policy (S, A); rows sum to less than one if the episode can end."""
    states = policy.shape[0]
    matrix = np.zeros((states, states + 1))  # the last column takes the end, −1
    weights = policy[:, :, None] * dynamics.probabilities
    rows = np.broadcast_to(np.arange(states)[:, None, None], weights.shape)
    np.add.at(matrix, (rows, dynamics.successors), weights)
    return matrix[:, :states]


def _evaluate(dynamics: Dynamics, policy: np.ndarray, discount: float) -> np.ndarray:
    """Solve (I − γ P_π) v = r_π."""
    states = policy.shape[0]
    rewards = (policy * dynamics.rewards).sum(axis=1)
    weights = discount * policy[:, :, None] * dynamics.probabilities
    rows = np.broadcast_to(np.arange(states)[:, None, None], weights.shape)
    inside = dynamics.successors >= 0
    rows, columns, weights = rows[inside], dynamics.successors[inside], weights[inside]
    if states <= DENSE_STATES:
        matrix = np.eye(states)
        np.subtract.at(matrix, (rows, columns), weights)
        return np.linalg.solve(matrix, rewards)
    from scipy import sparse
    from scipy.sparse.linalg import spsolve

    transitions = sparse.csc_matrix((weights, (rows, columns)), shape=(states, states))
    return spsolve(sparse.identity(states, format="csc") - transitions, rewards)


def _iterate_policies(dynamics: Dynamics, discount: float) -> np.ndarray:
    """Howard's policy iteration from the uniform policy; actions change only for better ones."""
    states, actions = dynamics.rewards.shape
    policy = np.full((states, actions), 1.0 / actions)
    current = np.zeros(states, int)
    while True:
        if discount == 1.0:
            _check_ends(dynamics, policy)
        values = _evaluate(dynamics, policy, discount)
        q = dynamics.rewards + discount * expected_next(dynamics, values)
        margin = TIE * 1e-3 * (1.0 + np.abs(values))
        better = q.max(axis=1) > q[np.arange(states), current] + margin
        improved = np.where(better, q.argmax(axis=1), current)
        if (improved == current).all() and (policy.max(axis=1) == 1.0).all():
            return values
        current, policy = improved, np.eye(actions)[improved]


def _value_iteration(dynamics: Dynamics, discount: float) -> np.ndarray:
    return iterate_values(
        lambda values: (dynamics.rewards + discount * expected_next(dynamics, values)).max(axis=1),
        np.zeros(dynamics.rewards.shape[0]),
    )


def iterate_values(back_up: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> np.ndarray:
    """Apply a backup of all values (S,) until it converges."""
    for _ in range(SWEEPS):
        old, values = values, back_up(values)
        if np.abs(values - old).max() <= 1e-13 * max(1.0, np.abs(values).max()):
            return values
    raise ValueError(
        "exact: value iteration does not converge: something that never ends earns without "
        "bound, or the discount is too close to 1"
    )


def soften(dynamics: Dynamics, epsilon: float) -> Dynamics:
    """The MDP in which every action is replaced by a uniformly random one with probability ε.

    Its deterministic policies are the ε-greedy ones of the original, among which is the best ε-soft
    policy.
    """
    epsilon = between(0, 1).check("exact", "epsilon", epsilon)
    states, actions, outcomes = dynamics.probabilities.shape
    choices = epsilon_greedy_policy(np.eye(actions), epsilon)  # (intended, executed)
    probabilities = choices[None, :, :, None] * dynamics.probabilities[:, None]
    successors = np.broadcast_to(dynamics.successors[:, None], probabilities.shape)
    shape, rewards = (states, actions, actions * outcomes), dynamics.rewards @ choices.T
    return Dynamics(
        probabilities.reshape(shape), successors.reshape(shape), rewards, dynamics.start
    )


def best_epsilon_soft_values(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> np.ndarray:
    """State values of the best ε-soft policy (S&B 2018, section 5.4), by value iteration.

    Policy iteration can meet policies that end too rarely to be evaluated in floating point.
    """
    dynamics = soften(get_dynamics(domain, phase), epsilon)
    return _value_iteration(dynamics, check_discount(discount))


def best_epsilon_soft_return(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> float:
    """Expected return from the start of the best ε-soft policy."""
    values = best_epsilon_soft_values(domain, epsilon, discount=discount, phase=phase)
    return start_return(domain, values)
