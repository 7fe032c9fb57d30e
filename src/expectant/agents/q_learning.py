"""Q-learning: the model-free baseline."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.agents.acting import act_on_action_values
from expectant.agents.centering import CenteringPart, centered, centering_part, shift_rate
from expectant.agents.untuned import LEFT_OUT, Q_LEARNING
from expectant.descriptions import description, option
from expectant.parts import Agent, Site
from expectant.rules import Rule, one_of
from expectant.step_sizes import StepSize, step_part, step_size
from expectant.updates import q_learning
from expectant.verbs import learn, shares_ties, tick


class QLearningPart(NamedTuple):
    weights: np.ndarray
    action_step: object
    epsilon: float
    discount: float
    centering: CenteringPart
    shared_ties: bool


act_on_action_values(QLearningPart)


@shares_ties.register(QLearningPart)
def _(agent):
    return agent.shared_ties


@learn.register(QLearningPart)
def _(agent, transition, rng):
    tick(agent.action_step)
    centering, step = agent.centering, agent.action_step
    error = q_learning(agent.weights, centered(centering, transition), agent.discount, step)
    shift_rate(centering, centering.real, step, transition.action, transition.state, error)
    return abs(error)


def _zero(value: object) -> int:
    if value != 0 or isinstance(value, bool):
        raise ValueError
    return 0


@description
class QLearning(Agent):
    """ε-greedy one-step Q-learning with linear action values."""

    untuned = Q_LEARNING

    action_step: float | StepSize = option(step_size(), default=LEFT_OUT)
    planning_steps: int = option(
        Rule("0, because Q-learning does not plan (QPlanning does)", _zero), default=0, kw_only=True
    )
    ties: str = option(one_of("random", "first"), default="random", kw_only=True)

    def build(self, site: Site) -> QLearningPart:
        return QLearningPart(
            self.action_weights(site),
            step_part(self, self.action_step, site, site.actions),
            self.epsilon,
            self.discount,
            centering_part(self.centering),
            self.ties == "random",
        )
