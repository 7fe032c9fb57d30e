"""A linear zero-terminal expectation model fitted by least squares: a Kalman filter.

Gradient steps use each transition once and little of it. A filter keeps, per action, the covariance
C_a of the weights, which decides how much to learn from a transition and about which features. It
costs O(d²) per fit and O(A d²) memory.

The covariance also says how little is known. With h = sᵀC_a s, the variance of a prediction, and
u = h / h₀, the share of its prior variance h₀ that is left, a look-ahead is

    b_aᵀs + γ (1 − u) wᵀ(F_a s + m s*) + u V⁺.

*Optimism*: u V⁺ is the value of the unknown, with V⁺ = κ √mean(max(R, 0)²) / max(1.001 − γc̄, 0.05).
It counts on typical rewards until the episode ends, but for at most twenty steps: unknown states
that are worth more than that are explored for too long.

*Prior on continuation*: F_a s shrinks where data are few or noisy, as if the episode ended there.
The model learns the probability M of not ending beside F_a, moves it towards its mean c̄ and puts
the difference m on the mean state s*: m = (c̄ − M) h / (h + T/σ²). Here σ² = c̄ (1 − c̄) is the noise
of a single outcome, and T the variance of the true probabilities, estimated from the past M
(empirical Bayes).

*Change detection*: where :mod:`expectant.models.change_detection` reports that rewards changed, h
grows by one, so that the next outcome counts as much as all earlier ones.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model, Shape
from expectant.core.memory import zeros
from expectant.core.reductions import dot_row
from expectant.core.rules import at_least, flag, number, or_none, positive
from expectant.core.updates import (
    add_process_noise,
    estimation_variance,
    follow_gain,
    shrink_covariance,
)
from expectant.core.vectors import add, dot
from expectant.core.verbs import delegate, function, index, size, value
from expectant.models.change_detection import ChangeTest, build_change_test, detect_change
from expectant.models.expectation import (
    LinearExpectation,
    LinearPart,
    initial_rewards,
    max_dot,
    predict,
    write_errors,
)
from expectant.step_sizes import Autostep, StepSize, step_size
from expectant.step_sizes.step_size import squared_length

MAX_FEATURES = 4096
AFFORDABLE = 512  # features up to which the default model is fitted by least squares
AFFORDABLE_TABULAR = 2048  # the same where one feature is active
COUNT, CONTINUATION, SQUARED_REWARD, SPREAD, SPREAD_COUNT = range(5)  # positions in the statistics
SLOWEST, SLOWEST_STATE = 1e-3, 1e-2  # least rates of running means
LEAST_ENDING = 0.05  # limits the horizon of optimism
CHANGED = 1.0  # variance of a prediction that a change adds
KNOWN = 0.3  # share of the prior variance below which a prediction tells about the spread T


class KalmanPart(NamedTuple):
    """``linear`` predicts; ``covariance`` (A, d, D) are the C_a, ``gain`` (1, D) is scratch.

    ``survival`` (A, D) are the weights of M, ``mean_state`` (D,) is s*, ``statistics`` (5,) are the
    running means c̄, mean(max(R, 0)²) and T with their counts; ``prior`` is that of a weight.
    """

    linear: LinearPart
    covariance: np.ndarray
    gain: np.ndarray
    survival: np.ndarray
    mean_state: np.ndarray
    statistics: np.ndarray
    process_noise: float
    prior: float
    optimism: float
    continuation_prior: bool
    discount: float
    changes: ChangeTest


delegate(KalmanPart, "linear", verbs.next_predecessor, verbs.predecessor, verbs.sample_next)


@function
def update_statistics(model, transition, variance):
    """Update T with the prediction M of this transition, and c̄, rewards and s* with its outcome."""
    statistics, state = model.statistics, transition.state
    share = variance / (model.prior * max(squared_length(state), 1e-300))
    mean = statistics[CONTINUATION]
    if statistics[COUNT] > 0.0 and share < KNOWN:
        predicted = dot(state, model.survival[transition.action]) / (1.0 - share)
        noise = max(mean * (1.0 - mean), 1e-6)
        statistics[SPREAD_COUNT] += 1.0
        error = (predicted - mean) ** 2 - noise * variance - statistics[SPREAD]
        statistics[SPREAD] += error * max(1.0 / statistics[SPREAD_COUNT], SLOWEST)
    statistics[COUNT] += 1.0
    rate = max(1.0 / statistics[COUNT], SLOWEST)
    statistics[CONTINUATION] += rate * (transition.alive - mean)
    reward = max(transition.reward, 0.0)
    statistics[SQUARED_REWARD] += rate * (reward * reward - statistics[SQUARED_REWARD])
    rate = max(1.0 / statistics[COUNT], SLOWEST_STATE)
    for j in range(model.mean_state.shape[0]):
        model.mean_state[j] *= 1.0 - rate
    add(state, model.mean_state, rate)


@verbs.fit.register(KalmanPart)
def _(model, transition):
    """One step of the filter, in every output: g = C s / (1 + sᵀC s)."""
    linear, covariance, gain = model.linear, model.covariance, model.gain
    state, action = transition.state, transition.action
    reward_error = write_errors(linear, transition)
    length, noise = squared_length(state), model.process_noise
    if detect_change(model.changes, transition, reward_error, length):
        noise += CHANGED
    add_process_noise(covariance, action, state, noise / max(length, 1e-300), model.prior)
    variance = estimation_variance(covariance, action, state, gain)
    survival_error = transition.alive - dot(state, model.survival[action])
    update_statistics(model, transition, variance)
    follow_gain(linear.rewards, linear.rows, action, gain, variance, reward_error, linear.work)
    for j in range(gain.shape[1]):
        model.survival[action, j] += gain[0, j] / (1.0 + variance) * survival_error
    shrink_covariance(covariance, action, gain, variance)
    return abs(reward_error) + dot_row(linear.work, 0, linear.work[0])


@function
def uncertainty(model, state, action):
    """Return u and m: the share of the prior variance left, and the mass moved to s*."""
    unknown, moved = 0.0, 0.0
    if model.optimism > 0.0 or model.continuation_prior:
        variance = 0.0
        for n in range(size(state)):
            row, x = model.covariance[action, index(state, n)], value(state, n)
            variance += x * dot(state, row)
        if model.optimism > 0.0:
            share = variance / (model.prior * max(squared_length(state), 1e-300))
            unknown = min(max(share, 0.0), 1.0)
        if model.continuation_prior and model.statistics[SPREAD_COUNT] > 0.0:
            mean = model.statistics[CONTINUATION]
            noise = max(mean * (1.0 - mean), 1e-6)
            ratio = max(model.statistics[SPREAD], 0.01 * noise) / noise
            missing = mean - dot(state, model.survival[action])
            moved = missing * variance / (variance + ratio)
    return unknown, moved


@function
def optimistic_value(model):
    """V⁺ = κ √mean(max(R, 0)²) / max(1.001 − γc̄, 0.05)."""
    scale = max(math.sqrt(model.statistics[SQUARED_REWARD]), 1e-3)
    ending = 1.001 - model.discount * model.statistics[CONTINUATION]
    return model.optimism * scale / max(ending, LEAST_ENDING)


@verbs.backed_up_value.register(KalmanPart)
def _(model, state, action, weights, discount):
    """b_aᵀs + γ (1 − u) wᵀ(F_a s + m s*) + u V⁺."""
    linear = model.linear
    unknown, moved = uncertainty(model, state, action)
    future = verbs.dot_through(state, linear.rows, action, weights)
    if moved != 0.0:
        for j in range(weights.shape[0]):
            future += moved * weights[j] * model.mean_state[j]
    reward = dot(state, linear.rewards[action]) + unknown * optimistic_value(model)
    return reward + discount * (1.0 - unknown) * future


@verbs.backed_up_action_value.register(KalmanPart)
def _(model, state, action, weights, discount):
    """The same with max_a' w_a'ᵀ(F_a s + m s*): the invalid target of action values."""
    linear = model.linear
    unknown, moved = uncertainty(model, state, action)
    predict(linear, state, action)
    for j in range(weights.shape[1]):
        linear.work[0, j] += moved * model.mean_state[j]
    reward = dot(state, linear.rewards[action]) + unknown * optimistic_value(model)
    return reward + discount * (1.0 - unknown) * max_dot(weights, linear.work[0])


@verbs.add_expected.register(KalmanPart)
def _(model, state, action, weights, amount):
    """w += amount · (1 − u) (F_a s + m s*)."""
    unknown, moved = uncertainty(model, state, action)
    amount *= 1.0 - unknown
    verbs.add_expected(model.linear, state, action, weights, amount)
    for j in range(weights.shape[0]):
        weights[j] += amount * moved * model.mean_state[j]


class KalmanExpectation(Model):
    """A linear zero-terminal expectation model that fits all data by least squares.

    Its weights start at s̄ = 0 and r = ``initial_reward`` (None: the agent's initial value), and
    ``prior`` is the variance of a prediction then, in units of the variance of an outcome. They are
    believed to drift: before every fit the variance of the prediction grows by ``process_noise``,
    and by 1 where ``change_detection`` reports a change. With zero noise it is ridge regression
    with ridge k / ``prior`` for k active features, and with one-hot features the sample average. It
    is never fitted to replayed transitions, which it has already taken into account. A fit costs
    O(d²), so at most 4,096 features are allowed.

    ``optimism`` values what is unknown (1: as if the typical reward were earned at every step), and
    ``continuation_prior`` counteracts that unknown steps look like ends of the episode.
    """

    memory_advice: ClassVar[str] = 'model="sparse" or fewer features (of tiles: hash_size=)'
    predicts_means: ClassVar[bool] = True
    rolls_out: ClassVar[str] = "means"
    weighs_data: ClassVar[bool] = True

    process_noise: float = parameter(at_least(0.0), default=0.001)
    prior: float = parameter(positive(), default=1.0)
    optimism: float = parameter(at_least(0.0), default=0.0, kw_only=True)
    continuation_prior: bool = parameter(flag(), default=False, kw_only=True)
    change_detection: bool = parameter(flag(), default=False, kw_only=True)
    initial_reward: float | None = parameter(or_none(number()), default=None, kw_only=True)

    @property
    def linear(self) -> bool:  # type: ignore[override]
        return self.optimism == 0.0 and not self.continuation_prior

    def build(self, context: BuildContext) -> KalmanPart:
        size, shape = context.shape.size, (context.actions, context.shape.size, context.width)
        if size > MAX_FEATURES:
            raise ValueError(
                f"KalmanExpectation: allows {MAX_FEATURES:,} features, because a covariance has d² "
                f"entries, got {size:,}: use {self.memory_advice}"
            )
        covariance, prior = zeros(shape), self.prior / context.shape.active
        covariance[:, range(size), range(size)] = prior
        return KalmanPart(
            LinearPart(
                initial_rewards(self, context), zeros(shape), 0.0, zeros((1, context.width))
            ),
            covariance,
            zeros((1, context.width)),
            zeros((context.actions, context.width)),
            zeros(context.width),
            np.zeros(5),
            self.process_noise,
            prior,
            self.optimism,
            self.continuation_prior,
            context.discount,
            build_change_test(context, self.change_detection),
        )


def is_affordable(shape: Shape) -> bool:
    """Return True if a model of these features can be fitted by least squares by default."""
    return shape.size <= (AFFORDABLE_TABULAR if shape.active == 1 else AFFORDABLE)


class DefaultExpectation(Model):
    """The linear expectation model of agents with default settings.

    Up to 512 features (2,048 if one is active) it is fitted by least squares, with the settings
    chosen in the study planning-pays; above, where that costs too much, by steps of size ``step``.
    """

    memory_advice: ClassVar[str] = KalmanExpectation.memory_advice
    predicts_means: ClassVar[bool] = True
    rolls_out: ClassVar[str] = "means"

    step: float | StepSize = parameter(
        step_size(),
        default=Autostep(0.3, 0.1),
        meaning="step size where least squares cost too much",
    )
    optimism: float = parameter(at_least(0.0), default=1.0, kw_only=True)

    def for_shape(self, shape: Shape) -> Model:
        if not is_affordable(shape):
            return LinearExpectation(self.step)
        return KalmanExpectation(
            prior=30.0, optimism=self.optimism, continuation_prior=True, change_detection=True
        )

    def build(self, context: BuildContext) -> object:
        return self.for_shape(context.shape).build(context)
