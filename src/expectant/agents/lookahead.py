"""Algorithm 1: plan with state values, look one step ahead to decide."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, cast

from expectant.agents.action_selection import epsilon_greedy, write_epsilon_greedy
from expectant.agents.centering import CenteringPart, centered, shift_rate
from expectant.agents.planner import Planner, absorb, pass_on_to_planner, tell
from expectant.agents.planning_agent import DEFAULT_MODEL_STEP, PlanningAgent
from expectant.agents.planning_updates import Levi
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Values
from expectant.core.rules import Rule, one_of
from expectant.core.updates import displacement, move, td_target
from expectant.core.vectors import state_value
from expectant.core.verbs import (
    act,
    back_up,
    backed_up_value,
    behaviour_policy,
    breaks_ties_at_random,
    function,
    improve,
    learn,
    mean_rate,
    on_value_update,
    preference,
    tick,
)
from expectant.models.wrappers import evaluate_at_mean
from expectant.step_sizes import Fixed, StepSize, adapts, as_step_size, build_step, step_size


class LookaheadPart(NamedTuple):
    """``weights`` (D,) are those of the state values, or the part that these are."""

    weights: object
    planner: Planner
    update: object
    value_step: object
    epsilon: float
    discount: float
    centering: CenteringPart
    direct: bool
    shared_ties: bool


pass_on_to_planner(LookaheadPart)


@function
def move_values(agent, state, target):
    """w towards a target, and the model and the backups told of it; returns the error."""
    error = move(agent.weights, state, target, agent.value_step)
    on_value_update(
        agent.planner.model, state, mean_rate(agent.value_step, 0, state) * error, agent.discount
    )
    moved = displacement(agent.weights, state, error, agent.value_step)
    tell(agent.planner, state, error, moved)
    return error


@preference.register(LookaheadPart)
def _(agent, state, action):
    """b(s, a, w), the same look-ahead that planning backs up."""
    return backed_up_value(agent.planner.model, state, action, agent.weights, agent.discount)


@breaks_ties_at_random.register(LookaheadPart)
def _(agent):
    return agent.shared_ties


@act.register(LookaheadPart)
def _(agent, state, rng):
    return epsilon_greedy(agent, state, agent.planner.actions, agent.epsilon, rng)


@behaviour_policy.register(LookaheadPart)
def _(agent, state, probabilities):
    write_epsilon_greedy(agent, state, agent.epsilon, probabilities)


@learn.register(LookaheadPart)
def _(agent, transition, rng):
    tick(agent.value_step)
    centering, state = agent.centering, transition.state
    target = td_target(agent.weights, centered(centering, transition), agent.discount)
    if agent.direct:
        error = move_values(agent, state, target)
    else:
        error = target - state_value(agent.weights, state)
    shift_rate(centering, centering.real, agent.value_step, 0, state, error)
    return abs(error) + absorb(agent.planner, transition, rng)


@back_up.register(LookaheadPart)
def _(agent, state, slot, discount, rng):
    """The planning update on w."""
    planner, weights, step = agent.planner, agent.weights, agent.value_step
    centering = agent.centering
    error, moved = improve(
        agent.update, planner.model, planner.actions, weights, state, discount, step,
        centering.rate[0],
    )  # fmt: skip
    shift_rate(centering, centering.planned, step, 0, state, error)
    on_value_update(
        planner.model, state, mean_rate(agent.value_step, 0, state) * error, agent.discount
    )
    tell(planner, state, error, moved)
    return abs(error)


def _value_function(value: object) -> str | Values:
    return value if isinstance(value, Values) else one_of("linear").convert(value)


class Lookahead(PlanningAgent):
    """TD(0) and planning on state values; acts ε-greedily in b(s, a, w) = r + γ s̄ᵀw.

    Algorithm 1 of the paper; ``Lookahead.paper(...)`` is the algorithm as printed.
    """

    algorithm: ClassVar[str] = "Algorithm 1"
    value_step: float | StepSize = parameter(
        step_size(), default=0.3, meaning="step size of the state values"
    )
    model_step: float | StepSize = parameter(
        step_size(), default=DEFAULT_MODEL_STEP, meaning="step size of a model given by name"
    )
    values: str | Values = parameter(
        Rule("'linear' or ex.agents.NetworkValues", _value_function),
        default="linear",
        kw_only=True,
        meaning="form of the state values",
    )

    def validate(self) -> None:
        super().validate()
        if self.values == "linear":
            return
        refused = {
            "planning_update": (self.update().needs_means, "they have no linear gradient"),
            "backups": (self.distribution().draws_features, "it plans from single features"),
            "model": (self.used_model().several_steps, "its discounts need linear values"),
            "options": (self.options is not None, "options are valued by linear values"),
            "initial_value": (self.initial_value != 0.0, "such values start at 0"),
            "value_step": (
                not isinstance(as_step_size(self.value_step), Fixed), "all weights share one",
            ),
        }  # fmt: skip
        for name, (present, reason) in refused.items():
            if present:
                raise ValueError(
                    f"Lookahead: values={self.values!r} cannot be combined with "
                    f"{name}={getattr(self, name)!r}: {reason}"
                )

    def can_follow_gradient(self) -> bool:
        return self.values == "linear" and super().can_follow_gradient()

    def build(self, context: BuildContext) -> LookaheadPart:
        planner, step = self.planner(context), build_step(self.value_step, context)
        weights: Any = self.state_weights(context)
        if isinstance(self.values, Values):
            weights = self.values.build(context)
            step = cast(Fixed, as_step_size(self.value_step)).per_feature(context)
            if self.used_model().predicts_means:
                planner = planner._replace(model=evaluate_at_mean(planner.model, context))
        elif isinstance(self.update(), Levi) and self._keeps_lookahead():
            bound = self.used_model().bind(planner.model, weights, self.discount)
            planner = planner._replace(model=bound)
        return LookaheadPart(
            weights,
            planner,
            self.update().build(context, self.value_step),
            step,
            self.epsilon,
            self.discount,
            self.centering_part(context),
            context.learn_from_real_steps,
            self.interpretation.ties == "random",
        )

    def _keeps_lookahead(self) -> bool:
        """True if value steps go along the planned state, as cached look-ahead weights need."""
        return not adapts(self.value_step) and not self.interpretation.stored_termination
