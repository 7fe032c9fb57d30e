"""Algorithm 2: plan with state values, keep the backed-up values as action values to act on."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.agents.action_selection import act_epsilon_greedily
from expectant.agents.centering import CenteringPart, build_centering, center_reward
from expectant.agents.planning_agent import MODEL_STEP, PlanningAgent
from expectant.agents.planning_loop import Planner, learn_model, pass_on_to_planner
from expectant.agents.state_values import learn_state_values, plan_state_values
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext
from expectant.core.rules import whole
from expectant.core.updates import move_row, td_target
from expectant.core.vectors import dot
from expectant.core.verbs import back_up, backed_up_value, function, learn, preference, tick
from expectant.step_sizes import StepSize, build_step, step_size


class CachedValuesPart(NamedTuple):
    """``weights`` (D,) are those of the state values, ``action_weights`` (A, D) the cache."""

    weights: np.ndarray
    action_weights: np.ndarray
    planner: Planner
    update: object
    value_step: object
    action_step: object
    epsilon: float
    discount: float
    printed_delta: bool
    centering: CenteringPart
    learn_from_real_steps: bool
    cache_first: bool
    greedy_only: bool
    random_ties: bool


pass_on_to_planner(CachedValuesPart)
act_epsilon_greedily(CachedValuesPart)


@preference.register(CachedValuesPart)
def _(agent, state, action):
    return dot(state, agent.action_weights[action])


@learn.register(CachedValuesPart)
def _(agent, transition, rng):
    """TD(0) on w, then q̂ towards R + γ v̂(s') with the new w (or towards δ, as printed)."""
    tick(agent.value_step)
    tick(agent.action_step)
    taken, cache_error = center_reward(agent.centering, transition), 0.0
    error = learn_state_values(agent, transition)
    if agent.learn_from_real_steps:
        target = error if agent.printed_delta else td_target(agent.weights, taken, agent.discount)
        cache_error = move_row(
            agent.action_weights, taken.state, target, agent.action_step, taken.action
        )
    return abs(error) + abs(cache_error) + learn_model(agent.planner, transition, rng)


@function
def fill_cache(agent, state, discount):
    """q̂(s, a) towards b(s, a, w) of every action, or of the best one; returns the errors."""
    planner, rate, errors = agent.planner, agent.centering.rate[0], 0.0
    best, highest = -1, -math.inf
    if agent.greedy_only:
        for action in range(planner.actions):
            target = backed_up_value(planner.model, state, action, agent.weights, discount)
            if target > highest:
                best, highest = action, target
    for action in range(planner.actions):
        if best < 0 or action == best:
            target = backed_up_value(planner.model, state, action, agent.weights, discount)
            target -= rate
            errors += abs(move_row(agent.action_weights, state, target, agent.action_step, action))
    return errors


@back_up.register(CachedValuesPart)
def _(agent, state, slot, discount, rng):
    """The planning update on w, then q̂(s, a) towards b(s, a, w) with the new w.

    With ``cache_first`` q̂ moves first, towards b(s, a, w) with the old w.
    """
    errors = fill_cache(agent, state, discount) if agent.cache_first else 0.0
    error = plan_state_values(agent, state, discount)
    if not agent.cache_first:
        errors += fill_cache(agent, state, discount)
    return errors + abs(error)


class CachedValues(PlanningAgent):
    """TD(0) and planning on state values, cached as action values; acts ε-greedily in the cache.

    Algorithm 2 of the paper. A backup moves w and then the action values of every action.
    """

    algorithm: ClassVar[str] = "Algorithm 2"
    value_step: float | StepSize = parameter(step_size(), default=0.3)
    action_step: float | StepSize = parameter(step_size(), default=0.5)
    model_step: str | float | StepSize = parameter(MODEL_STEP, default="auto")
    planning_steps: int = parameter(whole(0), default=10, kw_only=True)

    def build(self, context: BuildContext) -> CachedValuesPart:
        return CachedValuesPart(
            self.state_weights(context),
            self.action_weights(context),
            self.build_planner(context),
            self.resolve_update().build(context, self.value_step),
            build_step(self.value_step, context),
            build_step(self.action_step, context, context.actions),
            self.epsilon,
            self.discount,
            self.interpretation.printed_delta,
            build_centering(self.centering, context),
            context.learn_from_real_steps,
            self.interpretation.cache_first,
            self.interpretation.cached_actions == "greedy",
            self.interpretation.ties == "random",
        )
