"""What every step size answers, and the plainest of them: a number."""

from __future__ import annotations

from typing import ClassVar, Self

from expectant.parts import Buildable, Site
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
