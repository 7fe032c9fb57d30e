"""Algorithm 3: plan with state values, push their gradient into an explicit policy."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.agents.action_selection import sample_action
from expectant.agents.centering import CenteringPart, build_centering
from expectant.agents.planning_agent import MODEL_STEP, UPDATE, PlanningAgent
from expectant.agents.planning_loop import Planner, learn_model, pass_on_to_planner
from expectant.agents.planning_updates import PlanningUpdate
from expectant.agents.state_values import learn_state_values, plan_state_values
from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext
from expectant.core.memory import zeros
from expectant.core.rules import between
from expectant.core.updates import policy_gradient, softmax
from expectant.core.vectors import dot
from expectant.core.verbs import function
from expectant.step_sizes import StepSize, build_step, step_size


class CachedPolicyPart(NamedTuple):
    """``policy`` (A, D) is θ; ``probabilities`` (A,) is scratch for π_θ(· | s)."""

    weights: np.ndarray
    policy: np.ndarray
    planner: Planner
    update: object
    value_step: object
    policy_step: object
    entropy: float
    epsilon: float
    discount: float
    probabilities: np.ndarray
    centering: CenteringPart
    learn_from_real_steps: bool
    old_target: bool


pass_on_to_planner(CachedPolicyPart)


@function
def sample_policy(agent, state, rng):
    """a ~ π_θ(· | s); the probabilities stay in the agent's scratch array."""
    softmax(agent.policy, state, agent.probabilities)
    return sample_action(agent.probabilities, rng)


@function
def follow_policy_gradient(agent, state, action, error):
    """One policy-gradient step with the probabilities in the scratch array."""
    policy_gradient(
        agent.policy, state, action, error, agent.entropy, agent.probabilities, agent.policy_step
    )


@verbs.preference.register(CachedPolicyPart)
def _(agent, state, action):
    return dot(state, agent.policy[action])


@verbs.policy.register(CachedPolicyPart)
def _(agent, state, probabilities):
    softmax(agent.policy, state, probabilities)


@verbs.act.register(CachedPolicyPart)
def _(agent, state, rng):
    if agent.epsilon > 0.0 and rng.random() < agent.epsilon:
        return int(rng.random() * agent.policy.shape[0])
    return sample_policy(agent, state, rng)


@verbs.behaviour_policy.register(CachedPolicyPart)
def _(agent, state, probabilities):
    softmax(agent.policy, state, probabilities)
    for action in range(probabilities.shape[0]):
        explored = agent.epsilon / probabilities.shape[0]
        probabilities[action] = explored + (1.0 - agent.epsilon) * probabilities[action]


@verbs.learn.register(CachedPolicyPart)
def _(agent, transition, rng):
    """TD(0) on w, then θ with the same δ."""
    verbs.tick(agent.value_step)
    verbs.tick(agent.policy_step)
    error = learn_state_values(agent, transition)
    if agent.learn_from_real_steps:
        softmax(agent.policy, transition.state, agent.probabilities)
        follow_policy_gradient(agent, transition.state, transition.action, error)
    return abs(error) + learn_model(agent.planner, transition, rng)


@verbs.back_up.register(CachedPolicyPart)
def _(agent, state, slot, discount, rng):
    """The planning update on w; then a ~ π_θ and θ along δ ∇log π, δ = b(s, a, w) − wᵀs.

    With ``old_target`` b(s, a, w) is that of the old w.
    """
    model, weights = agent.planner.model, agent.weights
    action, target = -1, 0.0
    if agent.old_target:
        action = sample_policy(agent, state, rng)
        target = verbs.backed_up_value(model, state, action, weights, discount)
    error = plan_state_values(agent, state, discount)
    if not agent.old_target:
        action = sample_policy(agent, state, rng)
        target = verbs.backed_up_value(model, state, action, weights, discount)
    policy_error = target - agent.centering.rate[0] - dot(state, weights)
    follow_policy_gradient(agent, state, action, policy_error)
    return abs(error)


class CachedPolicy(PlanningAgent):
    """TD(0) and planning on state values; acts by a softmax policy learned from their errors.

    Algorithm 3 of the paper. The softmax explores by itself; ε adds uniform exploration.
    """

    algorithm: ClassVar[str] = "Algorithm 3"
    gradient_step: ClassVar[float | StepSize] = 0.3
    optimism: ClassVar[float] = 0.0
    value_step: float | StepSize = parameter(step_size(), default=0.3)
    policy_step: float | StepSize = parameter(step_size(), default=0.1)
    model_step: str | float | StepSize = parameter(MODEL_STEP, default="auto")
    epsilon: float = parameter(
        between(0, 1),
        default=0.0,
        kw_only=True,
        meaning="probability of a random action on top of the softmax",
    )
    planning_update: str | PlanningUpdate = parameter(
        UPDATE, default="levi", kw_only=True, meaning="how a backup moves the state values"
    )

    def build(self, context: BuildContext) -> CachedPolicyPart:
        return CachedPolicyPart(
            self.state_weights(context),
            zeros((context.actions, context.width)),
            self.build_planner(context),
            self.resolve_update().build(context, self.value_step),
            build_step(self.value_step, context),
            build_step(self.policy_step, context, context.actions),
            self.interpretation.entropy,
            self.epsilon,
            self.discount,
            zeros(context.actions),
            build_centering(self.centering, context),
            context.learn_from_real_steps,
            self.interpretation.old_target,
        )
