"""Q-learning: the model-free baseline."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from expectant.agents.action_selection import act_on_action_values
from expectant.agents.centering import (
    CenteringPart,
    build_centering,
    center_reward,
    update_average_reward,
)
from expectant.agents.paper import INTERPRETATION, Interpretation, build_paper_agent
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, BuildContext
from expectant.core.updates import q_learning
from expectant.core.verbs import function, learn, tick
from expectant.step_sizes import StepSize, build_step, step_size


class QLearningPart(NamedTuple):
    weights: np.ndarray
    action_step: object
    epsilon: float
    discount: float
    centering: CenteringPart
    random_ties: bool


act_on_action_values(QLearningPart)


@function
def learn_action_values(agent, transition):
    """Q-learning with the centered reward; returns δ."""
    centering, step = agent.centering, agent.action_step
    tick(step)
    taken = center_reward(centering, transition)
    error = q_learning(agent.weights, taken, agent.discount, step)
    update_average_reward(centering, centering.real, step, taken.action, taken.state, error)
    return error


@learn.register(QLearningPart)
def _(agent, transition, rng):
    return abs(learn_action_values(agent, transition))


class QLearning(Agent):
    """ε-greedy one-step Q-learning with linear action values."""

    action_step: float | StepSize = parameter(step_size(), default=0.2)
    interpretation: Interpretation = parameter(
        INTERPRETATION, default=Interpretation(), kw_only=True, hidden=True
    )

    @classmethod
    def paper(cls, *steps: float | StepSize, **parameters: Any) -> Self:
        """Make the agent as the paper uses it, see :meth:`PlanningAgent.paper`."""
        return build_paper_agent(cls, steps, parameters)

    def build(self, context: BuildContext) -> QLearningPart:
        return QLearningPart(
            self.action_weights(context),
            build_step(self.action_step, context, context.actions),
            self.epsilon,
            self.discount,
            build_centering(self.centering, context),
            self.interpretation.ties == "random",
        )
