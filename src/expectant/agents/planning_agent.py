"""What all planning agents are described by: a model, a backup distribution, how they are fed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from expectant.agents.centering import FROM, CenteringPart, centering_part
from expectant.agents.planner import Planner, check_rollout, rollout_part
from expectant.agents.with_options import with_options
from expectant.backups import NAMED
from expectant.descriptions import abstract, option
from expectant.features.vector import empty_state
from expectant.models.distribution import Distribution
from expectant.models.episodic import EpisodicExpectation, ExactEpisodic
from expectant.models.expectation import ExactExpectation, LinearExpectation
from expectant.models.network import NetworkExpectation
from expectant.models.sample import Sample
from expectant.models.sparse import SparseExpectation
from expectant.models.true import TrueModel
from expectant.models.wrappers import curious
from expectant.options.repertoire import REPERTOIRE, Repertoire
from expectant.parts import Agent, Backups, Model, Option, Site
from expectant.rules import at_least, either, flag, named_or, one_of, or_none, whole
from expectant.step_sizes import StepSize, as_used
from expectant.verbs import (
    act,
    begin,
    break_off,
    followed,
    grown,
    learn,
    pass_on,
    plan,
    policy,
    preference,
    relabel,
    room,
    with_predecessors,
    wrapped,
)

__all__ = [
    "PlanningAgent",
]


def _network(step: float | StepSize) -> Model:
    number: Any = getattr(step, "step", step)  # what is none is refused there
    return NetworkExpectation(step=number)


# What the names of models stand for, given the agent's model step.
MODELS: dict[str, Callable[[float | StepSize], Model]] = {
    "expectation": LinearExpectation,
    "sparse": SparseExpectation,
    "episodic": EpisodicExpectation,
    "network": _network,
    "distribution": lambda step: Distribution(),
    "latest": lambda step: Distribution(outcomes=1, forgetting=1.0),
    "sample": lambda step: Sample(),
    "exact": lambda step: ExactExpectation(),
    "exact_episodic": lambda step: ExactEpisodic(),
    "true": lambda step: TrueModel(),
    "true_sample": lambda step: Sample(TrueModel()),
}
BACKUPS = named_or(*NAMED, kind=Backups, words="a backup distribution")


@lru_cache  # every run of every agent asks
def model_by_name(name: str, step: float | StepSize) -> Model:
    return MODELS[name](step)


@lru_cache
def backups_by_name(name: str, capacity: int | None) -> Backups:
    return NAMED[name](capacity)


def named_model(model: str | Model, step: float | StepSize) -> Model:
    """The model that an agent's ``model=`` stands for."""
    return model_by_name(model, step) if isinstance(model, str) else model


class LessonsPart(NamedTuple):
    """``agent`` learns for ``lessons`` real steps, then plans; ``taken`` (1,) counts steps."""

    agent: object
    lessons: int
    taken: np.ndarray


pass_on(
    LessonsPart,
    "agent",
    act,
    preference,
    policy,
    relabel,
    begin,
    break_off,
    room,
    grown,
    wrapped,
    followed,
)


@learn.register(LessonsPart)
def _(taught, transition, rng):
    taught.taken[0] += 1
    if taught.taken[0] > taught.lessons:
        return 0.0
    return learn(taught.agent, transition, rng)


@plan.register(LessonsPart)
def _(taught, rng):
    return plan(taught.agent, rng) if taught.taken[0] > taught.lessons else 0.0


def with_lessons(agent: object, lessons: int) -> object:
    """The same agent, taught for so many steps before it plans; without lessons, itself."""
    return LessonsPart(agent, lessons, np.zeros(1, np.int64)) if lessons else agent


NUMBERS_ONLY = ("episodic", "network")  # models whose steps do not adapt
STORED = ("relabelled", "stored_termination", "stored_action")  # options on stored transitions


def refuse_combinations(agent: Agent, asked: str, refused: Mapping[str, tuple[bool, str]]) -> None:
    """Raise for the first option that is set so that what is asked for is impossible, and why."""
    for name, (present, reason) in refused.items():
        if present:
            raise ValueError(
                f"{type(agent).__name__}: {asked} cannot be combined with "
                f"{name}={getattr(agent, name)!r}: {reason}"
            )


@abstract
class PlanningAgent(Agent):
    """An agent with a model and a backup distribution, described."""

    planning_steps: int = option(whole(0), default=5, kw_only=True)
    model: str | Model = option(
        named_or(*MODELS, kind=Model, words="a model"), default="expectation", kw_only=True
    )
    backups: str | Backups = option(BACKUPS, default="replay", kw_only=True)
    replay_capacity: int | None = option(or_none(whole(1)), default=1000, kw_only=True)
    replayed_fits: int | str = option(
        either(whole(0), one_of("planning_steps")), default=0, kw_only=True
    )
    relabelled: bool = option(flag(), default=False, kw_only=True)
    stored_termination: bool = option(flag(), default=False, kw_only=True)
    rollout: int = option(whole(1), default=1, kw_only=True)
    options: Repertoire | Sequence[Option] | None = option(REPERTOIRE, default=None, kw_only=True)
    lessons: int = option(whole(0), default=0, kw_only=True)
    direct: bool = option(flag(), default=True, kw_only=True)
    bonus: float = option(at_least(0), default=0.0, kw_only=True)
    centering_from: str = option(one_of(*FROM), default="all", kw_only=True)

    plans_with_options: ClassVar[bool] = True  # as state values can; action values cannot

    @classmethod
    def untuned_beside(cls, given: Mapping[str, object]) -> Mapping[str, object]:
        """Without replayed fits where nothing is stored, and with a number where steps are those.

        Models by name have what the agent says; those that are described have steps of their own.
        """
        found, model = dict(cls.untuned), given.get("model", "expectation")
        step = found.get("model_step")
        if not isinstance(model, str):
            found.pop("model_step", None)
        elif model in NUMBERS_ONLY and isinstance(step, StepSize) and step.adapts:
            found["model_step"] = step.initial_step  # type: ignore[attr-defined]
        backups = given.get("backups", "replay")
        stored = NAMED[backups](None) if isinstance(backups, str) and backups in NAMED else backups
        stores = isinstance(stored, Backups) and stored.stores_transitions
        if not stores or (isinstance(model, Model) and model.several_steps):
            found.pop("replayed_fits", None)
        return found

    def validate(self) -> None:
        backups, owner = self.distribution(), type(self).__name__
        self._check_model_step(owner)
        fits = ["replayed_fits"] if self._fits() > 0 else []
        flags = [name for name in STORED if getattr(self, name, False)]
        for name in fits + flags:
            if not backups.stores_transitions:
                raise ValueError(
                    f"{owner}: {name}={getattr(self, name)!r} needs stored transitions, and "
                    f"backups={self.backups!r} stores none (stores_transitions is not True)"
                )
        if not self._learns() and not backups.knows_places:
            raise ValueError(
                f"{owner}: model={self.model!r} looks up the environment's own state, which "
                f"backups={self.backups!r} does not know of the states it draws"
            )
        if backups.draws_features and not named_model(self.model, 0.0).linear:
            raise ValueError(
                f"{owner}: backups={self.backups!r} plans from single features, which needs a "
                "model that is linear in them ('expectation' or 'sparse'), "
                f"got model={self.model!r}"
            )
        self._check_steps(fits)
        if not self.direct and self.planning_steps == 0:
            raise ValueError(
                f"{owner}: direct=False learns values by planning alone, so planning_steps must be "
                "1 or more, got 0"
            )
        if self.rollout > 1:
            check_rollout(owner, self.rollout, self.model, named_model(self.model, 0.0), backups)
        if self.options is not None:
            self._check_options(owner, backups)

    def _check_model_step(self, owner: str) -> None:
        """Refuse a step size that the model cannot have, or would not get."""
        step, usual = getattr(self, "model_step", 0.0), getattr(type(self), "model_step", 0.0)
        named_model(self.model, step)
        if not isinstance(self.model, str) and step != usual:
            raise ValueError(
                f"{owner}: model_step={step!r} is for models by name; {self.model!r} has step "
                "sizes of its own, if any: set them there"
            )

    def _check_steps(self, fits: Sequence[str]) -> None:
        """Refuse what a model of several steps cannot be combined with."""
        if not named_model(self.model, 0.0).several_steps:
            return
        reason = "it is about single steps, and the model learns from several in a row"
        refused = {
            **dict.fromkeys(fits, (True, reason)),
            "stored_termination": (self.stored_termination, reason),
            "options": (self.options is not None, reason),
        }
        refuse_combinations(self, f"model={self.model!r}", refused)

    def _check_options(self, owner: str, backups: Backups) -> None:
        """Refuse what options cannot be combined with."""
        if not self.plans_with_options:
            raise ValueError(
                f"{owner}: options need an agent that plans with state values, such as Lookahead"
            )
        exact, model = self.repertoire.models == "exact", named_model(self.model, 0.0)
        refused = {
            "bonus": (self.bonus > 0.0, "it counts when actions were last tried"),
            "stored_termination": (self.stored_termination, "it is about one step"),
            "backups": (
                exact and not backups.knows_places,
                "models='exact' look up the environment's own state, which it does not know",
            ),
            "rollout": (
                self.rollout > 1 and model.imagines != "means",
                "it needs model='expectation', which leads to a mean state as options do",
            ),
        }
        refuse_combinations(self, "options", refused)

    @property
    def repertoire(self) -> Repertoire:
        """What its options have become, one without any where it has none."""
        return self.options if isinstance(self.options, Repertoire) else Repertoire(())

    def choosing(self, site: Site) -> Site:
        further = len(self.repertoire.extended)
        return dataclasses.replace(site, actions=site.actions + further) if further else site

    def equip(self, site: Site) -> object:
        own = self.choosing(site)
        part = self.build(own)
        if own is not site:
            acting = self.repertoire.acting
            part = with_options(part, own, site.actions, self.epsilon, self.discount, acting)
        return with_lessons(part, self.lessons)

    def centering_part(self) -> CenteringPart:
        """What keeps the mean reward."""
        return centering_part(self.centering, self.direct, self.centering_from)

    def distribution(self) -> Backups:
        """The backup distribution that planning draws from."""
        if isinstance(self.backups, str):
            return backups_by_name(self.backups, self.replay_capacity)
        return self.backups

    def _model_part(self, model: Model, site: Site) -> object:
        """The model; one of actions and options where the site counts those as actions."""
        if site.actions == site.domain.actions:
            return model.build(site)
        step = self.scaled(self.repertoire.step, site)
        return self.repertoire.build_around(model, site, step, self.discount)

    def planner(self, site: Site, model_step: float | StepSize) -> Planner:
        """The part all planning agents share."""
        model = named_model(self.model, as_used(self, model_step, site))
        asked = dataclasses.replace(site, promise=self.initial_value, discount=self.discount)
        part = self._model_part(model, asked)
        backups = self.distribution()
        part = with_predecessors(part) if backups.traces_back else part
        return Planner(
            curious(part, site, self.bonus) if self.bonus > 0.0 else part,
            backups.build_with(site, part),
            empty_state(backups.drawn_shape(site)),
            empty_state(site.shape),
            site.actions,
            self.planning_steps,
            self._fits(),
            self.relabelled,
            self.stored_termination,
            rollout_part(self.rollout, model, site),
            site.control,
        )

    def _learns(self) -> bool:
        """Whether the model is learned; given ones look up the environment's own state."""
        return named_model(self.model, 0.0).learns

    def _fits(self) -> int:
        """How many replayed fits a step makes; a model that is given has nothing to learn."""
        if not self._learns():
            return 0
        return self.planning_steps if isinstance(self.replayed_fits, str) else self.replayed_fits
