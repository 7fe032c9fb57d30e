"""Verbs: the functions that parts implement, grouped by kind of component.

A *part* is a ``NamedTuple`` of arrays and numbers. A *verb* has one implementation per part type
and dispatches on the type of its first argument (:mod:`expectant.core.dispatch`)::

    class Constant(NamedTuple):
        reward: float

    @backed_up_value.register(Constant)
    def _(model, state, action, weights, discount):
        return model.reward

A part must implement the verbs of its kind that are declared with ``@verb``. Those with
``@optional`` have a default, their own body.

Shape letters in docstrings: d features, D the same padded to a multiple of eight, k active
features, A actions, S states of a finite MDP, O outcomes of a state and action, P phases.
"""

from __future__ import annotations

import math

from expectant.core.dispatch import Verb, delegate, function, optional, verb

__all__ = [  # noqa: RUF022  grouped by kind
    "Verb", "delegate", "function", "optional", "verb",
    # domains
    "reset", "step", "observation", "truncated", "state_index", "phase", "outcome", "reward_now",
    # features
    "encode", "size", "index", "value", "put", "copy", "dot_through", "sum_through",
    "save", "load", "matches",
    # models
    "fit", "backed_up_value", "backed_up_action_value", "draw_outcome", "sample_next",
    "add_expected", "next_predecessor", "predecessor", "expected_next_state", "duration",
    "on_transition", "on_value_update",
    # step sizes
    "adapt", "adapt_columns", "rate", "mean_rate", "value_change", "tick", "adapt_listed",
    # backups
    "remember", "draw", "can_draw", "has_more_draws", "stored_transition",
    "load_successor", "age", "relabel", "on_priority", "on_action_priority", "free_capacity",
    "grow",
    # agents
    "act", "learn", "preference", "back_up", "improve", "behaviour_policy", "plan", "roll_out",
    "begin", "on_truncation", "breaks_ties_at_random", "policy",
    "stop", "policy_of", "stop_of",
    "learn_options", "fit_options",
]  # fmt: skip


# ------------------------------------------------------------------------------------------ domains


@verb
def reset(domain, episode, rng):
    """Start episode number ``episode``; the domain keeps its state in arrays of its part."""


@verb
def step(domain, action, rng):
    """Take one step; return (reward, alive), where alive is 0.0 after a termination, else 1.0."""


@verb
def observation(domain):
    """Return the array that holds the present observation (int64 for numbered states)."""


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


# ----------------------------------------------------------------------------------------- features
# Feature maps, feature vectors and tables of vectors. A map implements encode; the other verbs are
# implemented for the vectors and tables of core/vectors.py, and components only call them.


@verb
def encode(features, observation, action, state):
    """Apply the state update s' = u(s, a, o): write the features of an observation into ``state``.

    ``action`` is the previous action, −1 at the start of an episode. A map with memory keeps what
    it needs of the past in arrays of its part.
    """


@verb
def size(state):
    """Return the number of active entries k."""


@verb
def index(state, n):
    """Return the feature that the n-th active entry stands for."""


@verb
def value(state, n):
    """Return the value of the n-th active entry."""


@verb
def put(state, n, index, value):
    """Set feature and value of the n-th active entry."""


@verb
def copy(state, source):
    """Overwrite ``state`` with another vector."""


@verb
def dot_through(state, rows, action, weights):
    """Return wᵀ F_a s, where rows[a, j] (A, d, D) is column j of F_a."""


@verb
def sum_through(state, rows, action, total):
    """Write F_a s into ``total`` (D,), where rows[a, j] (A, d, D) is column j of F_a."""


@verb
def save(table, row, state):
    """Write a vector into a row of a table."""


@verb
def load(table, row, state):
    """Read a row of a table into ``state``."""


@verb
def matches(table, row, state):
    """Return True if a row of a table equals this vector."""


# ------------------------------------------------------------------------------------------- models
# Models: learn from transitions, predict for planning. Every model implements fit and
# backed_up_value; the other required verbs are needed only by agents that call them: action-value
# planners, sample models, rollouts, gradient planning and prioritized sweeping by features.


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


# --------------------------------------------------------------------------------------- step sizes
# Step sizes: an update is w_i ← w_i + α_i δ s_i. A step size is told of it by adapt and then asked
# for α_i by rate.


@verb
def adapt(step, row, state, error):
    """Prepare an update of row ``row`` of the weights by α_i · error · s_i."""


@optional
def adapt_columns(step, action, state, reward_error, errors):
    """Prepare an update of a linear model by its errors of r and s̄, ``errors`` (D,).

    By default as for a row of weights.
    """
    adapt(step, action, state, reward_error)


@verb
def rate(step, row, state, n):
    """Return α_i of the n-th active feature in the prepared update."""


@verb
def mean_rate(step, row, state):
    """Return Σ α_i s_i² / Σ s_i² of the prepared update."""


@verb
def value_change(step, row, state, error):
    """Return the change of wᵀs by the prepared update."""


@optional
def tick(step):
    """Count a real step, before anything is learned from it."""


@optional
def adapt_listed(step, columns, action, state, reward_error):
    """Do as :func:`adapt_columns` for sparse columns, whose errors are in their scratch row."""
    adapt_columns(step, action, state, reward_error, columns.work[0])


# ------------------------------------------------------------------------------------------ backups
# Backup distributions: the states and transitions to plan from. Every one implements remember and
# draw; one with stores_transitions also implements stored_transition and load_successor.


@verb
def remember(backups, transition):
    """Store a real transition."""


@verb
def draw(backups, state, rng):
    """Write a state to plan from into ``state``; return its slot (−1: not a stored one)."""


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


# ------------------------------------------------------------------------------------------- agents
# Agents implement act, learn and preference; one that plans also implements plan, usually by
# agents/planning_loop.py, which calls back_up.


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
