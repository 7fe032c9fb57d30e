"""The keys of ``study.toml`` that are about figures and claims, checked down to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from expectant.descriptions import near_miss
from expectant.lab.claims import Claim
from expectant.lab.specs.spec import Experiment
from expectant.lab.specs.spec_errors import (
    SpecError,
    check_keys,
    check_rule,
    check_table,
    check_texts,
)
from expectant.rules import at_least, whole

STUDY = "study.toml"


@dataclass(frozen=True)
class JointKeys:
    """Which figures a search among joint readings is about, and the claims that describe them as
    they were published; ``step_limit`` cuts episodes off sooner than the specs do."""

    figures: tuple[str, ...]
    claims: tuple[int, ...]
    step_limit: int | None = None


@dataclass(frozen=True)
class ParameterKeys:
    """Of how many episodes and runs the source's parameter study is, and the claim it is held
    against.

    ``margin`` is what does not matter of a return, in figures without ``margins`` of their own;
    the figures ``at_best`` are run again with every agent at its best.
    """

    claim: int
    episodes: int
    runs: int
    margin: float
    margins: Mapping[str, float] = field(default_factory=dict)
    at_best: tuple[str, ...] = ()


def claim_runs_in(data: Mapping[str, Any], experiments: Mapping[str, Experiment]) -> dict[str, int]:
    """How many runs claims are judged by: one number for all figures, or a table of them."""
    given = data.get("claim_runs", {})
    table = given if isinstance(given, Mapping) else dict.fromkeys(experiments, given)
    _check_figures(f"{STUDY}: claim_runs", table, experiments)
    return {
        name: check_rule(f"{STUDY}: claim_runs.{name}", whole(1), runs)
        for name, runs in table.items()
    }


def figures_in(
    key: str, data: Mapping[str, Any], experiments: Mapping[str, Experiment], within: str = ""
) -> tuple[str, ...]:
    """The figures that a key lists, of a table ``within`` the file or of the file itself."""
    where = f"{STUDY}: {within}{key}"
    found = check_texts(where, data.get(key, []))
    _check_figures(where, dict.fromkeys(found), experiments)
    return tuple(found)


def only_in(
    data: Mapping[str, Any], experiments: Mapping[str, Experiment], sets: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The sets of figures that are not run under all of them."""
    table = check_table(f"{STUDY}: only", data.get("only", {}))
    _check_figures(f"{STUDY}: only", table, experiments)
    found = {name: tuple(check_texts(f"{STUDY}: only.{name}", own)) for name, own in table.items()}
    for name, own in found.items():
        for named_set in own:
            if named_set not in sets:
                raise SpecError(
                    f"{STUDY}: only.{name}: no set {named_set!r}" + near_miss(named_set, [*sets])
                )
    return found


def _check_figures(
    where: str, table: Mapping[str, Any], experiments: Mapping[str, Experiment]
) -> None:
    for name in table:
        if name not in experiments:
            raise SpecError(f"{where}: no figure {name!r}" + near_miss(name, [*experiments]))


def joint_in(
    data: Mapping[str, Any], experiments: Mapping[str, Experiment], claims: Sequence[Claim]
) -> JointKeys | None:
    """What a search among joint readings needs; None if a study does not say it."""
    if "joint" not in data:
        return None
    table = check_table(f"{STUDY}: joint", data["joint"])
    check_keys(f"{STUDY}: joint.", table, ["figures", "claims", "step_limit"])
    figures = figures_in("figures", table, experiments, "joint.")
    if not figures:
        raise SpecError(f"{STUDY}: joint.figures: at least one is needed, got {figures!r}")
    listed = table.get("claims", [])
    if not isinstance(listed, list):
        raise SpecError(f"{STUDY}: joint.claims: must be a list of numbers, got {listed!r}")
    ids = tuple(_claim_id(f"{STUDY}: joint.claims", one, claims) for one in listed)
    limit = table.get("step_limit")
    if limit is not None:
        limit = check_rule(f"{STUDY}: joint.step_limit", whole(1), limit)
    return JointKeys(figures, ids, limit)


def parameters_in(
    data: Mapping[str, Any], experiments: Mapping[str, Experiment], claims: Sequence[Claim]
) -> ParameterKeys | None:
    """What a parameter study needs; None if a study does not say it."""
    if "parameters" not in data:
        return None
    where = f"{STUDY}: parameters"
    table = check_table(where, data["parameters"])
    known = ["claim", "episodes", "runs", "margin", "margins", "at_best"]
    check_keys(f"{where}.", table, known)
    margins = check_table(f"{where}.margins", table.get("margins", {}))
    _check_figures(f"{where}.margins", margins, experiments)
    return ParameterKeys(
        claim=_claim_id(f"{where}.claim", table.get("claim"), claims),
        episodes=check_rule(f"{where}.episodes", whole(1), table.get("episodes")),
        runs=check_rule(f"{where}.runs", whole(1), table.get("runs")),
        margin=check_rule(f"{where}.margin", at_least(0.0), table.get("margin")),
        margins={
            name: check_rule(f"{where}.margins.{name}", at_least(0.0), margin)
            for name, margin in margins.items()
        },
        at_best=figures_in("at_best", table, experiments, "parameters."),
    )


def _claim_id(where: str, id: object, claims: Sequence[Claim]) -> int:
    """The number of a claim, if there is such a claim."""
    for claim in claims:
        if claim.id == id and not isinstance(id, bool):
            return claim.id
    known = ", ".join(str(claim.id) for claim in claims) or "none"
    raise SpecError(f"{where}: must be the id of a claim ({known}), got {id!r}")
