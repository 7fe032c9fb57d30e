"""Models around other models: exploration bonus, cached look-ahead, value at the mean.

*Exploration bonus*: Dyna-Q+ (Sutton 1990; S&B section 8.3) adds κ√τ to planned rewards, where τ is
the number of steps since the action was last tried in the state. Here τ is kept per action and
feature, and √τ is averaged over a state's features, weighted by |x_i|; with one-hot features this
is Dyna-Q+.

*Cached look-ahead*: b(s, a, w) = b_aᵀ s + γ wᵀ F_a s = u_aᵀ s with u_a = b_a + γ F_aᵀ w. A model
step changes u_a at the active features only; a value step w += c s adds γ c F_aᵀ s. So a decision
costs O(A k) instead of O(A k d).

*Value at the mean*: nonlinear values are evaluated at s̄ itself; v̂(s̄) is in general not E[v̂(S')].
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.memory import zeros
from expectant.core.reductions import dot_row
from expectant.core.rules import at_least, instance_of
from expectant.core.vectors import Weighted, dot, state_value
from expectant.core.verbs import delegate, function, index, size, value
from expectant.models.expectation import LinearExpectation, LinearPart
from expectant.models.sparse import SparsePart, with_links


class ExplorationBonusPart(NamedTuple):
    """``tried`` (A, D) is the step in which an action was last tried with a feature; ``clock`` (1,)
    is the present step."""

    model: object
    tried: np.ndarray
    clock: np.ndarray
    kappa: float


delegate(
    ExplorationBonusPart, "model", verbs.add_expected, verbs.expected_next_state, verbs.sample_next
)
delegate(
    ExplorationBonusPart, "model", verbs.fit, verbs.begin, verbs.on_truncation,
    verbs.on_value_update,
)  # fmt: skip
delegate(ExplorationBonusPart, "model", verbs.next_predecessor, verbs.predecessor)


@function
def exploration_bonus(model, state, action):
    """κ Σ |x_i| √τ_i / Σ |x_i|."""
    total, weight = 0.0, 0.0
    for n in range(size(state)):
        steps = float(model.clock[0] - model.tried[action, index(state, n)])
        total += abs(value(state, n)) * math.sqrt(steps)
        weight += abs(value(state, n))
    return model.kappa * total / weight if weight > 0.0 else 0.0


@verbs.on_transition.register(ExplorationBonusPart)
def _(model, transition):
    model.clock[0] += 1
    for n in range(size(transition.state)):
        if value(transition.state, n) != 0.0:
            model.tried[transition.action, index(transition.state, n)] = model.clock[0]
    verbs.on_transition(model.model, transition)


@verbs.backed_up_value.register(ExplorationBonusPart)
def _(model, state, action, weights, discount):
    predicted = verbs.backed_up_value(model.model, state, action, weights, discount)
    return predicted + exploration_bonus(model, state, action)


@verbs.backed_up_action_value.register(ExplorationBonusPart)
def _(model, state, action, weights, discount):
    predicted = verbs.backed_up_action_value(model.model, state, action, weights, discount)
    return predicted + exploration_bonus(model, state, action)


def with_predecessors(model: Any) -> Any:
    """Return a newly built model as one that implements ``predecessor``."""
    if isinstance(model, SparsePart):
        return model._replace(columns=with_links(model.columns))
    if isinstance(model, ExplorationBonusPart):
        return model._replace(model=with_predecessors(model.model))
    return model


class ExplorationBonus(Model):
    """Add κ√τ to the predictions of a ``model``, τ steps after an action was last tried."""

    model: Model = parameter(instance_of(Model, "a model"), meaning="the model that predicts")
    kappa: float = parameter(at_least(0.0), meaning="κ, the weight of the bonus")

    memory_advice = property(attrgetter("model.memory_advice"))
    predicts_means = property(attrgetter("model.predicts_means"))
    rolls_out = property(attrgetter("model.rolls_out"))
    linear = property(attrgetter("model.linear"))
    several_steps = property(attrgetter("model.several_steps"))
    weighs_data = property(attrgetter("model.weighs_data"))
    learns = property(attrgetter("model.learns"))

    def build(self, context: BuildContext) -> ExplorationBonusPart:
        tried = zeros((context.actions, context.width), np.int64)
        clock = np.zeros(1, np.int64)
        return ExplorationBonusPart(self.model.build(context), tried, clock, self.kappa)


class CachedLookaheadPart(NamedTuple):
    """``lookahead`` (A, D) are the u_a; row i of ``transposed`` (A, d, D) is row i of F_a.

    ``weights`` (D,) and ``discount`` are the agent's.
    """

    model: LinearPart
    lookahead: np.ndarray
    transposed: np.ndarray
    weights: np.ndarray
    discount: float


@verbs.fit.register(CachedLookaheadPart)
def _(cached, transition):
    model, transposed = cached.model, cached.transposed
    state, action = transition.state, transition.action
    error = verbs.fit(model, transition)
    for n in range(size(state)):
        j = index(state, n)
        for i in range(transposed.shape[1]):
            transposed[action, i, j] = model.rows[action, j, i]
        future = dot_row(model.rows[action], j, cached.weights)
        cached.lookahead[action, j] = model.rewards[action, j] + cached.discount * future
    return error


@verbs.backed_up_value.register(CachedLookaheadPart)
def _(cached, state, action, weights, discount):
    """b(s, a, w) = u_aᵀ s."""
    return dot(state, cached.lookahead[action])


@verbs.on_value_update.register(CachedLookaheadPart)
def _(cached, state, change, discount):
    lookahead, transposed = cached.lookahead, cached.transposed
    for action in range(lookahead.shape[0]):
        for n in range(size(state)):
            i, amount = index(state, n), discount * change * value(state, n)
            for j in range(lookahead.shape[1]):
                lookahead[action, j] += amount * transposed[action, i, j]


class CachedLookahead(LinearExpectation):
    """A linear expectation model that keeps the look-ahead weights u_a = b_a + γ F_aᵀ w.

    A decision of Lookahead costs O(A k) instead of O(A k d); learning and planning cost more. It
    pays for agents that decide much more often than they learn. It needs LEVI and one step size for
    all values; otherwise, and in other agents, it is the plain linear model.
    """

    def bind(self, part: object, weights: np.ndarray, discount: float) -> object:
        """Cache the look-ahead of a linear part for these weights."""
        if not isinstance(part, LinearPart):
            return part
        lookahead, transposed = part.rewards.copy(), zeros(part.rows.shape)
        size = part.rows.shape[1]
        transposed[:, :, :size] = np.swapaxes(part.rows[:, :, :size], 1, 2)
        lookahead[:, :size] += discount * (part.rows @ weights)
        return CachedLookaheadPart(part, lookahead, transposed, weights, discount)


class ValueAtMeanPart(NamedTuple):
    """``mean`` is scratch for s̄ (all features in order, padded); ``zeros`` (D,) are weights."""

    model: object
    mean: Weighted
    zeros: np.ndarray


delegate(
    ValueAtMeanPart, "model", verbs.fit, verbs.on_transition, verbs.sample_next, verbs.begin,
    verbs.on_truncation,
)  # fmt: skip


@verbs.backed_up_value.register(ValueAtMeanPart)
def _(at_mean, state, action, weights, discount):
    """r(s, a) + γ v̂(s̄(s, a)); of a general episodic model EVI's r + γ (1 − β) v̂(ŝ)."""
    model, mean = at_mean.model, at_mean.mean
    reward = verbs.backed_up_value(model, state, action, at_mean.zeros, 0.0)
    alive = verbs.expected_next_state(model, state, action, mean.values)
    return reward + discount * alive * state_value(weights, mean)


def evaluate_at_mean(model: object, context: BuildContext) -> ValueAtMeanPart:
    """Wrap an expectation model so that nonlinear values can be backed up."""
    features, index = np.arange(context.shape.size), np.array([-1], np.int64)
    mean = Weighted(features, np.zeros(context.width), index)
    return ValueAtMeanPart(model, mean, np.zeros(context.width))
