"""Verbs of domains: what the loop asks of an environment."""

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
    """Start episode number ``episode``; the domain keeps its own state in arrays."""


@verb
def step(domain, action, rng):
    """Take one step; returns (reward, alive), alive 0.0 if the episode has ended, else 1.0."""


@verb
def observation(domain):
    """The array that holds the present observation (int64 for numbered states)."""


@optional
def state_index(domain):
    """The number of the environment's own state, for exact models; −1 where there is none."""
    return -1


@optional
def phase(domain):
    """Which phase a domain that changes is in."""
    return 0


@optional
def truncated(domain):
    """Whether the domain breaks the episode off here, which is not a termination."""
    return False


@optional
def outcome(domain):
    """The number of what the last step did, for relabelling; −1 where there is none."""
    return -1


@optional
def reward_now(domain, outcome):
    """The reward that the present phase gives to an outcome."""
    return 0.0
