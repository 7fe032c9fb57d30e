"""Step sizes of single weights that adapt by meta-gradient descent: IDBD and Autostep.

A linear model has one for every action and feature, shared by all outputs of that feature's column.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext
from expectant.core.memory import full, zeros
from expectant.core.rules import at_least, flag, positive
from expectant.core.verbs import adapt, delegate, function, index, rate, size, value
from expectant.step_sizes.step_size import StepSize, squared_length

MIN_LOG_RATE, MAX_LOG_CHANGE = -20.0, 2.0


class AdaptivePart(NamedTuple):
    """``rates`` (R, D) are the α_i of R rows of weights and ``traces`` (R, D) the h_i.

    ``peaks`` (R, D) are Autostep's v_i; IDBD has no rows of them. ``scale`` (1,) is the factor by
    which the bound shortens the current update.
    """

    rates: np.ndarray
    traces: np.ndarray
    peaks: np.ndarray
    scale: np.ndarray
    meta_step: float
    memory: float
    bounded: bool


class AdaptiveColumnsPart(NamedTuple):
    """For a linear model: ``rewards`` has the rates and the traces of rewards, (A, D).

    ``traces`` (A, d, D) are those of next states; entries of a sparse model keep them themselves.
    """

    rewards: AdaptivePart
    traces: np.ndarray


@function
def adapt_rate(step, row, i, x, slope):
    """Move α_i along its gradient ``slope`` = δ x_i h_i, by IDBD or by Autostep."""
    rates, peaks = step.rates, step.peaks
    if peaks.shape[0] == 0:
        change = min(max(step.meta_step * slope, -MAX_LOG_CHANGE), MAX_LOG_CHANGE)
        rates[row, i] = max(rates[row, i] * math.exp(change), math.exp(MIN_LOG_RATE))
    else:
        decay = rates[row, i] * x * x / step.memory
        peak = max(abs(slope), peaks[row, i] + decay * (abs(slope) - peaks[row, i]))
        peaks[row, i] = peak
        if peak > 0.0:
            rates[row, i] *= math.exp(step.meta_step * slope / peak)


@function
def bound_rates(step, row, state):
    """Keep Σ α_i x_i² ≤ 1: Autostep changes the α_i, a bound scales this update alone."""
    total = 0.0
    for n in range(size(state)):
        total += step.rates[row, index(state, n)] * value(state, n) * value(state, n)
    step.scale[0] = 1.0 / total if step.bounded and total > 1.0 else 1.0
    if step.peaks.shape[0] > 0 and total > 1.0:
        for n in range(size(state)):
            if value(state, n) != 0.0:
                step.rates[row, index(state, n)] /= total
        step.scale[0] = 1.0


@adapt.register(AdaptivePart)
def _(step, row, state, error):
    """h_i ← h_i [1 − α_i x_i²]₊ + α_i δ x_i, after α_i has moved along δ x_i h_i."""
    traces = step.traces
    for n in range(size(state)):
        i, x = index(state, n), value(state, n)
        adapt_rate(step, row, i, x, error * x * traces[row, i])
    bound_rates(step, row, state)
    for n in range(size(state)):
        i, x = index(state, n), value(state, n)
        alpha = step.rates[row, i] * step.scale[0]
        traces[row, i] = traces[row, i] * max(1.0 - alpha * x * x, 0.0) + alpha * error * x


@verbs.adapt_columns.register(AdaptiveColumnsPart)
def _(step, action, state, reward_error, errors):
    """One α_j per column, with slope x_j (Σ_i e_i h_ij + e_r h_rj), e the errors of its outputs."""
    traces, shared = step.traces, step.rewards
    rewards = shared.traces
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        slope = reward_error * rewards[action, j]
        for i in range(errors.shape[0]):
            slope += errors[i] * traces[action, j, i]
        adapt_rate(shared, action, j, x, x * slope)
    bound_rates(shared, action, state)
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        alpha = shared.rates[action, j] * shared.scale[0]
        decay = max(1.0 - alpha * x * x, 0.0)
        rewards[action, j] = rewards[action, j] * decay + alpha * reward_error * x
        for i in range(errors.shape[0]):
            traces[action, j, i] = traces[action, j, i] * decay + alpha * errors[i] * x


delegate(AdaptiveColumnsPart, "rewards", rate)


@rate.register(AdaptivePart)
def _(step, row, state, n):
    return step.rates[row, index(state, n)] * step.scale[0]


@function
def effective_step(step, row, state):
    """Σ α_i x_i²: the share of the error that one update removes."""
    total = 0.0
    for n in range(size(state)):
        total += rate(step, row, state, n) * value(state, n) * value(state, n)
    return total


@verbs.mean_rate.register(AdaptivePart)
def _(step, row, state):
    length = squared_length(state)
    return effective_step(step, row, state) / length if length > 0.0 else 0.0


@verbs.value_change.register(AdaptivePart)
def _(step, row, state, error):
    return effective_step(step, row, state) * error


class _Adaptive(StepSize, abstract=True):
    initial_step: float = parameter(positive(), default=0.05)
    meta_step: float = parameter(at_least(0.0), default=0.01)

    def scale(self, factor: float) -> Self:
        return self.replace(initial_step=self.initial_step * factor)

    def build(self, context: BuildContext, rows: int) -> AdaptivePart:
        rates = full((rows, context.width), self.initial_step * self.share(context))
        return AdaptivePart(
            rates,
            np.zeros_like(rates),
            zeros((rows if isinstance(self, Autostep) else 0, context.width)),
            np.ones(1),
            self.meta_step,
            getattr(self, "memory", 1.0),
            getattr(self, "bounded", False),
        )

    def build_columns(self, context: BuildContext) -> AdaptiveColumnsPart:
        traces = zeros((context.actions, context.shape.size, context.width))
        return AdaptiveColumnsPart(self.build(context, context.actions), traces)

    def build_sparse(self, context: BuildContext) -> AdaptivePart:
        return self.build(context, context.actions)


class IDBD(_Adaptive):
    """A step size for every weight, learned by gradient descent (Sutton 1992).

    β_i ← β_i + θ δ x_i h_i, α_i = exp β_i, h_i ← h_i [1 − α_i x_i²]₊ + α_i δ x_i, where θ is
    ``meta_step`` and α_i starts at ``initial_step``. ``bounded`` keeps Σ α_i x_i² within 1.
    """

    bounded: bool = parameter(flag(), default=True, kw_only=True)


class Autostep(_Adaptive):
    """IDBD without a meta step size to tune (Mahmood, Sutton, Degris & Pilarski 2012).

    The gradient δ x_i h_i is divided by its running maximum, which decays with ``memory`` τ, and
    Σ α_i x_i² is kept within 1.
    """

    memory: float = parameter(at_least(1.0), default=10_000.0, kw_only=True)
