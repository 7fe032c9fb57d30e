"""A nonlinear zero-terminal expectation model: one hidden layer, learned online.

Planning with state values needs linear values, not a linear model: if v̂(s) = wᵀs, then E[v̂(S')] =
wᵀ s̄(s, a) for any s̄. All actions share H hidden units, h(s) = tanh(W s + b); each has two heads,
s̄ = V_a h(s) + c_a and r = u_aᵀ h(s) + e_a. Units are tanh because they are bounded, so too large a
step size visibly diverges; ReLU units would die silently.

M is H + 1 padded to a multiple of eight; unit H is the constant one, whose weights are the heads'
biases. A look-ahead or a fit costs O(k H + H D).
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, cast

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.memory import zeros
from expectant.core.reductions import (
    add_to_row,
    dot_row,
    dot_weighted_rows,
    padded_size,
    sum_weighted_rows,
)
from expectant.core.rules import whole
from expectant.core.vectors import add
from expectant.core.verbs import function, index, size, value
from expectant.models.expectation import add_row, max_dot
from expectant.step_sizes import Fixed, StepSize, as_step_size, step_size


class NetworkPart(NamedTuple):
    """``inner`` (1, d + 1, M): row j is column j of W, the last one b. ``heads`` (A, H + 1, D): row
    h of block a is column h of V_a, the last one c_a. ``rewards`` (1, A, M): u_a, then e_a.

    Scratch: ``hidden`` (M,) for h(s) and the constant one, ``hidden_errors`` (M,), ``work`` (1, D)
    for s̄ and its error. ``units`` (H + 1,) are 0, …, H.
    """

    inner: np.ndarray
    heads: np.ndarray
    rewards: np.ndarray
    hidden: np.ndarray
    hidden_errors: np.ndarray
    work: np.ndarray
    units: np.ndarray
    step: float


@function
def tanh(x):
    """tanh by one exponential, faster than ``math.tanh``."""
    decay = math.exp(-2.0 * abs(x))
    return math.copysign((1.0 - decay) / (1.0 + decay), x)


@function
def compute_hidden(model, state):
    """Write h(s) into ``hidden``."""
    weights, hidden, count = model.inner, model.hidden, model.units.shape[0] - 1
    for i in range(count):
        hidden[i] = weights[0, weights.shape[1] - 1, i]
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        for i in range(count):
            hidden[i] += x * weights[0, j, i]
    for i in range(count):
        hidden[i] = tanh(hidden[i])


@function
def predict_next(model, action):
    """Write s̄ into the scratch row, given h(s)."""
    sum_weighted_rows(model.work[0], model.heads, action, model.units, model.hidden)


@verbs.fit.register(NetworkPart)
def _(model, transition):
    """One step down the gradient of ½‖s' − s̄‖² + ½(r − r(s, a))², s' = 0 at the end."""
    state, action, step = transition.state, transition.action, model.step
    inner, heads, rewards = model.inner, model.heads[action], model.rewards[0]
    hidden, hidden_errors, work = model.hidden, model.hidden_errors, model.work
    compute_hidden(model, state)
    predict_next(model, action)
    reward_error = transition.reward - dot_row(rewards, action, hidden)
    for i in range(work.shape[1]):
        work[0, i] = -work[0, i]
    add(transition.next_state, work[0], transition.alive)
    for h in range(model.units.shape[0]):  # tanh' = 1 − h², which is zero for the constant one
        error = dot_row(heads, h, work[0]) + reward_error * rewards[action, h]
        hidden_errors[h] = (1.0 - hidden[h] * hidden[h]) * error
        add_to_row(model.heads, action, h, step * hidden[h], work[0])
    add_to_row(model.rewards, 0, action, step * reward_error, hidden)
    for n in range(size(state)):
        if value(state, n) != 0.0:
            add_to_row(inner, 0, index(state, n), step * value(state, n), hidden_errors)
    add_to_row(inner, 0, inner.shape[1] - 1, step, hidden_errors)
    return abs(reward_error) + dot_row(work, 0, work[0])


@verbs.backed_up_value.register(NetworkPart)
def _(model, state, action, weights, discount):
    """r(s, a) + γ wᵀ s̄(s, a), without writing s̄ out."""
    compute_hidden(model, state)
    future = dot_weighted_rows(model.heads, action, model.units, model.hidden, weights)
    return dot_row(model.rewards[0], action, model.hidden) + discount * future


@verbs.backed_up_action_value.register(NetworkPart)
def _(model, state, action, weights, discount):
    """r + γ max_a' w_a'ᵀ s̄: the invalid target (Sorg & Singh 2010), the maximum of a mean."""
    compute_hidden(model, state)
    predict_next(model, action)
    reward = dot_row(model.rewards[0], action, model.hidden)
    return reward + discount * max_dot(weights, model.work[0])


@verbs.add_expected.register(NetworkPart)
def _(model, state, action, weights, amount):
    compute_hidden(model, state)
    predict_next(model, action)
    add_row(model.work, 0, weights, amount)


class NetworkExpectation(Model):
    """A zero-terminal expectation model with a layer of ``hidden`` tanh units, learned online.

    Gradient descent is stable up to a ``step`` of about 1 / (hidden + 1). Heads start at zero, the
    reward's bias at the agent's initial value, hidden weights normal with variance 1 / (k + 1).
    """

    memory_advice: ClassVar[str] = "fewer hidden units"
    predicts_means: ClassVar[bool] = True

    hidden: int = parameter(whole(1), default=32, meaning="units in the hidden layer")
    step: float | StepSize = parameter(step_size(), default=Fixed(0.01, per="feature"))

    def validate(self) -> None:
        if not isinstance(as_step_size(self.step), Fixed):
            raise ValueError(
                f"NetworkExpectation: step must be a number or Fixed, got {self.step!r}"
            )

    def build(self, context: BuildContext) -> NetworkPart:
        step = cast(Fixed, as_step_size(self.step)).per_feature(context)
        rows, units, width = context.shape.size + 1, self.hidden + 1, padded_size(self.hidden + 1)
        inner, rewards = zeros((1, rows, width)), zeros((1, context.actions, width))
        # a child generator: the run draws the same numbers with any other model
        draws = context.rng.spawn(1)[0].normal(size=(rows, self.hidden))
        inner[0, :, : self.hidden] = draws / math.sqrt(context.shape.active + 1)
        rewards[0, :, self.hidden] = context.untried_value
        return NetworkPart(
            inner,
            zeros((context.actions, units, context.width)),
            rewards,
            np.eye(1, width, self.hidden)[0],
            zeros(width),
            zeros((1, context.width)),
            np.arange(units),
            step,
        )
