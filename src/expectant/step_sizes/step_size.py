"""Step sizes that all weights share: a number, one that never overshoots, one that decays."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np

from expectant.descriptions import description, option
from expectant.parts import Agent, Buildable, Site
from expectant.rules import Rule, at_least, flag
from expectant.verbs import (
    adapt,
    adapt_columns,
    function,
    mean_rate,
    moved_by,
    rate,
    size,
    tick,
    value,
)


@function
def squared_length(state):
    """sᵀs."""
    length = 0.0
    for n in range(size(state)):
        length += value(state, n) * value(state, n)
    return length


class StepSize(Buildable):
    """A step size that is more than a number, described."""

    adapts: ClassVar[bool] = True

    def scaled(self, factor: float) -> Self:
        """The same, beginning with a multiple of its size."""
        raise NotImplementedError

    def held(self) -> Self:
        """The same, never overshooting."""
        raise NotImplementedError

    def build(self, site: Site, rows: int) -> object:
        """What moves so many rows of weights."""
        raise NotImplementedError

    def build_columns(self, site: Site) -> object:
        """What moves the columns of a linear model."""
        raise NotImplementedError

    def build_listed(self, site: Site) -> object:
        """What moves the columns of a sparse model."""
        return self.build_columns(site)


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

    @moved_by.register(part_type)
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


def step_size() -> Rule[float | StepSize]:
    """What may stand where a step size is taken."""
    number = at_least(0.0)

    def convert(value: object) -> float | StepSize:
        return value if isinstance(value, StepSize) else number.convert(value)

    return Rule(f"{number.text}, or ex.IDBD, ex.Autostep, ex.Bounded or ex.Decaying", convert)


def adapts(step: float | StepSize) -> bool:
    """Whether it is a step size for every weight that adapts by itself."""
    return isinstance(step, StepSize) and step.adapts


def number_or_bounded(owner: str, argument: str, step: float | StepSize) -> None:
    """Refuse a step size that adapts."""
    if adapts(step):
        raise ValueError(
            f"{owner}: {argument} must be a number, ex.Bounded or ex.Decaying, got {step!r}"
        )


def as_used(agent: Agent, step: float | StepSize, site: Site) -> float | StepSize:
    """A step size as an agent's ``step_unit``, ``doubled_steps`` and ``bounded_step`` make it."""
    if not isinstance(step, StepSize):
        number = agent.scaled(step, site)
        return Bounded(number) if agent.bounded_step else number
    step = step.scaled(agent.scaled(1.0, site))
    return step.held() if agent.bounded_step else step


def step_part(agent: Agent, step: float | StepSize, site: Site, rows: int = 1) -> object:
    """What an agent's update of so many rows of weights moves by: a number, or a part."""
    used = as_used(agent, step, site)
    return used.build(site, rows) if isinstance(used, StepSize) else used


def columns_part(step: float | StepSize, site: Site) -> object:
    """What a linear model moves its columns by."""
    return step.build_columns(site) if isinstance(step, StepSize) else step


def listed_part(step: float | StepSize, site: Site) -> object:
    """What a sparse model moves its columns by."""
    return step.build_listed(site) if isinstance(step, StepSize) else step
