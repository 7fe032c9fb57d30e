"""Algorithm 1: plan with state values, look one step ahead to decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, cast

from expectant.agents.action_selection import act_epsilon_greedily
from expectant.agents.centering import CenteringPart, build_centering
from expectant.agents.planning_agent import MODEL_STEP, PlanningAgent
from expectant.agents.planning_loop import Planner, learn_model, pass_on_to_planner
from expectant.agents.planning_updates import Levi
from expectant.agents.state_values import learn_state_values, plan_state_values
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Values
from expectant.core.rules import Rule, one_of, whole
from expectant.core.verbs import back_up, backed_up_value, learn, preference, tick
from expectant.models.wrappers import evaluate_at_mean
from expectant.step_sizes import Fixed, StepSize, as_step_size, build_step, step_size


class LookaheadPart(NamedTuple):
    """``weights`` are the weights (D,) of linear state values, or the part of other values."""

    weights: object
    planner: Planner
    update: object
    value_step: object
    epsilon: float
    discount: float
    centering: CenteringPart
    learn_from_real_steps: bool
    random_ties: bool


pass_on_to_planner(LookaheadPart)
act_epsilon_greedily(LookaheadPart)


@preference.register(LookaheadPart)
def _(agent, state, action):
    """b(s, a, w), the look-ahead that planning backs up."""
    return backed_up_value(agent.planner.model, state, action, agent.weights, agent.discount)


@learn.register(LookaheadPart)
def _(agent, transition, rng):
    tick(agent.value_step)
    error = learn_state_values(agent, transition)
    return abs(error) + learn_model(agent.planner, transition, rng)


@back_up.register(LookaheadPart)
def _(agent, state, slot, discount, rng):
    return abs(plan_state_values(agent, state, discount))


def _value_function(value: object) -> str | Values:
    return value if isinstance(value, Values) else one_of("linear").convert(value)


class Lookahead(PlanningAgent):
    """TD(0) and planning on state values; acts ε-greedily in b(s, a, w) = r + γ s̄ᵀw.

    Algorithm 1 of the paper; ``Lookahead.paper(...)`` is the algorithm as printed.
    """

    algorithm: ClassVar[str] = "Algorithm 1"
    value_step: float | StepSize = parameter(step_size(), default=0.3)
    model_step: str | float | StepSize = parameter(MODEL_STEP, default="auto")
    planning_steps: int = parameter(whole(0), default=10, kw_only=True)
    values: str | Values = parameter(
        Rule("'linear' or ex.agents.NetworkValues", _value_function),
        default="linear",
        kw_only=True,
        meaning="form of the state values",
    )

    def conflicts(self) -> Iterator[tuple[str, str]]:
        yield from super().conflicts()
        needs_linear_values = {
            "planning_update": self.resolve_update().needs_means,
            "backups": self.resolve_backups().draws_features,
            "model": self.resolve_model().several_steps,
            "options": self.options is not None,
            "initial_value": self.initial_value != 0.0,
            "value_step": not isinstance(as_step_size(self.value_step), Fixed),
        }
        for name, needed in needs_linear_values.items():
            if needed and self.values != "linear":
                yield name, f"needs linear values, got values={self.values!r}"

    def can_fit_least_squares(self) -> bool:
        return self.values == "linear" and super().can_fit_least_squares()

    def can_follow_gradient(self) -> bool:
        return self.values == "linear" and super().can_follow_gradient()

    def build(self, context: BuildContext) -> LookaheadPart:
        planner, step = self.build_planner(context), build_step(self.value_step, context)
        weights: Any = self.state_weights(context)
        model, update = self.resolve_model(), self.resolve_update()
        if isinstance(self.values, Values):
            weights = self.values.build(context)
            step = cast(Fixed, as_step_size(self.value_step)).per_feature(context)
            if model.predicts_means:
                planner = planner._replace(model=evaluate_at_mean(planner.model, context))
        elif isinstance(update, Levi) and self._moves_along_states():
            bound = model.bind(planner.model, weights, self.discount)
            planner = planner._replace(model=bound)
        return LookaheadPart(
            weights,
            planner,
            update.build(context, self.value_step),
            step,
            self.epsilon,
            self.discount,
            build_centering(self.centering, context),
            context.learn_from_real_steps,
            self.interpretation.ties == "random",
        )

    def _moves_along_states(self) -> bool:
        """True if every value update is along the state, as cached look-ahead weights need."""
        adapts = as_step_size(self.value_step).adapts
        return not adapts and not self.interpretation.stored_termination
