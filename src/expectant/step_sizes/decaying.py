"""A step size that becomes smaller as time goes by."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np

from expectant.descriptions import description, option
from expectant.parts import Site
from expectant.rules import at_least, flag
from expectant.step_sizes.step_size import StepSize, move_by_present, squared_length
from expectant.verbs import adapt, adapt_columns, function, tick


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
