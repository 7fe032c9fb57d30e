"""Choosing actions by preference: greedily, with ties at random or in order, and ε-greedily."""

from __future__ import annotations

import math

from expectant.core.vectors import dot
from expectant.core.verbs import act, breaks_ties_at_random, function, preference

__all__ = [
    "act_on_action_values",
    "epsilon_greedy",
    "greedy",
]


@function
def greedy(agent, state, actions, rng):
    """The action that the agent prefers; of several a random one, or the first if it says so."""
    chosen, ties, best = 0, 1, -math.inf
    for action in range(actions):
        candidate = preference(agent, state, action)
        if candidate > best:
            best, chosen, ties = candidate, action, 1
        elif candidate == best and breaks_ties_at_random(agent):
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
    """How likely :func:`epsilon_greedy` is to choose each action."""
    actions, best, ties, first = probabilities.shape[0], -math.inf, 0, -1
    shared = breaks_ties_at_random(agent)
    for action in range(actions):
        probabilities[action] = preference(agent, state, action)
        if probabilities[action] > best:
            best, ties, first = probabilities[action], 1, action
        elif probabilities[action] == best and shared:
            ties += 1
    for action in range(actions):
        chosen = probabilities[action] == best and (shared or action == first)
        greedy_share = (1.0 - epsilon) / ties if chosen else 0.0
        probabilities[action] = epsilon / actions + greedy_share


@function
def draw_from(probabilities, rng):
    """An action drawn from probabilities (A,)."""
    left = rng.random()
    for action in range(probabilities.shape[0] - 1):
        left -= probabilities[action]
        if left < 0.0:
            return action
    return probabilities.shape[0] - 1


def act_on_action_values(part_type: type) -> None:
    """Let an agent with q̂(s, a) = w_aᵀs prefer what it values most, and act ε-greedily."""

    @preference.register(part_type)
    def _(agent, state, action):
        return dot(state, agent.weights[action])

    @act.register(part_type)
    def _(agent, state, rng):
        return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)
