"""Models around other models: an exploration bonus, cached look-ahead weights, values at the mean.

*Bonus*: Dyna-Q+ (Sutton 1990; S&B section 8.3) adds κ√τ to a planned reward, τ being how many steps
ago that action was last tried in that state. Here τ is kept for every action and feature, and √τ
averaged over the features of a state by the size of their values: with one-hot features that is
Dyna-Q+.

*Cached look-ahead*: b(s, a, w) = b_aᵀ s + γ wᵀ F_a s is itself linear in s, with weights
u_a = b_a + γ F_aᵀ w. A model step changes u_a at the active features only; a value step w += c s
adds γ c F_aᵀ s to it. So a decision costs O(A k) instead of O(A k d).

*At the mean*: values that are not linear need s̄ itself, which the verb ``foresee`` writes; the
look-ahead is v̂(s̄), which E[v̂(S')] need not be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model, Shape
from expectant.core.memory import zeros
from expectant.core.reductions import dot_row
from expectant.core.rules import at_least, instance_of
from expectant.core.vectors import Weighted, dot, empty_state, state_value
from expectant.core.verbs import (
    add_expected,
    backed_up_action_value,
    backed_up_value,
    begin,
    delegate,
    expected_next_state,
    fit,
    function,
    index,
    next_predecessor,
    on_transition,
    on_truncation,
    on_value_update,
    predecessor,
    sample_next,
    size,
    unwrapped,
    value,
    with_predecessors,
)
from expectant.models.expectation import LinearExpectation, LinearPart


class CuriousPart(NamedTuple):
    """``model`` is any model, ``bonus`` κ; ``tried`` (A, D) says in which step an action was last
    tried with a feature, ``clock`` (1,) which step it is."""

    model: object
    tried: np.ndarray
    clock: np.ndarray
    bonus: float


delegate(
    CuriousPart,
    "model",
    fit,
    add_expected,
    expected_next_state,
    sample_next,
    on_value_update,
    next_predecessor,
    predecessor,
    begin,
    on_truncation,
    unwrapped,
)


@function
def bonus_for(curious, state, action):
    """κ times the mean √τ of the features of a state."""
    total, weight = 0.0, 0.0
    for n in range(size(state)):
        since = float(curious.clock[0] - curious.tried[action, index(state, n)])
        total += abs(value(state, n)) * math.sqrt(since)
        weight += abs(value(state, n))
    return curious.bonus * total / weight if weight > 0.0 else 0.0


@on_transition.register(CuriousPart)
def _(curious, transition):
    """Another step has passed, in which one action was tried with some features."""
    curious.clock[0] += 1
    for n in range(size(transition.state)):
        if value(transition.state, n) != 0.0:
            curious.tried[transition.action, index(transition.state, n)] = curious.clock[0]
    on_transition(curious.model, transition)


@backed_up_value.register(CuriousPart)
def _(curious, state, action, weights, discount):
    promised = backed_up_value(curious.model, state, action, weights, discount)
    return promised + bonus_for(curious, state, action)


@backed_up_action_value.register(CuriousPart)
def _(curious, state, action, weights, discount):
    promised = backed_up_action_value(curious.model, state, action, weights, discount)
    return promised + bonus_for(curious, state, action)


@with_predecessors.register(CuriousPart)
def _(curious):
    return curious._replace(model=with_predecessors(curious.model))


class ExplorationBonus(Model):
    """Add κ √τ to what a ``model`` predicts, τ being the steps since an action was last tried."""

    model: Model = parameter(instance_of(Model, "a model"), meaning="the model that predicts")
    kappa: float = parameter(at_least(0.0), meaning="κ, the weight of the bonus")

    @property
    def memory_advice(self) -> str:  # type: ignore[override]
        return self.model.memory_advice

    @property
    def predicts_means(self) -> bool:  # type: ignore[override]
        return self.model.predicts_means

    @property
    def rolls_out(self) -> str:  # type: ignore[override]
        return self.model.rolls_out

    @property
    def linear(self) -> bool:  # type: ignore[override]
        return self.model.linear

    @property
    def several_steps(self) -> bool:  # type: ignore[override]
        return self.model.several_steps

    @property
    def learns(self) -> bool:
        return self.model.learns

    def build(self, context: BuildContext) -> CuriousPart:
        tried = zeros((context.actions, context.width), np.int64)
        return CuriousPart(self.model.build(context), tried, np.zeros(1, np.int64), self.kappa)


class MaintainedPart(NamedTuple):
    """A linear model with ``lookahead`` (A, D), the u_a, and ``transposed`` (A, d, D), whose row i
    is row i of F_a; ``weights`` (D,) and ``discount`` are the agent's."""

    model: LinearPart
    lookahead: np.ndarray
    transposed: np.ndarray
    weights: np.ndarray
    discount: float


@fit.register(MaintainedPart)
def _(maintained, transition):
    model, transposed = maintained.model, maintained.transposed
    state, action = transition.state, transition.action
    error = fit(model, transition)
    for n in range(size(state)):
        j = index(state, n)
        for i in range(transposed.shape[1]):
            transposed[action, i, j] = model.rows[action, j, i]
        future = dot_row(model.rows[action], j, maintained.weights)
        maintained.lookahead[action, j] = model.rewards[action, j] + maintained.discount * future
    return error


@backed_up_value.register(MaintainedPart)
def _(maintained, state, action, weights, discount):
    """b(s, a, w) = u_aᵀ s."""
    return dot(state, maintained.lookahead[action])


@unwrapped.register(MaintainedPart)
def _(maintained):
    return maintained.model


@on_value_update.register(MaintainedPart)
def _(maintained, state, change, discount):
    lookahead, transposed = maintained.lookahead, maintained.transposed
    for action in range(lookahead.shape[0]):
        for n in range(size(state)):
            i, amount = index(state, n), discount * change * value(state, n)
            for j in range(lookahead.shape[1]):
                lookahead[action, j] += amount * transposed[action, i, j]


class CachedLookahead(LinearExpectation):
    """A linear expectation model that keeps the look-ahead weights u_a = b_a + γ F_aᵀ w.

    A decision of Lookahead then costs O(A k) instead of O(A k d); learning and planning cost more.
    For agents that decide much more often than they learn. It needs LEVI and one step size for all
    values; elsewhere, and in other agents, it is the plain linear model.
    """

    def bind(self, part: object, weights: np.ndarray, discount: float) -> object:
        """Keep the look-ahead weights of a linear part up to date from here on."""
        if not isinstance(part, LinearPart):
            return part
        lookahead = part.rewards.copy()
        transposed = zeros(part.rows.shape)
        size = part.rows.shape[1]
        transposed[:, :, :size] = np.swapaxes(part.rows[:, :, :size], 1, 2)
        lookahead[:, :size] += discount * (part.rows @ weights)
        return MaintainedPart(part, lookahead, transposed, weights, discount)


class AtMeanPart(NamedTuple):
    """``model`` knows means. ``mean`` is scratch for s̄, with all features in order and room for
    the padding; ``nothing`` (D,) is zero."""

    model: object
    mean: Weighted
    nothing: np.ndarray


delegate(AtMeanPart, "model", unwrapped, fit, on_transition, sample_next, begin, on_truncation)


@backed_up_value.register(AtMeanPart)
def _(at_mean, state, action, weights, discount):
    """r(s, a) + γ v̂(s̄(s, a)); with a general episodic model r + γ (1 − β) v̂(ŝ), as EVI has it."""
    model, mean = at_mean.model, at_mean.mean
    reward = backed_up_value(model, state, action, at_mean.nothing, 0.0)
    alive = expected_next_state(model, state, action, mean.values)
    return reward + discount * alive * state_value(weights, mean)


def at_mean(model: object, context: BuildContext) -> AtMeanPart:
    """Let a model that knows means be asked with values of any kind."""
    mean = empty_state(_all_features(context))
    active = np.arange(context.shape.size)
    return AtMeanPart(
        model, Weighted(active, np.zeros(context.width), mean.state_index), np.zeros(context.width)
    )


def _all_features(context: BuildContext) -> Shape:
    return Shape(context.shape.size, context.shape.size, True)
