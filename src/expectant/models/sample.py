"""Sample models: one draw from a distribution model at every use."""

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
    function,
    load,
    sample_next,
    unwrapped,
)
from expectant.domains.finite import PHASE
from expectant.features.distinct_vectors import number_of
from expectant.models.distribution import END, Distribution, DistributionPart, probability
from expectant.models.true import TrueModel, TruePart


class SamplePart(NamedTuple):
    """``distribution`` is what is drawn from; every backup averages ``draws`` draws.

    ``rng`` is the run's own generator for planning.
    """

    distribution: object
    draws: int
    rng: np.random.Generator


delegate(SamplePart, "distribution", fit)


@draw_outcome.register(TruePart)
def _(model, state, action, successor, rng):
    number, phase, left = state.state_index[0], model.now[PHASE], rng.random()
    chosen = model.successors.shape[2] - 1
    for o in range(model.successors.shape[2]):
        left -= model.probabilities[phase, number, action, o]
        if left < 0.0:
            chosen = o
            break
    row = model.successors[number, action, chosen]
    reward = model.rewards[phase, number, action, chosen]
    if row == END:
        return reward, 0.0
    load(model.features, row, successor)
    return reward, 1.0


@draw_outcome.register(DistributionPart)
def _(model, state, action, successor, rng):
    number, left, chosen = number_of(model.states, state), rng.random(), -1
    if number < 0:
        return model.untried_value, 0.0
    for o in range(model.counts.shape[2]):
        share = probability(model, number, action, o)
        if share > 0.0:
            chosen = o
            left -= share
            if left < 0.0:
                break
    if chosen < 0:
        return model.untried_value, 0.0  # never tried: nothing is known to follow
    row = model.successors[number, action, chosen]
    reward = model.rewards[number, action, chosen]
    if row == END:
        return reward, 0.0
    load(model.states.vectors, row, successor)
    return reward, 1.0


@unwrapped.register(SamplePart)
def _(model):
    return model.distribution


@function
def drawn_outlook(model, state, action, weights, discount):
    """r + γ · the outlook of s', averaged over drawn outcomes."""
    total, successor = 0.0, model.distribution.successor
    for _ in range(model.draws):
        reward, alive = draw_outcome(model.distribution, state, action, successor, model.rng)
        total += reward
        if alive > 0.0:
            total += discount * state_value(weights, successor)
    return total / model.draws


@backed_up_value.register(SamplePart)
def _(model, state, action, weights, discount):
    """AVI's bracket in expectation."""
    return drawn_outlook(model, state, action, weights, discount)


@backed_up_action_value.register(SamplePart)
def _(model, state, action, weights, discount):
    """AAVI's target in expectation."""
    return drawn_outlook(model, state, action, weights, discount)


@sample_next.register(SamplePart)
def _(model, state, action, successor):
    _, alive = draw_outcome(model.distribution, state, action, successor, model.rng)
    return alive


def _distribution(value: object) -> Distribution | TrueModel:
    if not isinstance(value, Distribution | TrueModel):
        raise ValueError
    return value


class Sample(Model):
    """Draws outcomes from a distribution model, learned or true, ``draws`` of them per backup."""

    rolls_out: ClassVar[str] = "states"

    distribution: Distribution | TrueModel = parameter(
        Rule("a distribution model: Distribution() or TrueModel()", _distribution),
        default=Distribution(),
    )
    draws: int = parameter(whole(1), default=1)

    @property
    def learns(self) -> bool:
        return self.distribution.learns

    def build(self, context: BuildContext) -> SamplePart:
        return SamplePart(self.distribution.build(context), self.draws, context.planning)
