"""Options in action: turn an agent's choices among A actions and n options into actions.

The inner agent decides and plans over A + n choices. Options and their models learn off-policy
from the action taken and the probability it had.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from expectant.agents.action_selection import epsilon_greedy, sample_action, write_epsilon_greedy
from expectant.core import verbs
from expectant.core.verbs import delegate, function

NO_OPTION = -1
ANEW, COMMITTED, ACTIONS = range(3)
ACTING = {"anew": ANEW, "committed": COMMITTED, "actions": ACTIONS}


class WithOptionsPart(NamedTuple):
    """``active`` (1,) is the option being followed, −1 if none.

    ``behaviour`` (A,) is μ, the probability of every action in the last decision; ``choices``
    (A + n,) and ``probabilities`` (A,) are scratch. An agent that is committed to an option still
    takes a random action with probability ``epsilon``.
    """

    agent: object
    active: np.ndarray
    behaviour: np.ndarray
    choices: np.ndarray
    probabilities: np.ndarray
    epsilon: float
    discount: float
    acting: int
    learns_options: bool


delegate(
    WithOptionsPart, "agent", verbs.breaks_ties_at_random, verbs.plan, verbs.relabel,
    verbs.on_truncation, verbs.free_capacity, verbs.grow,
)  # fmt: skip


@function
def add_option_policy(agent, state, option, share):
    """μ += share · π_o(· | s)."""
    verbs.policy_of(agent.agent.planner.model.options, option, state, agent.probabilities)
    for action in range(agent.behaviour.shape[0]):
        agent.behaviour[action] += share * agent.probabilities[action]


@function
def record_behaviour(agent, state):
    """Write μ, the probability of every action where the agent chooses anew."""
    actions = agent.behaviour.shape[0]
    verbs.behaviour_policy(agent.agent, state, agent.choices)
    for action in range(actions):
        agent.behaviour[action] = agent.choices[action]
    for option in range(agent.choices.shape[0] - actions):
        if agent.choices[actions + option] > 0.0:
            add_option_policy(agent, state, option, agent.choices[actions + option])


@function
def continue_option(agent, state, rng):
    """Draw the next action from ε-random exploration and the policy of the active option."""
    actions = agent.behaviour.shape[0]
    for action in range(actions):
        agent.behaviour[action] = agent.epsilon / actions
    add_option_policy(agent, state, agent.active[0], 1.0 - agent.epsilon)
    return sample_action(agent.behaviour, rng)


@function
def choose_anew(agent, state, rng):
    """Let the agent choose; the first action of an option is drawn from its policy."""
    if agent.learns_options:
        record_behaviour(agent, state)
    choice = verbs.act(agent.agent, state, rng)
    actions = agent.behaviour.shape[0]
    if choice < actions:
        agent.active[0] = NO_OPTION
        return choice
    agent.active[0] = choice - actions
    verbs.policy_of(agent.agent.planner.model.options, choice - actions, state, agent.probabilities)
    return sample_action(agent.probabilities, rng)


@function
def choose_action(agent, state, rng):
    """Act ε-greedily among the actions; options are used for planning only."""
    if agent.learns_options:
        write_epsilon_greedy(agent.agent, state, agent.epsilon, agent.behaviour)
    return epsilon_greedy(agent.agent, state, agent.behaviour.shape[0], agent.epsilon, rng)


@verbs.act.register(WithOptionsPart)
def _(agent, state, rng):
    if agent.acting == ACTIONS:
        return choose_action(agent, state, rng)
    if agent.acting == COMMITTED and agent.active[0] != NO_OPTION:
        stopping = verbs.stop_of(agent.agent.planner.model.options, agent.active[0], state)
        if rng.random() >= stopping:
            return continue_option(agent, state, rng)
    return choose_anew(agent, state, rng)


@verbs.learn.register(WithOptionsPart)
def _(agent, transition, rng):
    """The inner agent learns first, then options and their models, from the same step."""
    inner = agent.agent
    model, errors = inner.planner.model, verbs.learn(inner, transition, rng)
    if agent.learns_options:
        errors += verbs.learn_options(
            model.options, transition, agent.behaviour, inner.weights, agent.discount
        )
        errors += verbs.fit_options(
            model.extended, model.options, transition, agent.behaviour, agent.discount
        )
    return errors


@function
def most_probable(probabilities):
    """argmax of probabilities (A,), the first of equals."""
    best = 0
    for action in range(1, probabilities.shape[0]):
        if probabilities[action] > probabilities[best]:
            best = action
    return best


@verbs.preference.register(WithOptionsPart)
def _(agent, state, action):
    """The greatest preference among the choices that begin with this action."""
    inner, actions = agent.agent, agent.behaviour.shape[0]
    best = verbs.preference(inner, state, action)
    for option in range(agent.choices.shape[0] - actions):
        verbs.policy_of(inner.planner.model.options, option, state, agent.probabilities)
        if most_probable(agent.probabilities) == action:
            candidate = verbs.preference(inner, state, actions + option)
            if candidate > best or math.isnan(candidate):
                best = candidate
    return best


@verbs.policy.register(WithOptionsPart)
def _(agent, state, probabilities):
    """The inner agent's policy over choices, as probabilities of actions."""
    inner, actions = agent.agent, agent.behaviour.shape[0]
    verbs.policy(inner, state, agent.choices)
    for action in range(actions):
        probabilities[action] = agent.choices[action]
    for option in range(agent.choices.shape[0] - actions):
        verbs.policy_of(inner.planner.model.options, option, state, agent.probabilities)
        for action in range(actions):
            probabilities[action] += agent.choices[actions + option] * agent.probabilities[action]


@verbs.begin.register(WithOptionsPart)
def _(agent, state, rng):
    agent.active[0] = NO_OPTION
    verbs.begin(agent.agent, state, rng)


def execute_options(
    agent: Any, actions: int, epsilon: float, discount: float, acting: str
) -> WithOptionsPart:
    """Wrap an agent that was built for ``actions`` and options, so that it takes actions."""
    model = agent.planner.model
    if hasattr(agent, "centering"):  # models of options need the agent's own R̄
        model = model._replace(rate=agent.centering.rate)
        agent = agent._replace(planner=agent.planner._replace(model=model))
    return WithOptionsPart(
        agent,
        np.full(1, NO_OPTION, np.int64),
        np.zeros(actions),
        np.zeros(agent.planner.actions),
        np.zeros(actions),
        epsilon,
        discount,
        ACTING[acting],
        type(model.extended) in verbs.fit_options.implementations,
    )
