"""Planning with action values: sound with a distribution model, invalid with expectations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.agents.action_selection import act_on_action_values
from expectant.agents.centering import (
    CenteringPart,
    build_centering,
    center_reward,
    update_average_reward,
)
from expectant.agents.planning_agent import PlanningAgent
from expectant.agents.planning_loop import Planner, learn_model, pass_on_to_planner
from expectant.backups import NAMED_BACKUPS, PrioritizedPairs
from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext
from expectant.core.updates import move_row, q_learning, q_target
from expectant.core.vectors import dot
from expectant.core.verbs import function
from expectant.step_sizes import StepSize, build_step, step_size


class QPlanningPart(NamedTuple):
    weights: np.ndarray
    planner: Planner
    action_step: object
    epsilon: float
    discount: float
    stored_action: bool
    centering: CenteringPart
    learn_from_real_steps: bool
    random_ties: bool


pass_on_to_planner(QPlanningPart)
act_on_action_values(QPlanningPart)


@function
def report_action_update(agent, state, action, error):
    """Tell the backup distribution that the value of an action has moved."""
    moved = verbs.value_change(agent.action_step, action, state, error)
    backups = agent.planner.backups
    verbs.on_action_priority(backups, agent.weights, state, action, moved, error, agent.discount)


@verbs.learn.register(QPlanningPart)
def _(agent, transition, rng):
    verbs.tick(agent.action_step)
    centering, step, action = agent.centering, agent.action_step, transition.action
    taken = center_reward(centering, transition)
    if agent.learn_from_real_steps:
        error = q_learning(agent.weights, taken, agent.discount, step)
        report_action_update(agent, taken.state, action, error)
    else:
        target = q_target(agent.weights, taken, agent.discount)
        error = target - dot(taken.state, agent.weights[action])
    update_average_reward(centering, centering.real, step, action, taken.state, error)
    return abs(error) + learn_model(agent.planner, transition, rng)


@verbs.back_up.register(QPlanningPart)
def _(agent, state, slot, discount, rng):
    """q̂(s, a) towards AAVI's target, or the invalid one with an expectation model."""
    planner, weights = agent.planner, agent.weights
    if agent.stored_action and slot >= 0:
        action, _, _ = verbs.stored_transition(planner.backups, slot)
    else:
        action = int(rng.random() * planner.actions)
    target = verbs.backed_up_action_value(planner.model, state, action, weights, discount)
    centering, step = agent.centering, agent.action_step
    error = move_row(weights, state, target - centering.rate[0], step, action)
    update_average_reward(centering, centering.planned, step, action, state, error)
    report_action_update(agent, state, action, error)
    return abs(error)


class QPlanning(PlanningAgent):
    """Q-learning plus backups of action values, each of one action in one drawn state.

    A distribution or sample model ("true", "distribution", "sample") backs up the mean of the
    maxima (AAVI). An expectation model backs up the maximum of the mean, which the paper shows to
    be invalid in stochastic environments.
    """

    # action values have their own update and cannot plan with options
    planning_update: ClassVar[str] = "levi"  # type: ignore[misc]
    options: ClassVar[None] = None  # type: ignore[misc]
    backup_names: ClassVar[Mapping[str, Callable[[int | None], Backups]]] = {
        **NAMED_BACKUPS,
        "prioritized": lambda capacity: PrioritizedPairs(),
    }
    action_step: float | StepSize = parameter(step_size(), default=0.3)
    model_step: float | StepSize = parameter(
        step_size(), default=0.3, meaning="step size of a named model"
    )

    def build(self, context: BuildContext) -> QPlanningPart:
        return QPlanningPart(
            self.action_weights(context),
            self.build_planner(context),
            build_step(self.action_step, context, context.actions),
            self.epsilon,
            self.discount,
            self.interpretation.stored_action or self.resolve_backups().draws_actions,
            build_centering(self.centering, context),
            context.learn_from_real_steps,
            self.interpretation.ties == "random",
        )
