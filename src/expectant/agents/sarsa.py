"""On-policy agents: Sarsa(λ) and Expected Sarsa."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.agents.action_selection import act_on_action_values, epsilon_greedy
from expectant.agents.centering import (
    CenteringPart,
    build_centering,
    center_reward,
    update_average_reward,
)
from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, BuildContext
from expectant.core.memory import zeros
from expectant.core.rules import between
from expectant.core.updates import clear_trace, expected_sarsa, sarsa, true_online_sarsa
from expectant.core.vectors import dot
from expectant.core.verbs import function
from expectant.step_sizes import Fixed, StepSize, as_step_size, build_step, step_size

NO_ACTION = -1


class SarsaPart(NamedTuple):
    """``traces`` (A, D) are z, empty if λ = 0.

    ``next_action`` (1,) is the action already chosen for the next state, −1 if none; ``expected``
    (1,) is the value it had before the last update. ``bounded``: shorten z where it overshoots.
    """

    weights: np.ndarray
    traces: np.ndarray
    next_action: np.ndarray
    expected: np.ndarray
    action_step: object
    epsilon: float
    discount: float
    trace: float
    bounded: bool
    centering: CenteringPart


@verbs.preference.register(SarsaPart)
def _(agent, state, action):
    return dot(state, agent.weights[action])


@verbs.begin.register(SarsaPart)
@verbs.on_truncation.register(SarsaPart)
def _(agent, state, rng):
    """Clear the traces and the action chosen in advance."""
    agent.next_action[0] = NO_ACTION
    agent.expected[0] = 0.0
    for action in range(agent.traces.shape[0]):
        clear_trace(agent.traces[action])


@verbs.act.register(SarsaPart)
def _(agent, state, rng):
    chosen = agent.next_action[0]
    if chosen == NO_ACTION:
        return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)
    agent.next_action[0] = NO_ACTION
    return chosen


@verbs.learn.register(SarsaPart)
def _(agent, transition, rng):
    """Choose the next action before the update, then learn towards its value."""
    verbs.tick(agent.action_step)
    next_action = 0
    if transition.alive > 0.0:
        actions = agent.weights.shape[0]
        next_action = epsilon_greedy(agent, transition.next_state, actions, agent.epsilon, rng)
        agent.next_action[0] = next_action
    taken = center_reward(agent.centering, transition)
    error = update_action_values(agent, taken, next_action)
    centering, step = agent.centering, agent.action_step
    update_average_reward(centering, centering.real, step, taken.action, taken.state, error)
    return abs(error)


@function
def update_action_values(agent, transition, next_action):
    """Sarsa or true online Sarsa(λ); returns δ."""
    weights, traces, trace = agent.weights, agent.traces, agent.trace
    state, discount, bounded = transition.state, agent.discount, agent.bounded
    if trace == 0.0:
        return sarsa(weights, transition, next_action, discount, agent.action_step)
    verbs.adapt(agent.action_step, transition.action, state, 0.0)
    step = verbs.mean_rate(agent.action_step, transition.action, state)
    return true_online_sarsa(
        weights, traces, agent.expected, transition, next_action, discount, trace, step, bounded
    )


class Sarsa(Agent):
    """ε-greedy true online Sarsa(λ) with linear action values; ``trace`` is λ.

    With λ = 0 it is one-step Sarsa. A bounded step size shortens traces where an update would
    overshoot.
    """

    action_step: float | StepSize = parameter(step_size(), default=0.3)
    trace: float = parameter(between(0, 1), default=0.5, meaning="λ, the decay of the traces")

    def validate(self) -> None:
        if self.trace > 0.0 and not isinstance(as_step_size(self.action_step), Fixed):
            raise ValueError(
                f"Sarsa: with trace={self.trace:g} action_step must be a number or "
                f"ex.step_sizes.Fixed, because traces share one step size, got {self.action_step!r}"
            )

    def build(self, context: BuildContext) -> SarsaPart:
        return SarsaPart(
            self.action_weights(context),
            zeros((context.actions, context.width if self.trace > 0.0 else 0)),
            np.full(1, NO_ACTION, np.int64),
            np.zeros(1),
            build_step(self.action_step, context, context.actions),
            self.epsilon,
            self.discount,
            self.trace,
            getattr(as_step_size(self.action_step), "bounded", True),
            build_centering(self.centering, context),
        )


class ExpectedSarsaPart(NamedTuple):
    weights: np.ndarray
    action_step: object
    epsilon: float
    discount: float
    centering: CenteringPart


act_on_action_values(ExpectedSarsaPart)


@verbs.learn.register(ExpectedSarsaPart)
def _(agent, transition, rng):
    verbs.tick(agent.action_step)
    centering, step = agent.centering, agent.action_step
    taken = center_reward(centering, transition)
    error = expected_sarsa(agent.weights, taken, agent.epsilon, agent.discount, step)
    update_average_reward(centering, centering.real, step, taken.action, taken.state, error)
    return abs(error)


class ExpectedSarsa(Agent):
    """ε-greedy one-step expected Sarsa with linear action values."""

    action_step: float | StepSize = parameter(step_size(), default=0.2)

    def build(self, context: BuildContext) -> ExpectedSarsaPart:
        return ExpectedSarsaPart(
            self.action_weights(context),
            build_step(self.action_step, context, context.actions),
            self.epsilon,
            self.discount,
            build_centering(self.centering, context),
        )
