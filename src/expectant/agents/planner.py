"""What all planning agents share: a model, a backup distribution, and how they are fed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from expectant.backups import Replay
from expectant.descriptions import Description, Setting, abstract, setting
from expectant.features.vector import Binary, Transition, Weighted, empty_state
from expectant.models.distribution import Distribution
from expectant.models.episodic import EpisodicExpectation, ExactEpisodic
from expectant.models.expectation import ExactExpectation, LinearExpectation, Model
from expectant.models.sample import Sample
from expectant.models.true import TrueModel
from expectant.rules import between, either, flag, one_of, or_none, whole
from expectant.verbs import (
    draw,
    fit,
    function,
    grown,
    load_successor,
    relabel,
    remember,
    room,
    stored,
)

# What the names of models stand for, given the agent's model step.
MODELS: dict[str, Callable[[float], Model]] = {
    "expectation": LinearExpectation,
    "episodic": EpisodicExpectation,
    "distribution": lambda step: Distribution(),
    "sample": lambda step: Sample(),
    "exact": lambda step: ExactExpectation(),
    "exact_episodic": lambda step: ExactEpisodic(),
    "true": lambda step: TrueModel(),
    "true_sample": lambda step: Sample(TrueModel()),
}
GIVEN = ("exact", "exact_episodic", "true", "true_sample")


@abstract
class Agent(Description):
    """An agent, described."""

    epsilon: float = setting(between(0, 1), default=0.1, kw_only=True)
    discount: float = setting(between(0, 1), default=1.0, kw_only=True)
    doubled_steps: bool = setting(flag(), default=False, kw_only=True)

    def build(self, setting: Setting) -> Any:
        """The part that compiled code runs, made for one run."""
        raise NotImplementedError

    def scaled(self, step: float) -> float:
        """A step size as the update uses it: twice as large for gradients of the whole error²."""
        return 2.0 * step if self.doubled_steps else step


@abstract
class PlanningAgent(Agent):
    """An agent with a model and a backup distribution, described."""

    planning_steps: int = setting(whole(0), default=5, kw_only=True)
    model: Any = setting(
        one_of(*MODELS, or_part="a model"),
        default="expectation",
        kw_only=True,
    )
    backups: Any = setting(
        one_of("replay", or_part="a backup distribution"), default="replay", kw_only=True
    )
    replay_capacity: int | None = setting(or_none(whole(1)), default=1000, kw_only=True)
    replayed_fits: int | str = setting(
        either(whole(0), one_of("planning_steps")), default=0, kw_only=True
    )
    relabelled: bool = setting(flag(), default=False, kw_only=True)
    stored_termination: bool = setting(flag(), default=False, kw_only=True)

    def planner(self, setting: Setting, model_step: float) -> Planner:
        """The part all planning agents share."""
        step = self.scaled(model_step)
        model = MODELS[self.model](step) if isinstance(self.model, str) else self.model
        replay = Replay(self.replay_capacity)
        backups = replay if isinstance(self.backups, str) else self.backups
        return Planner(
            model.build(setting),
            backups.build(setting),
            empty_state(setting.shape),
            empty_state(setting.shape),
            setting.actions,
            self.planning_steps,
            self._fits(),
            self.relabelled,
            self.stored_termination,
        )

    def _fits(self) -> int:
        """How many replayed fits a step makes; a model that is given has nothing to learn."""
        if self.model in GIVEN:
            return 0
        return self.planning_steps if isinstance(self.replayed_fits, str) else self.replayed_fits


class Planner(NamedTuple):
    """``drawn`` and ``drawn_next`` are scratch for the state that is planned from."""

    model: Any
    backups: Any
    drawn: Binary | Weighted
    drawn_next: Binary | Weighted
    actions: int
    planning_steps: int
    replayed_fits: int
    relabelled: bool
    stored_termination: bool


@function
def absorb(planner, transition, rng):
    """Store a real transition, fit the model to it, then to replayed ones; returns the errors."""
    remember(planner.backups, transition)
    errors = fit(planner.model, transition)
    for _ in range(planner.replayed_fits):
        slot = draw(planner.backups, planner.drawn, rng)
        load_successor(planner.backups, slot, planner.drawn_next)
        action, reward, alive = stored(planner.backups, slot)
        replayed = Transition(planner.drawn, action, reward, planner.drawn_next, alive, -1)
        errors += fit(planner.model, replayed)
    return errors


@function
def backup_discount(planner, slot, discount):
    """γ; or 0 if the stored transition ended and its flag is asked for instead of the model."""
    if planner.stored_termination:
        _, _, alive = stored(planner.backups, slot)
        return discount * alive
    return discount


@relabel.register(Planner)
def _(planner, domain):
    if planner.relabelled:
        relabel(planner.backups, domain)


@room.register(Planner)
def _(planner):
    return room(planner.backups)


@grown.register(Planner)
def _(planner):
    return planner._replace(backups=grown(planner.backups))


def pass_on_to_planner(part_type: type) -> None:
    """Let an agent's planner answer for it where the loop asks about its memory."""

    @relabel.register(part_type)
    def _(agent, domain):
        relabel(agent.planner, domain)

    @room.register(part_type)
    def _(agent):
        return room(agent.planner)

    @grown.register(part_type)
    def _(agent):
        return agent._replace(planner=grown(agent.planner))


def action_weights(setting: Setting) -> np.ndarray:
    """Weights of linear action values or preferences, all zero: (A, D)."""
    return np.zeros((setting.actions, setting.width))
