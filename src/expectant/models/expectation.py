"""Linear and exact expectation models.

Zero-terminal ones (ZTEM) have r(s, a) and s̄(s, a), with terminal states as zero; general episodic
ones (GEEM) have r, the probability β of termination, and ŝ given no termination.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model, constant_weights
from expectant.core.memory import zeros
from expectant.core.reductions import add_to_row, dot_row
from expectant.core.rules import number, or_none
from expectant.core.updates import add_columns, move
from expectant.core.vectors import add, dense, dot, empty_state
from expectant.core.verbs import function, index, rate, size, value
from expectant.domains.finite import PHASE, phase_array, require_mdp
from expectant.features.discrete import feature_table
from expectant.step_sizes import StepSize, as_shared_step, as_step_size, step_size


class LinearPart(NamedTuple):
    """s̄ = F_a s and r = b_aᵀ s.

    ``rewards`` (A, D) are the b_a; ``rows`` (A, d, D) holds column j of F_a as row j, so that the
    columns of active features are contiguous; ``work`` (1, D) is scratch.
    """

    rewards: np.ndarray
    rows: np.ndarray
    step: object
    work: np.ndarray


@function
def predict(model, state, action):
    """Write s̄(s, a) into the scratch row of a linear model."""
    verbs.sum_through(state, model.rows, action, model.work[0])


@function
def max_dot(weights, features):
    """max_a w_aᵀ s for a dense vector s."""
    best = -math.inf
    for action in range(weights.shape[0]):
        candidate = dot_row(weights, action, features)
        if candidate > best:
            best = candidate
    return best


@function
def add_row(rows, row, weights, amount):
    """w += amount · rows[row], for a table (n, D) of rows."""
    for i in range(weights.shape[0]):
        weights[i] += amount * rows[row, i]


@function
def write_errors(model, transition):
    """Write s' − s̄ into the scratch row, s' = 0 at the end; returns r − r(s, a)."""
    state, action, work = transition.state, transition.action, model.work
    reward_error = transition.reward - dot(state, model.rewards[action])
    predict(model, state, action)
    for i in range(work.shape[1]):
        work[0, i] = -work[0, i]
    add(transition.next_state, work[0], transition.alive)
    return reward_error


@verbs.fit.register(LinearPart)
def _(model, transition):
    """One step of gradient descent on ½‖s' − s̄‖² and ½(r − r(s, a))²."""
    state, action, work = transition.state, transition.action, model.work
    reward_error = write_errors(model, transition)
    verbs.adapt_columns(model.step, action, state, reward_error, work[0])
    for n in range(size(state)):
        j, change = index(state, n), rate(model.step, action, state, n) * value(state, n)
        model.rewards[action, j] += change * reward_error
        add_to_row(model.rows, action, j, change, work[0])
    return abs(reward_error) + dot_row(work, 0, work[0])


@verbs.backed_up_value.register(LinearPart)
def _(model, state, action, weights, discount):
    """b(s, a, w) = b_aᵀ s + γ wᵀ F_a s: the bracket of LEVI's target."""
    future = verbs.dot_through(state, model.rows, action, weights)
    return dot(state, model.rewards[action]) + discount * future


@verbs.backed_up_action_value.register(LinearPart)
def _(model, state, action, weights, discount):
    """r + γ max_a' w_a'ᵀ s̄: the invalid target (Sorg & Singh 2010), the maximum of a mean."""
    predict(model, state, action)
    return dot(state, model.rewards[action]) + discount * max_dot(weights, model.work[0])


@verbs.add_expected.register(LinearPart)
def _(model, state, action, weights, amount):
    """w += amount · F_a s."""
    add_columns(model.rows, action, state, weights, amount)


@verbs.next_predecessor.register(LinearPart)
def _(model, feature, link):
    """Search the columns in order; entry j of F_a has number a d + j."""
    rows = model.rows
    for entry in range(link + 1, rows.shape[0] * rows.shape[1]):
        if rows[entry // rows.shape[1], entry % rows.shape[1], feature] != 0.0:
            return entry
    return -1


@verbs.predecessor.register(LinearPart)
def _(model, feature, link):
    size = model.rows.shape[1]
    return link % size, model.rows[link // size, link % size, feature]


@verbs.sample_next.register(LinearPart)
def _(model, state, action, successor):
    """Write s̄ itself, which shrinks with the probability of termination."""
    predict(model, state, action)
    for i in range(successor.values.shape[0]):
        successor.values[i] = model.work[0, i]
    return 1.0


def initial_rewards(model: Any, context: BuildContext) -> np.ndarray:
    """Return reward weights (A, D) that predict the model's ``initial_reward`` in every state."""
    reward = context.untried_value if model.initial_reward is None else model.initial_reward
    owner = f"{type(model).__name__}: initial_reward"
    weights = constant_weights(context.shape, context.width, reward, owner)
    return np.repeat(weights[None], context.actions, axis=0)


class LinearExpectation(Model):
    """A linear zero-terminal expectation model, learned by gradient descent.

    It starts with s̄ = 0 and r = ``initial_reward`` (None: the agent's initial value); a high value
    is optimistic about untried actions.
    """

    memory_advice: ClassVar[str] = 'model="sparse" or fewer features (of tiles: hash_size=)'
    predicts_means: ClassVar[bool] = True
    rolls_out: ClassVar[str] = "means"
    linear: ClassVar[bool] = True

    step: float | StepSize = parameter(step_size(), default=0.1)
    initial_reward: float | None = parameter(or_none(number()), default=None)

    def build(self, context: BuildContext) -> LinearPart:
        return LinearPart(
            initial_rewards(self, context),
            zeros((context.actions, context.shape.size, context.width)),
            as_step_size(self.step).build_columns(context),
            zeros((1, context.width)),
        )


class ExactPart(NamedTuple):
    """The exact model of a finite MDP, indexed by the true state.

    ``expected`` (P·S·A, D) are next states, ``survival`` (P·S·A,) their weights and ``rewards``
    (P·S·A,) the r: s̄ with weight 1 in a zero-terminal model, ŝ with 1 − β in an episodic one.
    ``now`` is shared with the domain and holds the present phase.
    """

    expected: np.ndarray
    survival: np.ndarray
    rewards: np.ndarray
    states: int
    actions: int
    now: np.ndarray


@function
def row_of(model, state, action):
    """Row of a state and action in the present phase."""
    return (model.now[PHASE] * model.states + state.state_index[0]) * model.actions + action


@verbs.fit.register(ExactPart)
def _(model, transition):
    return 0.0


@verbs.backed_up_value.register(ExactPart)
def _(model, state, action, weights, discount):
    """r + γ wᵀ s̄, or r + γ (1 − β) wᵀŝ."""
    row = row_of(model, state, action)
    future = dot_row(model.expected, row, weights)
    return model.rewards[row] + discount * model.survival[row] * future


@verbs.backed_up_action_value.register(ExactPart)
def _(model, state, action, weights, discount):
    """The invalid target: r + γ max_a' w_a'ᵀ s̄, or r + γ (1 − β) max_a' w_a'ᵀ ŝ."""
    row = row_of(model, state, action)
    future = max_dot(weights, model.expected[row])
    return model.rewards[row] + discount * model.survival[row] * future


@verbs.add_expected.register(ExactPart)
def _(model, state, action, weights, amount):
    row = row_of(model, state, action)
    add_row(model.expected, row, weights, amount * model.survival[row])


@verbs.expected_next_state.register(ExactPart)
def _(model, state, action, expected):
    row = row_of(model, state, action)
    for i in range(expected.shape[0]):
        expected[i] = model.expected[row, i]
    return model.survival[row]


class ExactExpectation(Model):
    """The expectation model aligned with a known finite MDP, under any features."""

    predicts_means: ClassVar[bool] = True
    learns = False

    def build(self, context: BuildContext) -> ExactPart:
        mdp, features = require_mdp(context, "ExactExpectation"), feature_table(context)
        table = mdp.outcomes
        vectors = zeros((mdp.states + 1, context.width))
        state = empty_state(context.shape)
        for row in range(mdp.states):
            verbs.load(features, row, state)
            vectors[row] = dense(state, context.width)
        expected = np.einsum("psao,saod->psad", table.probabilities, vectors[table.successors])
        rewards = (table.probabilities * table.rewards).sum(axis=-1)
        return ExactPart(
            np.ascontiguousarray(expected.reshape(-1, context.width)),
            np.ones(rewards.size),
            rewards.ravel(),
            mdp.states,
            context.actions,
            phase_array(context),
        )


class EpisodicPart(NamedTuple):
    """``model`` holds r and ŝ, ``endings`` (A, D) the weights of β(s, a), clipped to [0, 1]."""

    model: LinearPart
    endings: np.ndarray


@function
def survival(model, state, action):
    """1 − β(s, a)."""
    ending = dot(state, model.endings[action])
    if ending < 0.0:
        return 1.0
    return 1.0 - ending if ending < 1.0 else 0.0


@verbs.fit.register(EpisodicPart)
def _(episodic, transition):
    """Move β and r always, ŝ only if there is a next state."""
    model, action = episodic.model, transition.action
    ended = 1.0 - transition.alive
    errors = abs(move(episodic.endings[action], transition.state, ended, model.step))
    if transition.alive > 0.0:
        return errors + verbs.fit(model, transition)
    row = model.rewards[action]
    return errors + abs(move(row, transition.state, transition.reward, model.step))


@verbs.backed_up_value.register(EpisodicPart)
def _(episodic, state, action, weights, discount):
    """r + γ (1 − β) wᵀŝ: the bracket of EVI's target."""
    model = episodic.model
    future = verbs.dot_through(state, model.rows, action, weights)
    alive = survival(episodic, state, action)
    return dot(state, model.rewards[action]) + discount * alive * future


@verbs.backed_up_action_value.register(EpisodicPart)
def _(episodic, state, action, weights, discount):
    """The invalid target: r + γ (1 − β) max_a' w_a'ᵀ ŝ."""
    model = episodic.model
    predict(model, state, action)
    alive, future = survival(episodic, state, action), max_dot(weights, model.work[0])
    return dot(state, model.rewards[action]) + discount * alive * future


@verbs.add_expected.register(EpisodicPart)
def _(episodic, state, action, weights, amount):
    """s̄ = (1 − β) ŝ."""
    alive = survival(episodic, state, action)
    verbs.add_expected(episodic.model, state, action, weights, amount * alive)


@verbs.expected_next_state.register(EpisodicPart)
def _(episodic, state, action, expected):
    """Write ŝ; return 1 − β."""
    predict(episodic.model, state, action)
    for i in range(expected.shape[0]):
        expected[i] = episodic.model.work[0, i]
    return survival(episodic, state, action)


class EpisodicExpectation(Model):
    """A linear general episodic expectation model, learned by gradient descent from zero.

    All weights share one step size; of an adaptive one only the initial step is used.
    """

    predicts_means: ClassVar[bool] = True

    step: float | StepSize = parameter(step_size(), default=0.1)

    def build(self, context: BuildContext) -> EpisodicPart:
        model = LinearExpectation(as_shared_step(self.step)).build(context)
        return EpisodicPart(model, np.zeros_like(model.rewards))


class ExactEpisodic(Model):
    """The general episodic expectation model aligned with a known finite MDP."""

    predicts_means: ClassVar[bool] = True
    learns = False

    def build(self, context: BuildContext) -> ExactPart:
        table = require_mdp(context, "ExactEpisodic").outcomes
        zero_terminal = ExactExpectation().build(context)
        alive = (table.probabilities * (table.successors >= 0)).sum(axis=-1).ravel()
        expected = zero_terminal.expected / np.where(alive > 0.0, alive, 1.0)[:, None]
        return zero_terminal._replace(expected=expected, survival=1.0 - (1.0 - alive))
