"""Expected Sarsa: the future is worth what the ε-greedy policy makes of it, on average."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.agents.acting import act_on_action_values
from expectant.agents.centering import CenteringPart, centered, centering_part, shift_rate
from expectant.agents.untuned import ACTIONS, LEFT_OUT
from expectant.descriptions import description, option
from expectant.parts import Agent, Site
from expectant.step_sizes import StepSize, step_part, step_size
from expectant.updates import expected_sarsa
from expectant.verbs import learn, tick


class ExpectedSarsaPart(NamedTuple):
    weights: np.ndarray
    action_step: object
    epsilon: float
    discount: float
    centering: CenteringPart


act_on_action_values(ExpectedSarsaPart)


@learn.register(ExpectedSarsaPart)
def _(agent, transition, rng):
    tick(agent.action_step)
    centering, step = agent.centering, agent.action_step
    taken = centered(centering, transition)
    error = expected_sarsa(agent.weights, taken, agent.epsilon, agent.discount, step)
    shift_rate(centering, centering.real, step, taken.action, taken.state, error)
    return abs(error)


@description
class ExpectedSarsa(Agent):
    """ε-greedy one-step expected Sarsa with linear action values."""

    untuned = ACTIONS

    action_step: float | StepSize = option(step_size(), default=LEFT_OUT)

    def build(self, site: Site) -> ExpectedSarsaPart:
        return ExpectedSarsaPart(
            self.action_weights(site),
            step_part(self, self.action_step, site, site.actions),
            self.epsilon,
            self.discount,
            centering_part(self.centering),
        )
