"""Dyna-Q and Dyna-Q+: the textbook's planning agents."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from expectant.agents.action_selection import act_on_action_values
from expectant.agents.centering import CenteringPart, build_centering, update_average_reward
from expectant.agents.q_learning import learn_action_values
from expectant.backups import PrioritizedPairs, SeenPairs
from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, Backups, BuildContext
from expectant.core.rules import Rule, at_least, named_or, whole
from expectant.core.updates import move_row
from expectant.core.vectors import Binary, Weighted, empty_state, max_action_value
from expectant.core.verbs import delegate, function
from expectant.step_sizes import StepSize, build_step, step_size

NAMED = {"pairs": SeenPairs, "prioritized": PrioritizedPairs}


class DynaQPart(NamedTuple):
    """``memory`` stores the latest outcomes, which are the model.

    ``drawn`` and ``drawn_next`` are scratch; ``control`` (1,) becomes nonzero when the run stops.
    """

    weights: np.ndarray
    memory: object
    drawn: Binary | Weighted
    drawn_next: Binary | Weighted
    action_step: object
    epsilon: float
    discount: float
    planning_steps: int
    bonus: float
    centering: CenteringPart
    control: np.ndarray


delegate(DynaQPart, "memory", verbs.begin, verbs.on_truncation, verbs.free_capacity, verbs.grow)
act_on_action_values(DynaQPart)


@function
def report_action_update(agent, state, action, error):
    """Tell the memory that the value of an action has moved."""
    moved = verbs.value_change(agent.action_step, action, state, error)
    verbs.on_action_priority(
        agent.memory, agent.weights, state, action, moved, error, agent.discount
    )


@verbs.learn.register(DynaQPart)
def _(agent, transition, rng):
    error = learn_action_values(agent, transition)
    report_action_update(agent, transition.state, transition.action, error)
    verbs.remember(agent.memory, transition)
    return abs(error)


@function
def plan_once(agent, rng):
    """One update from a remembered outcome, with κ √τ added to its reward (S&B section 8.3)."""
    memory, drawn, weights = agent.memory, agent.drawn, agent.weights
    slot = verbs.draw(memory, drawn, rng)
    action, reward, alive = verbs.stored_transition(memory, slot)
    verbs.load_successor(memory, slot, agent.drawn_next)
    if agent.bonus > 0.0:
        reward += agent.bonus * math.sqrt(verbs.age(memory, slot))
    centering, step = agent.centering, agent.action_step
    target = reward - centering.rate[0]
    target += agent.discount * alive * max_action_value(weights, agent.drawn_next)
    error = move_row(weights, drawn, target, step, action)
    update_average_reward(centering, centering.planned, step, action, drawn, error)
    report_action_update(agent, drawn, action, error)
    return abs(error)


@verbs.plan.register(DynaQPart)
def _(agent, rng):
    errors = 0.0
    for _ in range(agent.planning_steps):
        if agent.control[0] != 0 or not verbs.can_draw(agent.memory):
            break
        errors += plan_once(agent, rng)
    return errors


def _storing_backups(value: object) -> str | Backups:
    backups = named_or(*NAMED, kind=Backups, words="").convert(value)
    if isinstance(backups, Backups) and not backups.stores_transitions:
        raise TypeError
    return backups


class DynaQ(Agent):
    """Q-learning plus ``planning_steps`` updates per step from remembered outcomes (S&B 8.2).

    The model is the latest outcome of every state-action pair tried. With a ``bonus`` κ it is
    Dyna-Q+: planned rewards grow by κ √τ, where τ is the number of steps since the pair was tried,
    and untried actions of visited states are planned as steps that stay there and pay 0.
    """

    action_step: float | StepSize = parameter(step_size(), default=0.3)
    planning_steps: int = parameter(whole(0), default=5, meaning="updates after every real step")
    bonus: float = parameter(at_least(0.0), default=0.0)
    backups: str | Backups = parameter(
        Rule("'pairs', 'prioritized' or backups that store transitions", _storing_backups),
        default="pairs",
        kw_only=True,
        meaning="pairs to plan from: uniformly, or by prioritized sweeping",
    )

    def validate(self) -> None:
        backups = self.resolve_backups()
        if self.bonus > 0.0 and not (isinstance(backups, SeenPairs) and backups.untried):
            raise ValueError(
                f"DynaQ: bonus={self.bonus:g} needs the age of every pair, tried or not: "
                f"backups='pairs' or SeenPairs(untried=True), got {self.backups!r}"
            )

    def resolve_backups(self) -> Backups:
        """The backup distribution that ``backups`` stands for."""
        if self.backups == "pairs":
            return SeenPairs(untried=self.bonus > 0.0)
        return NAMED[self.backups]() if isinstance(self.backups, str) else self.backups

    def build(self, context: BuildContext) -> DynaQPart:
        return DynaQPart(
            self.action_weights(context),
            self.resolve_backups().build(context),
            empty_state(context.shape),
            empty_state(context.shape),
            build_step(self.action_step, context, context.actions),
            self.epsilon,
            self.discount,
            self.planning_steps,
            self.bonus,
            build_centering(self.centering, context),
            context.control,
        )
