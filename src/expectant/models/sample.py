"""Sample models: outcomes drawn from a distribution model."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.rules import Rule, whole
from expectant.core.vectors import state_value
from expectant.core.verbs import (
    backed_up_action_value,
    backed_up_value,
    delegate,
    draw_outcome,
    fit,
    sample_next,
    unwrapped,
)
from expectant.models.distribution import Distribution, TrueModel


class SamplePart(NamedTuple):
    """Every backup averages ``draws`` outcomes of ``distribution``, drawn with ``rng``."""

    distribution: object
    draws: int
    rng: np.random.Generator


delegate(SamplePart, "distribution", fit)


@unwrapped.register(SamplePart)
def _(model):
    return model.distribution


@backed_up_value.register(SamplePart)
@backed_up_action_value.register(SamplePart)
def _(model, state, action, weights, discount):
    """Mean of r + γ v̂(s') over drawn outcomes: AVI's target, or AAVI's, in expectation."""
    total, successor = 0.0, model.distribution.successor
    for _ in range(model.draws):
        reward, alive = draw_outcome(model.distribution, state, action, successor, model.rng)
        total += reward
        if alive > 0.0:
            total += discount * state_value(weights, successor)
    return total / model.draws


@sample_next.register(SamplePart)
def _(model, state, action, successor):
    _, alive = draw_outcome(model.distribution, state, action, successor, model.rng)
    return alive


def _distribution(value: object) -> Distribution | TrueModel:
    if not isinstance(value, Distribution | TrueModel):
        raise ValueError
    return value


class Sample(Model):
    """Outcomes drawn from a distribution model, learned or true; ``draws`` of them per backup."""

    rolls_out: ClassVar[str] = "states"

    distribution: Distribution | TrueModel = parameter(
        Rule("a distribution model: Distribution() or TrueModel()", _distribution),
        default=Distribution(),
    )
    draws: int = parameter(whole(1), default=1, meaning="outcomes drawn for every backup")

    @property
    def learns(self) -> bool:
        return self.distribution.learns

    def build(self, context: BuildContext) -> SamplePart:
        return SamplePart(self.distribution.build(context), self.draws, context.planning)
