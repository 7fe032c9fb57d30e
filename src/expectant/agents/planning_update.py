"""Agents that plan with state values: by LEVI or along a gradient, with values of either kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from expectant.agents.planner import Planner
from expectant.agents.planning_agent import (
    MODELS,
    PlanningAgent,
    named_model,
    refuse_combinations,
)
from expectant.descriptions import abstract, option
from expectant.features.vector import dot
from expectant.models.wrappers import at_mean
from expectant.parts import Model, Site, Values
from expectant.rules import Rule, one_of
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


def _value_function(value: object) -> str | Values:
    if isinstance(value, Values):
        return value
    return one_of("linear").convert(value)


@abstract
class ValuingAgent(StatePlanningAgent):
    """An agent that plans with state values of either kind, described."""

    value: str | Values = option(
        Rule("'linear' or ex.NetworkValues", _value_function), default="linear", kw_only=True
    )

    def validate(self) -> None:
        super().validate()
        if self.value == "linear":
            return
        step = getattr(self, "value_step", 0.0)
        refused = {
            "planning_update": (
                self.planning_update != "levi", "it follows the gradient of linear values",
            ),
            "backups": (
                self.distribution().draws_features, "it plans from single features",
            ),
            "model": (
                named_model(self.model, 0.0).several_steps,
                "it has discounts inside its means, which only linear values can take out",
            ),
            "options": (self.options is not None, "options are valued by linear values"),
            "initial_value": (self.initial_value != 0.0, "such values start at 0"),
            "bounded_step": (self.bounded_step, "it must be False where values are not linear"),
            "value_step": (
                isinstance(step, StepSize), "it must be a number where values are not linear",
            ),
        }  # fmt: skip
        refuse_combinations(self, f"value={self.value!r}", refused)

    def values_part(self, site: Site) -> object:
        """Weights (D,), or the part that the values are."""
        given = self.value
        return self.state_weights(site) if isinstance(given, str) else given.build(site)

    def planner(self, site: Site, model_step: float | StepSize) -> Planner:
        """The part all planning agents share, with a model that can be asked with such values."""
        planner = super().planner(site, model_step)
        if self.value == "linear" or not self._by_means():
            return planner
        return planner._replace(model=at_mean(planner.model, site))

    def _by_means(self) -> bool:
        """Whether the model knows only the mean of the next state."""
        return named_model(self.model, 0.0).predicts_means
