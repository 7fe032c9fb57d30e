"""Algorithm 1: plan with state values, look one step ahead to decide."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, cast

import numpy as np

from expectant.agents.acting import epsilon_greedy, write_epsilon_greedy
from expectant.agents.centering import CenteringPart, centered, shift_rate
from expectant.agents.planner import Planner, absorb, pass_on_to_planner, tell
from expectant.agents.planning_agent import named_model, refuse_combinations
from expectant.agents.planning_update import ValuingAgent
from expectant.agents.untuned import LEFT_OUT, LOOKAHEAD
from expectant.descriptions import description, option
from expectant.features.vector import outlook
from expectant.models.expectation import LinearExpectation, LinearPart
from expectant.models.wrappers import maintained
from expectant.parts import Site
from expectant.rules import flag, one_of
from expectant.step_sizes import StepSize, adapts, step_part, step_size
from expectant.updates import displacement, move, td_target
from expectant.verbs import (
    act,
    back_up,
    backed_up_value,
    behave,
    follow,
    function,
    improve,
    learn,
    mean_rate,
    preference,
    shares_ties,
    tick,
)


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
    follow(
        agent.planner.model, state, mean_rate(agent.value_step, 0, state) * error, agent.discount
    )
    moved = displacement(agent.weights, state, error, agent.value_step)
    tell(agent.planner, state, error, moved)
    return error


@preference.register(LookaheadPart)
def _(agent, state, action):
    """b(s, a, w), the same look-ahead that planning backs up."""
    return backed_up_value(agent.planner.model, state, action, agent.weights, agent.discount)


@shares_ties.register(LookaheadPart)
def _(agent):
    return agent.shared_ties


@act.register(LookaheadPart)
def _(agent, state, rng):
    return epsilon_greedy(agent, state, agent.planner.actions, agent.epsilon, rng)


@behave.register(LookaheadPart)
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
        error = target - outlook(agent.weights, state)
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
    follow(planner.model, state, mean_rate(agent.value_step, 0, state) * error, agent.discount)
    tell(planner, state, error, moved)
    return abs(error)


@description
class Lookahead(ValuingAgent):
    """TD(0) and LEVI on state values; acts ε-greedily in b(s, a, w) = r + γ s̄ᵀw.

    ``maintained=True`` keeps the look-ahead's own weights up to date: a decision then costs O(A k)
    instead of O(A k d), but a step of learning and planning costs more. A ``value_step``
    leaves all defaults "without any step"; ``Lookahead().replace(value_step=…)`` keeps the others.
    """

    algorithm: ClassVar[str] = "Algorithm 1"
    untuned = LOOKAHEAD

    value_step: float | StepSize = option(step_size(), default=LEFT_OUT)
    model_step: float | StepSize = option(step_size(), default=0.1)
    maintained: bool = option(flag(), default=False, kw_only=True)
    ties: str = option(one_of("random", "first"), default="random", kw_only=True)

    def validate(self) -> None:
        super().validate()
        if not self.maintained:
            return
        along = "it keeps up with value steps along the planned state only"
        refused = {
            "model": (
                type(named_model(self.model, 0.0)) is not LinearExpectation,
                "it needs model='expectation', whose look-ahead is linear in the features",
            ),
            "value": (self.value != "linear", "only linear values have look-ahead weights"),
            "options": (self.options is not None, "it keeps look-ahead weights of actions only"),
            "stored_termination": (self.stored_termination, "the discount is in its weights"),
            "bonus": (self.bonus > 0.0, "its weights have no place for a bonus"),
            "value_step": (adapts(self.value_step), along),
            "planning_update": (self.planning_update != "levi", along),
        }
        refuse_combinations(self, "maintained=True", refused)

    def build(self, site: Site) -> LookaheadPart:
        weights, planner = self.values_part(site), self.planner(site, self.model_step)
        if self.maintained:
            model = cast(LinearPart, planner.model)  # validate allows no other
            upkept = maintained(model, cast(np.ndarray, weights), self.discount)
            planner = planner._replace(model=upkept)
        return LookaheadPart(
            weights,
            planner,
            self.update_part(site),
            step_part(self, self.value_step, site),
            self.epsilon,
            self.discount,
            self.centering_part(),
            self.direct,
            self.ties == "random",
        )
