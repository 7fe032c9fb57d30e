"""Step sizes that all weights share: fixed or decaying.

With ``per="total"`` a step size is divided by the k active features, so that a step of 1 removes
the whole error of a binary state; ``per="feature"`` is the α of the printed updates. A ``bounded``
step size never overshoots: it is 1 / sᵀs where α sᵀs would exceed 1. A plain number means
``Fixed(number)`` wherever a step size is taken: total and bounded.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Buildable, BuildContext
from expectant.core.rules import Rule, at_least, flag, one_of
from expectant.core.verbs import adapt, function, rate, size, value


@function
def squared_length(state):
    """sᵀs."""
    length = 0.0
    for n in range(size(state)):
        length += value(state, n) * value(state, n)
    return length


class StepSize(Buildable, abstract=True):
    """Base of step sizes; ``adapts``: every weight has its own."""

    adapts: ClassVar[bool] = True
    per: str = parameter(one_of("total", "feature"), default="total", kw_only=True)

    def scale(self, factor: float) -> Self:
        """Return the same step size with its initial value multiplied by a factor."""
        raise NotImplementedError

    def share(self, context: BuildContext) -> float:
        """The factor that turns the step size into one per active feature."""
        return 1.0 / context.shape.active if self.per == "total" else 1.0

    def build(self, context: BuildContext, rows: int) -> object:
        """Build the part for ``rows`` rows of weights."""
        raise NotImplementedError

    def build_columns(self, context: BuildContext) -> object:
        """Build the part for the columns of a linear model."""
        return self.build(context, context.actions)

    def build_sparse(self, context: BuildContext) -> object:
        """Build the part for the columns of a sparse model."""
        return self.build_columns(context)


@adapt.register(float)
def _(step, row, state, error):
    pass


@rate.register(float)
def _(step, row, state, n):
    return step


@verbs.mean_rate.register(float)
def _(step, row, state):
    return step


@verbs.value_change.register(float)
def _(step, row, state, error):
    return step * error * squared_length(state)


def use_current_step(part_type: type) -> None:
    """Register the ``current`` (1,) step of a part as the step size of all weights."""

    @rate.register(part_type)
    def _(step, row, state, n):
        return step.current[0]

    @verbs.mean_rate.register(part_type)
    def _(step, row, state):
        return step.current[0]

    @verbs.value_change.register(part_type)
    def _(step, row, state, error):
        return step.current[0] * error * squared_length(state)


class BoundedPart(NamedTuple):
    """``step`` is α; ``current`` (1,) is min(α, 1 / sᵀs) of the last update."""

    step: float
    current: np.ndarray


use_current_step(BoundedPart)


@adapt.register(BoundedPart)
def _(bounded, row, state, error):
    """min(α, 1 / sᵀs)."""
    total = bounded.step * squared_length(state)
    bounded.current[0] = bounded.step / total if total > 1.0 else bounded.step


class Fixed(StepSize):
    """A constant step size α; if ``bounded``, at most 1 / sᵀs."""

    adapts: ClassVar[bool] = False

    step: float = parameter(at_least(0.0), meaning="α, the step size")
    bounded: bool = parameter(flag(), default=True, kw_only=True)

    def scale(self, factor: float) -> Self:
        return self.replace(step=self.step * factor)

    def per_feature(self, context: BuildContext) -> float:
        """The step size per active feature."""
        return self.step / context.shape.active if self.per == "total" else self.step

    def build(self, context: BuildContext, rows: int) -> BoundedPart | float:
        step = self.per_feature(context)
        return BoundedPart(step, np.full(1, step)) if self.bounded else step


class DecayingPart(NamedTuple):
    """α_t = ``initial`` (N₀ + 1) / (N₀ + t^p) with N₀ the ``offset`` and p the ``power``.

    ``clock`` (1,) is t; ``current`` (1,) is α_t, at most 1 / sᵀs if ``bounded``.
    """

    initial: float
    offset: float
    power: float
    bounded: bool
    clock: np.ndarray
    current: np.ndarray


use_current_step(DecayingPart)


@adapt.register(DecayingPart)
def _(step, row, state, error):
    """α_t, at most 1 / sᵀs if bounded."""
    t = max(step.clock[0], 1)
    decayed = step.initial * (step.offset + 1.0) / (step.offset + float(t) ** step.power)
    total = decayed * squared_length(state)
    step.current[0] = decayed / total if step.bounded and total > 1.0 else decayed


@verbs.tick.register(DecayingPart)
def _(step):
    step.clock[0] += 1


@verbs.adapt_columns.register(DecayingPart)
def _(step, action, state, reward_error, errors):
    """Count the fits of a model, which no :func:`tick` does."""
    step.clock[0] += 1
    adapt(step, action, state, reward_error)


class Decaying(StepSize):
    """A decaying step size α_t = α₀ (N₀ + 1) / (N₀ + t^p).

    α₀ is ``initial_step``, N₀ the ``offset``, p the ``power``. t counts real steps, not planned
    updates; for a model it counts fits.
    """

    adapts: ClassVar[bool] = False

    initial_step: float = parameter(at_least(0.0), meaning="α₀, the step size of the first step")
    offset: float = parameter(at_least(0.0), default=100.0)
    power: float = parameter(at_least(0.0), default=1.1, kw_only=True)
    bounded: bool = parameter(flag(), default=True, kw_only=True)

    def scale(self, factor: float) -> Self:
        return self.replace(initial_step=self.initial_step * factor)

    def build(self, context: BuildContext, rows: int) -> DecayingPart:
        step = self.initial_step * self.share(context)
        return DecayingPart(
            step, self.offset, self.power, self.bounded, np.zeros(1, np.int64), np.full(1, step)
        )


def step_size() -> Rule[float | StepSize]:
    """The rule of parameters that take a step size."""
    number = at_least(0.0)

    def convert(value: object) -> float | StepSize:
        return value if isinstance(value, StepSize) else number.convert(value)

    return Rule(f"{number.text}, or one of ex.step_sizes", convert)


def as_step_size(step: float | StepSize) -> StepSize:
    """Turn a number into the fixed step size that it stands for."""
    return step if isinstance(step, StepSize) else Fixed(step)


def as_shared_step(step: float | StepSize) -> float | StepSize:
    """Fix a step size that adapts at its initial value, for weights that share one step size."""
    if not as_step_size(step).adapts:
        return step
    adaptive: Any = step
    return Fixed(adaptive.initial_step, per=adaptive.per)


def build_step(step: float | StepSize, context: BuildContext, rows: int = 1) -> object:
    """Build the number or part that updates of ``rows`` rows of weights use."""
    return as_step_size(step).build(context, rows)
