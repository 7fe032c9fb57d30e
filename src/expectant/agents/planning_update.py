"""How planning moves state values: LEVI, or one of two forms of gradient planning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from expectant.agents.by_name import MODELS, named_model
from expectant.agents.planning_agent import PlanningAgent
from expectant.descriptions import abstract, option
from expectant.features.vector import dot
from expectant.parts import Model, Site
from expectant.rules import one_of
from expectant.step_sizes import StepSize, step_part, step_size
from expectant.updates import displacement, gradient_planning, gtd2_planning, levi_target, move
from expectant.verbs import improve

__all__ = [
    "StatePlanningAgent",
]

UPDATES = ("levi", "gradient", "gtd2")


class LeviPart(NamedTuple):
    """w ← w + α δ ∇v̂(s); nothing else is used."""

    correction_step: float


class GradientPart(NamedTuple):
    """LEVI and a correction; ``helper`` (D,) is h, which ``correction_step`` β moves.

    No update overshoots if ``bounded``.
    """

    helper: np.ndarray
    correction_step: object
    bounded: bool


class Gtd2Part(NamedTuple):
    """The gradient alone; as above."""

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
    helper, before = update.helper, dot(state, weights)
    error = gradient_planning(
        model, state, actions, weights, helper, discount, step, update.correction_step, rate,
        update.bounded,
    )  # fmt: skip
    return error, dot(state, weights) - before


@improve.register(Gtd2Part)
def _(update, model, actions, weights, state, discount, step, rate):
    helper, before = update.helper, dot(state, weights)
    error = gtd2_planning(
        model, state, actions, weights, helper, discount, step, update.correction_step, rate,
        update.bounded,
    )  # fmt: skip
    return error, dot(state, weights) - before


@abstract
class StatePlanningAgent(PlanningAgent):
    """An agent that plans with state values, described."""

    planning_update: str = option(one_of(*UPDATES), default="levi", kw_only=True)
    correction_step: float | StepSize = option(step_size(), default=0.01, kw_only=True)

    @classmethod
    def untuned_beside(cls, given: Mapping[str, object]) -> Mapping[str, object]:
        """LEVI where a gradient cannot be followed, and no bound where values are not linear."""
        found, linear = (
            dict(super().untuned_beside(given)),
            given.get("value", "linear") == "linear",
        )
        model = given.get("model", "expectation")
        if isinstance(model, str) and model in MODELS:
            model = named_model(model, 0.0)
        means = not isinstance(model, Model) or model.predicts_means  # their rule refuses others
        if not means or not linear or given.get("maintained", False):
            found.pop("planning_update", None)
        if not linear:
            found.pop("bounded_step", None)
        return found

    def validate(self) -> None:
        super().validate()
        model = named_model(self.model, 0.0)
        if self.planning_update != "levi" and not model.predicts_means:
            raise ValueError(
                f"{type(self).__name__}: planning_update={self.planning_update!r} needs an "
                "expectation model, which knows the mean next state (predicts_means), got "
                f"model={self.model!r}"
            )

    def update_part(self, site: Site) -> object:
        """What moves the state values when planning."""
        if self.planning_update == "levi":
            return LeviPart(0.0)
        step = step_part(self, self.correction_step, site)
        kind = GradientPart if self.planning_update == "gradient" else Gtd2Part
        bounded = self.bounded_step and self.correction_step != 0.0  # then it is LEVI, to the bit
        return kind(np.zeros(site.width), step, bounded)
