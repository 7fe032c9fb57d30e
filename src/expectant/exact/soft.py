"""The best that an agent can do which must explore: optima among ε-soft policies.

A policy is ε-soft if every action has a probability of at least ε / A. Acting ε-greedily on optimal
action values is one of them, but not the best: those values do not reckon with the exploration to
come. On the cliff the best ε-soft policy keeps away from the edge.
"""

from __future__ import annotations

import numpy as np

from expectant.exact.solve import (
    Dynamics,
    dynamics,
    epsilon_greedy_policy,
    expected_next,
    greedy_policy,
    start_return,
    value_iteration,
)
from expectant.parts import Domain
from expectant.rules import between


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
    discount = between(0, 1).check("exact", "discount", discount)
    return value_iteration(softened(dynamics(domain, phase), epsilon), discount)


def best_epsilon_soft_policy(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> np.ndarray:
    """The best ε-soft policy (S, A), ties split evenly."""
    world = softened(dynamics(domain, phase), epsilon)
    values = best_epsilon_soft_values(domain, epsilon, discount=discount, phase=phase)
    ahead = world.rewards + discount * expected_next(world, values)
    return epsilon_greedy_policy(greedy_policy(ahead), epsilon)


def best_epsilon_soft_return(
    domain: Domain, epsilon: float = 0.1, *, discount: float = 1.0, phase: int = 0
) -> float:
    """The expected return from the start of the best ε-soft policy."""
    values = best_epsilon_soft_values(domain, epsilon, discount=discount, phase=phase)
    return start_return(domain, values)
