"""Subtasks, and options that are learned for them by an off-policy actor and critic.

A subtask says what an option is good for: the rewards on its way, and what stopping is worth. That
of attaining feature i with a bonus *respects rewards* (Sutton et al. 2023): its cumulant is the
reward itself, and stopping in s is worth z(s) = wᵀs − w_i s_i + bonus · s_i, by the agent's own
value weights w. A *shortest path* ignores rewards and values: z(s) = s_i, and γ makes it hurry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
from expectant.core.verbs import (
    begin,
    function,
    index,
    learn_options,
    policy_of,
    size,
    stop_of,
    value,
)


class SubtaskOptionsPart(NamedTuple):
    """Options that learn: ``values`` (n, D) are the critics' v_o, ``policies`` (n, A, D) softmax.

    ``features`` (n,), ``bonuses`` (n,) and ``respects`` (n,) say what the subtasks are,
    ``anywhere`` (n,) whether an option may stop outside its subgoal. ``steps`` (n, 3) are α of the
    critic, α' of the actor and λ; ``weights`` (D,) the agent's own, as of the last step.
    ``value_traces`` (n, D) and ``policy_traces`` (n, A, D) are the e; ``probabilities`` (A,) is
    scratch.
    """

    values: np.ndarray
    policies: np.ndarray
    features: np.ndarray
    bonuses: np.ndarray
    respects: np.ndarray
    anywhere: np.ndarray
    steps: np.ndarray
    weights: np.ndarray
    value_traces: np.ndarray
    policy_traces: np.ndarray
    probabilities: np.ndarray


@function
def attained(options, option, state):
    """s_i, how much of the subtask's feature there is."""
    total = 0.0
    for n in range(size(state)):
        if index(state, n) == options.features[option]:
            total += value(state, n)
    return total


@function
def stopping_value(options, option, state):
    """z(s) = wᵀs − w_i s_i + bonus · s_i; without the values for a shortest path."""
    here = attained(options, option, state)
    if not options.respects[option]:
        return options.bonuses[option] * here
    own = options.weights[options.features[option]]
    return dot(state, options.weights) + (options.bonuses[option] - own) * here


@function
def stops(options, option, state):
    """Whether to stop in s: where z(s) ≥ v_o(s), if it is a place to stop at."""
    if not options.anywhere[option] and attained(options, option, state) == 0.0:
        return False
    return stopping_value(options, option, state) >= dot(state, options.values[option])


@policy_of.register(SubtaskOptionsPart)
def _(options, number, state, probabilities):
    softmax(options.policies[number], state, probabilities)


@stop_of.register(SubtaskOptionsPart)
def _(options, number, state):
    return 1.0 if stops(options, number, state) else 0.0


@function
def subtask_error(options, option, transition, discount):
    """δ = c + γ[(1 − β) v_o(s') + β z(s')] − v_o(s), nothing at the end; and 1 − β."""
    cumulant = transition.reward if options.respects[option] else 0.0
    error = cumulant - dot(transition.state, options.values[option])
    if transition.alive == 0.0:
        return error, 0.0
    if stops(options, option, transition.next_state):
        return error + discount * stopping_value(options, option, transition.next_state), 0.0
    return error + discount * dot(transition.next_state, options.values[option]), 1.0


@function
def enter_policy_trace(options, option, transition, ratio):
    """e ← ρ(e + ∇log π_o(a | s)), where ∇ is (1[b = a] − π_b) s in θ_b."""
    state = transition.state
    for other in range(options.policies.shape[1]):
        trace = options.policy_traces[option, other]
        taken = 1.0 if other == transition.action else 0.0
        add(state, trace, taken - options.probabilities[other])
        leave_trace(trace, ratio)


@function
def improve_option(options, option, transition, ratio, discount):
    """One step of the critic v_o and the actor π_o, with one δ; returns its size.

    The actor's trace is not cut, as nothing there can overshoot; the critic's is.
    """
    step, policy_step = options.steps[option, 0], options.steps[option, 1]
    error, going_on = subtask_error(options, option, transition, discount)
    enter_trace(options.value_traces[option], transition.state, ratio)
    bound_trace(options.value_traces[option], transition.state, step)
    follow_trace(options.values[option], options.value_traces[option], step * error)
    enter_policy_trace(options, option, transition, ratio)
    decay = discount * options.steps[option, 2] * going_on
    leave_trace(options.value_traces[option], decay)
    for action in range(options.policies.shape[1]):
        eligible = options.policy_traces[option, action]
        follow_trace(options.policies[option, action], eligible, policy_step * error)
        leave_trace(eligible, decay)
    return abs(error)


@learn_options.register(SubtaskOptionsPart)
def _(options, transition, behaviour, weights, discount):
    errors = 0.0
    for i in range(weights.shape[0]):
        options.weights[i] = weights[i]
    for which in range(options.values.shape[0]):
        softmax(options.policies[which], transition.state, options.probabilities)
        ratio = options.probabilities[transition.action] / behaviour[transition.action]
        errors += improve_option(options, which, transition, ratio, discount)
    return errors


@begin.register(SubtaskOptionsPart)
def _(options, state, rng):
    for which in range(options.values.shape[0]):
        clear_trace(options.value_traces[which])
        for action in range(options.policies.shape[1]):
            clear_trace(options.policy_traces[which, action])


class Subtask(Option, abstract=True):
    """What subtasks share: the feature to attain, and how the option for it is learned.

    ``step`` is the critic's step size α, ``policy_step`` the actor's α', both shared out among the
    active features; ``trace`` is λ.
    """

    feature: int = parameter(whole(0), meaning="number of the feature to attain")
    bonus: float = parameter(number(), default=1.0)
    step: float = parameter(
        at_least(0.0), default=0.1, kw_only=True, meaning="α of the critic, which learns its values"
    )
    policy_step: float = parameter(
        at_least(0.0), default=0.1, kw_only=True, meaning="α' of the actor, which learns what to do"
    )
    trace: float = parameter(
        between(0, 1), default=0.0, kw_only=True, meaning="λ, how long both credit earlier states"
    )

    @property
    def learns(self) -> bool:
        return True

    @property
    def respects(self) -> bool:
        """Whether its cumulant is the reward, and values count where it stops."""
        return True

    @property
    def stops_anywhere(self) -> bool:
        return False

    @classmethod
    def build_together(
        cls, options: Sequence[Subtask], context: BuildContext
    ) -> SubtaskOptionsPart:
        for found in options:
            if found.feature >= context.shape.size:
                raise ValueError(
                    f"{cls.__name__}: feature must be below {context.shape.size}, "
                    f"got {found.feature}"
                )
        count, width, actions = len(options), context.width, context.actions
        steps = [(found.step, found.policy_step) for found in options]
        traces = [(found.trace,) for found in options]
        return SubtaskOptionsPart(
            zeros((count, width)),
            zeros((count, actions, width)),
            np.array([found.feature for found in options]),
            np.array([found.bonus for found in options]),
            np.array([found.respects for found in options]),
            np.array([found.stops_anywhere for found in options]),
            np.hstack([np.array(steps) / context.shape.active, np.array(traces)]),
            zeros(width),
            zeros((count, width)),
            zeros((count, actions, width)),
            zeros(actions),
        )

    def build(self, context: BuildContext) -> SubtaskOptionsPart:
        return self.build_together([self], context)


class RewardRespecting(Subtask):
    """An option that is learned to attain a feature without disregard for rewards.

    It earns rewards on its way, and where it stops the worth of the state, in which a bonus takes
    the place of what the feature is worth. It stops where that is at least as much as going on, in
    a state that has the feature, or ``anywhere``.
    """

    anywhere: bool = parameter(flag(), default=False, kw_only=True)

    @property
    def stops_anywhere(self) -> bool:
        return self.anywhere


class ShortestPath(Subtask):
    """An option that is learned to attain a feature soonest, whatever that costs."""

    @property
    def respects(self) -> bool:
        return False
