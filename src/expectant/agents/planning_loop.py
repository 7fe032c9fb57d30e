"""The planning loop that all planning agents share: fit the model, draw states, back them up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.interfaces import BuildContext, Model, Shape
from expectant.core.vectors import Binary, Transition, Weighted, empty_state
from expectant.core.verbs import delegate, function

__all__ = ["Planner", "learn_model", "pass_on_to_planner", "plan_backups"]


class NoBackups(NamedTuple):
    """Placeholder for the backup distribution of an agent that does not plan."""

    none: float


class Planner(NamedTuple):
    """``drawn`` and ``drawn_next`` are scratch for a drawn state and its successor.

    ``control`` (1,) becomes nonzero when the run has to stop; planning then ends early.
    """

    model: object
    backups: object
    drawn: Binary | Weighted
    drawn_next: Binary | Weighted
    actions: int
    planning_steps: int
    replayed_fits: int
    relabelled: bool
    stored_termination: bool
    rollout: object
    control: np.ndarray


delegate(Planner, "backups", verbs.free_capacity, verbs.grow)


@function
def learn_model(planner, transition, rng):
    """Store a real transition, fit the model to it and to replayed ones; returns the errors."""
    verbs.remember(planner.backups, transition)
    verbs.on_transition(planner.model, transition)
    errors = verbs.fit(planner.model, transition)
    for _ in range(planner.replayed_fits):
        if planner.control[0] != 0:
            break
        slot = verbs.draw(planner.backups, planner.drawn, rng)
        verbs.load_successor(planner.backups, slot, planner.drawn_next)
        action, reward, alive = verbs.stored_transition(planner.backups, slot)
        replayed = Transition(planner.drawn, action, reward, planner.drawn_next, alive, -1)
        errors += verbs.fit(planner.model, replayed)
    return errors


@function
def plan_backups(agent, rng):
    """Draw and back up ``planning_steps`` states, and all that follow one; returns the errors.

    One place in the code makes backups, because everything in a kernel is inlined.
    """
    planner, errors, steps, follows = agent.planner, 0.0, 0, False
    while follows or (
        steps < planner.planning_steps
        and planner.control[0] == 0
        and verbs.can_draw(planner.backups)
    ):
        if not follows:
            steps += 1
        slot, discount = verbs.draw(planner.backups, planner.drawn, rng), agent.discount
        if planner.stored_termination:
            _, _, alive = verbs.stored_transition(planner.backups, slot)
            discount *= alive
        errors += verbs.back_up(agent, planner.drawn, slot, discount, rng)
        errors += verbs.roll_out(planner.rollout, agent, rng)
        follows = verbs.has_more_draws(planner.backups)
    return errors


@verbs.relabel.register(Planner)
def _(planner, domain):
    if planner.relabelled:
        verbs.relabel(planner.backups, domain)


@verbs.begin.register(Planner)
def _(planner, state, rng):
    verbs.begin(planner.model, state, rng)
    verbs.begin(planner.backups, state, rng)


@verbs.on_truncation.register(Planner)
def _(planner, state, rng):
    verbs.on_truncation(planner.model, state, rng)
    verbs.on_truncation(planner.backups, state, rng)


def without_planning(agent: Any) -> Any:
    """Return the same part without the memory it needs only to plan.

    Probes copy and compile only this, so agents that differ in nothing else share a kernel.
    """
    planner = getattr(agent, "planner", None)
    if not isinstance(planner, Planner):
        return agent
    return agent._replace(planner=planner._replace(backups=NoBackups(0.0), rollout=NoRollout(1)))


def pass_on_to_planner(part_type: type) -> None:
    """Register planning, and delegate the verbs of episodes and storage to the planner."""
    verbs.plan.register(part_type)(plan_backups)
    delegate(
        part_type,
        "planner",
        verbs.relabel,
        verbs.begin,
        verbs.on_truncation,
        verbs.free_capacity,
        verbs.grow,
    )


class NoRollout(NamedTuple):
    """Placeholder for one-step backups."""

    length: int


class RolloutPart(NamedTuple):
    """``length`` backups from every drawn state, itself included; the rest is scratch."""

    length: int
    state: Binary | Weighted
    next_state: Binary | Weighted


@verbs.roll_out.register(RolloutPart)
def _(rollout, agent, rng):
    """Follow the agent's policy through the model, from the state that was just backed up."""
    planner, state, errors = agent.planner, rollout.state, 0.0
    alive = verbs.sample_next(
        planner.model, planner.drawn, verbs.act(agent, planner.drawn, rng), state
    )
    for _ in range(rollout.length - 1):
        if alive == 0.0 or planner.control[0] != 0:
            break
        errors += verbs.back_up(agent, state, -1, agent.discount, rng)
        alive = verbs.sample_next(
            planner.model, state, verbs.act(agent, state, rng), rollout.next_state
        )
        verbs.copy(state, rollout.next_state)
    return errors


def build_rollout(length: int, model: Model, context: BuildContext) -> NoRollout | RolloutPart:
    """Build a rollout with scratch states of the shape that the model predicts."""
    if length == 1:
        return NoRollout(1)
    if model.rolls_out == "states":
        return RolloutPart(length, empty_state(context.shape), empty_state(context.shape))
    size = context.shape.size
    pair = [empty_state(Shape(size, size, True)) for _ in range(2)]
    for state in pair:
        state.active[:] = np.arange(size)
    return RolloutPart(length, *pair)
