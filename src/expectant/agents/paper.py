"""The paper's agents as printed: ``Lookahead.paper(value_step=0.01, model_step=0.1)``.

``paper`` sets what the paper prints: plain gradient steps per active feature, LEVI, γ = 1, ε = 0.1
and a replay of 1,000 transitions. An :class:`Interpretation` decides what the paper leaves open.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from expectant.agents.planning_updates import UPDATES
from expectant.backups import Rollout
from expectant.core.config import Config, parameter, unknown_parameter
from expectant.core.interfaces import Agent, Backups
from expectant.core.rules import Rule, at_least, either, flag, one_of, whole
from expectant.step_sizes import Fixed, StepSize

REPLAY_CAPACITY, MODEL_STEP, CORRECTION_STEP = 1000, 0.1, 0.01


def _switch(meaning: str) -> Any:
    return parameter(flag(), default=False, kw_only=True, meaning=meaning)


class Interpretation(Config):
    """Details that the paper leaves open; each agent uses those that concern it."""

    replayed_fits: int | str = parameter(
        either(whole(0), one_of("planning_steps")),
        default=0,
        kw_only=True,
        meaning="fits of the model to replayed transitions in a step",
    )
    relabelled_rewards: bool = _switch(
        "give stored transitions the reward of the present phase when the goal moves"
    )
    doubled_gradients: bool = _switch(
        "follow the gradient of error² instead of ½ error² in steps of values and action values"
    )
    stored_termination: bool = _switch(
        "bootstrap in a backup only if the replayed transition did not terminate"
    )
    stored_action: bool = _switch("Q-planning: back up the stored action, not one drawn uniformly")
    printed_delta: bool = _switch(
        "Algorithm 2: move q̂ towards δ, as printed, not towards r + γ v̂(s')"
    )
    cache_first: bool = _switch("Algorithm 2: in a backup, move q̂ before w")
    cached_actions: str = parameter(one_of("all", "greedy"), default="all", kw_only=True)
    old_target: bool = _switch(
        "Algorithm 3: in a backup, take the policy's target from before w moved"
    )
    entropy: float = parameter(at_least(0.0), default=0.0, kw_only=True)
    ties: str = parameter(one_of("random", "first"), default="random", kw_only=True)


_PREFERRED = Interpretation(replayed_fits="planning_steps")
INTERPRETATIONS = {
    "literal": _PREFERRED.replace(printed_delta=True),
    "preferred": _PREFERRED,
    "authors": _PREFERRED.replace(
        relabelled_rewards=True,
        doubled_gradients=True,
        stored_termination=True,
        cache_first=True,
        old_target=True,
        entropy=1.0,
        ties="first",
    ),
}


# Parameters that a named interpretation also sets, where the agent has them.
NAMED_PARAMETERS: dict[str, dict[str, Any]] = {
    "literal": {"epsilon": 0.1},
    "authors": {"epsilon": 0.1, "replay_capacity": None},
}


def _interpretation(value: object) -> Interpretation:
    if isinstance(value, Interpretation):
        return value
    return INTERPRETATIONS[one_of(*INTERPRETATIONS).convert(value)]


INTERPRETATION = Rule("'literal', 'preferred', 'authors' or an ex.Interpretation", _interpretation)

PaperAgent = TypeVar("PaperAgent", bound=Agent)


def build_paper_agent(
    cls: type[PaperAgent], steps: tuple[object, ...], parameters: dict[str, Any]
) -> PaperAgent:
    """Make an agent with the paper's parameters; ``steps`` are positional step sizes."""
    owner = f"{cls.__name__}.paper"
    fields = {field.name: field for field in dataclasses.fields(cls)}
    step_names = [name for name in fields if name.endswith("_step")]
    plans = "backups" in fields
    if len(steps) > len(step_names) or set(step_names[: len(steps)]) & set(parameters):
        raise ValueError(f"{owner}: takes {', '.join(step_names)} once each, got {steps!r} as well")
    values = {**dict(zip(step_names, steps, strict=False)), **parameters}
    known = [*fields, "step_unit", *(["replay_capacity"] if plans else [])]
    for name, value in values.items():
        if name not in known:
            raise unknown_parameter(owner, name, value, known)
    choice = values.pop("interpretation", Interpretation())
    named = NAMED_PARAMETERS.get(choice, {}) if isinstance(choice, str) else {}
    values = {key: value for key, value in named.items() if key in known} | values
    if "model_step" in fields and isinstance(values.get("model", ""), str):
        values.setdefault("model_step", MODEL_STEP)
    missing = [name for name in step_names if name not in values and name != "model_step"]
    if missing:
        raise ValueError(f"{owner}: needs {' and '.join(missing)}")
    choice = Interpretation(**choice) if isinstance(choice, dict) else choice
    interpretation = INTERPRETATION.check(owner, "interpretation", choice)
    unit = one_of("feature", "total").check(owner, "step_unit", values.pop("step_unit", "feature"))

    def as_printed(step: float | StepSize, doubled: bool) -> StepSize:
        size = step if isinstance(step, StepSize) else Fixed(step, per=unit, bounded=False)
        return size.scale(2.0) if doubled else size

    doubled = interpretation.doubled_gradients
    for name in set(step_names) & set(values):
        step = fields[name].metadata["rule"].check(owner, name, values[name])
        values[name] = as_printed(step, doubled and name in ("value_step", "action_step"))
    printed: dict[str, Any] = {"discount": 1.0, "interpretation": interpretation}
    if plans:
        printed["planning_steps"] = 5
        values["backups"] = _paper_backups(cls, values, interpretation)
    if "planning_update" in fields:
        printed["planning_update"] = "levi"
    if values.get("planning_update") == "gradient":
        correction = as_printed(CORRECTION_STEP, doubled=False)
        values["planning_update"] = UPDATES[values["planning_update"]](correction)
    return cls(**{**printed, **values})


def _paper_backups(cls: Any, values: dict[str, Any], interpretation: Interpretation) -> object:
    """Resolve the backup distribution, with the replay capacity and the fits of the paper."""
    capacity = values.pop("replay_capacity", REPLAY_CAPACITY)
    backups = values.get("backups", "replay")
    if isinstance(backups, str) and backups in cls.backup_names:
        backups = cls.backup_names[backups](capacity)
    if isinstance(backups, Rollout) and isinstance(backups.start, str):
        backups = backups.replace(start=cls.backup_names[backups.start](capacity))
    if not isinstance(backups, Backups):
        return backups  # refused by the agent
    return backups.with_fits(interpretation.replayed_fits)
