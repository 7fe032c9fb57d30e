"""Verbs of domains: reset, step and observe."""

from __future__ import annotations

from expectant.core.dispatch import optional, verb

__all__ = [
    "observation",
    "outcome",
    "phase",
    "reset",
    "reward_now",
    "state_index",
    "step",
    "truncated",
]


@verb
def reset(domain, episode, rng):
    """Start episode number ``episode``; the domain keeps its state in arrays of its part."""


@verb
def step(domain, action, rng):
    """Take one step; return (reward, alive), where alive is 0.0 after a termination, else 1.0."""


@verb
def observation(domain):
    """Return the array that holds the present observation (int64 for numbered states)."""


# ---------------------------------------------------------------------------------- optional


@optional
def truncated(domain):
    """Return True if the domain truncates the episode here, which is not a termination."""
    return False


@optional
def state_index(domain):
    """Return the index of the environment's state, for exact models; −1 if there is none."""
    return -1


@optional
def phase(domain):
    """Return the present phase of a domain that changes."""
    return 0


@optional
def outcome(domain):
    """Return the number of the last step's outcome, for relabelling; −1 if there is none."""
    return -1


@optional
def reward_now(domain, outcome):
    """Return the reward that the present phase gives to an outcome."""
    return 0.0
