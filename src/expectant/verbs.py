"""Every verb that a part can implement.

A *part* is a ``NamedTuple`` of arrays and numbers (a domain, a feature map, a model, a backup
distribution, an agent). A *verb* is a function with one implementation per part type, found by
the type of its first argument: by a dictionary in plain Python, at compile time under Numba.
Neither knows any part by name, so a part defined outside the package composes with the rest at
full speed::

    class Constant(NamedTuple):
        reward: float

    @backed_up_value.register(Constant)
    def _(model, state, action, weights, discount):
        return model.reward

Shape letters used in docstrings: d features, D the same padded to a multiple of eight, k active
features, A actions, S states of a finite MDP, O outcomes of a state and action, P phases.
"""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.dispatch import Verb, function, optional, plain, verb

if TYPE_CHECKING:
    from expectant.features.vector import Binary, BinaryTable, Weighted, WeightedTable

__all__ = [
    "Verb",
    "act",
    "adapt",
    "adapt_columns",
    "adapt_listed",
    "add_expected",
    "age",
    "answering",
    "back_up",
    "backed_up_action_value",
    "backed_up_value",
    "begin",
    "behave",
    "break_off",
    "came_from",
    "changed",
    "changed_action",
    "copy",
    "cut",
    "dot_through",
    "draw",
    "draw_outcome",
    "duration",
    "encode",
    "encode_all",
    "evicted",
    "fit",
    "fit_options",
    "follow",
    "followed",
    "foresee",
    "function",
    "grown",
    "imagine",
    "improve",
    "index",
    "learn",
    "learn_options",
    "load",
    "load_successor",
    "matches",
    "mean_rate",
    "moved_by",
    "notice",
    "observation",
    "optional",
    "outcome",
    "pass_on",
    "phase",
    "place",
    "plain",
    "plan",
    "planned",
    "policy",
    "policy_of",
    "preference",
    "put",
    "rate",
    "relabel",
    "remember",
    "reset",
    "reward_now",
    "roll_out",
    "room",
    "save",
    "shares_ties",
    "size",
    "step",
    "stop",
    "stop_of",
    "stored",
    "sum_through",
    "tick",
    "trace_back",
    "unfinished",
    "value",
    "verb",
    "waiting",
    "with_predecessors",
    "without_planning",
    "wrapped",
]


# ------------------------------------------------------------------------------------- domains


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
def place(domain):
    """The number of the environment's own state, for exact models; −1 where there is none."""
    return -1


@optional
def phase(domain):
    """Which phase a domain that changes is in."""
    return 0


@optional
def cut(domain):
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


# ------------------------------------------------------------------------------------ features


@verb
def encode(features, observation, action, state):
    """The state update s' = u(s, a, o): write the feature vector of an observation into ``state``.

    ``action`` is the action that led here, −1 at the start of an episode. A map with memory
    keeps what it needs of the previous state in arrays of its own.
    """


@verb
def size(state):
    """How many entries of a feature vector are active (k)."""


@verb
def index(state, n):
    """Which feature the n-th active entry is."""


@verb
def value(state, n):
    """The value of the n-th active entry."""


@verb
def dot_through(state, rows, action, weights):
    """wᵀ F_a s, where rows[a, j] (A, d, D) is column j of F_a."""


@verb
def sum_through(state, rows, action, total):
    """Write F_a s into ``total`` (D,), where rows[a, j] (A, d, D) is column j of F_a."""


@verb
def copy(state, source):
    """Overwrite one feature vector with another."""


@verb
def put(state, n, index, value):
    """Make the n-th active entry of a feature vector this feature with this value."""


@verb
def save(table, row, state):
    """Write a feature vector into a row of a table of feature vectors."""


@verb
def matches(table, row, state):
    """Whether a row of a table of feature vectors is this vector."""


@verb
def load(table, row, state):
    """Read a row of a table of feature vectors into ``state``."""


# -------------------------------------------------------------------------------------- models


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
def imagine(model, state, action, successor):
    """Write a next state to plan on from into ``successor``; returns alive, 0.0 at the end."""


@verb
def add_expected(model, state, action, weights, amount):
    """w += amount · s̄(s, a), at the model's own cost: what gradient planning needs of a model."""


@optional
def foresee(model, state, action, expected):
    """Write the mean next state into ``expected`` (D,); returns how likely there is one at all.

    A zero-terminal model counts the end as zeros in its s̄, so that there always is one.
    """
    for i in range(expected.shape[0]):
        expected[i] = 0.0
    add_expected(model, state, action, expected, 1.0)
    return 1.0


@verb
def trace_back(model, feature, link):
    """The next entry of row ``feature`` of the F_a that is not zero; after −1 it is the first.

    Links are the model's own numbers for its entries; −1 says that there are no more.
    """


@verb
def came_from(model, feature, link):
    """(j, F^{ij}) of an entry of row i, found by :func:`trace_back`: feature i may follow j."""


@optional
def duration(model, state, action):
    """E[Σ_{k<K} γᵏ], how long a choice takes: one step for an action, K of them for an option."""
    return 1.0


@optional
def notice(model, transition):
    """Take note of a real transition, which is told once, however often it is fitted."""


@optional
def follow(model, state, change, discount):
    """Take note that the value weights moved by ``change`` times ``state``."""


@optional
def answering(model):
    """The model that answers for any weights, and without drawing (called from Python).

    One that draws its answers, or keeps them for the agent's own weights, names what is behind it.
    """
    return model


# ------------------------------------------------------------------------------------- options


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


# ---------------------------------------------------------------------------------- step sizes


@verb
def adapt(step, row, state, error):
    """Take note that a row of weights is about to move by rate · error · s."""


@verb
def adapt_columns(step, action, state, surprise, errors):
    """The same of a linear model, whose reward was off by ``surprise`` and s̄ by ``errors`` (D,)."""


@optional
def adapt_listed(step, columns, action, state, surprise):
    """The same where columns are lists of entries, the errors being in their scratch row."""
    adapt_columns(step, action, state, surprise, columns.work[0])


@verb
def rate(step, row, state, n):
    """The step size of the n-th active feature, in the update that was taken note of last."""


@optional
def tick(step):
    """Take note of a real step, before anything is learned from it."""


@verb
def mean_rate(step, row, state):
    """The mean of those step sizes, Σ α_i x_i² / Σ x_i²."""


@verb
def moved_by(step, row, state, error):
    """How far that update moves wᵀs."""


# ------------------------------------------------------------------------------------- backups


@verb
def remember(backups, transition):
    """Take in a real transition."""


@verb
def draw(backups, state, rng):
    """Write a state to plan from into ``state``; returns its slot (−1: not a stored one)."""


@optional
def changed(backups, state, moved, left):
    """Take note that an update moved the value of ``state`` by ``moved`` and left an error there.

    Agents tell of every value update: of a real one before its transition is remembered, of a
    planned one right after its state was drawn.
    """


@optional
def unfinished(backups):
    """Whether the present planning step goes on with another draw."""
    return False


@optional
def waiting(backups):
    """Whether there is anything to plan from; while there is not, no planning step is made."""
    return True


@optional
def changed_action(backups, weights, state, action, moved, error, discount):
    """As :func:`changed`, of one action's value: an update found ``error`` and moved it so far.

    ``weights`` (A, D) are those of all actions, after the update. Distributions that rank states
    are told that the other actions may still be as wrong.
    """
    changed(backups, state, moved, error)


@optional
def stored(backups, slot):
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
def room(part):
    """How many transitions can still be taken in before arrays must grow."""
    return 1


@optional
def grown(part):
    """The same part with room for more (called from Python, never compiled)."""
    return part


# -------------------------------------------------------------------------------------- agents


@verb
def act(agent, state, rng):
    """Choose an action."""


@verb
def behave(agent, state, probabilities):
    """Write the probability with which :func:`act` chooses every action, what it explores included.

    Needed of agents that learn about options, from what they do themselves.
    """


@verb
def preference(agent, state, action):
    """What the agent maximises when it is asked for its greedy action."""


@optional
def shares_ties(agent):
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

    A planning agent passes this and :func:`break_off` on to its model and its backups.
    """


@optional
def break_off(agent, state, rng):
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
def followed(agent: object) -> int:
    """The number of the option that an agent follows at present, −1 while it follows none."""
    return -1


@plain
def wrapped(agent: object) -> object:
    """The agent that values and plans: itself, or the one inside what carries its choices out."""
    return agent


# -------------------------------------------------------------------------------- asked by Python


@plain
def evicted(part: tuple[object, ...]) -> int:
    """How much a part has given up because there was no room for it; people are told of it.

    A part that does not implement the verb answers for the parts in it.
    """
    return sum(evicted(item) for item in part if isinstance(item, tuple))


@plain
def planned(part: tuple[object, ...]) -> int:
    """How many backups a part has drawn; one that does not count them asks the parts in it."""
    return sum(planned(item) for item in part if isinstance(item, tuple))


@plain
def encode_all(
    features: object,
    states: int,
    table: BinaryTable | WeightedTable,
    state: Binary | Weighted,
) -> None:
    """Write the vectors of all numbered states into a table, in order; ``state`` is scratch.

    A part that does not implement the verb encodes them one by one.
    """
    for number in range(states):
        encode(features, np.array([number]), -1, state)
        state.place[0] = number
        save(table, number, state)


@plain
def with_predecessors(model: object) -> object:
    """The same model, newly built, as one that can be traced back (called from Python)."""
    return model


@plain
def without_planning(agent: object) -> object:
    """The same agent without what it needs only to plan: enough to ask what it thinks.

    A look copies and compiles no more than this, so agents that differ in nothing else share one.
    """
    return agent


# -------------------------------------------------------------------------- parts inside of others


def pass_on(part_type: type, field: str, *verbs: Verb[object]) -> None:
    """Let the part in a field answer verbs for the part type that it is in."""
    for each in verbs:
        _pass_on(part_type, field, each)


def _pass_on(part_type: Any, field: str, verb: Verb[object]) -> None:
    position = part_type._fields.index(field)

    def rebuild(part):
        return part._replace(**{field: verb(part[position])})

    def pass_none(part):
        return verb(part[position])

    def pass_one(part, first):
        return verb(part[position], first)

    def pass_two(part, first, second):
        return verb(part[position], first, second)

    def pass_three(part, first, second, third):
        return verb(part[position], first, second, third)

    def pass_four(part, first, second, third, fourth):
        return verb(part[position], first, second, third, fourth)

    # Compiled, one function with *arguments would pack them into a tuple, which is slower.
    by_count = (pass_none, pass_one, pass_two, pass_three, pass_four)
    arguments = len(inspect.signature(verb).parameters) - 1
    returns_part = verb in (grown, without_planning)
    verb.register(part_type)(rebuild if returns_part else by_count[arguments])
