"""Verbs of models: learn from transitions, predict for planning.

Every model implements :func:`fit` and :func:`backed_up_value`. The other required verbs are needed
only by agents that call them: action-value planners, sample models, rollouts, gradient planning and
prioritized sweeping by features.
"""

from __future__ import annotations

from expectant.core.dispatch import optional, plain, verb

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
    "with_predecessors",
]


@verb
def fit(model, transition):
    """Learn from one transition; return the size of the error (not finite: diverged)."""


@verb
def backed_up_value(model, state, action, weights, discount):
    """Return b(s, a, w) = r(s, a) + γ E[v̂(S', w)], used for acting and for planning."""


@verb
def backed_up_action_value(model, state, action, weights, discount):
    """Return r(s, a) + γ E[max_a' q̂(S', a', w)], or an approximation of it; weights (A, D)."""


@verb
def draw_outcome(model, state, action, successor, rng):
    """Sample from a distribution model: write s' into ``successor``, return (reward, alive)."""


@verb
def sample_next(model, state, action, successor):
    """Write the next state of a rollout into ``successor``; return alive, 0.0 at the end."""


@verb
def add_expected(model, state, action, weights, amount):
    """w += amount · s̄(s, a), as gradient planning needs it."""


@verb
def next_predecessor(model, feature, link):
    """Return the link of the next nonzero entry in row ``feature`` of any F_a.

    Links are the model's own numbers for its entries: pass −1 to get the first; −1 is the end.
    """


@verb
def predecessor(model, feature, link):
    """Return (j, F^{ij}) of the entry at a link: feature i = ``feature`` may follow feature j."""


# ---------------------------------------------------------------------------------- optional


@optional
def expected_next_state(model, state, action, expected):
    """Write s̄(s, a) into ``expected`` (D,); return the probability that there is a next state.

    A model that counts the terminal state as zeros in s̄ returns 1.
    """
    for i in range(expected.shape[0]):
        expected[i] = 0.0
    add_expected(model, state, action, expected, 1.0)
    return 1.0


@optional
def duration(model, state, action):
    """Return E[Σ_{k<K} γᵏ] of a choice that takes K steps: 1 for an action, more for an option."""
    return 1.0


@optional
def on_transition(model, transition):
    """Observe a real transition, once, however often the model is fitted to it."""


@optional
def on_value_update(model, state, change, discount):
    """Observe that the value weights moved by ``change`` times ``state``."""


@plain
def unwrapped(model):
    """Return the model whose predictions hold for any weights and need no random draws.

    Models that sample, or cache values of the agent's present weights, return the one they wrap.
    """
    return model


@plain
def with_predecessors(model: object) -> object:
    """Return a newly built model as one that implements :func:`predecessor`."""
    return model
