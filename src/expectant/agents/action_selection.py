"""Action selection: greedy, ε-greedy, and sampling from a distribution over actions."""

from __future__ import annotations

import math

from expectant.core import verbs
from expectant.core.vectors import dot
from expectant.core.verbs import function

__all__ = ["act_on_action_values", "epsilon_greedy", "greedy"]


@function
def greedy(agent, state, actions, rng):
    """argmax_a of the agent's preference; ties are broken at random, or by the lowest action."""
    chosen, ties, best = 0, 1, -math.inf
    for action in range(actions):
        candidate = verbs.preference(agent, state, action)
        if candidate > best:
            best, chosen, ties = candidate, action, 1
        elif candidate == best and verbs.breaks_ties_at_random(agent):
            ties += 1
            if rng.random() * ties < 1.0:
                chosen = action
    return chosen


@function
def epsilon_greedy(agent, state, actions, epsilon, rng):
    """A uniformly random action with probability ε, else the greedy one."""
    if rng.random() < epsilon:
        return int(rng.random() * actions)
    return greedy(agent, state, actions, rng)


@function
def write_epsilon_greedy(agent, state, epsilon, probabilities):
    """Write the probability with which :func:`epsilon_greedy` chooses each action."""
    actions, best, ties, first = probabilities.shape[0], -math.inf, 0, -1
    random_ties = verbs.breaks_ties_at_random(agent)
    for action in range(actions):
        probabilities[action] = verbs.preference(agent, state, action)
        if probabilities[action] > best:
            best, ties, first = probabilities[action], 1, action
        elif probabilities[action] == best and random_ties:
            ties += 1
    for action in range(actions):
        is_greedy = probabilities[action] == best and (random_ties or action == first)
        greedy_share = (1.0 - epsilon) / ties if is_greedy else 0.0
        probabilities[action] = epsilon / actions + greedy_share


@function
def sample_action(probabilities, rng):
    """Draw an action from probabilities (A,)."""
    left = rng.random()
    for action in range(probabilities.shape[0] - 1):
        left -= probabilities[action]
        if left < 0.0:
            return action
    return probabilities.shape[0] - 1


def _break_ties_as_configured(part_type: type) -> None:
    if "random_ties" in part_type._fields:  # type: ignore[attr-defined]

        @verbs.breaks_ties_at_random.register(part_type)
        def _(agent):
            return agent.random_ties


def act_on_action_values(part_type: type) -> None:
    """Register ε-greedy behaviour in q̂(s, a) = w_aᵀs, weights (A, D)."""
    _break_ties_as_configured(part_type)

    @verbs.preference.register(part_type)
    def _(agent, state, action):
        return dot(state, agent.weights[action])

    @verbs.act.register(part_type)
    def _(agent, state, rng):
        return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)


def act_epsilon_greedily(part_type: type) -> None:
    """Register ε-greedy behaviour in the preferences of a planning agent."""
    _break_ties_as_configured(part_type)

    @verbs.act.register(part_type)
    def _(agent, state, rng):
        return epsilon_greedy(agent, state, agent.planner.actions, agent.epsilon, rng)

    @verbs.behaviour_policy.register(part_type)
    def _(agent, state, probabilities):
        write_epsilon_greedy(agent, state, agent.epsilon, probabilities)
