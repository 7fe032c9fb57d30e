"""Verbs of backup distributions."""

from __future__ import annotations

from expectant.core.dispatch import optional, verb

__all__ = [
    "age",
    "can_draw",
    "draw",
    "free_capacity",
    "grow",
    "has_more_draws",
    "load_successor",
    "on_action_priority",
    "on_priority",
    "relabel",
    "remember",
    "stored_transition",
]


@verb
def remember(backups, transition):
    """Take in a real transition."""


@verb
def draw(backups, state, rng):
    """Write a state to plan from into ``state``; returns its slot (−1: not a stored one)."""


@optional
def on_priority(backups, state, moved, left):
    """Take note that an update moved the value of ``state`` by ``moved`` and left an error there.

    Agents tell of every value update: of a real one before its transition is remembered, of a
    planned one right after its state was drawn.
    """


@optional
def has_more_draws(backups):
    """Whether the present planning step goes on with another draw."""
    return False


@optional
def can_draw(backups):
    """Whether there is anything to plan from; while there is not, no planning step is made."""
    return True


@optional
def on_action_priority(backups, weights, state, action, moved, error, discount):
    """As :func:`on_priority`, of one action's value: an update found ``error`` and moved it so far.

    ``weights`` (A, D) are those of all actions, after the update. Distributions that rank states
    are told that the other actions may still be as wrong.
    """
    on_priority(backups, state, moved, error)


@optional
def stored_transition(backups, slot):
    """(action, reward, alive) of a stored transition; never asked where none are stored."""
    return 0, 0.0, 1.0


@optional
def load_successor(backups, slot, state):
    """Write the next state of a stored transition into ``state``; as above."""


@optional
def age(backups, slot):
    """How many steps ago the transition in a slot was taken in; 0 where that is unknown."""
    return 0


@optional
def relabel(backups, domain):
    """Give stored transitions the reward that the domain's present phase would give them."""


@optional
def free_capacity(part):
    """How many transitions can still be taken in before arrays must grow."""
    return 1


@optional
def grow(part):
    """The same part with room for more (called from Python, never compiled)."""
    return part
