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

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.memory import zeros
from expectant.core.reductions import dot_row, dot_weighted_rows, padded_size
from expectant.core.rules import at_least, between, one_of, whole
from expectant.core.vectors import add
from expectant.core.verbs import (
    add_expected,
    backed_up_action_value,
    backed_up_value,
    fit,
    function,
    index,
    size,
    value,
)
from expectant.models.expectation import add_row, max_dot
from expectant.step_sizes import Fixed, StepSize, as_step_size, step_size


class Layer(NamedTuple):
    """``weights`` (B, n, m) and Adam's running means of gradients and of their squares (B, n, m).

    ``ones`` (B, n, 2) are the same running means of ones: 1 − β₁ᵗ and 1 − β₂ᵗ of every row. Without
    Adam all but the weights are empty.
    """

    weights: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    ones: np.ndarray


class NetworkPart(NamedTuple):
    """``inner`` (1, d + 1, M): row j is column j of W, the last one b. ``heads`` (A, H + 1, D): row
    h of block a is column h of V_a, the last one c_a. ``rewards`` (1, A, M): u_a, then e_a.

    Scratch: ``hidden`` (M,) for h(s) and the constant one, ``hidden_errors`` (M,), ``work`` (1, D)
    for s̄ and its error. ``units`` (H + 1,) are 0, …, H.
    """

    inner: Layer
    heads: Layer
    rewards: Layer
    hidden: np.ndarray
    hidden_errors: np.ndarray
    work: np.ndarray
    units: np.ndarray
    step: float
    adam: bool
    mean_decay: float
    square_decay: float
    floor: float


@function
def tanh(x):
    """tanh by one exponential, faster than ``math.tanh``."""
    decay = math.exp(-2.0 * abs(x))
    return math.copysign((1.0 - decay) / (1.0 + decay), x)


@function
def compute_hidden(model, state):
    """Write h(s) into ``hidden``."""
    weights, hidden, count = model.inner.weights, model.hidden, model.units.shape[0] - 1
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
    weights, hidden, work = model.heads.weights, model.hidden, model.work
    for i in range(work.shape[1]):
        work[0, i] = 0.0
    for h in range(model.units.shape[0]):
        for i in range(work.shape[1]):
            work[0, i] += hidden[h] * weights[action, h, i]


@function
def descend(model, layer, block, row, scale, errors):
    """Move a row of weights along its negative gradient, ``scale`` · ``errors``."""
    weights, means, squares, ones = layer.weights, layer.means, layer.squares, layer.ones
    if model.adam:
        decay, square_decay = model.mean_decay, model.square_decay
        ones[block, row, 0] = decay * ones[block, row, 0] + (1.0 - decay)
        ones[block, row, 1] = square_decay * ones[block, row, 1] + (1.0 - square_decay)
        rate, unbias = model.step / ones[block, row, 0], 1.0 / ones[block, row, 1]
        for i in range(errors.shape[0]):
            change = scale * errors[i]
            mean = decay * means[block, row, i] + (1.0 - decay) * change
            square = square_decay * squares[block, row, i] + (1.0 - square_decay) * change * change
            means[block, row, i], squares[block, row, i] = mean, square
            weights[block, row, i] += rate * mean / (math.sqrt(square * unbias) + model.floor)
    else:
        amount = model.step * scale
        for i in range(errors.shape[0]):
            weights[block, row, i] += amount * errors[i]


@fit.register(NetworkPart)
def _(model, transition):
    """One step down the gradient of ½‖s' − s̄‖² + ½(r − r(s, a))², s' = 0 at the end."""
    state, action, inner = transition.state, transition.action, model.inner
    heads, rewards = model.heads.weights[action], model.rewards.weights[0]
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
        descend(model, model.heads, action, h, hidden[h], work[0])
    descend(model, model.rewards, 0, action, reward_error, hidden)
    for n in range(size(state)):
        if value(state, n) != 0.0:
            descend(model, inner, 0, index(state, n), value(state, n), hidden_errors)
    descend(model, inner, 0, inner.weights.shape[1] - 1, 1.0, hidden_errors)
    return abs(reward_error) + dot_row(work, 0, work[0])


@backed_up_value.register(NetworkPart)
def _(model, state, action, weights, discount):
    """r(s, a) + γ wᵀ s̄(s, a), without writing s̄ out."""
    compute_hidden(model, state)
    future = dot_weighted_rows(model.heads.weights, action, model.units, model.hidden, weights)
    return dot_row(model.rewards.weights[0], action, model.hidden) + discount * future


@backed_up_action_value.register(NetworkPart)
def _(model, state, action, weights, discount):
    """r + γ max_a' w_a'ᵀ s̄: the invalid target (Sorg & Singh 2010), the maximum of a mean."""
    compute_hidden(model, state)
    predict_next(model, action)
    reward = dot_row(model.rewards.weights[0], action, model.hidden)
    return reward + discount * max_dot(weights, model.work[0])


@add_expected.register(NetworkPart)
def _(model, state, action, weights, amount):
    compute_hidden(model, state)
    predict_next(model, action)
    add_row(model.work, 0, weights, amount)


class NetworkExpectation(Model):
    """A zero-terminal expectation model with a layer of ``hidden`` tanh units, learned online.

    ``optimiser`` is plain gradient descent, stable up to a ``step`` of about 1 / (hidden + 1), or
    lazy Adam (Kingma & Ba 2015) with ``mean_decay`` β₁, ``square_decay`` β₂ and ``floor`` ε: rows
    of inactive features and heads of other actions are not touched, and bias corrections count the
    updates of each row. Heads start at zero (the reward's bias at the agent's initial value),
    hidden weights normal with variance 1 / (k + 1).
    """

    memory_advice: ClassVar[str] = "fewer hidden units"
    predicts_means: ClassVar[bool] = True

    hidden: int = parameter(whole(1), default=32, meaning="units in the hidden layer")
    step: float | StepSize = parameter(step_size(), default=Fixed(0.01, per="feature"))
    optimiser: str = parameter(one_of("sgd", "adam"), default="sgd")
    mean_decay: float = parameter(between(0, 0.999999), default=0.9, kw_only=True)
    square_decay: float = parameter(between(0, 0.999999), default=0.999, kw_only=True)
    floor: float = parameter(at_least(1e-30), default=1e-8, kw_only=True)

    def validate(self) -> None:
        if not isinstance(as_step_size(self.step), Fixed):
            raise ValueError(
                f"NetworkExpectation: step must be a number or Fixed, got {self.step!r}"
            )

    def build(self, context: BuildContext) -> NetworkPart:
        step = cast(Fixed, as_step_size(self.step)).per_feature(context)
        rows, units, width = context.shape.size + 1, self.hidden + 1, padded_size(self.hidden + 1)
        adam, inner = self.optimiser == "adam", zeros((1, rows, width))
        # a child generator: the run draws the same numbers with any other model
        draws = context.rng.spawn(1)[0].normal(size=(rows, self.hidden))
        inner[0, :, : self.hidden] = draws / math.sqrt(context.shape.active + 1)

        rewards = zeros((1, context.actions, width))
        rewards[0, :, self.hidden] = context.untried_value

        def layer(weights: np.ndarray) -> Layer:
            shape = weights.shape if adam else (0, 0, 0)
            return Layer(weights, zeros(shape), zeros(shape), zeros((*shape[:2], 2)))

        return NetworkPart(
            layer(inner),
            layer(zeros((context.actions, units, context.width))),
            layer(rewards),
            np.eye(1, width, self.hidden)[0],
            zeros(width),
            zeros((1, context.width)),
            np.arange(units),
            *(step, adam, self.mean_decay, self.square_decay, self.floor),
        )
