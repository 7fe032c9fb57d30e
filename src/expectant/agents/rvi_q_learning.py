"""RVI Q-learning: the baseline for average reward, which depends on a reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.agents.action_selection import act_on_action_values
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, BuildContext
from expectant.core.rules import Rule, either, one_of, whole
from expectant.core.updates import rvi_q_learning
from expectant.core.vectors import Binary, Weighted, dot, empty_state
from expectant.core.verbs import encode, function, learn, tick
from expectant.step_sizes import StepSize, build_step, step_size

PAIR, GREATEST, MEAN = 0, 1, 2
KINDS = {"max": GREATEST, "mean": MEAN}


class RVIQLearningPart(NamedTuple):
    """``reference`` is how f(Q) is computed; of one pair, its ``state`` and ``action``; ``size`` is
    how many features there are (the rows of weights are padded)."""

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
    """f(Q): the value of one pair, the greatest or the mean of all."""
    weights, actions = agent.weights, agent.weights.shape[0]
    if agent.reference == PAIR:
        return dot(agent.state, weights[agent.action])
    total, best = 0.0, weights[0, 0]
    for action in range(actions):
        for j in range(agent.size):
            total += weights[action, j]
            if weights[action, j] > best:
                best = weights[action, j]
    return best if agent.reference == GREATEST else total / (actions * agent.size)


@learn.register(RVIQLearningPart)
def _(agent, transition, rng):
    tick(agent.action_step)
    reference = reference_value(agent)
    return abs(rvi_q_learning(agent.weights, transition, reference, agent.action_step))


def _pair(value: object) -> tuple[int, int]:
    if not isinstance(value, Iterable):
        raise TypeError
    pair = tuple(whole(0).convert(item) for item in value)
    if len(pair) != 2:
        raise ValueError
    return pair[0], pair[1]


class RVIQLearning(Agent):
    """ε-greedy RVI Q-learning: relative action values for average reward, without a discount.

    The rate is f(Q) of a ``reference``: the value of one pair (state, action), or the "max" or the
    "mean" of all values, which need one feature per state. A pair whose state is not visited again
    and again is no reference: values then grow without bound.
    """

    discount: ClassVar[float] = 1.0  # type: ignore[misc]  # relative values have none
    centering: ClassVar[float] = 0.0  # type: ignore[misc]  # the rate is that of the reference
    action_step: float | StepSize = parameter(
        step_size(), default=0.3, meaning="step size of the action values"
    )
    reference: str | Sequence[int] = parameter(
        either(one_of(*KINDS), Rule("a pair of a state and an action", _pair)), default=(0, 0)
    )

    def build(self, context: BuildContext) -> RVIQLearningPart:
        state, action = self._reference(context)
        return RVIQLearningPart(
            self.action_weights(context),
            KINDS.get(self.reference, PAIR) if isinstance(self.reference, str) else PAIR,
            state,
            action,
            context.shape.size,
            build_step(self.action_step, context, context.actions),
            self.epsilon,
        )

    def _reference(self, context: BuildContext) -> tuple[Binary | Weighted, int]:
        """The feature vector and the action of the reference pair."""
        state, states = empty_state(context.shape), context.domain.states
        if isinstance(self.reference, str):
            if context.shape.size != states or context.shape.active != 1 or context.shape.weighted:
                raise ValueError(
                    f"RVIQLearning: reference={self.reference!r} needs one feature per state "
                    f"(OneHot), got {context.shape}"
                )
            return state, 0
        number, action = self.reference
        if (
            states is None
            or context.shape.remembers
            or number >= states
            or action >= context.actions
        ):
            raise ValueError(
                f"RVIQLearning: reference must be a state below {states} and an action below "
                f"{context.actions}, got {self.reference!r}"
            )
        encode(context.features_part, np.array([number]), -1, state)
        return state, action
