"""Step sizes that all weights share: fixed or decaying.

A step size says what it is per: ``per="total"`` shares it out among the k active features, so that
a step of 1 removes the whole error of a binary state; ``per="feature"`` is the α of the printed
updates. A ``bounded`` one never overshoots: it is scaled down where α sᵀs would exceed one. A plain
number, wherever a step size is taken, means ``Fixed(number)``: total and bounded.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Buildable, BuildContext
from expectant.core.rules import Rule, at_least, flag, one_of
from expectant.core.verbs import (
    adapt,
    adapt_columns,
    function,
    mean_rate,
    rate,
    size,
    tick,
    value,
    value_change,
)


@function
def squared_length(state):
    """sᵀs."""
    length = 0.0
    for n in range(size(state)):
        length += value(state, n) * value(state, n)
    return length


PER = one_of("total", "feature")


class StepSize(Buildable, abstract=True):
    """Base of step sizes; ``adapts`` says that every weight has one of its own."""

    adapts: ClassVar[bool] = True
    per: str

    def scaled(self, factor: float) -> Self:
        """Return the same step size, starting at a multiple of its size."""
        raise NotImplementedError

    def share(self, context: BuildContext) -> float:
        """The share of one active feature."""
        return 1.0 / context.shape.active if self.per == "total" else 1.0

    def build(self, context: BuildContext, rows: int) -> object:
        """Build what moves ``rows`` rows of weights."""
        raise NotImplementedError

    def build_columns(self, context: BuildContext) -> object:
        """Build what moves the columns of a linear model."""
        return self.build(context, context.actions)

    def build_listed(self, context: BuildContext) -> object:
        """Build what moves the columns of a sparse model."""
        return self.build_columns(context)


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


@value_change.register(float)
def _(step, row, state, error):
    return step * error * squared_length(state)


@tick.register(float)
def _(step):
    pass


def move_by_present(part_type: type) -> None:
    """Let a part's ``present`` (1,) be the step of all weights alike."""

    @rate.register(part_type)
    def _(step, row, state, n):
        return step.present[0]

    @mean_rate.register(part_type)
    def _(step, row, state):
        return step.present[0]

    @value_change.register(part_type)
    def _(step, row, state, error):
        return step.present[0] * error * squared_length(state)


class BoundedPart(NamedTuple):
    """A number, scaled down where α sᵀs would be more than one; ``present`` (1,) is in use."""

    step: float
    present: np.ndarray


move_by_present(BoundedPart)


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


class Fixed(StepSize):
    """A step size that stays the same: α, or 1 / sᵀs where that is less if ``bounded``."""

    adapts: ClassVar[bool] = False

    step: float = parameter(at_least(0.0), meaning="α, the step size")
    per: str = parameter(PER, default="total", kw_only=True)
    bounded: bool = parameter(flag(), default=True, kw_only=True)

    def scaled(self, factor: float) -> Self:
        return self.replace(step=self.step * factor)

    def per_feature(self, context: BuildContext) -> float:
        """The step that the update multiplies a feature with."""
        return self.step / context.shape.active if self.per == "total" else self.step

    def build(self, context: BuildContext, rows: int) -> BoundedPart | float:
        step = self.per_feature(context)
        return BoundedPart(step, np.full(1, step)) if self.bounded else step


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


move_by_present(DecayingPart)


@function
def settle_decaying(step, state):
    """The step for an update at a state."""
    t = max(step.clock[0], 1)
    present = step.initial * (step.offset + 1.0) / (step.offset + float(t) ** step.power)
    total = present * squared_length(state)
    step.present[0] = present / total if step.bounded and total > 1.0 else present


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


class Decaying(StepSize):
    """A step size that becomes smaller: α_t = α₀ (N₀ + 1) / (N₀ + t^p).

    α₀ is ``initial_step``, N₀ the ``offset``, p the ``power``. t counts real steps, so that planned
    updates use the step of the moment; for a model it counts fits.
    """

    adapts: ClassVar[bool] = False

    initial_step: float = parameter(at_least(0.0), meaning="α₀, the step size of the first step")
    offset: float = parameter(at_least(0.0), default=100.0)
    power: float = parameter(at_least(0.0), default=1.1, kw_only=True)
    per: str = parameter(PER, default="total", kw_only=True)
    bounded: bool = parameter(flag(), default=True, kw_only=True)

    def scaled(self, factor: float) -> Self:
        return self.replace(initial_step=self.initial_step * factor)

    def build(self, context: BuildContext, rows: int) -> DecayingPart:
        step = self.initial_step * self.share(context)
        return DecayingPart(
            step, self.offset, self.power, self.bounded, np.zeros(1, np.int64), np.full(1, step)
        )


def step_size() -> Rule[float | StepSize]:
    """The rule for arguments that take a step size."""
    number = at_least(0.0)

    def convert(value: object) -> float | StepSize:
        return value if isinstance(value, StepSize) else number.convert(value)

    return Rule(f"{number.text}, or one of ex.step_sizes", convert)


def as_step_size(step: float | StepSize) -> StepSize:
    """A number as the fixed step size that it means."""
    return step if isinstance(step, StepSize) else Fixed(step)


def adapts(step: float | StepSize) -> bool:
    """True if every weight has a step size of its own, which adapts."""
    return as_step_size(step).adapts


def without_adapting(step: float | StepSize) -> float | StepSize:
    """The initial step of one that adapts, for models whose weights share one step size."""
    if not adapts(step):
        return step
    initial: Any = step
    return Fixed(initial.initial_step, per=initial.per)


def build_step(step: float | StepSize, context: BuildContext, rows: int = 1) -> object:
    """Build what an update of ``rows`` rows of weights moves by: a number, or a part."""
    return as_step_size(step).build(context, rows)
