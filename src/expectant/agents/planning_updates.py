"""Planning updates of state values: LEVI, and LEVI with a gradient correction."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Buildable, BuildContext
from expectant.core.updates import displacement, gradient_planning, levi_target, move
from expectant.core.vectors import dot
from expectant.core.verbs import improve
from expectant.step_sizes import StepSize, as_step_size, build_step, step_size

__all__ = ["Gradient", "Levi", "PlanningUpdate"]


class LeviPart(NamedTuple):
    """w ← w + α δ ∇v̂(s), which needs no array."""

    correction_step: float


class GradientPart(NamedTuple):
    """``helper`` (D,) is h, which ``correction_step`` β moves; ``bounded``: no overshooting."""

    helper: np.ndarray
    correction_step: object
    bounded: bool


@improve.register(LeviPart)
def _(update, model, actions, weights, state, discount, step, rate):
    target = levi_target(model, state, actions, weights, discount)
    error = move(weights, state, target - rate, step)
    return error, displacement(weights, state, error, step)


@improve.register(GradientPart)
def _(update, model, actions, weights, state, discount, step, rate):
    before = dot(state, weights)
    error = gradient_planning(
        model, state, actions, weights, update.helper, discount, step, update.correction_step,
        rate, update.bounded,
    )  # fmt: skip
    return error, dot(state, weights) - before


class PlanningUpdate(Buildable, abstract=True):
    """Base of planning updates; ``needs_means``: it uses the mean next state of the model."""

    needs_means: ClassVar[bool] = False

    def build(self, context: BuildContext, value_step: float | StepSize) -> object:
        """Build the part that moves the state values when planning."""
        raise NotImplementedError


class Levi(PlanningUpdate):
    """Linear expectation value iteration: w towards max_a [r(s, a) + γ wᵀs̄(s, a)]."""

    def build(self, context: BuildContext, value_step: float | StepSize) -> LeviPart:
        return LeviPart(0.0)


class Gradient(PlanningUpdate):
    """LEVI with TDC's correction, which makes it stable: w ← w + α [δ s − γ (hᵀs) s̄]."""

    needs_means: ClassVar[bool] = True
    correction_step: float | StepSize = parameter(step_size(), default=0.01)

    def build(self, context: BuildContext, value_step: float | StepSize) -> GradientPart:
        bounded = getattr(as_step_size(value_step), "bounded", True)
        corrects = as_step_size(self.correction_step) != as_step_size(0.0)
        step = build_step(self.correction_step, context)
        return GradientPart(np.zeros(context.width), step, bounded and corrects)


UPDATES: dict[str, Callable[..., PlanningUpdate]] = {"levi": Levi, "gradient": Gradient}
