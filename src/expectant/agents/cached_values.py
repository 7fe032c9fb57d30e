"""Algorithm 2: plan with state values, keep the backed-up values as action values to act on."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.agents.action_selection import epsilon_greedy, write_epsilon_greedy
from expectant.agents.centering import CenteringPart, centered, shift_rate
from expectant.agents.planner import Planner, absorb, pass_on_to_planner, tell
from expectant.agents.planning_agent import DEFAULT_MODEL_STEP, PlanningAgent
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext
from expectant.core.updates import displacement, move, move_row, td_target
from expectant.core.vectors import dot, state_value
from expectant.core.verbs import (
    act,
    back_up,
    backed_up_value,
    behaviour_policy,
    breaks_ties_at_random,
    function,
    improve,
    learn,
    preference,
    tick,
)
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
    direct: bool
    cache_first: bool
    greedy_only: bool
    shared_ties: bool


pass_on_to_planner(CachedValuesPart)


@preference.register(CachedValuesPart)
def _(agent, state, action):
    return dot(state, agent.action_weights[action])


@breaks_ties_at_random.register(CachedValuesPart)
def _(agent):
    return agent.shared_ties


@act.register(CachedValuesPart)
def _(agent, state, rng):
    return epsilon_greedy(agent, state, agent.action_weights.shape[0], agent.epsilon, rng)


@behaviour_policy.register(CachedValuesPart)
def _(agent, state, probabilities):
    write_epsilon_greedy(agent, state, agent.epsilon, probabilities)


@learn.register(CachedValuesPart)
def _(agent, transition, rng):
    """TD(0) on w, then q̂ towards r + γ v̂(s') with the new w (or towards δ, as printed)."""
    tick(agent.value_step)
    tick(agent.action_step)
    weights, discount, centering = agent.weights, agent.discount, agent.centering
    taken, step, cache_error = centered(centering, transition), agent.value_step, 0.0
    target = td_target(weights, taken, discount)
    if agent.direct:
        error = move(weights, taken.state, target, step)
        tell(agent.planner, taken.state, error, displacement(weights, taken.state, error, step))
        cached = error if agent.printed_delta else td_target(weights, taken, discount)
        cache_error = move_row(
            agent.action_weights, taken.state, cached, agent.action_step, taken.action
        )
    else:
        error = target - state_value(weights, taken.state)
    shift_rate(centering, centering.real, step, 0, taken.state, error)
    return abs(error) + abs(cache_error) + absorb(agent.planner, transition, rng)


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

    With ``cache_first`` q̂ comes first, and its targets are those of the old w.
    """
    planner, weights, centering = agent.planner, agent.weights, agent.centering
    errors = fill_cache(agent, state, discount) if agent.cache_first else 0.0
    error, moved = improve(
        agent.update, planner.model, planner.actions, weights, state, discount, agent.value_step,
        centering.rate[0],
    )  # fmt: skip
    shift_rate(centering, centering.planned, agent.value_step, 0, state, error)
    tell(planner, state, error, moved)
    if not agent.cache_first:
        errors += fill_cache(agent, state, discount)
    return errors + abs(error)


class CachedValues(PlanningAgent):
    """TD(0) and planning on state values, cached into action values; acts ε-greedily in those.

    Algorithm 2 of the paper. A backup moves w and then the action values of every action.
    """

    algorithm: ClassVar[str] = "Algorithm 2"
    value_step: float | StepSize = parameter(
        step_size(), default=0.3, meaning="step size of the state values"
    )
    action_step: float | StepSize = parameter(
        step_size(), default=1.0, meaning="step size of the action values"
    )
    model_step: float | StepSize = parameter(
        step_size(), default=DEFAULT_MODEL_STEP, meaning="step size of a model given by name"
    )

    def build(self, context: BuildContext) -> CachedValuesPart:
        return CachedValuesPart(
            self.state_weights(context),
            self.action_weights(context),
            self.planner(context),
            self.update().build(context, self.value_step),
            build_step(self.value_step, context),
            build_step(self.action_step, context, context.actions),
            self.epsilon,
            self.discount,
            self.interpretation.printed_delta,
            self.centering_part(context),
            context.learn_from_real_steps,
            self.interpretation.cache_first,
            self.interpretation.cached_actions == "greedy",
            self.interpretation.ties == "random",
        )
