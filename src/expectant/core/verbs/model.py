"""Verbs of models: what learning and planning ask of them."""

from __future__ import annotations

from expectant.core.dispatch import optional, verb

__all__ = [
    "add_expected",
    "backed_up_action_value",
    "backed_up_value",
    "draw_outcome",
    "duration",
    "expected_next_state",
    "fit",
    "next_predecessor",
    "on_transition",
    "on_value_update",
    "predecessor",
    "sample_next",
    "unwrapped",
]


@verb
def fit(model, transition):
    """Learn from one transition; returns the size of the error (not finite: diverged)."""


@verb
def backed_up_value(model, state, action, weights, discount):
    """b(s, a, w) = r(s, a) + γ E[v̂(S', w)], the look-ahead that acting and planning share."""


@verb
def backed_up_action_value(model, state, action, weights, discount):
    """r(s, a) + γ E[max_a' q̂(S', a', w)], as far as the model can tell (weights: (A, D))."""


@verb
def draw_outcome(model, state, action, successor, rng):
    """Draw from a distribution model: returns (reward, alive), writes s' into ``successor``."""


@verb
def sample_next(model, state, action, successor):
    """Write a next state to plan on from into ``successor``; returns alive, 0.0 at the end."""


@verb
def add_expected(model, state, action, weights, amount):
    """w += amount · s̄(s, a), at the model's own cost: what gradient planning needs of a model."""


@optional
def expected_next_state(model, state, action, expected):
    """Write the mean next state into ``expected`` (D,); returns how likely there is one at all.

    A zero-terminal model counts the end as zeros in its s̄, so that there always is one.
    """
    for i in range(expected.shape[0]):
        expected[i] = 0.0
    add_expected(model, state, action, expected, 1.0)
    return 1.0


@verb
def next_predecessor(model, feature, link):
    """The next entry of row ``feature`` of the F_a that is not zero; after −1 it is the first.

    Links are the model's own numbers for its entries; −1 says that there are no more.
    """


@verb
def predecessor(model, feature, link):
    """(j, F^{ij}) of an entry that :func:`next_predecessor` found: feature i may follow j."""


@optional
def duration(model, state, action):
    """E[Σ_{k<K} γᵏ], how long a choice takes: one step for an action, K of them for an option."""
    return 1.0


@optional
def on_transition(model, transition):
    """Take note of a real transition, which is told once, however often it is fitted."""


@optional
def on_value_update(model, state, change, discount):
    """Take note that the value weights moved by ``change`` times ``state``."""


@optional
def unwrapped(model):
    """The model that answers for any weights, and without drawing (called from Python).

    One that draws its answers, or keeps them for the agent's own weights, names what is behind it.
    """
    return model
