"""Verbs of backup distributions: the states and transitions to plan from.

Every distribution implements :func:`remember` and :func:`draw`. One with ``stores_transitions``
also implements :func:`stored_transition` and :func:`load_successor`.
"""

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
    """Store a real transition."""


@verb
def draw(backups, state, rng):
    """Write a state to plan from into ``state``; return its slot (−1: not a stored one)."""


# ---------------------------------------------------------------------------------- optional


@optional
def can_draw(backups):
    """Return False while there is nothing to plan from; no planning step is made then."""
    return True


@optional
def has_more_draws(backups):
    """Return True if the present planning step continues with another draw."""
    return False


@optional
def stored_transition(backups, slot):
    """Return (action, reward, alive) of the transition in a slot."""
    return 0, 0.0, 1.0


@optional
def load_successor(backups, slot, state):
    """Write the next state of the transition in a slot into ``state``."""


@optional
def age(backups, slot):
    """Return how many steps ago the transition in a slot was stored; 0 if unknown."""
    return 0


@optional
def relabel(backups, domain):
    """Replace stored rewards by those of the domain's present phase."""


@optional
def on_priority(backups, state, moved, left):
    """Observe that an update moved the value of ``state`` by ``moved`` and left the error ``left``.

    Agents call it after every value update: for a real one before its transition is remembered, for
    a planned one right after its state was drawn.
    """


@optional
def on_action_priority(backups, weights, state, action, moved, error, discount):
    """Observe that the value of ``action`` had ``error`` and moved by ``moved``.

    ``weights`` (A, D) are those of all actions after the update. By default a distribution that
    ranks states keeps the whole error, because other actions may be as wrong.
    """
    on_priority(backups, state, moved, error)


@optional
def free_capacity(part):
    """Return how many transitions fit before arrays must grow."""
    return 1


@optional
def grow(part):
    """Return the same part with more capacity (called from Python only)."""
    return part
