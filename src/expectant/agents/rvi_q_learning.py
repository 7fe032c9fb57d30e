"""RVI Q-learning: relative value iteration for average reward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.agents.action_selection import act_on_action_values
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, BuildContext
from expectant.core.rules import either, list_of, one_of, whole
from expectant.core.updates import rvi_q_learning
from expectant.core.vectors import Binary, Weighted, dot, empty_state
from expectant.core.verbs import encode, function, learn, tick
from expectant.step_sizes import StepSize, build_step, step_size

PAIR, MAX, MEAN = range(3)
REFERENCES = {"max": MAX, "mean": MEAN}


class RVIQLearningPart(NamedTuple):
    """``reference`` selects f(Q); ``state`` and ``action`` are the reference pair.

    ``size`` is the number of features (rows of weights are padded).
    """

    weights: np.ndarray
    reference: int
    state: Binary | Weighted
    action: int
    size: int
    action_step: object
    epsilon: float


act_on_action_values(RVIQLearningPart)


@function
def reference_value(agent):
    """f(Q): the value of the reference pair, or the maximum or mean of all values."""
    weights, actions = agent.weights, agent.weights.shape[0]
    if agent.reference == PAIR:
        return dot(agent.state, weights[agent.action])
    total, best = 0.0, weights[0, 0]
    for action in range(actions):
        for j in range(agent.size):
            total += weights[action, j]
            if weights[action, j] > best:
                best = weights[action, j]
    return best if agent.reference == MAX else total / (actions * agent.size)


@learn.register(RVIQLearningPart)
def _(agent, transition, rng):
    tick(agent.action_step)
    reference = reference_value(agent)
    return abs(rvi_q_learning(agent.weights, transition, reference, agent.action_step))


class RVIQLearning(Agent):
    """ε-greedy RVI Q-learning: relative action values for average reward, without a discount.

    The average reward is f(Q): the value of a ``reference`` pair (state, action), or the "max" or
    "mean" of all values, which needs one feature per state. The state of the pair must be visited
    again and again: otherwise values grow without bound.
    """

    discount: ClassVar[float] = 1.0  # type: ignore[misc]  # relative values have none
    centering: ClassVar[float] = 0.0  # type: ignore[misc]  # the rate is that of the reference
    action_step: float | StepSize = parameter(step_size(), default=0.3)
    reference: str | Sequence[int] = parameter(
        either(one_of(*REFERENCES), list_of(whole(0), "a pair of a state and an action", size=2)),
        default=(0, 0),
    )

    def build(self, context: BuildContext) -> RVIQLearningPart:
        state, action = self._reference(context)
        return RVIQLearningPart(
            self.action_weights(context),
            REFERENCES.get(self.reference, PAIR) if isinstance(self.reference, str) else PAIR,
            state,
            action,
            context.shape.size,
            build_step(self.action_step, context, context.actions),
            self.epsilon,
        )

    def _reference(self, context: BuildContext) -> tuple[Binary | Weighted, int]:
        """Return the feature vector and the action of the reference pair."""
        state, states = empty_state(context.shape), context.domain.states
        if isinstance(self.reference, str):
            if context.shape.size != states or context.shape.active != 1 or context.shape.weighted:
                raise ValueError(
                    f"RVIQLearning: reference={self.reference!r} needs one feature per state "
                    f"(OneHot), got {context.shape}"
                )
            return state, 0
        state_index, action = self.reference
        if (
            states is None
            or context.shape.remembers
            or state_index >= states
            or action >= context.actions
        ):
            raise ValueError(
                f"RVIQLearning: reference must be a state below {states} and an action below "
                f"{context.actions}, got {self.reference!r}"
            )
        encode(context.features_part, np.array([state_index]), -1, state)
        return state, action
