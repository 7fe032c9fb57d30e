"""Step sizes: a number, a number that never overshoots, or one per weight that adapts by itself.

An update is w_i += α_i δ x_i. What gives the α_i answers two verbs: ``adapt`` is told of the error
before the weights move, ``rate`` says what to use. A number does the first by doing nothing and
the second by being itself. Descriptions here build parts with arrays; everything costs O(k).

For weights in rows (A, D) there are as many step sizes. A linear model has one for every action and
feature, shared by all outputs of that feature's column: the gradient of the whole squared error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from expectant.descriptions import description, option
from expectant.integrity import counted
from expectant.parts import Agent, Buildable, Need, Site, bytes_of
from expectant.rules import Rule, at_least, flag
from expectant.verbs import (
    adapt,
    adapt_columns,
    check_restored,
    function,
    index,
    mean_rate,
    moved_by,
    rate,
    size,
    tick,
    value,
)

LEAST, JUMP = -20.0, 2.0  # of the logarithm of a step size, and of its change at once


@function
def squared_length(state):
    """sᵀs."""
    length = 0.0
    for n in range(size(state)):
        length += value(state, n) * value(state, n)
    return length


# --------------------------------------------------------------------------------------- numbers


@adapt.register(float)
def _(step, row, state, error):
    pass


@adapt_columns.register(float)
def _(step, action, state, surprise, errors):
    pass


@rate.register(float)
def _(step, row, state, n):
    return step


@mean_rate.register(float)
def _(step, row, state):
    return step


@moved_by.register(float)
def _(step, row, state, error):
    return step * error * squared_length(state)


class BoundedPart(NamedTuple):
    """A number, scaled down where α sᵀs would be more than one; ``present`` (1,) is in use."""

    step: float
    present: np.ndarray


@function
def hold(bounded, state):
    """Note the largest step that does not overshoot at this state."""
    total = bounded.step * squared_length(state)
    bounded.present[0] = bounded.step / total if total > 1.0 else bounded.step


@adapt.register(BoundedPart)
def _(step, row, state, error):
    hold(step, state)


@adapt_columns.register(BoundedPart)
def _(step, action, state, surprise, errors):
    hold(step, state)


@rate.register(BoundedPart)
def _(step, row, state, n):
    return step.present[0]


@mean_rate.register(BoundedPart)
def _(step, row, state):
    return step.present[0]


@moved_by.register(BoundedPart)
def _(step, row, state, error):
    return step.present[0] * error * squared_length(state)


class DecayingPart(NamedTuple):
    """α_t = ``initial`` (N₀ + 1) / (N₀ + t^p), N₀ being the ``offset`` and p the ``power``.

    ``clock`` (1,) is t; ``present`` (1,) is in use: α_t, or what does not overshoot if ``bounded``.
    """

    initial: float
    offset: float
    power: float
    bounded: bool
    clock: np.ndarray
    present: np.ndarray


@function
def settle_decaying(step, state):
    """The step for an update at a state."""
    t = max(step.clock[0], 1)
    present = step.initial * (step.offset + 1.0) / (step.offset + float(t) ** step.power)
    total = present * squared_length(state)
    step.present[0] = present / total if step.bounded and total > 1.0 else present


@tick.register(float)
def _(step):
    pass


@tick.register(DecayingPart)
def _(step):
    step.clock[0] += 1


@adapt.register(DecayingPart)
def _(step, row, state, error):
    settle_decaying(step, state)


@adapt_columns.register(DecayingPart)
def _(step, action, state, surprise, errors):
    """A model counts its fits."""
    step.clock[0] += 1
    settle_decaying(step, state)


@rate.register(DecayingPart)
def _(step, row, state, n):
    return step.present[0]


@mean_rate.register(DecayingPart)
def _(step, row, state):
    return step.present[0]


@moved_by.register(DecayingPart)
def _(step, row, state, error):
    return step.present[0] * error * squared_length(state)


@check_restored.register(DecayingPart)
def _(step, built, site):
    counted("a step that decays: clock", step.clock)


# ---------------------------------------------------------------------------------- that adapt


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


@moved_by.register(AdaptivePart)
def _(step, row, state, error):
    return effective_step(step, row, state) * error


# --------------------------------------------------------------------------------- descriptions


class StepSize(Buildable):
    """A step size that is more than a number, described."""

    adapts: ClassVar[bool] = True
    arrays: ClassVar[int] = 0  # how many numbers it keeps for every weight

    def scaled(self, factor: float) -> Self:
        """The same, beginning with a multiple of its size."""
        raise NotImplementedError

    def held(self) -> Self:
        """The same, never overshooting."""
        raise NotImplementedError

    def build(self, site: Site, rows: int) -> Any:
        """What moves so many rows of weights."""
        raise NotImplementedError

    def build_columns(self, site: Site) -> Any:
        """What moves the columns of a linear model."""
        raise NotImplementedError

    def build_listed(self, site: Site) -> Any:
        """What moves the columns of a sparse model."""
        return self.build_columns(site)


@description
class Bounded(StepSize):
    """A step size that never overshoots: α, or 1 / sᵀs where that is less."""

    adapts: ClassVar[bool] = False

    step: float = option(at_least(0.0))

    def scaled(self, factor: float) -> Self:
        return self.replace(step=self.step * factor)

    def held(self) -> Self:
        return self

    def build(self, site: Site, rows: int) -> BoundedPart:
        return BoundedPart(self.step, np.full(1, self.step))

    def build_columns(self, site: Site) -> BoundedPart:
        return self.build(site, site.actions)


@description
class Decaying(StepSize):
    """A step size that becomes smaller: α_t = α₀ (N₀ + 1) / (N₀ + t^p).

    α₀ is ``initial_step``, N₀ the ``offset``, p the ``power``. t counts real steps, so that planned
    updates use the step of the moment; for a model it counts fits.
    """

    adapts: ClassVar[bool] = False

    initial_step: float = option(at_least(0.0))
    offset: float = option(at_least(0.0), default=100.0)
    power: float = option(at_least(0.0), default=1.1, kw_only=True)
    bounded: bool = option(flag(), default=False, kw_only=True)

    def scaled(self, factor: float) -> Self:
        return self.replace(initial_step=self.initial_step * factor)

    def held(self) -> Self:
        return self.replace(bounded=True)

    def build(self, site: Site, rows: int) -> DecayingPart:
        return DecayingPart(
            self.initial_step,
            self.offset,
            self.power,
            self.bounded,
            np.zeros(1, np.int64),
            np.full(1, self.initial_step),
        )

    def build_columns(self, site: Site) -> DecayingPart:
        return self.build(site, site.actions)


def _positive(value: Any) -> float:
    result = at_least(0.0).convert(value)
    if result == 0.0:
        raise ValueError
    return float(result)


POSITIVE = Rule("a finite number above 0", _positive)


class _Adaptive(StepSize):
    initial_step: float
    meta_step: float

    def scaled(self, factor: float) -> Self:
        return self.replace(initial_step=self.initial_step * factor)

    def _rates(self, site: Site, rows: int) -> np.ndarray:
        return np.full((rows, site.width), self.initial_step)

    def _peaks(self, site: Site, rows: int) -> np.ndarray:
        return np.zeros((rows, site.width))

    def _facts(self) -> tuple[float, float, bool]:
        raise NotImplementedError

    def build(self, site: Site, rows: int) -> AdaptivePart:
        rates = self._rates(site, rows)
        return AdaptivePart(
            rates, np.zeros_like(rates), self._peaks(site, rows), np.ones(1), *self._facts()
        )

    def build_columns(self, site: Site) -> AdaptiveColumnsPart:
        rates = self._rates(site, site.actions)
        traces = np.zeros((site.actions, site.shape.size, site.width))
        peaks = self._peaks(site, site.actions)
        return AdaptiveColumnsPart(
            rates, traces, np.zeros_like(rates), peaks, np.ones(1), *self._facts()
        )

    def build_listed(self, site: Site) -> AdaptiveListsPart:
        rates, peaks = self._rates(site, site.actions), self._peaks(site, site.actions)
        return AdaptiveListsPart(rates, np.zeros_like(rates), peaks, np.ones(1), *self._facts())


@description
class IDBD(_Adaptive):
    """A step size for every weight, learned by gradient descent (Sutton 1992).

    β_i ← β_i + θ δ x_i h_i, α_i = exp β_i, h_i ← h_i [1 − α_i x_i²]₊ + α_i δ x_i, where θ is
    ``meta_step`` and all α_i begin at ``initial_step``. ``bounded`` keeps Σ α_i x_i² within one.
    """

    arrays: ClassVar[int] = 2

    initial_step: float = option(POSITIVE, default=0.05)
    meta_step: float = option(at_least(0.0), default=0.01)
    bounded: bool = option(flag(), default=False, kw_only=True)

    def held(self) -> Self:
        return self.replace(bounded=True)

    def _peaks(self, site: Site, rows: int) -> np.ndarray:
        return np.zeros((0, site.width))

    def _facts(self) -> tuple[float, float, bool]:
        return self.meta_step, 1.0, self.bounded


@description
class Autostep(_Adaptive):
    """IDBD whose meta step needs no tuning (Mahmood, Sutton, Degris & Pilarski 2012).

    The gradient δ x_i h_i is divided by its running maximum, which fades with ``memory`` τ, and
    Σ α_i x_i² is kept within one.
    """

    arrays: ClassVar[int] = 3

    initial_step: float = option(POSITIVE, default=0.05)
    meta_step: float = option(at_least(0.0), default=0.01)
    memory: float = option(at_least(1.0), default=10_000.0, kw_only=True)

    def held(self) -> Self:
        return self

    def _facts(self) -> tuple[float, float, bool]:
        return self.meta_step, self.memory, False


def step_size() -> Rule:
    """What may stand where a step size is taken."""
    number = at_least(0.0)

    def convert(value: Any) -> Any:
        return value if isinstance(value, StepSize) else number.convert(value)

    return Rule(f"{number.text}, or ex.IDBD, ex.Autostep, ex.Bounded or ex.Decaying", convert)


def number_or_bounded(owner: str, argument: str, step: Any) -> None:
    """Refuse a step size that adapts."""
    if getattr(step, "adapts", False):
        raise ValueError(
            f"{owner}: {argument} must be a number, ex.Bounded or ex.Decaying, got {step!r}"
        )


def as_used(agent: Agent, step: Any, site: Site) -> Any:
    """A step size as an agent's ``step_unit``, ``doubled_steps`` and ``bounded_step`` make it."""
    if not isinstance(step, StepSize):
        number = agent.scaled(step, site)
        return Bounded(number) if agent.bounded_step else number
    step = step.scaled(agent.scaled(1.0, site))
    return step.held() if agent.bounded_step else step


def step_part(agent: Agent, step: Any, site: Site, rows: int = 1) -> Any:
    """What an agent's update of so many rows of weights moves by: a number, or a part."""
    used = as_used(agent, step, site)
    return used.build(site, rows) if isinstance(used, StepSize) else used


def columns_part(step: Any, site: Site) -> Any:
    """What a linear model moves its columns by."""
    return step.build_columns(site) if isinstance(step, StepSize) else step


def listed_part(step: Any, site: Site) -> Any:
    """What a sparse model moves its columns by."""
    return step.build_listed(site) if isinstance(step, StepSize) else step


def steps_memory(site: Site, *steps: tuple[Any, int]) -> Sequence[Need]:
    """What step sizes hold, each for so many rows of weights."""
    total = sum(bytes_of((getattr(step, "arrays", 0) * rows, site.width)) for step, rows in steps)
    return [Need("step sizes that adapt", total)] if total else []


def columns_memory(step: Any, site: Site) -> Sequence[Need]:
    """What the step sizes of a linear model hold."""
    if not getattr(step, "adapts", False):
        return []
    rows, width = site.actions, site.width
    traces = bytes_of((rows, site.shape.size, width), ((step.arrays) * rows, width))
    return [Need("the model's step sizes that adapt", traces)]
