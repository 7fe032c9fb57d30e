"""A zero-terminal expectation model that is not linear: one hidden layer, learned step by step.

Planning with state values needs values that are linear in the features, not such a model: with
v̂(s) = wᵀs, E[v̂(S')] = wᵀ E[S'] = wᵀ s̄(s, a) however s̄ comes about. All actions share H hidden
units, h(s) = tanh(W s + b), and each has heads: s̄ = V_a h(s) + c_a and r = u_aᵀ h(s) + e_a.

Units are tanh because they are bounded: too large a step size is seen to diverge. ReLU units, if
large rewards drive them off in all states, die without a sign, and only mean outcomes are learned.
M is H + 1 padded to a multiple of eight: unit number H is a constant one, whose weights are the
heads' biases. A look-ahead costs O(k H + H D), and so does a fit.
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
from expectant.models.expectation import add_row, most
from expectant.step_sizes import Fixed, StepSize, as_step_size, step_size


class Layer(NamedTuple):
    """Blocks of rows of ``weights`` (B, n, m), and what Adam keeps of them (empty without Adam).

    ``means`` and ``squares`` (B, n, m) are running means of gradients and of their squares;
    ``ones`` (B, n, 2), the same running means of ones, are every row's 1 − β₁ᵗ and 1 − β₂ᵗ.
    """

    weights: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    ones: np.ndarray


class NetworkPart(NamedTuple):
    """``inner`` (1, d + 1, M): row j is column j of W, the last one b. ``heads`` (A, H + 1, D): row
    h of block a is column h of V_a, the last one c_a. ``rewards`` (1, A, M): u_a, then e_a.

    Scratch: ``hidden`` (M,) for h(s) and the constant one, ``pulls`` (M,) for the errors at hidden
    units, ``work`` (1, D) for s̄ and its error. ``units`` (H + 1,) are 0, …, H.
    """

    inner: Layer
    heads: Layer
    rewards: Layer
    hidden: np.ndarray
    pulls: np.ndarray
    work: np.ndarray
    units: np.ndarray
    step: float
    adam: bool
    mean_decay: float
    square_decay: float
    floor: float


@function
def tanh(x):
    """By one exponential, which is faster than ``math.tanh``."""
    left = math.exp(-2.0 * abs(x))
    return math.copysign((1.0 - left) / (1.0 + left), x)


@function
def excite(model, state):
    """Write h(s) into the scratch of a network."""
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
    """Write s̄ into the scratch row of a network that is excited."""
    weights, hidden, work = model.heads.weights, model.hidden, model.work
    for i in range(work.shape[1]):
        work[0, i] = 0.0
    for h in range(model.units.shape[0]):
        for i in range(work.shape[1]):
            work[0, i] += hidden[h] * weights[action, h, i]


@function
def descend(model, layer, block, row, scale, errors):
    """Move a row of weights along ``scale`` times ``errors``, its negative gradient."""
    weights, means, squares, ones = layer.weights, layer.means, layer.squares, layer.ones
    if model.adam:
        keep, keep_square = model.mean_decay, model.square_decay
        ones[block, row, 0] = keep * ones[block, row, 0] + (1.0 - keep)
        ones[block, row, 1] = keep_square * ones[block, row, 1] + (1.0 - keep_square)
        rate, unbias = model.step / ones[block, row, 0], 1.0 / ones[block, row, 1]
        for i in range(errors.shape[0]):
            change = scale * errors[i]
            mean = keep * means[block, row, i] + (1.0 - keep) * change
            square = keep_square * squares[block, row, i] + (1.0 - keep_square) * change * change
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
    hidden, pulls, work = model.hidden, model.pulls, model.work
    excite(model, state)
    predict_next(model, action)
    surprise = transition.reward - dot_row(rewards, action, hidden)
    for i in range(work.shape[1]):
        work[0, i] = -work[0, i]
    add(transition.next_state, work[0], transition.alive)
    for h in range(model.units.shape[0]):  # the slope of tanh is 1 − h²: zero for the constant one
        pull = dot_row(heads, h, work[0]) + surprise * rewards[action, h]
        pulls[h] = (1.0 - hidden[h] * hidden[h]) * pull
        descend(model, model.heads, action, h, hidden[h], work[0])
    descend(model, model.rewards, 0, action, surprise, hidden)
    for n in range(size(state)):
        if value(state, n) != 0.0:  # an entry that is switched off is not touched
            descend(model, inner, 0, index(state, n), value(state, n), pulls)
    descend(model, inner, 0, inner.weights.shape[1] - 1, 1.0, pulls)
    return abs(surprise) + dot_row(work, 0, work[0])


@backed_up_value.register(NetworkPart)
def _(model, state, action, weights, discount):
    """r(s, a) + γ wᵀ s̄(s, a), without writing s̄ out."""
    excite(model, state)
    future = dot_weighted_rows(model.heads.weights, action, model.units, model.hidden, weights)
    return dot_row(model.rewards.weights[0], action, model.hidden) + discount * future


@backed_up_action_value.register(NetworkPart)
def _(model, state, action, weights, discount):
    """r + γ max_a' w_a'ᵀ s̄: the invalid target (Sorg & Singh 2010), the maximum of a mean."""
    excite(model, state)
    predict_next(model, action)
    reward = dot_row(model.rewards.weights[0], action, model.hidden)
    return reward + discount * most(weights, model.work[0])


@add_expected.register(NetworkPart)
def _(model, state, action, weights, amount):
    excite(model, state)
    predict_next(model, action)
    add_row(model.work, 0, weights, amount)


class NetworkExpectation(Model):
    """A zero-terminal expectation model with a layer of ``hidden`` tanh units, learned online.

    ``optimiser`` is plain gradient descent, stable up to a ``step`` of about 1 / (hidden + 1), or
    Adam (Kingma & Ba 2015) with ``mean_decay`` β₁, ``square_decay`` β₂ and ``floor`` ε. Adam is
    lazy, to cost no more than the gradient: rows of features that are off and heads of other
    actions neither move nor let running means decay, and bias corrections count a row's own steps.

    Heads start from zero, like the linear model, the constant of the reward at the agent's initial
    value; hidden weights normal with variance 1 / (k + 1), from a child of the run's generator, so
    a run's own random numbers stay those of other models.
    """

    memory_advice: ClassVar[str] = "fewer hidden units"
    predicts_means: ClassVar[bool] = True

    hidden: int = parameter(whole(1), default=32)
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
        draws = context.rng.spawn(1)[0].normal(size=(rows, self.hidden))
        inner[0, :, : self.hidden] = draws / math.sqrt(context.shape.active + 1)

        rewards = zeros((1, context.actions, width))
        rewards[0, :, self.hidden] = context.untried_value  # by the constant unit

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
