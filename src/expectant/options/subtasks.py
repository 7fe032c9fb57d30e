"""Subtasks, and options learned for them by an off-policy actor-critic.

The subtask of attaining feature i with a bonus *respects rewards* (Sutton et al. 2023): its
cumulant is the reward, and stopping in s is worth z(s) = wᵀs − w_i s_i + bonus · s_i, with the
agent's value weights w. A *shortest path* ignores rewards and values: z(s) = bonus · s_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Option
from expectant.core.memory import zeros
from expectant.core.rules import at_least, between, flag, number, whole
from expectant.core.updates import (
    bound_trace,
    clear_trace,
    enter_trace,
    follow_trace,
    leave_trace,
    softmax,
)
from expectant.core.vectors import add, dot
from expectant.core.verbs import function, index, size, value


class SubtaskOptionsPart(NamedTuple):
    """``values`` (n, D) are the critics' v_o, ``policies`` (n, A, D) the θ of softmax policies.

    ``features`` (n,), ``bonuses`` (n,) and ``respects_rewards`` (n,) define the subtasks;
    ``stops_anywhere`` (n,) options may stop outside their subgoal. ``steps`` (n, 3) are α of the
    critic, α' of the actor and λ; ``weights`` (D,) are the agent's as of the last step.
    ``value_traces`` (n, D) and ``policy_traces`` (n, A, D) are the e; ``probabilities`` (A,) is
    scratch.
    """

    values: np.ndarray
    policies: np.ndarray
    features: np.ndarray
    bonuses: np.ndarray
    respects_rewards: np.ndarray
    stops_anywhere: np.ndarray
    steps: np.ndarray
    weights: np.ndarray
    value_traces: np.ndarray
    policy_traces: np.ndarray
    probabilities: np.ndarray


@function
def subtask_feature(options, option, state):
    """s_i, the value of the subtask's feature."""
    total = 0.0
    for n in range(size(state)):
        if index(state, n) == options.features[option]:
            total += value(state, n)
    return total


@function
def stopping_value(options, option, state):
    """z(s) = wᵀs − w_i s_i + bonus · s_i; without the values for a shortest path."""
    feature = subtask_feature(options, option, state)
    if not options.respects_rewards[option]:
        return options.bonuses[option] * feature
    weight = options.weights[options.features[option]]
    return dot(state, options.weights) + (options.bonuses[option] - weight) * feature


@function
def can_stop(options, option, state):
    """True where z(s) ≥ v_o(s), in the subgoal or if the option may stop anywhere."""
    if not options.stops_anywhere[option] and subtask_feature(options, option, state) == 0.0:
        return False
    return stopping_value(options, option, state) >= dot(state, options.values[option])


@verbs.policy_of.register(SubtaskOptionsPart)
def _(options, number, state, probabilities):
    softmax(options.policies[number], state, probabilities)


@verbs.stop_of.register(SubtaskOptionsPart)
def _(options, number, state):
    return 1.0 if can_stop(options, number, state) else 0.0


@function
def subtask_error(options, option, transition, discount):
    """Return δ = c + γ[(1 − β) v_o(s') + β z(s')] − v_o(s) and 1 − β; no future at the end."""
    cumulant = transition.reward if options.respects_rewards[option] else 0.0
    error = cumulant - dot(transition.state, options.values[option])
    if transition.alive == 0.0:
        return error, 0.0
    if can_stop(options, option, transition.next_state):
        return error + discount * stopping_value(options, option, transition.next_state), 0.0
    return error + discount * dot(transition.next_state, options.values[option]), 1.0


@function
def improve_option(options, option, transition, ratio, discount):
    """One step of the critic v_o and the actor π_o with the same δ; returns |δ|.

    The actor's trace is e ← ρ(e + ∇log π_o(a | s)), where ∇ is (1[b = a] − π_b) s in θ_b. Only the
    critic's trace is bounded: the actor has no target to overshoot.
    """
    step, policy_step = options.steps[option, 0], options.steps[option, 1]
    error, continues = subtask_error(options, option, transition, discount)
    enter_trace(options.value_traces[option], transition.state, ratio)
    bound_trace(options.value_traces[option], transition.state, step)
    follow_trace(options.values[option], options.value_traces[option], step * error)
    decay = discount * options.steps[option, 2] * continues
    leave_trace(options.value_traces[option], decay)
    for action in range(options.policies.shape[1]):
        trace = options.policy_traces[option, action]
        taken = 1.0 if action == transition.action else 0.0
        add(transition.state, trace, taken - options.probabilities[action])
        leave_trace(trace, ratio)
        follow_trace(options.policies[option, action], trace, policy_step * error)
        leave_trace(trace, decay)
    return abs(error)


@verbs.learn_options.register(SubtaskOptionsPart)
def _(options, transition, behaviour, weights, discount):
    errors = 0.0
    for i in range(weights.shape[0]):
        options.weights[i] = weights[i]
    for option in range(options.values.shape[0]):
        softmax(options.policies[option], transition.state, options.probabilities)
        ratio = options.probabilities[transition.action] / behaviour[transition.action]
        errors += improve_option(options, option, transition, ratio, discount)
    return errors


@verbs.begin.register(SubtaskOptionsPart)
def _(options, state, rng):
    for option in range(options.values.shape[0]):
        clear_trace(options.value_traces[option])
        for action in range(options.policies.shape[1]):
            clear_trace(options.policy_traces[option, action])


class Subtask(Option, abstract=True):
    """Base of subtasks of attaining a feature; step sizes are in total, over active features."""

    feature: int = parameter(whole(0), meaning="number of the feature to attain")
    bonus: float = parameter(number(), default=1.0)
    step: float = parameter(
        at_least(0.0), default=0.1, kw_only=True, meaning="α, the step size of the critic"
    )
    policy_step: float = parameter(
        at_least(0.0), default=0.1, kw_only=True, meaning="α', the step size of the actor"
    )
    trace: float = parameter(
        between(0, 1), default=0.0, kw_only=True, meaning="λ, the decay of the traces of both"
    )

    respects_rewards: ClassVar[bool] = True

    @property
    def learns(self) -> bool:
        return True

    @classmethod
    def build_together(
        cls, options: Sequence[Subtask], context: BuildContext
    ) -> SubtaskOptionsPart:
        for option in options:
            if option.feature >= context.shape.size:
                raise ValueError(
                    f"{cls.__name__}: feature must be below {context.shape.size}, "
                    f"got {option.feature}"
                )
        count, width, actions = len(options), context.width, context.actions
        steps = np.array([(option.step, option.policy_step) for option in options])
        traces = np.array([(option.trace,) for option in options])
        return SubtaskOptionsPart(
            zeros((count, width)),
            zeros((count, actions, width)),
            np.array([option.feature for option in options]),
            np.array([option.bonus for option in options]),
            np.array([option.respects_rewards for option in options]),
            np.array([getattr(option, "anywhere", False) for option in options]),
            np.hstack([steps / context.shape.active, traces]),
            zeros(width),
            zeros((count, width)),
            zeros((count, actions, width)),
            zeros(actions),
        )


class RewardRespecting(Subtask):
    """An option that attains a feature without sacrificing rewards.

    It maximises the rewards on the way plus the value of the state where it stops, in which the
    bonus replaces the value of the feature. It stops where that is worth at least as much as going
    on, in a state that has the feature, or ``anywhere``.
    """

    anywhere: bool = parameter(flag(), default=False, kw_only=True)


class ShortestPath(Subtask):
    """An option that attains a feature as soon as possible, ignoring rewards."""

    respects_rewards: ClassVar[bool] = False
