"""Choosing actions from preferences: greedy with random ties, and ε-greedy."""

from __future__ import annotations

import math

from expectant.verbs import function, preference


@function
def greedy(agent, state, actions, rng):
    """The action that the agent prefers, ties broken at random."""
    chosen, ties, best = 0, 1, -math.inf
    for action in range(actions):
        candidate = preference(agent, state, action)
        if candidate > best:
            best, chosen, ties = candidate, action, 1
        elif candidate == best:
            ties += 1
            if rng.random() * ties < 1.0:
                chosen = action
    return chosen


@function
def epsilon_greedy(agent, state, actions, epsilon, rng):
    """With probability ε any action, the greedy one included; otherwise the greedy one."""
    if rng.random() < epsilon:
        return int(rng.random() * actions)
    return greedy(agent, state, actions, rng)


@function
def write_epsilon_greedy(agent, state, epsilon, probabilities):
    """How likely :func:`epsilon_greedy` is to choose each action; ties share what is greedy."""
    actions, best, ties = probabilities.shape[0], -math.inf, 0
    for action in range(actions):
        probabilities[action] = preference(agent, state, action)
        if probabilities[action] > best:
            best, ties = probabilities[action], 1
        elif probabilities[action] == best:
            ties += 1
    for action in range(actions):
        greedy_share = (1.0 - epsilon) / ties if probabilities[action] == best else 0.0
        probabilities[action] = epsilon / actions + greedy_share
