"""Dyna-Q and Dyna-Q+: the textbook's planning agents."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from expectant.agents.action_selection import act_on_action_values
from expectant.agents.centering import CenteringPart, centered, centering_part, shift_rate
from expectant.backups import PrioritizedPairs, SeenPairs
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, Backups, BuildContext
from expectant.core.rules import at_least, named_or, whole
from expectant.core.updates import move_row, q_learning
from expectant.core.vectors import Binary, Weighted, empty_state, max_action_value
from expectant.core.verbs import (
    age,
    begin,
    can_draw,
    delegate,
    draw,
    free_capacity,
    function,
    grow,
    learn,
    load_successor,
    on_action_priority,
    on_truncation,
    plan,
    relabel,
    remember,
    stored_transition,
    tick,
    value_change,
)
from expectant.step_sizes import StepSize, build_step, step_size

NAMED = {"pairs": SeenPairs, "prioritized": PrioritizedPairs}


class DynaQPart(NamedTuple):
    """``memory`` holds the latest outcomes, which are the model; ``drawn`` and ``drawn_next`` are
    scratch; ``control`` (1,) is not zero once planning is to be broken off."""

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


delegate(DynaQPart, "memory", begin, on_truncation, free_capacity, grow)


act_on_action_values(DynaQPart)


@function
def tell_memory(agent, state, action, error):
    """Let the memory know that an action's value has moved."""
    moved = value_change(agent.action_step, action, state, error)
    on_action_priority(agent.memory, agent.weights, state, action, moved, error, agent.discount)


@learn.register(DynaQPart)
def _(agent, transition, rng):
    tick(agent.action_step)
    centering, step, action = agent.centering, agent.action_step, transition.action
    error = q_learning(agent.weights, centered(centering, transition), agent.discount, step)
    shift_rate(centering, centering.real, step, action, transition.state, error)
    tell_memory(agent, transition.state, action, error)
    remember(agent.memory, transition)
    return abs(error)


@function
def replan(agent, rng):
    """One update by a remembered outcome, whose reward is raised by κ √τ (S&B section 8.3)."""
    memory, drawn, weights = agent.memory, agent.drawn, agent.weights
    slot = draw(memory, drawn, rng)
    action, reward, alive = stored_transition(memory, slot)
    load_successor(memory, slot, agent.drawn_next)
    if agent.bonus > 0.0:
        reward += agent.bonus * math.sqrt(age(memory, slot))
    centering, step = agent.centering, agent.action_step
    target = reward - centering.rate[0]
    target += agent.discount * alive * max_action_value(weights, agent.drawn_next)
    error = move_row(weights, drawn, target, step, action)
    shift_rate(centering, centering.planned, step, action, drawn, error)
    tell_memory(agent, drawn, action, error)
    return abs(error)


@plan.register(DynaQPart)
def _(agent, rng):
    errors = 0.0
    for _ in range(agent.planning_steps):
        if agent.control[0] != 0 or not can_draw(agent.memory):
            break
        errors += replan(agent, rng)
    return errors


@relabel.register(DynaQPart)
def _(agent, domain):
    """A model is not told that the world has changed."""


class DynaQ(Agent):
    """Q-learning plus ``planning_steps`` updates a step by remembered outcomes (S&B section 8.2).

    The model is the latest outcome of every pair of a state and an action that was tried;
    ``backups`` draws from them, "pairs" evenly, "prioritized" by prioritized sweeping. ``bonus`` is
    κ of Dyna-Q+: a planned reward grows by κ √τ, τ being the steps since the pair was last tried
    (since the beginning, if never), and actions that were never tried in a visited state are
    planned too, as steps that stay in the state and pay 0.
    """

    action_step: float | StepSize = parameter(
        step_size(), default=0.3, meaning="step size of the action values"
    )
    planning_steps: int = parameter(whole(0), default=5, meaning="updates after every real step")
    bonus: float = parameter(
        at_least(0.0), default=0.0, meaning="κ, the weight of Dyna-Q+'s exploration bonus"
    )
    backups: str | Backups = parameter(
        named_or(*NAMED, kind=Backups, words="a backup distribution"),
        default="pairs",
        kw_only=True,
        meaning="where planning starts from: tried pairs, evenly or by prioritized sweeping",
    )

    def validate(self) -> None:
        found = self.distribution()
        if not found.stores_transitions:
            raise ValueError(
                f"DynaQ: backups must store transitions, which are its model, got {self.backups!r}"
            )
        if self.bonus > 0.0 and not (isinstance(found, SeenPairs) and found.untried):
            raise ValueError(
                f"DynaQ: bonus={self.bonus:g} needs the age of every pair, tried or not: "
                f"backups='pairs' or SeenPairs(untried=True), got {self.backups!r}"
            )

    def distribution(self) -> Backups:
        """Where planning starts from, and what it goes by."""
        if self.backups == "pairs":
            return SeenPairs(untried=self.bonus > 0.0)
        return NAMED[self.backups]() if isinstance(self.backups, str) else self.backups

    def build(self, context: BuildContext) -> DynaQPart:
        return DynaQPart(
            self.action_weights(context),
            self.distribution().build(context),
            empty_state(context.shape),
            empty_state(context.shape),
            build_step(self.action_step, context, context.actions),
            self.epsilon,
            self.discount,
            self.planning_steps,
            self.bonus,
            centering_part(self.centering),
            context.control,
        )
