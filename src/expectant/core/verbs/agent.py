"""Verbs of agents."""

from __future__ import annotations

import math

from expectant.core.dispatch import optional, plain, verb

__all__ = [
    "act",
    "active_option",
    "back_up",
    "begin",
    "behaviour_policy",
    "breaks_ties_at_random",
    "improve",
    "inner_agent",
    "learn",
    "on_truncation",
    "plan",
    "policy",
    "preference",
    "roll_out",
]


@verb
def act(agent, state, rng):
    """Choose an action."""


@verb
def behaviour_policy(agent, state, probabilities):
    """Write the probability with which :func:`act` chooses every action, what it explores included.

    Needed of agents that learn about options, from what they do themselves.
    """


@verb
def preference(agent, state, action):
    """What the agent maximises when it is asked for its greedy action."""


@optional
def breaks_ties_at_random(agent):
    """Whether actions that are preferred alike are drawn from; else the first of them is taken."""
    return True


@optional
def policy(agent, state, probabilities):
    """Write π(a | s) of every action; NaN for agents without a policy of their own."""
    for action in range(probabilities.shape[0]):
        probabilities[action] = math.nan


@verb
def learn(agent, transition, rng):
    """Learn from one real transition; returns the size of the errors (not finite: diverged)."""


@verb
def back_up(agent, state, slot, discount, rng):
    """One planning update from a state, drawn from ``slot`` (−1: not stored); returns the error."""


@verb
def improve(update, model, actions, weights, state, discount, step, rate):
    """One planning update of state values w; returns (error, how far it moved wᵀs).

    ``rate`` is R̄, which a planned reward is measured against (0: as it is).
    """


@optional
def begin(agent, state, rng):
    """An episode begins in ``state``: forget what belongs to the last one, such as traces.

    A planning agent passes this and :func:`on_truncation` on to its model and its backups.
    """


@optional
def on_truncation(agent, state, rng):
    """The episode was cut off in ``state``, after its last transition was learned from.

    That is not a termination: ``state`` has a value.
    """


@optional
def roll_out(rollout, agent, rng):
    """Go on planning from where the model leads; returns the size of the errors."""
    return 0.0


@optional
def plan(agent, rng):
    """Do the agent's planning; returns the size of the errors (not finite: diverged)."""
    return 0.0


@plain
def active_option(agent: object) -> int:
    """The number of the option that an agent follows at present, −1 while it follows none."""
    return -1


@plain
def inner_agent(agent: object) -> object:
    """The agent that values and plans: itself, or the one inside what carries its choices out."""
    return agent
