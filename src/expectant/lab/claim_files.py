"""Claims as they are written down in TOML, checked down to the last key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from expectant.analysis.judging import ABOUT, ABOVE, AT_LEAST, Statement
from expectant.descriptions import near_miss
from expectant.lab.claims import KINDS, Claim
from expectant.lab.clauses import Clause
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
from expectant.rules import Rule, at_least, between, flag, number, one_of, whole

Figures = Mapping[str, Experiment]
CLAIM = ("id", "figure", "panel", "kind", "claim", "clauses", "work", "beside")
CLAUSE = (
    "measure", "of", "minus", "falls", "low", "high", "at_least", "about", "margin", "across",
    "switch", "figure", "beyond", "relative_margin",
)  # fmt: skip
WORK = ("agents", "actions", "features", "active", "much_more")


def claims_in(data: Mapping[str, Any], figures: Figures) -> Iterator[Claim]:
    """The claims in the data of a file, about the agents of some figures."""
    check_keys("", data, ["names", "claims"])
    names = check_table("names", data.get("names", {}))
    seen: set[int] = set()
    for place, table in enumerate(check_tables("claims", data.get("claims", []))):
        where = f"claims.{place}"
        check_keys(f"{where}.", table, CLAIM)
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
    kind = check_rule(f"{where}.kind", one_of(*KINDS), table.get("kind", KINDS[0]))
    if ("work" in table) == ("clauses" in table):
        raise SpecError(f"{where}: must have clauses, or work, and not both")
    if "work" in table:
        rule = _work(check_table(f"{where}.work", table["work"]), names, f"{where}.work")
        return Claim(id, figure, said, work=rule, names=names, kind=kind)
    panel, clauses = table.get("panel"), list[Clause]()
    for place, own in enumerate(check_tables(f"{where}.clauses", table["clauses"])):
        part = f"{where}.clauses.{place}"
        agents = _agents(
            figures, check_text(f"{part}.figure", own.get("figure", figure)), panel, where
        )
        clauses += _clauses(own, agents, part, names)
    if not clauses:
        raise SpecError(f"{where}.clauses: at least one is needed")
    beside = tuple(
        _named(name, f"{where}.beside")
        for name in check_texts(f"{where}.beside", table.get("beside", []))
    )
    return Claim(
        id, figure, said, tuple(clauses), names=names, panel=panel, kind=kind, beside=beside
    )


def _agents(figures: Figures, figure: str, panel: Any, where: str) -> set[str]:
    """The agents of a figure, or of one panel of it."""
    if figure not in figures:
        raise SpecError(f"{where}.figure: no figure {figure!r}" + near_miss(figure, [*figures]))
    names = figures[figure].names()
    panels = list(dict.fromkeys(there for there, _ in names))
    if panel is not None and panel not in panels:
        raise SpecError(f"{where}.panel: no panel {panel!r}" + near_miss(str(panel), panels))
    return {agent for there, agent in names if panel in (None, there)}


def _clauses(
    table: Mapping[str, Any], agents: set[str], where: str, names: Mapping[str, str]
) -> Iterator[Clause]:
    """The clauses that one table stands for: one for every switch and every pair of agents."""
    check_keys(f"{where}.", table, CLAUSE)
    statement = _statement(table, where)
    across = check_rule(f"{where}.across", flag(), table.get("across", False))
    beyond = _beyond(table, agents, where)
    for of, minus in _sides(table, agents, where):
        for measure in _measures(table, where):
            relative = _relative(table, measure, where)
            clause = Clause(
                measure, of, minus, statement, across, table.get("figure", ""), beyond, relative
            )
            yield replace(clause, names={key: names[key] for key in clause.keys if key in names})


def _beyond(
    table: Mapping[str, Any], agents: set[str], where: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The groups of agents whose difference is taken off that of the clause's own."""
    if "beyond" not in table:
        return (), ()
    own = check_table(f"{where}.beyond", table["beyond"])
    check_keys(f"{where}.beyond.", own, ["of", "minus"])
    _check_agents(own, ("of", "minus"), agents, f"{where}.beyond")
    return tuple(own.get("of", ())), tuple(own.get("minus", ()))


def _relative(table: Mapping[str, Any], measure: Measure, where: str) -> float:
    """Of what is measured the share that a margin is at most; 0: the margin is what it is."""
    if "relative_margin" not in table:
        return 0.0
    share = check_rule(f"{where}.relative_margin", between(0, 1), table["relative_margin"])
    if "margin" not in table or "at_least" in table or "about" in table:
        raise SpecError(f"{where}.relative_margin: goes with margin, for a number above low")
    if measure.per_run or "beyond" in table:
        raise SpecError(
            f"{where}.relative_margin: needs a measure of mean curves and no beyond, got "
            f"{measure.name!r}"
        )
    return share


def _statement(table: Mapping[str, Any], where: str) -> Statement:
    """What a clause says of its number: above ``low``, from ``low`` to ``high``, or one of the
    others."""
    found = {
        key: check_rule(f"{where}.{key}", number(), table[key])
        for key in ("low", "high", "at_least", "about")
        if key in table
    }
    margin = check_rule(f"{where}.margin", at_least(0.0), table.get("margin", 0.0))
    if "high" in found:
        low, high = found.pop("low", 0.0), found.pop("high")
        if found or "margin" in table:
            raise SpecError(f"{where}.high: goes with low alone")
        if not low < high:
            raise SpecError(f"{where}.high: must be above low ({low:g}), got {high:g}")
        return Statement(ABOUT, (low + high) / 2.0, (high - low) / 2.0)
    if len(found) > 1:
        raise SpecError(f"{where}: must have one of {', '.join(found)}")
    kinds = {"low": ABOVE, "at_least": AT_LEAST, "about": ABOUT}
    for key, reference in found.items():
        return Statement(kinds[key], reference, margin)
    return Statement(ABOVE, 0.0, margin)


def _sides(
    table: Mapping[str, Any], agents: set[str], where: str
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if ("falls" in table) == ("of" in table):
        raise SpecError(f"{where}: must have of, or falls, and not both")
    _check_agents(table, ("of", "minus", "falls"), agents, where)
    if "falls" not in table:
        yield tuple(table["of"]), tuple(table.get("minus", ()))
        return
    for more, less in pairwise(table["falls"]):
        yield (more,), (less,)


def _check_agents(
    table: Mapping[str, Any], keys: tuple[str, ...], agents: set[str], where: str
) -> None:
    for key in keys:
        for name in check_texts(f"{where}.{key}", table.get(key, [])):
            if name not in agents:
                raise SpecError(
                    f"{where}.{key}: no agent {name!r} in this figure"
                    + near_miss(name, sorted(agents))
                )


def _measures(table: Mapping[str, Any], where: str) -> Iterator[Measure]:
    name = check_text(f"{where}.measure", table.get("measure"))
    found = _named(name, f"{where}.measure")
    if "switch" not in table:
        yield found
        return
    if found.at is None:
        raise SpecError(f"{where}.switch: {name!r} is not a measure of single switches")
    for switch in check_rule(f"{where}.switch", _SWITCHES, table["switch"]):
        yield found.at(switch)


def _named(name: str, where: str) -> Measure:
    if name not in MEASURES:
        raise SpecError(f"{where}: unknown {name!r}" + near_miss(name, sorted(MEASURES)))
    return MEASURES[name]


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
    )
