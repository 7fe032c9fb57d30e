"""A step size for every weight that adapts by itself: IDBD and Autostep.

A linear model has one for every action and feature, shared by all outputs of that feature's column:
the gradient of the whole squared error.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext
from expectant.core.memory import full, zeros
from expectant.core.rules import Rule, at_least, flag
from expectant.core.verbs import (
    adapt,
    adapt_columns,
    function,
    index,
    mean_rate,
    rate,
    size,
    value,
    value_change,
)
from expectant.step_sizes.step_size import PER, StepSize, squared_length

LEAST, JUMP = -20.0, 2.0  # of the logarithm of a step size, and of its change at once


class AdaptivePart(NamedTuple):
    """``rates`` (R, D) are the α_i of R rows of weights and ``traces`` (R, D) the h_i.

    ``peaks`` (R, D) are Autostep's v_i, or have no rows: then it is IDBD. ``shrunk`` (1,) is what
    the bound scales steps down by at present.
    """

    rates: np.ndarray
    traces: np.ndarray
    peaks: np.ndarray
    shrunk: np.ndarray
    meta_step: float
    memory: float
    bounded: bool


class AdaptiveColumnsPart(NamedTuple):
    """The same for a linear model: ``rates`` (A, D) by action and feature, ``traces`` (A, d, D) one
    for every output of a column, ``reward_traces`` (A, D)."""

    rates: np.ndarray
    traces: np.ndarray
    reward_traces: np.ndarray
    peaks: np.ndarray
    shrunk: np.ndarray
    meta_step: float
    memory: float
    bounded: bool


class AdaptiveListsPart(NamedTuple):
    """The same where columns are lists of entries, which keep the traces h_ij themselves."""

    rates: np.ndarray
    reward_traces: np.ndarray
    peaks: np.ndarray
    shrunk: np.ndarray
    meta_step: float
    memory: float
    bounded: bool


@function
def learn_rate(step, row, i, x, slope):
    """Move α_i along its gradient ``slope`` = δ x_i h_i, by IDBD or by Autostep."""
    rates, peaks = step.rates, step.peaks
    if peaks.shape[0] == 0:
        change = min(max(step.meta_step * slope, -JUMP), JUMP)
        rates[row, i] = max(rates[row, i] * math.exp(change), math.exp(LEAST))
    else:
        fading = rates[row, i] * x * x / step.memory
        peak = max(abs(slope), peaks[row, i] + fading * (abs(slope) - peaks[row, i]))
        peaks[row, i] = peak
        if peak > 0.0:
            rates[row, i] *= math.exp(step.meta_step * slope / peak)


@function
def settle_rates(step, row, state):
    """Keep Σ α_i x_i² within one: Autostep for good, a bound for this update."""
    total = 0.0
    for n in range(size(state)):
        total += step.rates[row, index(state, n)] * value(state, n) * value(state, n)
    step.shrunk[0] = 1.0 / total if step.bounded and total > 1.0 else 1.0
    if step.peaks.shape[0] > 0 and total > 1.0:
        for n in range(size(state)):
            if value(state, n) != 0.0:
                step.rates[row, index(state, n)] /= total
        step.shrunk[0] = 1.0


@adapt.register(AdaptivePart)
def _(step, row, state, error):
    """h_i ← h_i [1 − α_i x_i²]₊ + α_i δ x_i, after α_i has moved along δ x_i h_i."""
    traces = step.traces
    for n in range(size(state)):
        i, x = index(state, n), value(state, n)
        learn_rate(step, row, i, x, error * x * traces[row, i])
    settle_rates(step, row, state)
    for n in range(size(state)):
        i, x = index(state, n), value(state, n)
        used = step.rates[row, i] * step.shrunk[0]
        traces[row, i] = traces[row, i] * max(1.0 - used * x * x, 0.0) + used * error * x


@adapt_columns.register(AdaptiveColumnsPart)
def _(step, action, state, surprise, errors):
    """One α_j for a column: its slope is x_j (Σ_i e_i h_ij + e_r h_rj), e the errors of outputs."""
    traces, rewards = step.traces, step.reward_traces
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        slope = surprise * rewards[action, j]
        for i in range(errors.shape[0]):
            slope += errors[i] * traces[action, j, i]
        learn_rate(step, action, j, x, x * slope)
    settle_rates(step, action, state)
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        used = step.rates[action, j] * step.shrunk[0]
        kept = max(1.0 - used * x * x, 0.0)
        rewards[action, j] = rewards[action, j] * kept + used * surprise * x
        for i in range(errors.shape[0]):
            traces[action, j, i] = traces[action, j, i] * kept + used * errors[i] * x


@function
def adapted_rate(step, row, state, n):
    return step.rates[row, index(state, n)] * step.shrunk[0]


@rate.register(AdaptivePart)
def _(step, row, state, n):
    return adapted_rate(step, row, state, n)


@rate.register(AdaptiveColumnsPart)
def _(step, row, state, n):
    return adapted_rate(step, row, state, n)


@rate.register(AdaptiveListsPart)
def _(step, row, state, n):
    return adapted_rate(step, row, state, n)


@function
def effective_step(step, row, state):
    """Σ α_i x_i²: how much of an error one update takes away."""
    total = 0.0
    for n in range(size(state)):
        total += rate(step, row, state, n) * value(state, n) * value(state, n)
    return total


@mean_rate.register(AdaptivePart)
def _(step, row, state):
    length = squared_length(state)
    return effective_step(step, row, state) / length if length > 0.0 else 0.0


@value_change.register(AdaptivePart)
def _(step, row, state, error):
    return effective_step(step, row, state) * error


def _positive(value: object) -> float:
    result = at_least(0.0).convert(value)
    if result == 0.0:
        raise ValueError
    return float(result)


POSITIVE = Rule("a finite number above 0", _positive)


class _Adaptive(StepSize, abstract=True):
    initial_step: float
    meta_step: float

    def scaled(self, factor: float) -> Self:
        return self.replace(initial_step=self.initial_step * factor)

    def _rates(self, context: BuildContext, rows: int) -> np.ndarray:
        return full((rows, context.width), self.initial_step * self.share(context))

    def _peaks(self, context: BuildContext, rows: int) -> np.ndarray:
        return zeros((rows, context.width))

    def _facts(self) -> tuple[float, float, bool]:
        raise NotImplementedError

    def build(self, context: BuildContext, rows: int) -> AdaptivePart:
        rates = self._rates(context, rows)
        return AdaptivePart(
            rates, np.zeros_like(rates), self._peaks(context, rows), np.ones(1), *self._facts()
        )

    def build_columns(self, context: BuildContext) -> AdaptiveColumnsPart:
        rates = self._rates(context, context.actions)
        traces = zeros((context.actions, context.shape.size, context.width))
        peaks = self._peaks(context, context.actions)
        return AdaptiveColumnsPart(
            rates, traces, np.zeros_like(rates), peaks, np.ones(1), *self._facts()
        )

    def build_listed(self, context: BuildContext) -> AdaptiveListsPart:
        rates, peaks = self._rates(context, context.actions), self._peaks(context, context.actions)
        return AdaptiveListsPart(rates, np.zeros_like(rates), peaks, np.ones(1), *self._facts())


class IDBD(_Adaptive):
    """A step size for every weight, learned by gradient descent (Sutton 1992).

    β_i ← β_i + θ δ x_i h_i, α_i = exp β_i, h_i ← h_i [1 − α_i x_i²]₊ + α_i δ x_i, where θ is
    ``meta_step`` and all α_i begin at ``initial_step``. ``bounded`` keeps Σ α_i x_i² within one.
    """

    initial_step: float = parameter(POSITIVE, default=0.05)
    meta_step: float = parameter(at_least(0.0), default=0.01)
    per: str = parameter(PER, default="total", kw_only=True)
    bounded: bool = parameter(flag(), default=True, kw_only=True)

    def _peaks(self, context: BuildContext, rows: int) -> np.ndarray:
        return zeros((0, context.width))

    def _facts(self) -> tuple[float, float, bool]:
        return self.meta_step, 1.0, self.bounded


class Autostep(_Adaptive):
    """IDBD whose meta step needs no tuning (Mahmood, Sutton, Degris & Pilarski 2012).

    The gradient δ x_i h_i is divided by its running maximum, which fades with ``memory`` τ, and
    Σ α_i x_i² is kept within one.
    """

    initial_step: float = parameter(POSITIVE, default=0.05)
    meta_step: float = parameter(at_least(0.0), default=0.01)
    memory: float = parameter(at_least(1.0), default=10_000.0, kw_only=True)
    per: str = parameter(PER, default="total", kw_only=True)

    def _facts(self) -> tuple[float, float, bool]:
        return self.meta_step, self.memory, False
