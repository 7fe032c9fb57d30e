"""The paper's agents as printed: ``Lookahead.paper(value_step=0.01, model_step=0.1)``.

``paper`` sets what the paper prints (plain gradient steps per active feature, LEVI, γ = 1, ε = 0.1,
a replay of 1,000 transitions). What the paper leaves open is one :class:`Interpretation`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from expectant.agents.planning_updates import UPDATES
from expectant.backups import Rollout
from expectant.core.config import Config, parameter, suggest_parameter
from expectant.core.interfaces import Agent, Backups
from expectant.core.rules import Rule, at_least, either, flag, one_of, whole
from expectant.step_sizes import Fixed, StepSize

REPLAY_CAPACITY, MODEL_STEP, CORRECTION_STEP = 1000, 0.1, 0.01


class Interpretation(Config):
    """Details that the paper leaves open; each agent uses those that concern it."""

    replayed_fits: int | str = parameter(
        either(whole(0), one_of("planning_steps")),
        default=0,
        kw_only=True,
        meaning="fits of the model to replayed transitions in a step",
    )
    relabelled_rewards: bool = parameter(
        flag(),
        default=False,
        kw_only=True,
        meaning="give stored transitions the reward of the present phase when the goal moves",
    )
    doubled_gradients: bool = parameter(
        flag(),
        default=False,
        kw_only=True,
        meaning="follow the gradient of error² instead of ½ error² (never for the policy)",
    )
    stored_termination: bool = parameter(
        flag(),
        default=False,
        kw_only=True,
        meaning="bootstrap in a backup only if the replayed transition did not terminate",
    )
    stored_action: bool = parameter(
        flag(),
        default=False,
        kw_only=True,
        meaning="Q-planning: back up the stored action, not one drawn uniformly",
    )
    printed_delta: bool = parameter(
        flag(),
        default=False,
        kw_only=True,
        meaning="Algorithm 2: move q̂ towards δ, as printed, not towards r + γ v̂(s')",
    )
    cache_first: bool = parameter(
        flag(),
        default=False,
        kw_only=True,
        meaning="Algorithm 2: in a backup, move q̂ before w",
    )
    cached_actions: str = parameter(
        one_of("all", "greedy"),
        default="all",
        kw_only=True,
        meaning="Algorithm 2: the actions that a backup caches",
    )
    old_target: bool = parameter(
        flag(),
        default=False,
        kw_only=True,
        meaning="Algorithm 3: in a backup, take the policy's target from before w moved",
    )
    entropy: float = parameter(
        at_least(0.0),
        default=0.0,
        kw_only=True,
        meaning="Algorithm 3: weight of an entropy bonus in the policy's gradient",
    )
    ties: str = parameter(
        one_of("random", "first"),
        default="random",
        kw_only=True,
        meaning="the greedy action among equals",
    )


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


def _interpretation(value: object) -> Interpretation:
    if isinstance(value, Interpretation):
        return value
    return INTERPRETATIONS[one_of(*INTERPRETATIONS).convert(value)]


# Parameters that a named interpretation sets as well, where the agent has them.
NAMED_PARAMETERS: dict[str, dict[str, Any]] = {
    "literal": {"epsilon": 0.1},
    "authors": {"epsilon": 0.1, "replay_capacity": None},
}
INTERPRETATION = Rule("'literal', 'preferred', 'authors' or an ex.Interpretation", _interpretation)

Published = TypeVar("Published", bound=Agent)


def build_paper_agent(
    cls: type[Published], steps: tuple[object, ...], parameters: dict[str, Any]
) -> Published:
    """Make an agent with the paper's settings; see the module's docstring."""
    owner = f"{cls.__name__}.paper"
    fields = {field.name: field for field in dataclasses.fields(cls)}
    step_names = [name for name in fields if name.endswith("_step")]
    given = _merge(owner, fields, step_names, steps, parameters)
    wanted = given.pop("interpretation", Interpretation())
    chosen = INTERPRETATION.check(
        owner, "interpretation", Interpretation(**wanted) if isinstance(wanted, dict) else wanted
    )
    unit = one_of("feature", "total").check(owner, "step_unit", given.pop("step_unit", "feature"))

    def as_printed(step: float | StepSize, doubled: bool) -> StepSize:
        size = step if isinstance(step, StepSize) else Fixed(step, per=unit, bounded=False)
        return size.scaled(2.0) if doubled else size

    for name in set(step_names) & set(given):
        step = fields[name].metadata["rule"].check(owner, name, given[name])
        given[name] = as_printed(step, chosen.doubled_gradients and name != "policy_step")
    printed: dict[str, Any] = {"discount": 1.0}
    if "backups" in fields:
        given["backups"] = _backups(cls, given, chosen)
    if "planning_update" in fields:
        printed["planning_update"] = "levi"
    if given.get("planning_update") in ("gradient", "gtd2"):
        correction = as_printed(CORRECTION_STEP, chosen.doubled_gradients)
        given["planning_update"] = UPDATES[given["planning_update"]](correction)
    return cls(**{**printed, **given, "interpretation": chosen})


def _merge(
    owner: str,
    fields: Mapping[str, Any],
    step_names: list[str],
    steps: tuple[object, ...],
    parameters: dict[str, Any],
) -> dict[str, Any]:
    """Merge positional steps, parameters and those of a named interpretation; refuse mistakes."""
    known = [*fields, "step_unit", *(["replay_capacity"] if "backups" in fields else [])]
    if len(steps) > len(step_names) or set(step_names[: len(steps)]) & set(parameters):
        raise ValueError(f"{owner}: takes {', '.join(step_names)} once each, got {steps!r} as well")
    given = {**dict(zip(step_names, steps, strict=False)), **parameters}
    for name, value in given.items():
        if name not in known:
            suggestion = suggest_parameter(name, known)
            raise ValueError(f"{owner}: unknown parameter {name}={value!r}{suggestion}")
    named = given.get("interpretation")
    others = NAMED_PARAMETERS.get(named, {}) if isinstance(named, str) else {}
    given = {**{name: value for name, value in others.items() if name in known}, **given}
    if "model_step" in fields and isinstance(given.get("model", ""), str):
        given.setdefault("model_step", MODEL_STEP)
    missing = [name for name in step_names if name not in given and name != "model_step"]
    if missing:
        raise ValueError(f"{owner}: needs {' and '.join(missing)}")
    return given


def _backups(cls: Any, given: dict[str, Any], chosen: Interpretation) -> object:
    """Resolve the backup distribution, with the replay capacity and the fits of the paper."""
    capacity, backups = (
        given.pop("replay_capacity", REPLAY_CAPACITY),
        given.get("backups", "replay"),
    )
    if isinstance(backups, str) and backups in cls.backup_names:
        backups = cls.backup_names[backups](capacity)
    if isinstance(backups, Rollout) and isinstance(backups.start, str):
        backups = backups.replace(start=cls.backup_names[backups.start](capacity))
    return backups.with_fits(chosen.replayed_fits) if isinstance(backups, Backups) else backups
