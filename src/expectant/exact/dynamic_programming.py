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
from expectant.domains.finite import FiniteMDP, reaches_end

TIE = 1e-9
DENSE_STATES = 1500
SWEEPS = 50_000


class Dynamics(NamedTuple):
    """One phase of an MDP: (S, A, O) ``probabilities``, ``successors`` (−1 the end); (S, A)
    expected ``rewards``; ``start`` (S,)."""

    probabilities: np.ndarray
    successors: np.ndarray
    rewards: np.ndarray
    start: np.ndarray


def get_dynamics(domain: Domain, phase: int = 0) -> Dynamics:
    """The arrays of one phase of a domain."""
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


def expected_next(world: Dynamics, values: np.ndarray) -> np.ndarray:
    """Σ p(s' | s, a) x(s'), the end counting as zero, for x (S,) or (S, n): (S, A) or (S, A, n)."""
    with_end = np.concatenate([values, np.zeros((1, *values.shape[1:]))])
    return np.einsum("sao,sao...->sa...", world.probabilities, with_end[world.successors])


def action_values_of(
    domain: Domain, values: np.ndarray, *, discount: float = 1.0, phase: int = 0
) -> np.ndarray:
    """Action values one step ahead of state values: r(s, a) + γ Σ p v(s')."""
    world = get_dynamics(domain, phase)
    return world.rewards + checked_discount(discount) * expected_next(
        world, np.asarray(values, float)
    )


def optimal_values(domain: Domain, *, discount: float = 1.0, phase: int = 0) -> np.ndarray:
    """v*, by policy iteration; by value iteration where a policy on the way never ends."""
    world, discount = get_dynamics(domain, phase), checked_discount(discount)
    try:
        return _policy_iteration(world, discount)
    except ValueError:
        return value_iteration(world, discount)


def optimal_action_values(domain: Domain, *, discount: float = 1.0, phase: int = 0) -> np.ndarray:
    """q*."""
    values = optimal_values(domain, discount=discount, phase=phase)
    return action_values_of(domain, values, discount=discount, phase=phase)


def optimal_policy(domain: Domain, *, discount: float = 1.0, phase: int = 0) -> np.ndarray:
    """The greedy policy of q*, ties split evenly."""
    return greedy_policy(optimal_action_values(domain, discount=discount, phase=phase))


def greedy_policy(action_values: np.ndarray) -> np.ndarray:
    """Probabilities (S, A) of the greedy actions, ties split evenly."""
    best = action_values >= action_values.max(axis=1, keepdims=True) - TIE
    return best / best.sum(axis=1, keepdims=True)


def epsilon_greedy_policy(policy: np.ndarray, epsilon: float) -> np.ndarray:
    """A policy that is followed with probability 1 − ε and acts at random otherwise."""
    epsilon = between(0, 1).check("exact", "epsilon", epsilon)
    return (1.0 - epsilon) * policy + epsilon / policy.shape[1]


def policy_values(
    domain: Domain, policy: ArrayLike, *, discount: float = 1.0, phase: int = 0
) -> np.ndarray:
    """v_π of a policy, (S, A) probabilities or (S,) actions, by solving its linear equations."""
    world, discount = get_dynamics(domain, phase), checked_discount(discount)
    probabilities = checked_policy(policy, world.rewards.shape)
    if discount == 1.0:
        _check_ends(world, probabilities)
    return _evaluate(world, probabilities, discount)


def start_return(domain: Domain, values: np.ndarray) -> float:
    """The mean of state values over the start distribution."""
    return float(get_dynamics(domain).start @ values)


def epsilon_greedy_optimal_return(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> float:
    """The expected return from the start of acting ε-greedily on optimal action values.

    It is what Q-learning comes to, not the most that can be had with that ε: see
    ``best_epsilon_soft_return``.
    """
    policy = optimal_policy(domain, discount=discount, phase=phase)
    softened = epsilon_greedy_policy(policy, epsilon)
    return start_return(domain, policy_values(domain, softened, discount=discount, phase=phase))


def checked_discount(discount: float) -> float:
    return between(0, 1).check("exact", "discount", discount)


def checked_policy(policy: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """A policy as probabilities (S, A), or an error that says what is wrong with it."""
    given = np.asarray(policy)
    if given.shape == shape[:1] and given.dtype.kind in "iu":
        if given.min() < 0 or given.max() >= shape[1]:
            state = int(np.argmax((given < 0) | (given >= shape[1])))
            raise ValueError(
                f"exact: policy has action {given[state]} in state {state}, there are {shape[1]}"
            )
        return np.eye(shape[1])[given]
    if given.shape != shape:
        raise ValueError(
            f"exact: policy must be {shape} probabilities or {shape[:1]} actions, got {given.shape}"
        )
    wrong = np.flatnonzero((given < 0).any(axis=1) | (np.abs(given.sum(axis=1) - 1) > 1e-9))
    if wrong.size:
        raise ValueError(
            f"exact: policy in state {wrong[0]} must be probabilities that sum to 1, "
            f"got {given[wrong[0]]}"
        )
    return given.astype(float)


def _check_ends(world: Dynamics, policy: np.ndarray) -> None:
    """Without a discount a policy has values only where it reaches an end."""
    taken = (world.probabilities > 0) & (policy[:, :, None] > 0)
    reaches = reaches_end(taken, world.successors)
    if not reaches.all():
        raise ValueError(
            f"exact: the policy never ends from state {int(np.argmin(reaches))}: "
            "its value needs a discount below 1"
        )


def transitions_of(world: Dynamics, policy: np.ndarray) -> np.ndarray:
    """P(s, s') (S, S) under a policy; what is missing to one is the end."""
    states = policy.shape[0]
    result = np.zeros((states, states + 1))  # the last column takes the end, −1
    weights = policy[:, :, None] * world.probabilities
    rows = np.broadcast_to(np.arange(states)[:, None, None], weights.shape)
    np.add.at(result, (rows, world.successors), weights)
    return result[:, :states]


def _evaluate(world: Dynamics, policy: np.ndarray, discount: float) -> np.ndarray:
    """Solve (I − γ P_π) v = r_π."""
    states = policy.shape[0]
    rewards = (policy * world.rewards).sum(axis=1)
    weights = discount * policy[:, :, None] * world.probabilities
    rows = np.broadcast_to(np.arange(states)[:, None, None], weights.shape)
    inside = world.successors >= 0
    rows, columns, weights = rows[inside], world.successors[inside], weights[inside]
    if states <= DENSE_STATES:
        matrix = np.eye(states)
        np.subtract.at(matrix, (rows, columns), weights)
        return np.linalg.solve(matrix, rewards)
    from scipy import sparse
    from scipy.sparse.linalg import spsolve

    transitions = sparse.csc_matrix((weights, (rows, columns)), shape=(states, states))
    return spsolve(sparse.identity(states, format="csc") - transitions, rewards)


def _policy_iteration(world: Dynamics, discount: float) -> np.ndarray:
    """Howard's policy iteration from the uniform policy; an action is kept while it is as good."""
    states, actions = world.rewards.shape
    policy = np.full((states, actions), 1.0 / actions)
    kept = np.zeros(states, int)
    while True:
        if discount == 1.0:
            _check_ends(world, policy)
        values = _evaluate(world, policy, discount)
        q = world.rewards + discount * expected_next(world, values)
        margin = TIE * 1e-3 * (1.0 + np.abs(values))
        better = q.max(axis=1) > q[np.arange(states), kept] + margin
        chosen = np.where(better, q.argmax(axis=1), kept)
        if (chosen == kept).all() and (policy.max(axis=1) == 1.0).all():
            return values
        kept, policy = chosen, np.eye(actions)[chosen]


def value_iteration(world: Dynamics, discount: float) -> np.ndarray:
    """v* of one phase of an MDP."""
    return iterate_values(
        lambda values: (world.rewards + discount * expected_next(world, values)).max(axis=1),
        np.zeros(world.rewards.shape[0]),
    )


def iterate_values(back_up: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> np.ndarray:
    """Values (S,) after sweeps of backups until nothing changes any more."""
    for _ in range(SWEEPS):
        old, values = values, back_up(values)
        if np.abs(values - old).max() <= 1e-13 * max(1.0, np.abs(values).max()):
            return values
    raise ValueError(
        "exact: value iteration does not converge: something that never ends earns without "
        "bound, or the discount is too close to 1"
    )


def softened(world: Dynamics, epsilon: float) -> Dynamics:
    """The world in which every action is replaced, with probability ε, by one drawn evenly.

    Its deterministic policies are the ε-soft ones of the world, as far as those matter: the best
    ε-soft policy is ε-greedy about some action in every state.
    """
    epsilon = between(0, 1).check("exact", "epsilon", epsilon)
    states, actions, outcomes = world.probabilities.shape
    choices = epsilon_greedy_policy(np.eye(actions), epsilon)  # (meant, done)
    chances = choices[None, :, :, None] * world.probabilities[:, None]
    shape = (states, actions, actions * outcomes)
    spread = np.broadcast_to(world.successors[:, None], chances.shape)
    return Dynamics(
        chances.reshape(shape), spread.reshape(shape), world.rewards @ choices.T, world.start
    )


def best_epsilon_soft_values(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> np.ndarray:
    """The state values of the best ε-soft policy (S&B 2018, section 5.4).

    By value iteration: a policy on the way of policy iteration may end so rarely that its linear
    equations cannot be solved in floating point.
    """
    discount = checked_discount(discount)
    return value_iteration(softened(get_dynamics(domain, phase), epsilon), discount)


def best_epsilon_soft_policy(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> np.ndarray:
    """The best ε-soft policy (S, A), ties split evenly."""
    world = softened(get_dynamics(domain, phase), epsilon)
    values = best_epsilon_soft_values(domain, epsilon, discount=discount, phase=phase)
    ahead = world.rewards + discount * expected_next(world, values)
    return epsilon_greedy_policy(greedy_policy(ahead), epsilon)


def best_epsilon_soft_return(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> float:
    """The expected return from the start of the best ε-soft policy."""
    values = best_epsilon_soft_values(domain, epsilon, discount=discount, phase=phase)
    return start_return(domain, values)


def under_policy(domain: Domain, policy: ArrayLike | None = None, *, phase: int = 0) -> FiniteMDP:
    """The finite MDP with a single action, to do as a policy (S, A) does; None: anything, equally.

    Its optimal values are the values of the policy, so agents learn to predict in it, and every
    measure of value errors is one of prediction errors.
    """
    world = get_dynamics(domain, phase)
    states, actions, outcomes = world.probabilities.shape
    given = np.full((states, actions), 1.0 / actions) if policy is None else policy
    chances = checked_policy(given, (states, actions))
    mdp = domain.mdp()
    assert mdp is not None
    flat = (states, 1, actions * outcomes)
    return FiniteMDP(
        probabilities=(chances[:, :, None] * world.probabilities).reshape(flat),
        rewards=mdp.outcomes.rewards[phase].reshape(flat),
        successors=world.successors.reshape(flat),
        start=world.start,
    )
