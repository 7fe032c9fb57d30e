"""Verbs of options and of their models."""

from __future__ import annotations

from expectant.core.dispatch import optional, verb
from expectant.core.verbs.agent import policy

__all__ = [
    "fit_options",
    "learn_options",
    "policy_of",
    "stop",
    "stop_of",
]


@verb
def stop(option, state):
    """β_o(s), the probability that an option stops where it has arrived.

    What it does there otherwise is said by the verb :func:`policy`.
    """


@optional
def policy_of(options, number, state, probabilities):
    """Write π_o(a | s) of option ``number`` of several; a part of a single one has no number."""
    policy(options, state, probabilities)


@optional
def stop_of(options, number, state):
    """β_o(s) of option ``number`` of several."""
    return stop(options, state)


@optional
def learn_options(options, transition, behaviour, weights, discount):
    """Improve options by one real step; returns the size of the errors (not finite: diverged).

    ``behaviour`` (A,) is the probability with which every action was taken, ``weights`` (D,) are
    those of the agent's state values. Options that are given have nothing to learn.
    """
    return 0.0


@optional
def fit_options(models, options, transition, behaviour, discount):
    """Let models of options learn from one real step; returns the size of the errors.

    ``behaviour`` (A,) is as above. Models that are given have nothing to learn.
    """
    return 0.0
