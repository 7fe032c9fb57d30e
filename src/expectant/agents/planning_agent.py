"""The base of all planning agents: a model, a backup distribution, and a planning update."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from expectant.agents.centering import CenteringPart, centering_part
from expectant.agents.option_execution import with_options
from expectant.agents.paper import (
    INTERPRETATION,
    REPLAY_CAPACITY,
    Interpretation,
    build_paper_agent,
)
from expectant.agents.planner import Planner, rollout_part
from expectant.agents.planning_updates import UPDATES, Levi, PlanningUpdate
from expectant.backups import NAMED_BACKUPS, Rollout
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, Backups, BuildContext, Model, Option
from expectant.core.rules import named_or, whole
from expectant.core.vectors import empty_state
from expectant.core.verbs import with_predecessors
from expectant.models import NAMED_MODELS, CachedLookahead, ExplorationBonus
from expectant.options.option_set import OPTION_SET, OptionSet
from expectant.step_sizes import Autostep, StepSize

__all__ = [
    "PlanningAgent",
]

DEFAULT_MODEL_STEP = Autostep(0.3, 0.1)
UPDATE = named_or("auto", *UPDATES, kind=PlanningUpdate, words="a planning update")


@lru_cache  # every run of every agent asks
def model_by_name(name: str, step: float | StepSize) -> Model:
    return NAMED_MODELS[name](step)


def named_model(model: str | Model, step: float | StepSize) -> Model:
    """Resolve an agent's ``model=``: a name, or a model."""
    return model_by_name(model, step) if isinstance(model, str) else model


class PlanningAgent(Agent, abstract=True):
    """Base of agents with a model, a backup distribution and a planning update."""

    planning_steps: int = parameter(
        whole(0), default=5, kw_only=True, meaning="backups after every real step"
    )
    model: str | Model = parameter(
        named_or(*NAMED_MODELS, kind=Model, words="a model"),
        default="expectation",
        kw_only=True,
        meaning="what to plan with: a learned or given model",
    )
    backups: str | Backups = parameter(
        named_or(*NAMED_BACKUPS, kind=Backups, words="a backup distribution"),
        default="replay",
        kw_only=True,
        meaning="the backup distribution: which states planning starts from",
    )
    planning_update: str | PlanningUpdate = parameter(
        UPDATE,
        default="auto",
        kw_only=True,
        meaning='how a backup moves the values; "auto": "gradient" where the model predicts means, '
        'else "levi"',
    )
    options: OptionSet | Sequence[Option] | None = parameter(
        OPTION_SET, default=None, kw_only=True, meaning="options to plan and act with"
    )
    interpretation: Interpretation = parameter(
        INTERPRETATION, default=Interpretation(), kw_only=True, hidden=True
    )

    can_plan_values: ClassVar[bool] = True  # state values, unlike QPlanning
    backup_names: ClassVar[Mapping[str, Callable[[int | None], Backups]]] = NAMED_BACKUPS

    @classmethod
    def paper(cls, *steps: float | StepSize, **parameters: Any) -> Self:
        """Make the agent as the paper prints it; numbers are step sizes per active feature.

        Takes the step sizes, ``replay_capacity``, ``interpretation`` ("literal", "preferred",
        "authors" or an Interpretation), ``step_unit`` ("feature" or "total") and all parameters.
        Unless given, γ = 1, updates are LEVI, and the model is not fitted to replayed transitions.
        """
        return build_paper_agent(cls, steps, parameters)

    def validate(self) -> None:
        owner, model, backups = type(self).__name__, self.used_model(), self.distribution()
        step, default = getattr(self, "model_step", None), getattr(type(self), "model_step", None)
        if not isinstance(self.model, str) and step != default:
            raise ValueError(
                f"{owner}: model_step={step!r} is for models by name; set the step size of "
                f"{self.model!r} there"
            )
        switches = ("relabelled_rewards", "stored_termination", "stored_action")
        for name in switches:
            if getattr(self.interpretation, name) and not backups.stores_transitions:
                raise ValueError(
                    f"{owner}: interpretation.{name} needs stored transitions, and "
                    f"backups={self.backups!r} stores none (stores_transitions is not True)"
                )
        if not model.learns and not backups.knows_state_index:
            raise ValueError(
                f"{owner}: model={self.model!r} looks up the environment's own state, which "
                f"backups={self.backups!r} does not know of the states it draws"
            )
        if backups.draws_features and not model.linear:
            raise ValueError(
                f"{owner}: backups={self.backups!r} plans from single features, which needs a "
                "model that is linear in them ('expectation' or 'sparse'), "
                f"got model={self.model!r}"
            )
        if self.update().needs_means and not model.predicts_means:
            raise ValueError(
                f"{owner}: planning_update={self.planning_update!r} needs an expectation model, "
                f"which knows the mean next state (predicts_means), got model={self.model!r}"
            )
        if isinstance(backups, Rollout):
            self._check_rollout(owner, model, backups)
        if self.option_set.extended:
            self._check_options(model, backups)

    def _check_rollout(self, owner: str, model: Model, rollout: Rollout) -> None:
        given = self.backups if isinstance(self.backups, Rollout) else rollout
        if not model.rolls_out:
            raise ValueError(
                f"{owner}: backups={given!r} needs a model that leads to a next state, a sample "
                f"model or a linear expectation model, got model={self.model!r}"
            )
        if model.rolls_out == "means" and not rollout.stores_transitions:
            raise ValueError(
                f"{owner}: a Rollout of an expectation model leads to states that "
                f"{given.start!r} cannot tell apart; start from a replay"
            )

    def _check_options(self, model: Model, backups: Backups) -> None:
        """Refuse what options cannot be combined with."""
        refused = {
            "model": (
                model.several_steps or isinstance(model, ExplorationBonus),
                "it is about single steps",
            ),
            "interpretation": (
                self.interpretation.stored_termination, "its flag is about one step",
            ),
            "backups": (
                (self.option_set.models == "exact" and not backups.knows_state_index)
                or (isinstance(backups, Rollout) and model.rolls_out != "means"),
                "exact models need the environment's own state, rollouts a linear model",
            ),
        }  # fmt: skip
        for name, (present, reason) in refused.items():
            if present:
                raise ValueError(
                    f"{type(self).__name__}: options cannot be combined with "
                    f"{name}={getattr(self, name)!r}: {reason}"
                )

    def used_model(self) -> Model:
        """The model that ``model`` and ``model_step`` stand for."""
        return named_model(self.model, getattr(self, "model_step", DEFAULT_MODEL_STEP))

    def update(self) -> PlanningUpdate:
        """The planning update that ``planning_update`` stands for."""
        if not isinstance(self.planning_update, str):
            return self.planning_update
        if self.planning_update == "auto":
            return UPDATES["gradient"]() if self.can_follow_gradient() else Levi()
        return UPDATES[self.planning_update]()

    def can_follow_gradient(self) -> bool:
        """True if "auto" means the gradient update."""
        model = self.used_model()
        return model.predicts_means and not isinstance(model, CachedLookahead)

    @property
    def option_set(self) -> OptionSet:
        """The options; without any, an empty set."""
        return self.options if isinstance(self.options, OptionSet) else OptionSet(())

    def augmented_actions(self, context: BuildContext) -> BuildContext:
        further = len(self.option_set.extended)
        return (
            dataclasses.replace(context, actions=context.actions + further) if further else context
        )

    def build_agent(self, context: BuildContext) -> object:
        own = self.augmented_actions(context)
        part = self.build(own)
        if own is context:
            return part
        acting = self.option_set.acting
        return with_options(part, own, context.actions, self.epsilon, self.discount, acting)

    def centering_part(self, context: BuildContext) -> CenteringPart:
        """Build the estimate of the average reward."""
        return centering_part(self.centering, context.learn_from_real_steps)

    def distribution(self) -> Backups:
        """The backup distribution that ``backups`` stands for."""
        backups = self.backups
        if isinstance(backups, str):
            return self.backup_names[backups](REPLAY_CAPACITY)
        if isinstance(backups, Rollout) and isinstance(backups.start, str):
            return backups.replace(start=self.backup_names[backups.start](REPLAY_CAPACITY))
        return backups

    def planner(self, context: BuildContext) -> Planner:
        """Build the part that all planning agents share."""
        model, backups = self.used_model(), self.distribution()
        context = dataclasses.replace(
            context, untried_value=self.initial_value, discount=self.discount
        )
        if context.actions == context.domain.actions:
            part = model.build(context)
        else:
            part = self.option_set.build_around(model, context, self.discount)
        part = with_predecessors(part) if backups.traces_back else part
        fits = self.planning_steps if isinstance(backups.fits, str) else backups.fits
        return Planner(
            part,
            backups.build_with(context, part),
            empty_state(backups.drawn_shape(context)),
            empty_state(context.shape),
            context.actions,
            self.planning_steps,
            fits if model.learns and not model.several_steps else 0,
            self.interpretation.relabelled_rewards,
            self.interpretation.stored_termination,
            rollout_part(backups.length if isinstance(backups, Rollout) else 1, model, context),
            context.control,
        )
