"""A step size that never overshoots."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np

from expectant.descriptions import description, option
from expectant.parts import Site
from expectant.rules import at_least
from expectant.step_sizes.step_size import StepSize, move_by_present, squared_length
from expectant.verbs import adapt, adapt_columns, function


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
