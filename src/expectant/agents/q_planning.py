"""Q-learning that also plans with action values: right with the true model, invalid with means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.agents.acting import epsilon_greedy
from expectant.agents.planner import (
    Planner,
    PlanningAgent,
    absorb,
    action_weights,
    backup_discount,
    pass_on_to_planner,
)
from expectant.descriptions import Setting, description, setting
from expectant.features.vector import dot
from expectant.rules import at_least, flag
from expectant.updates import move, q_learning
from expectant.verbs import act, backed_up_action_value, draw, learn, plan, preference, stored


class QPlanningPart(NamedTuple):
    weights: np.ndarray
    planner: Planner
    action_step: float
    epsilon: float
    discount: float
    stored_action: bool


pass_on_to_planner(QPlanningPart)


@preference.register(QPlanningPart)
def _(agent, state, action):
    return dot(state, agent.weights[action])


@act.register(QPlanningPart)
def _(agent, state, rng):
    return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)


@learn.register(QPlanningPart)
def _(agent, transition, rng):
    error = abs(q_learning(agent.weights, transition, agent.discount, agent.action_step))
    return error + absorb(agent.planner, transition, rng)


@plan.register(QPlanningPart)
def _(agent, rng):
    """q̂(s, a) towards AAVI's target, or the invalid one with an expectation model."""
    planner, weights, errors = agent.planner, agent.weights, 0.0
    for _ in range(planner.planning_steps):
        slot = draw(planner.backups, planner.drawn, rng)
        if agent.stored_action:
            action, _, _ = stored(planner.backups, slot)
        else:
            action = int(rng.random() * planner.actions)
        discount = backup_discount(planner, slot, agent.discount)
        target = backed_up_action_value(planner.model, planner.drawn, action, weights, discount)
        errors += abs(move(weights[action], planner.drawn, target, agent.action_step))
    return errors


@description
class QPlanning(PlanningAgent):
    """Q-learning plus backups of action values, each of one action in one drawn state.

    A distribution or sample model (``model="true"``, ``"distribution"``, ``"sample"``) backs up the
    mean of the maxima (AAVI). ``model="expectation"`` backs up the maximum of the mean, which the
    paper shows to be invalid in stochastic worlds; other expectation models do so only with
    ``invalid_update=True``.
    """

    action_step: float = setting(at_least(0.0))
    model_step: float = setting(at_least(0.0), default=0.1)
    stored_action: bool = setting(flag(), default=False, kw_only=True)
    invalid_update: bool = setting(flag(), default=False, kw_only=True)

    def validate(self) -> None:
        super().validate()
        means = self.model in ("episodic", "exact_episodic")  # the paper's two need no more words
        means = means or getattr(self.model, "predicts_means", False)
        if means and not self.invalid_update:
            raise ValueError(
                f"QPlanning: model={self.model!r} predicts only the mean of the next state, and "
                "Theorem 2 does not cover action values with such a model; invalid_update=True "
                "asks for that update all the same"
            )

    def build(self, setting: Setting) -> QPlanningPart:
        return QPlanningPart(
            action_weights(setting),
            self.planner(setting, self.model_step),
            self.scaled(self.action_step),
            self.epsilon,
            self.discount,
            self.stored_action,
        )
