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
