"""Verbs of agents and of the options they follow.

Every agent implements :func:`act`, :func:`learn` and :func:`preference`; one that plans also
implements :func:`plan`, usually by :mod:`expectant.agents.planner`, which calls :func:`back_up`.
"""

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
    "count_backups",
    "count_evicted",
    "fit_options",
    "improve",
    "inner_agent",
    "learn",
    "learn_options",
    "on_truncation",
    "plan",
    "policy",
    "policy_of",
    "preference",
    "roll_out",
    "stop",
    "stop_of",
    "without_planning",
]


@verb
def act(agent, state, rng):
    """Choose an action."""


@verb
def learn(agent, transition, rng):
    """Learn from one real transition; return the size of the errors (not finite: diverged)."""


@verb
def preference(agent, state, action):
    """Return the quantity that the greedy action maximises."""


@verb
def back_up(agent, state, slot, discount, rng):
    """Make one planning update of a state drawn from ``slot`` (−1: not stored); return δ."""


@verb
def improve(update, model, actions, weights, state, discount, step, rate):
    """Make one planning update of state values w; return (error, change of wᵀs).

    ``rate`` is R̄, which is subtracted from planned rewards (0 without centering).
    """


@verb
def behaviour_policy(agent, state, probabilities):
    """Write the probability with which :func:`act` chooses every action, exploration included.

    Needed only by agents that learn about options off-policy.
    """


# ---------------------------------------------------------------------------------- optional


@optional
def plan(agent, rng):
    """Make the planning updates of one step; return the size of the errors."""
    return 0.0


@optional
def roll_out(rollout, agent, rng):
    """Continue planning along a rollout of the model; return the size of the errors."""
    return 0.0


@optional
def begin(agent, state, rng):
    """Start an episode in ``state``: reset traces and the like.

    A planning agent passes this and :func:`on_truncation` on to its model and its backups.
    """


@optional
def on_truncation(agent, state, rng):
    """Handle a truncation in ``state``, after the last transition was learned from.

    It is not a termination: ``state`` has a value.
    """


@optional
def breaks_ties_at_random(agent):
    """Return False if the first of equally preferred actions is taken."""
    return True


@optional
def policy(agent, state, probabilities):
    """Write π(a | s) of every action; NaN for agents without an explicit policy."""
    for action in range(probabilities.shape[0]):
        probabilities[action] = math.nan


@plain
def active_option(agent: object) -> int:
    """Return the number of the option that the agent follows at present, −1 if none."""
    return -1


@plain
def inner_agent(agent: object) -> object:
    """Return the agent that values and plans: itself, or the one it wraps."""
    return agent


@plain
def without_planning(agent: object) -> object:
    """Return the same agent without the memory it needs only to plan.

    Probes copy and compile only this, so agents that differ in nothing else share a kernel.
    """
    return agent


@plain
def count_evicted(part: tuple[object, ...]) -> int:
    """Return the number of entries dropped because a capacity was reached; users are warned.

    The default adds up the counts of the parts inside.
    """
    return sum(count_evicted(item) for item in part if isinstance(item, tuple))


@plain
def count_backups(part: tuple[object, ...]) -> int:
    """Return the number of backups drawn; the default adds up the counts of the parts inside."""
    return sum(count_backups(item) for item in part if isinstance(item, tuple))


# ----------------------------------------------------------------------------------- options
# An option implements policy, π_o(a | s), and stop.


@verb
def stop(option, state):
    """Return β_o(s), the probability that an option stops in the state it has reached."""


@optional
def policy_of(options, number, state, probabilities):
    """Write π_o(a | s) of option ``number``, for a part that stands for several options."""
    policy(options, state, probabilities)


@optional
def stop_of(options, number, state):
    """Return β_o(s) of option ``number``, for a part that stands for several options."""
    return stop(options, state)


@optional
def learn_options(options, transition, behaviour, weights, discount):
    """Improve options from one real step; return the size of the errors (not finite: diverged).

    ``behaviour`` (A,) has the probabilities of all actions, ``weights`` (D,) are those of the
    agent's state values. Fixed options learn nothing.
    """
    return 0.0


@optional
def fit_options(models, options, transition, behaviour, discount):
    """Fit models of options to one real step; return the size of the errors.

    ``behaviour`` (A,) has the probabilities of all actions. Exact models learn nothing.
    """
    return 0.0
