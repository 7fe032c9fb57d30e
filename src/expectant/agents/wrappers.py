"""Wrappers around agents: learn first and plan later, or learn values by planning alone."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from expectant.agents.planning_agent import PlanningAgent
from expectant.agents.planning_loop import learn_model
from expectant.core import verbs
from expectant.core.config import parameter, unknown_parameter
from expectant.core.interfaces import Agent, BuildContext
from expectant.core.rules import instance_of, whole
from expectant.core.verbs import delegate


class FreezeAfterPart(NamedTuple):
    """``taken`` (1,) counts real steps; the ``agent`` learns from the first ``steps`` of them."""

    agent: object
    steps: int
    taken: np.ndarray


delegate(
    FreezeAfterPart, "agent", verbs.act, verbs.preference, verbs.policy, verbs.relabel, verbs.begin,
    verbs.on_truncation, verbs.free_capacity, verbs.grow,
)  # fmt: skip


def inner_agent(agent: Any) -> Any:
    """Return the part that values and plans: itself, or the one in the field ``agent``."""
    return inner_agent(agent.agent) if hasattr(agent, "agent") else agent


@verbs.learn.register(FreezeAfterPart)
def _(frozen, transition, rng):
    frozen.taken[0] += 1
    if frozen.taken[0] > frozen.steps:
        return 0.0
    return verbs.learn(frozen.agent, transition, rng)


@verbs.plan.register(FreezeAfterPart)
def _(frozen, rng):
    return verbs.plan(frozen.agent, rng) if frozen.taken[0] > frozen.steps else 0.0


class GreedyLearningPart(NamedTuple):
    """``agent`` learns values only from greedy actions."""

    agent: object


delegate(
    GreedyLearningPart, "agent", verbs.act, verbs.preference, verbs.policy, verbs.plan,
    verbs.relabel, verbs.begin, verbs.on_truncation, verbs.free_capacity, verbs.grow,
)  # fmt: skip


@verbs.learn.register(GreedyLearningPart)
def _(wrapper, transition, rng):
    """Fit only the model if another action is preferred to the one taken."""
    agent, state = wrapper.agent, transition.state
    taken = verbs.preference(agent, state, transition.action)
    for action in range(agent.planner.actions):
        if verbs.preference(agent, state, action) > taken:
            return learn_model(agent.planner, transition, rng)
    return verbs.learn(agent, transition, rng)


def _parameter_names(agent: object) -> list[str]:
    """Return the names that ``replace`` of an agent takes, those of inner agents included."""
    names = [field.name for field in dataclasses.fields(agent)] if isinstance(agent, Agent) else []
    return names + (_parameter_names(agent.agent) if isinstance(agent, AgentWrapper) else [])


class AgentWrapper(Agent, abstract=True):
    """Base of agents that wrap an ``agent`` and share its parameters."""

    agent: Agent = parameter(instance_of(Agent, "an agent"), meaning="the inner agent")
    epsilon: ClassVar[Any] = property(lambda self: self.agent.epsilon)  # type: ignore[misc]
    discount: ClassVar[Any] = property(lambda self: self.agent.discount)  # type: ignore[misc]
    initial_value: ClassVar[Any] = property(lambda self: self.agent.initial_value)  # type: ignore[misc]
    centering: ClassVar[Any] = property(lambda self: self.agent.centering)  # type: ignore[misc]

    def replace(self, **changes: Any) -> Self:
        """Return the same agent with parameters changed, its own or those of the inner agent."""
        agent = changes.pop("agent", self.agent)
        own = [field.name for field in dataclasses.fields(self)]
        known = own + _parameter_names(agent)
        inner = {name: changes.pop(name) for name in set(changes) - set(own)}
        for name in set(inner) - set(known):
            raise unknown_parameter(type(self).__name__, name, inner[name], known)
        return super().replace(agent=agent.replace(**inner) if inner else agent, **changes)

    def build(self, context: BuildContext) -> object:
        return self.build_agent(context)


def unwrapped_agent(agent: Agent) -> Any:
    """Return the agent inside all wrappers, or the agent itself."""
    return unwrapped_agent(agent.agent) if isinstance(agent, AgentWrapper) else agent


class FreezeAfter(AgentWrapper):
    """Learn without planning for ``steps`` real steps, then plan with learning frozen."""

    steps: int = parameter(whole(1), meaning="real steps to learn from")

    def build_agent(self, context: BuildContext) -> FreezeAfterPart:
        return FreezeAfterPart(self.agent.build_agent(context), self.steps, np.zeros(1, np.int64))


class PlanningOnly(AgentWrapper):
    """Learn values by planning alone: real steps teach the ``agent`` only its model."""

    def validate(self) -> None:
        if not isinstance(self.agent, PlanningAgent) or self.agent.planning_steps == 0:
            raise ValueError(
                f"{type(self).__name__}: agent must be a planning agent with planning_steps of 1 "
                f"or more, got {self.agent!r}"
            )

    def build_agent(self, context: BuildContext) -> object:
        return self.agent.build_agent(dataclasses.replace(context, learn_from_real_steps=False))


class GreedyLearning(PlanningOnly):
    """Learn values from greedy actions and by planning: others teach only the model.

    So the linear Dyna of Wan et al. (2022) learns, whose values are those of the greedy policy.
    """

    def validate(self) -> None:
        super().validate()
        if self.agent.option_set.options:  # type: ignore[attr-defined]
            raise ValueError("GreedyLearning: agent must have no options")

    def build_agent(self, context: BuildContext) -> GreedyLearningPart:
        return GreedyLearningPart(self.agent.build_agent(context))
