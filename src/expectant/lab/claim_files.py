"""Claims as they are written down in TOML, checked down to the last key."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from expectant.descriptions import near_miss
from expectant.lab.claims import Claim, Clause
from expectant.lab.decision_work import WorkRule
from expectant.lab.measures import MEASURES, Measure
from expectant.lab.specs.describing import Describer
from expectant.lab.specs.spec import Experiment
from expectant.lab.specs.spec_errors import (
    SpecError,
    check_keys,
    check_rule,
    check_table,
    check_tables,
    check_text,
    check_texts,
)
from expectant.parts import Agent
from expectant.rules import Rule, flag, number, whole

Figures = Mapping[str, Experiment]
CLAUSE = ("measure", "of", "minus", "falls", "low", "high", "across", "switch")
WORK = ("agents", "actions", "features", "active", "much_more", "as_fast")


def claims_in(data: Mapping[str, Any], figures: Figures) -> Iterator[Claim]:
    """The claims in the data of a file, about the agents of some figures."""
    check_keys("", data, ["names", "claims"])
    names = check_table("names", data.get("names", {}))
    seen: set[int] = set()
    for place, table in enumerate(check_tables("claims", data.get("claims", []))):
        where = f"claims.{place}"
        check_keys(f"{where}.", table, ["id", "figure", "panel", "claim", "clauses", "work"])
        id = check_rule(f"{where}.id", whole(1), table.get("id"))
        if id in seen:
            raise SpecError(f"{where}.id: must be a number of its own, got {id} twice")
        seen.add(id)
        yield _claim(id, table, names, figures, where)


def _claim(
    id: int, table: Mapping[str, Any], names: Mapping[str, str], figures: Figures, where: str
) -> Claim:
    figure = check_text(f"{where}.figure", table.get("figure"))
    said = check_text(f"{where}.claim", table.get("claim"))
    if ("work" in table) == ("clauses" in table):
        raise SpecError(f"{where}: must have clauses, or work, and not both")
    if "work" in table:
        rule = _work(check_table(f"{where}.work", table["work"]), names, f"{where}.work")
        return Claim(id, figure, said, work=rule, names=names)
    if figure not in figures:
        raise SpecError(f"{where}.figure: no figure {figure!r}" + near_miss(figure, [*figures]))
    cells = figures[figure].cells()
    panel = table.get("panel")
    panels = list(dict.fromkeys(cell.panel for cell in cells))
    if panel is not None and panel not in panels:
        raise SpecError(f"{where}.panel: no panel {panel!r}" + near_miss(str(panel), panels))
    agents = {cell.agent_key for cell in cells if panel in (None, cell.panel)}
    listed = check_tables(f"{where}.clauses", table["clauses"])
    clauses = [
        clause
        for place, own in enumerate(listed)
        for clause in _clauses(own, agents, f"{where}.clauses.{place}")
    ]
    if not clauses:
        raise SpecError(f"{where}.clauses: at least one is needed")
    return Claim(id, figure, said, tuple(clauses), names=names, panel=panel)


def _clauses(table: Mapping[str, Any], agents: set[str], where: str) -> Iterator[Clause]:
    """The clauses that one table stands for: one for every switch and every pair of agents."""
    check_keys(f"{where}.", table, CLAUSE)
    low = check_rule(f"{where}.low", number(), table.get("low", 0.0))
    high = check_rule(f"{where}.high", number(), table["high"]) if "high" in table else math.inf
    if not low < high:
        raise SpecError(f"{where}.high: must be above low ({low:g}), got {high:g}")
    across = check_rule(f"{where}.across", flag(), table.get("across", False))
    for of, minus in _sides(table, agents, where):
        for measure in _measures(table, where):
            yield Clause(measure, of, minus, low, high, across)


def _sides(
    table: Mapping[str, Any], agents: set[str], where: str
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if ("falls" in table) == ("of" in table):
        raise SpecError(f"{where}: must have of, or falls, and not both")
    for key in ("of", "minus", "falls"):
        for name in check_texts(f"{where}.{key}", table.get(key, [])):
            if name not in agents:
                raise SpecError(
                    f"{where}.{key}: no agent {name!r} in this figure"
                    + near_miss(name, sorted(agents))
                )
    if "falls" not in table:
        yield tuple(table["of"]), tuple(table.get("minus", ()))
        return
    for more, less in pairwise(table["falls"]):
        yield (more,), (less,)


def _measures(table: Mapping[str, Any], where: str) -> Iterator[Measure]:
    name = check_text(f"{where}.measure", table.get("measure"))
    if name not in MEASURES:
        raise SpecError(f"{where}.measure: unknown {name!r}" + near_miss(name, sorted(MEASURES)))
    found = MEASURES[name]
    if "switch" not in table:
        yield found
        return
    if found.at is None:
        raise SpecError(f"{where}.switch: {name!r} is not a measure of single switches")
    for switch in check_rule(f"{where}.switch", _SWITCHES, table["switch"]):
        yield found.at(switch)


def _whole_list(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError
    return tuple(whole(1).convert(item) for item in value)


_SWITCHES = Rule("a list of numbers of switches, from 1", _whole_list)
_SIZES = Rule("a list of whole numbers, 1 or more", _whole_list)


def _work(table: Mapping[str, Any], names: Mapping[str, str], where: str) -> WorkRule:
    check_keys(f"{where}.", table, WORK)
    describe = Describer()
    listed = check_table(f"{where}.agents", table.get("agents", {}))
    return WorkRule(
        agents={
            name: (names.get(name, name), describe(Agent, f"{where}.agents.{name}", own))
            for name, own in listed.items()
        },
        actions=check_rule(f"{where}.actions", _SIZES, table.get("actions")),
        features=check_rule(f"{where}.features", _SIZES, table.get("features")),
        active=check_rule(f"{where}.active", whole(1), table.get("active")),
        much_more=check_rule(f"{where}.much_more", number(), table.get("much_more")),
        as_fast=check_rule(f"{where}.as_fast", number(), table.get("as_fast")),
    )
