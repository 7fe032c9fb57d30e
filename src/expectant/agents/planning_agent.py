"""The base of all planning agents: a model, a backup distribution, and a planning update."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from expectant.agents.option_execution import execute_options
from expectant.agents.paper import (
    INTERPRETATION,
    REPLAY_CAPACITY,
    Interpretation,
    build_paper_agent,
)
from expectant.agents.planning_loop import Planner, build_rollout
from expectant.agents.planning_updates import UPDATES, Levi, PlanningUpdate
from expectant.backups import NAMED_BACKUPS, Rollout
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, Backups, BuildContext, Model, Option
from expectant.core.rules import Rule, either, named_or, one_of, whole
from expectant.core.vectors import empty_state
from expectant.models import NAMED_MODELS, CachedLookahead, DefaultExpectation, ExplorationBonus
from expectant.models.wrappers import with_predecessors
from expectant.options.option_set import OPTION_SET, OptionSet
from expectant.step_sizes import Autostep, StepSize, step_size

__all__ = ["PlanningAgent"]

GRADIENT_STEP = Autostep(0.3, 0.1)
MODEL_STEP = Rule(f"'auto', {step_size().text}", either(one_of("auto"), step_size()).convert)
NO_OPTIONS = OptionSet(())
UPDATE = named_or("auto", *UPDATES, kind=PlanningUpdate, words="a planning update")


@lru_cache  # called in every run of every agent
def _named_model(name: str, step: float | StepSize) -> Model:
    return NAMED_MODELS[name](step)


@lru_cache
def _default_model(step: float | StepSize, optimism: float) -> Model:
    return DefaultExpectation(step, optimism=optimism)


class PlanningAgent(Agent, abstract=True):
    """Base of agents with a model, a backup distribution and a planning update."""

    planning_steps: int = parameter(whole(0), default=5, kw_only=True)
    model: str | Model = parameter(
        named_or(*NAMED_MODELS, kind=Model, words="a model"),
        default="expectation",
        kw_only=True,
        meaning="the model to plan with, learned or given",
    )
    backups: str | Backups = parameter(
        named_or(*NAMED_BACKUPS, kind=Backups, words="a backup distribution"),
        default="replay",
        kw_only=True,
        meaning="the backup distribution: which states planning starts from",
    )
    planning_update: str | PlanningUpdate = parameter(UPDATE, default="auto", kw_only=True)
    options: OptionSet | Sequence[Option] | None = parameter(
        OPTION_SET, default=None, kw_only=True, meaning="options to plan and act with"
    )
    interpretation: Interpretation = parameter(
        INTERPRETATION, default=Interpretation(), kw_only=True, hidden=True
    )

    gradient_step: ClassVar[float | StepSize] = GRADIENT_STEP  # of models by name, if "auto"
    optimism: ClassVar[float] = 1.0  # of the default model
    backup_names: ClassVar[Mapping[str, Callable[[int | None], Backups]]] = NAMED_BACKUPS

    @classmethod
    def paper(cls, *steps: float | StepSize, **parameters: Any) -> Self:
        """Make the agent as the paper prints it; numbers are step sizes per active feature.

        Takes the step sizes, all parameters, ``replay_capacity=1000``, ``step_unit="feature"`` (or
        "total") and ``interpretation`` ("literal", "preferred", "authors" or an Interpretation).
        By default γ = 1, the update is LEVI, and the model is not fitted to replayed transitions.
        """
        return build_paper_agent(cls, steps, parameters)

    def validate(self) -> None:
        for name, reason in self.conflicts():
            raise ValueError(f"{type(self).__name__}: {name}={getattr(self, name)!r} {reason}")

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield parameters that do not go with the others, and the reasons."""
        model, backups = self.resolve_model(), self.resolve_backups()
        got, interpretation = f"got model={self.model!r}", self.interpretation
        step, default = getattr(self, "model_step", None), getattr(type(self), "model_step", None)
        if not isinstance(self.model, str) and step != default:
            yield "model_step", f"is for models by name; set the step size of {self.model!r} there"
        for switch in ("relabelled_rewards", "stored_termination", "stored_action"):
            if getattr(interpretation, switch) and not backups.stores_transitions:
                yield "backups", f"stores no transitions, which interpretation.{switch} needs"
        if not model.learns and not backups.knows_state_index:
            yield "backups", f"does not know the environment's own state, as the model needs, {got}"
        if backups.draws_features and not model.linear:
            yield "backups", f"plans from single features, which needs a linear model, {got}"
        if self.resolve_update().needs_means and not model.predicts_means:
            yield "planning_update", f"needs an expectation model (predicts_means), {got}"
        if isinstance(backups, Rollout):
            if not model.rolls_out:
                yield "backups", f"needs a sample model or a linear expectation model, {got}"
            if model.rolls_out == "means" and not backups.stores_transitions:
                yield "backups", "rolls out mean states, which needs a replay as its start"
        if self.option_set.options:
            yield from self._option_conflicts(model, backups)

    def _option_conflicts(self, model: Model, backups: Backups) -> Iterator[tuple[str, str]]:
        if model.several_steps or isinstance(model, ExplorationBonus):
            yield "model", "models single steps, which excludes options"
        if self.interpretation.stored_termination:
            yield "interpretation", "stores the end of single steps, which excludes options"
        if self.option_set.models == "exact" and not backups.knows_state_index:
            yield "backups", "does not know the environment's own state, as exact options need"
        if isinstance(backups, Rollout) and model.rolls_out != "means":
            yield "backups", f"with options needs a linear model, got model={self.model!r}"

    def resolve_model(self) -> Model:
        """The model that ``model`` and ``model_step`` stand for."""
        if not isinstance(self.model, str):
            return self.model
        step = getattr(self, "model_step", self.gradient_step)
        if step != "auto":
            return _named_model(self.model, step)
        if self.model == "expectation" and self.can_fit_least_squares():
            return _default_model(self.gradient_step, self.optimism)
        return _named_model(self.model, self.gradient_step)

    def can_fit_least_squares(self) -> bool:
        """True if "auto" means least squares where these are affordable."""
        return not (self.option_set.options or self.resolve_backups().draws_features)

    def resolve_update(self) -> PlanningUpdate:
        """The planning update that ``planning_update`` stands for."""
        if not isinstance(self.planning_update, str):
            return self.planning_update
        if self.planning_update == "auto":
            return UPDATES["gradient"]() if self.can_follow_gradient() else Levi()
        return UPDATES[self.planning_update]()

    def resolve_backups(self) -> Backups:
        """The backup distribution that ``backups`` stands for."""
        backups = self.backups
        if isinstance(backups, str):
            return self.backup_names[backups](REPLAY_CAPACITY)
        if isinstance(backups, Rollout) and isinstance(backups.start, str):
            return backups.replace(start=self.backup_names[backups.start](REPLAY_CAPACITY))
        return backups

    def can_follow_gradient(self) -> bool:
        """True if "auto" means the gradient update."""
        model = self.resolve_model()
        return model.predicts_means and not isinstance(model, CachedLookahead)

    @property
    def option_set(self) -> OptionSet:
        """The options; an empty set if there are none."""
        return self.options if isinstance(self.options, OptionSet) else NO_OPTIONS

    def build_agent(self, context: BuildContext) -> object:
        options = self.option_set
        if not options.options:
            return self.build(context)
        choices = context.actions + len(options.options)
        part = self.build(dataclasses.replace(context, actions=choices))
        return execute_options(part, context.actions, self.epsilon, self.discount, options.acting)

    def build_planner(self, context: BuildContext) -> Planner:
        """Build the part that all planning agents share."""
        model, backups = self.resolve_model().for_shape(context.shape), self.resolve_backups()
        context = dataclasses.replace(
            context, untried_value=self.initial_value, discount=self.discount
        )
        options = self.option_set
        part = options.build_around(model, context) if options.options else model.build(context)
        part = with_predecessors(part) if backups.traces_back else part
        fits = self.planning_steps if isinstance(backups.fits, str) else backups.fits
        return Planner(
            part,
            backups.build_with(context, part),
            empty_state(backups.drawn_shape(context)),
            empty_state(context.shape),
            context.actions,
            self.planning_steps,
            fits if model.learns and not (model.several_steps or model.weighs_data) else 0,
            self.interpretation.relabelled_rewards,
            self.interpretation.stored_termination,
            build_rollout(backups.length if isinstance(backups, Rollout) else 1, model, context),
            context.control,
        )
