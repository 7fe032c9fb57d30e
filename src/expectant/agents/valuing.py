"""What the state values of an agent are: linear in the features, or a part of their own."""

from __future__ import annotations

from expectant.agents.by_name import named_model
from expectant.agents.planner import Planner
from expectant.agents.planning_update import StatePlanningAgent
from expectant.descriptions import abstract, option
from expectant.models.at_mean import at_mean
from expectant.parts import Site, Values
from expectant.rules import Rule, one_of
from expectant.step_sizes import StepSize


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
        if self.value != "linear":
            self._check_not_linear()

    def _check_not_linear(self) -> None:
        """Refuse what needs values that are linear in the features."""
        owner, given = type(self).__name__, f"got value={self.value!r}"
        if self.planning_update != "levi":
            raise ValueError(
                f"{owner}: planning_update={self.planning_update!r} follows the gradient of linear "
                f"values, {given}"
            )
        if self.distribution().draws_features:
            raise ValueError(
                f"{owner}: backups={self.backups!r} plans from single features, which needs linear "
                f"values, {given}"
            )
        if named_model(self.model, 0.0).several_steps:
            raise ValueError(
                f"{owner}: model={self.model!r} has discounts inside its means, which only linear "
                f"values can take out, {given}"
            )
        if self.options is not None:
            raise ValueError(f"{owner}: options are valued by linear values, {given}")
        if self.initial_value != 0.0:
            raise ValueError(
                f"{owner}: initial_value={self.initial_value!r} needs linear values, as others "
                f"start at 0, {given}"
            )
        if self.bounded_step or isinstance(getattr(self, "value_step", 0.0), StepSize):
            raise ValueError(
                f"{owner}: value_step must be a number and bounded_step False where values are not "
                f"linear, {given}"
            )

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
