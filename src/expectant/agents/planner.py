"""What all planning agents share: a model, a backup distribution, and how they are fed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from expectant.agents.centering import FROM, CenteringPart, centering_part
from expectant.agents.lessons import with_lessons
from expectant.agents.rollout import check_rollout, rollout_memory, rollout_part
from expectant.agents.with_options import options_memory, with_options
from expectant.backups import NAMED
from expectant.descriptions import abstract, option
from expectant.features.vector import Binary, Transition, Weighted, empty_state, state_bytes
from expectant.models.curious import curious, curious_memory
from expectant.models.distribution import Distribution
from expectant.models.episodic import EpisodicExpectation, ExactEpisodic
from expectant.models.expectation import ExactExpectation, LinearExpectation
from expectant.models.network import NetworkExpectation
from expectant.models.sample import Sample
from expectant.models.sparse import SparseExpectation
from expectant.models.true import TrueModel
from expectant.options.repertoire import REPERTOIRE
from expectant.parts import Agent, Backups, Model, Need, Site, bytes_of, needs_of
from expectant.rules import at_least, either, flag, one_of, or_none, whole
from expectant.step_sizes import as_used
from expectant.verbs import (
    back_up,
    begin,
    break_off,
    changed,
    draw,
    fit,
    function,
    grown,
    load_successor,
    moved_by,
    notice,
    plan,
    relabel,
    remember,
    roll_out,
    room,
    stored,
    unfinished,
    waiting,
    with_predecessors,
)

# What the names of models stand for, given the agent's model step.
MODELS: dict[str, Callable[[Any], Model]] = {
    "expectation": LinearExpectation,
    "sparse": SparseExpectation,
    "episodic": EpisodicExpectation,
    "network": lambda step: NetworkExpectation(step=getattr(step, "step", step)),
    "distribution": lambda step: Distribution(),
    "latest": lambda step: Distribution(outcomes=1, forgetting=1.0),
    "sample": lambda step: Sample(),
    "exact": lambda step: ExactExpectation(),
    "exact_episodic": lambda step: ExactEpisodic(),
    "true": lambda step: TrueModel(),
    "true_sample": lambda step: Sample(TrueModel()),
}
STORED = ("relabelled", "stored_termination", "stored_action")  # options on stored transitions


def weights_memory(what: str, site: Site, rows: int = 1) -> Need:
    """Rows of weights (D,), one for every action or a single one."""
    return Need(f"{what} ({site.shape.size:,} features)", bytes_of((rows, site.width)))


@lru_cache  # every run of every agent asks
def model_by_name(name: str, step: Any) -> Model:
    return MODELS[name](step)


@lru_cache
def backups_by_name(name: str, capacity: int | None) -> Backups:
    return NAMED[name](capacity)


def named_model(model: Any, step: Any) -> Model:
    """The model that an agent's ``model=`` stands for."""
    return model_by_name(model, step) if isinstance(model, str) else model


@abstract
class PlanningAgent(Agent):
    """An agent with a model and a backup distribution, described."""

    planning_steps: int = option(whole(0), default=5, kw_only=True)
    model: Any = option(
        one_of(*MODELS, or_part="a model"),
        default="expectation",
        kw_only=True,
    )
    backups: Any = option(
        one_of(*NAMED, or_part="a backup distribution"), default="replay", kw_only=True
    )
    replay_capacity: int | None = option(or_none(whole(1)), default=1000, kw_only=True)
    replayed_fits: int | str = option(
        either(whole(0), one_of("planning_steps")), default=0, kw_only=True
    )
    relabelled: bool = option(flag(), default=False, kw_only=True)
    stored_termination: bool = option(flag(), default=False, kw_only=True)
    rollout: int = option(whole(1), default=1, kw_only=True)
    options: Any = option(REPERTOIRE, default=None, kw_only=True)
    lessons: int = option(whole(0), default=0, kw_only=True)
    direct: bool = option(flag(), default=True, kw_only=True)
    bonus: float = option(at_least(0), default=0.0, kw_only=True)
    centering_from: str = option(one_of(*FROM), default="all", kw_only=True)

    plans_with_options: ClassVar[bool] = True  # as state values can; action values cannot

    def validate(self) -> None:
        backups, owner = self.distribution(), type(self).__name__
        named_model(self.model, getattr(self, "model_step", 0.0))  # which may refuse that step
        fits = ["replayed_fits"] if self._fits() > 0 else []
        flags = [name for name in STORED if getattr(self, name, False)]
        for name in fits + flags:
            if not getattr(backups, "stores_transitions", False):
                raise ValueError(
                    f"{owner}: {name}={getattr(self, name)!r} needs stored transitions, and "
                    f"backups={self.backups!r} stores none (stores_transitions is not True)"
                )
        if not self._learns() and not getattr(backups, "knows_places", True):
            raise ValueError(
                f"{owner}: model={self.model!r} looks up the environment's own state, which "
                f"backups={self.backups!r} does not know of the states it draws"
            )
        if getattr(backups, "draws_features", False) and not getattr(
            named_model(self.model, 0.0), "linear", False
        ):
            raise ValueError(
                f"{owner}: backups={self.backups!r} plans from single features, which needs a "
                "model that is linear in them ('expectation' or 'sparse'), "
                f"got model={self.model!r}"
            )
        if not self.direct and self.planning_steps == 0:
            raise ValueError(
                f"{owner}: direct=False learns values by planning alone, so planning_steps must be "
                "1 or more, got 0"
            )
        if self.rollout > 1:
            check_rollout(owner, self.rollout, self.model, named_model(self.model, 0.0), backups)
        if self.options is not None:
            self._check_options(owner, backups)

    def _check_options(self, owner: str, backups: Any) -> None:
        """Refuse what options cannot be combined with."""
        if not self.plans_with_options:
            raise ValueError(
                f"{owner}: options need an agent that plans with state values, such as Lookahead"
            )
        if self.bonus > 0.0:
            raise ValueError(
                f"{owner}: bonus={self.bonus!r} counts when actions were last tried, and cannot be "
                "combined with options"
            )
        if self.stored_termination:
            raise ValueError(
                f"{owner}: stored_termination=True is about one step and cannot be combined with "
                "options"
            )
        if self.options.models == "exact" and not getattr(backups, "knows_places", True):
            raise ValueError(
                f"{owner}: options with models='exact' look up the environment's own state, which "
                f"backups={self.backups!r} does not know of the states it draws"
            )
        if self.rollout > 1 and getattr(named_model(self.model, 0.0), "imagines", "") != "means":
            raise ValueError(
                f"{owner}: rollout={self.rollout} with options needs model='expectation', which "
                "leads to a mean state as they do"
            )

    def choosing(self, site: Site) -> Site:
        if self.options is None or not self.options.extended:
            return site
        return dataclasses.replace(site, actions=site.actions + len(self.options.extended))

    def equip(self, site: Site) -> Any:
        own = self.choosing(site)
        part = self.build(own)
        if own is not site:
            acting = self.options.acting
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

    def estimate_memory(self, site: Site) -> Sequence[Need]:
        """What the planner holds; an agent adds its own weights."""
        model = named_model(self.model, getattr(self, "model_step", 0.0))
        drawn = state_bytes(self.distribution().drawn_shape(site))
        scratch = drawn + state_bytes(site.shape) + rollout_memory(self.rollout, model, site)
        traced = self.distribution().traces_back and isinstance(model, Model)
        return [
            *self._model_memory(model, site),
            *(model.predecessors_memory(site) if traced else ()),
            *needs_of(self.distribution(), site),
            Need("states to plan from", scratch),
            *([curious_memory(site)] if self.bonus > 0.0 else []),
        ]

    def _model_memory(self, model: Model, site: Site) -> Sequence[Need]:
        if site.actions == site.domain.actions:
            return needs_of(model, site)
        around = options_memory(site, site.domain.actions)
        return [*self.options.estimate_around(model, site), around]

    def _model_part(self, model: Model, site: Site) -> Any:
        """The model; one of actions and options where the site counts those as actions."""
        if site.actions == site.domain.actions:
            return model.build(site)
        step = self.scaled(self.options.step, site)
        return self.options.build_around(model, site, step, self.discount)

    def planner(self, site: Site, model_step: Any) -> Planner:
        """The part all planning agents share."""
        model = named_model(self.model, as_used(self, model_step, site))
        part = self._model_part(model, dataclasses.replace(site, promise=self.initial_value))
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
        return getattr(named_model(self.model, 0.0), "learns", True)

    def _fits(self) -> int:
        """How many replayed fits a step makes; a model that is given has nothing to learn."""
        if not self._learns():
            return 0
        return self.planning_steps if isinstance(self.replayed_fits, str) else self.replayed_fits


class Planner(NamedTuple):
    """``drawn`` and ``drawn_next`` are scratch for the state that is planned from.

    ``control`` (1,) is not zero once planning is to be broken off, because the run is to stop.
    """

    model: Any
    backups: Any
    drawn: Binary | Weighted
    drawn_next: Binary | Weighted
    actions: int
    planning_steps: int
    replayed_fits: int
    relabelled: bool
    stored_termination: bool
    rollout: Any
    control: np.ndarray


@function
def absorb(planner, transition, rng):
    """Store a real transition, fit the model to it, then to replayed ones; returns the errors."""
    remember(planner.backups, transition)
    notice(planner.model, transition)
    errors = fit(planner.model, transition)
    for _ in range(planner.replayed_fits):
        if planner.control[0] != 0:
            break
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


@function
def movement(state, error, step):
    """How far w += step · error · s moves wᵀs."""
    return moved_by(step, 0, state, error)


@function
def report(planner, state, error, step):
    """Tell the backup distribution that w has moved by step · error · s."""
    moved = movement(state, error, step)
    changed(planner.backups, state, moved, error - moved)


@function
def tell(planner, state, error, moved):
    """Tell the backup distribution how far a planned update has moved the value of a state."""
    changed(planner.backups, state, moved, error - moved)


@function
def plan_backups(agent, rng):
    """Draw states and back them up, as many as there are planning steps; returns the errors."""
    planner, errors = agent.planner, 0.0
    for _ in range(planner.planning_steps):
        if planner.control[0] != 0 or not waiting(planner.backups):
            break
        errors += plan_once(agent, rng)
        while unfinished(planner.backups):
            errors += plan_once(agent, rng)
    return errors


@function
def plan_once(agent, rng):
    """Draw a state and back it up; returns the errors."""
    planner = agent.planner
    slot = draw(planner.backups, planner.drawn, rng)
    discount = backup_discount(planner, slot, agent.discount)
    errors = back_up(agent, planner.drawn, slot, discount, rng)
    return errors + roll_out(planner.rollout, agent, rng)


@relabel.register(Planner)
def _(planner, domain):
    if planner.relabelled:
        relabel(planner.backups, domain)


@begin.register(Planner)
def _(planner, state, rng):
    begin(planner.model, state, rng)
    begin(planner.backups, state, rng)


@break_off.register(Planner)
def _(planner, state, rng):
    break_off(planner.model, state, rng)
    break_off(planner.backups, state, rng)


@room.register(Planner)
def _(planner):
    return room(planner.backups)


@grown.register(Planner)
def _(planner):
    return planner._replace(backups=grown(planner.backups))


def pass_on_to_planner(part_type: type) -> None:
    """Let an agent's planner answer for it where the loop asks it to plan or tells it something."""

    @plan.register(part_type)
    def _(agent, rng):
        return plan_backups(agent, rng)

    @relabel.register(part_type)
    def _(agent, domain):
        relabel(agent.planner, domain)

    @begin.register(part_type)
    def _(agent, state, rng):
        begin(agent.planner, state, rng)

    @break_off.register(part_type)
    def _(agent, state, rng):
        break_off(agent.planner, state, rng)

    @room.register(part_type)
    def _(agent):
        return room(agent.planner)

    @grown.register(part_type)
    def _(agent):
        return agent._replace(planner=grown(agent.planner))
