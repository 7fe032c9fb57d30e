"""Q-learning: the model-free baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.agents.acting import epsilon_greedy
from expectant.agents.planner import weights_memory
from expectant.descriptions import description, option
from expectant.features.vector import dot
from expectant.parts import Agent, Need, Site
from expectant.rules import Rule, at_least
from expectant.updates import q_learning
from expectant.verbs import act, learn, preference


class QLearningPart(NamedTuple):
    weights: np.ndarray
    action_step: float
    epsilon: float
    discount: float


@preference.register(QLearningPart)
def _(agent, state, action):
    return dot(state, agent.weights[action])


@act.register(QLearningPart)
def _(agent, state, rng):
    return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)


@learn.register(QLearningPart)
def _(agent, transition, rng):
    return abs(q_learning(agent.weights, transition, agent.discount, agent.action_step))


def _zero(value: object) -> int:
    if value != 0 or isinstance(value, bool):
        raise ValueError
    return 0


@description
class QLearning(Agent):
    """ε-greedy one-step Q-learning with linear action values."""

    action_step: float = option(at_least(0.0))
    planning_steps: int = option(
        Rule("0, because Q-learning does not plan (QPlanning does)", _zero), default=0, kw_only=True
    )

    def estimate_memory(self, site: Site) -> Sequence[Need]:
        return [weights_memory("the action values", site, site.actions)]

    def build(self, site: Site) -> QLearningPart:
        return QLearningPart(
            self.action_weights(site),
            self.scaled(self.action_step, site),
            self.epsilon,
            self.discount,
        )
