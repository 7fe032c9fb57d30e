"""An agent with options: it chooses among actions and options, and this carries the choice out.

The agent inside decides and plans as it always does, over A actions and n options alike. What it
chooses is turned into an action here; from that, and from how likely it was, the options' models
learn.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from expectant.agents.action_selection import draw_from, epsilon_greedy, write_epsilon_greedy
from expectant.core.interfaces import BuildContext
from expectant.core.verbs import (
    act,
    active_option,
    begin,
    behaviour_policy,
    breaks_ties_at_random,
    delegate,
    fit_options,
    free_capacity,
    function,
    grow,
    inner_agent,
    learn,
    learn_options,
    on_truncation,
    plan,
    policy,
    policy_of,
    preference,
    relabel,
    stop_of,
)

NONE = -1  # instead of an option, while an action is taken
ANEW, COMMITTED, ACTIONS = range(3)  # how options are acted on
ACTING = {"anew": ANEW, "committed": COMMITTED, "actions": ACTIONS}


class WithOptionsPart(NamedTuple):
    """``agent`` chooses; its model knows the options.

    ``active`` (1,) is the option that is followed, −1: an action. ``behaviour`` (A,) is μ of the
    last decision, ``choices`` (A + n,) and ``probabilities`` (A,) are scratch. While it follows an
    option it is committed to, it still takes a random action with probability ``epsilon``.
    """

    agent: object
    active: np.ndarray
    behaviour: np.ndarray
    choices: np.ndarray
    probabilities: np.ndarray
    epsilon: float
    discount: float
    acting: int
    observes: bool


delegate(
    WithOptionsPart,
    "agent",
    breaks_ties_at_random,
    plan,
    relabel,
    on_truncation,
    free_capacity,
    grow,
)


@function
def mix_in(agent, state, option, share):
    """μ += share · π_o(· | s)."""
    policy_of(agent.agent.planner.model.options, option, state, agent.probabilities)
    for action in range(agent.behaviour.shape[0]):
        agent.behaviour[action] += share * agent.probabilities[action]


@function
def note_choice(agent, state):
    """Write down how likely every action is where the agent chooses anew."""
    actions = agent.behaviour.shape[0]
    behaviour_policy(agent.agent, state, agent.choices)
    for action in range(actions):
        agent.behaviour[action] = agent.choices[action]
    for option in range(agent.choices.shape[0] - actions):
        if agent.choices[actions + option] > 0.0:
            mix_in(agent, state, option, agent.choices[actions + option])


@function
def go_on_with_option(agent, state, rng):
    """The next action of the option that is being followed, or at times a random one."""
    actions = agent.behaviour.shape[0]
    for action in range(actions):
        agent.behaviour[action] = agent.epsilon / actions
    mix_in(agent, state, agent.active[0], 1.0 - agent.epsilon)
    return draw_from(agent.behaviour, rng)


@function
def choose_anew(agent, state, rng):
    """Let the agent choose; an option's first action is drawn from its policy."""
    if agent.observes:
        note_choice(agent, state)
    choice = act(agent.agent, state, rng)
    actions = agent.behaviour.shape[0]
    if choice < actions:
        agent.active[0] = NONE
        return choice
    agent.active[0] = choice - actions
    policy_of(agent.agent.planner.model.options, choice - actions, state, agent.probabilities)
    return draw_from(agent.probabilities, rng)


@function
def choose_action(agent, state, rng):
    """ε-greedy among the actions, for options that are only planned with."""
    if agent.observes:
        write_epsilon_greedy(agent.agent, state, agent.epsilon, agent.behaviour)
    return epsilon_greedy(agent.agent, state, agent.behaviour.shape[0], agent.epsilon, rng)


@act.register(WithOptionsPart)
def _(agent, state, rng):
    if agent.acting == ACTIONS:
        return choose_action(agent, state, rng)
    if agent.acting == COMMITTED and agent.active[0] != NONE:
        stopping = stop_of(agent.agent.planner.model.options, agent.active[0], state)
        if rng.random() >= stopping:
            return go_on_with_option(agent, state, rng)
    return choose_anew(agent, state, rng)


@learn.register(WithOptionsPart)
def _(agent, transition, rng):
    """The agent first; then options and their models, from the same step."""
    inside = agent.agent
    model, errors = inside.planner.model, learn(inside, transition, rng)
    if agent.observes:
        errors += learn_options(
            model.options, transition, agent.behaviour, inside.weights, agent.discount
        )
        errors += fit_options(
            model.extended, model.options, transition, agent.behaviour, agent.discount
        )
    return errors


@function
def likeliest(probabilities):
    """The action with the greatest probability, the first of those."""
    best = 0
    for action in range(1, probabilities.shape[0]):
        if probabilities[action] > probabilities[best]:
            best = action
    return best


@preference.register(WithOptionsPart)
def _(agent, state, action):
    """The greatest preference of the choices that begin with this action."""
    inside, actions = agent.agent, agent.behaviour.shape[0]
    best = preference(inside, state, action)
    for option in range(agent.choices.shape[0] - actions):
        policy_of(inside.planner.model.options, option, state, agent.probabilities)
        if likeliest(agent.probabilities) == action:
            candidate = preference(inside, state, actions + option)
            if candidate > best or math.isnan(candidate):
                best = candidate
    return best


@policy.register(WithOptionsPart)
def _(agent, state, probabilities):
    """That of the agent, carried out."""
    inside, actions = agent.agent, agent.behaviour.shape[0]
    policy(inside, state, agent.choices)
    for action in range(actions):
        probabilities[action] = agent.choices[action]
    for option in range(agent.choices.shape[0] - actions):
        policy_of(inside.planner.model.options, option, state, agent.probabilities)
        for action in range(actions):
            probabilities[action] += agent.choices[actions + option] * agent.probabilities[action]


@begin.register(WithOptionsPart)
def _(agent, state, rng):
    agent.active[0] = NONE
    begin(agent.agent, state, rng)


@inner_agent.register(WithOptionsPart)
def _(agent):
    return agent.agent


@active_option.register(WithOptionsPart)
def _(agent):
    return int(agent.active[0])


def with_options(
    agent: Any, context: BuildContext, actions: int, epsilon: float, discount: float, acting: str
) -> WithOptionsPart:
    """Carry out the choices of an agent that was built for actions and options."""
    model = agent.planner.model
    centering = getattr(agent, "centering", None)
    if centering is not None:  # the model is to know the agent's own R̄
        model = model._replace(rate=centering.rate)
        agent = agent._replace(planner=agent.planner._replace(model=model))
    observes = type(model.extended) in fit_options.implementations
    return WithOptionsPart(
        agent,
        np.full(1, NONE, np.int64),
        np.zeros(actions),
        np.zeros(context.actions),
        np.zeros(actions),
        epsilon,
        discount,
        ACTING[acting],
        observes,
    )
