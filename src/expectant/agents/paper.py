"""The paper's agents as printed: ``Lookahead.paper(value_step=0.01, model_step=0.1)``.

``paper`` sets what the paper prints (plain gradient steps per active feature, LEVI, γ = 1, ε = 0.1,
a replay of 1,000 transitions). What the paper leaves open is one :class:`Interpretation`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from expectant.agents.planning_update import UPDATES
from expectant.backups import Rollout
from expectant.core.config import Config, hint, parameter
from expectant.parts import Agent, Backups
from expectant.rules import Rule, at_least, either, flag, one_of, whole
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
    owner, fields = (
        f"{cls.__name__}.paper",
        {field.name: field for field in dataclasses.fields(cls)},
    )
    step_names = [name for name in fields if name.endswith("_step")]
    plans = "backups" in fields
    known = [*fields, "step_unit", *(["replay_capacity"] if plans else [])]
    if len(steps) > len(step_names) or set(step_names[: len(steps)]) & set(parameters):
        raise ValueError(f"{owner}: takes {', '.join(step_names)} once each, got {steps!r} as well")
    given = {**dict(zip(step_names, steps, strict=False)), **parameters}
    named = given.get("interpretation")
    if isinstance(named, str) and named in NAMED_PARAMETERS:
        others = NAMED_PARAMETERS[named].items()
        given = {**{name: value for name, value in others if name in known}, **given}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{owner}: unknown parameter {name}={value!r}" + hint(name, known))
    wanted = given.pop("interpretation", Interpretation())
    if isinstance(wanted, dict):
        wanted = Interpretation(**wanted)
    chosen = INTERPRETATION.check(owner, "interpretation", wanted)
    unit = one_of("feature", "total").check(owner, "step_unit", given.pop("step_unit", "feature"))
    if plans and isinstance(given.get("model", ""), str):
        given.setdefault("model_step", MODEL_STEP)
    missing = [name for name in step_names if name not in given and name != "model_step"]
    if missing:
        raise ValueError(f"{owner}: needs {' and '.join(missing)}")
    for name in set(step_names) & set(given):
        step = fields[name].metadata["rule"].check(owner, name, given[name])
        step = step if isinstance(step, StepSize) else Fixed(step, per=unit, bounded=False)
        doubled = chosen.doubled_gradients and name != "policy_step"
        given[name] = step.scaled(2.0) if doubled else step
    if plans:
        capacity = given.pop("replay_capacity", REPLAY_CAPACITY)
        backups = given.get("backups", "replay")
        names: Any = getattr(cls, "backup_names", {})
        if isinstance(backups, str) and backups in names:
            backups = names[backups](capacity)
        if isinstance(backups, Rollout) and isinstance(backups.start, str):
            backups = backups.replace(start=names[backups.start](capacity))
        if isinstance(backups, Backups):
            backups = backups.with_fits(chosen.replayed_fits)
        given["backups"] = backups
    if given.get("planning_update") in ("gradient", "gtd2"):
        correction = Fixed(CORRECTION_STEP, per=unit, bounded=False)
        given["planning_update"] = UPDATES[given["planning_update"]](
            correction.scaled(2.0) if chosen.doubled_gradients else correction
        )
    printed = {
        "discount": 1.0,
        **({"planning_update": "levi"} if "planning_update" in fields else {}),
    }
    return cls(**{**printed, **given, "interpretation": chosen})
