"""Claims as config: the tables of ``claims.toml`` read into claims about the agents of figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from expectant.analysis.judging import ABOUT, ABOVE, AT_LEAST, Statement
from expectant.descriptions import near_miss
from expectant.lab.claims import KINDS, Claim
from expectant.lab.clauses import Clause
from expectant.lab.decision_cost import CostRule
from expectant.lab.measures import MEASURES, Measure
from expectant.lab.specs.spec import Describer, Experiment
from expectant.lab.specs.tables import (
    SpecError,
    check_known,
    inside,
    key,
    list_of,
    read_table,
    table,
    table_of,
    tables,
    text,
    texts,
)
from expectant.parts import Agent
from expectant.rules import Rule, at_least, between, flag, number, one_of, whole


def _measure_named(name: object) -> Measure:
    if name not in MEASURES:
        raise SpecError(f"unknown {name!r}" + near_miss(str(name), sorted(MEASURES)))
    return MEASURES[str(name)]


MEASURE = Rule("the name of a measure", _measure_named)
MARGIN = at_least(0.0)
NUMBERS = list_of(whole(1), "whole numbers, 1 or more")


@dataclass(frozen=True, kw_only=True)
class AgentGroups:
    """Agents, and those whose mean is subtracted."""

    of: tuple[str, ...] = key(texts(), ())
    minus: tuple[str, ...] = key(texts(), ())


@dataclass(frozen=True, kw_only=True)
class ClauseTable(AgentGroups):
    """One of the ``clauses`` of a claim; ``switch`` and ``falls`` make several of it."""

    measure: Measure = key(MEASURE)
    falls: tuple[str, ...] = key(texts(), ())
    low: float | None = key(number(), None)
    high: float | None = key(number(), None)
    at_least: float | None = key(number(), None)
    about: float | None = key(number(), None)
    margin: float | None = key(MARGIN, None)
    relative_margin: float = key(between(0, 1), 0.0)
    across: bool = key(flag(), False)
    switch: tuple[int, ...] = key(NUMBERS, ())
    figure: str = key(text(), "")
    beyond: AgentGroups = key(table(AgentGroups), AgentGroups())

    def __post_init__(self) -> None:
        if bool(self.falls) == bool(self.of):
            raise SpecError("must have of, or falls, and not both")
        if len(self.falls) == 1:
            raise SpecError("must be two agents or more", "falls")
        if self.switch and self.measure.at is None:
            raise SpecError(f"{self.measure.name!r} is not a measure of single switches", "switch")
        if self.relative_margin:
            if self.margin is None or self.at_least is not None or self.about is not None:
                raise SpecError("goes with margin, for a number above low", "relative_margin")
            if self.measure.per_run or self.beyond != AgentGroups():
                raise SpecError(
                    f"needs a measure of mean curves and no beyond, got {self.measure.name!r}",
                    "relative_margin",
                )

    @property
    def statement(self) -> Statement:
        """What is stated: above ``low``, from ``low`` to ``high``, ``at_least`` or ``about``."""
        kinds = {"low": ABOVE, "at_least": AT_LEAST, "about": ABOUT}
        given = {name: getattr(self, name) for name in kinds if getattr(self, name) is not None}
        if self.high is not None:
            low = given.pop("low", 0.0)
            if given or self.margin is not None:
                raise SpecError("goes with low alone", "high")
            if not low < self.high:
                raise SpecError(f"must be above low ({low:g}), got {self.high:g}", "high")
            return Statement(ABOUT, (low + self.high) / 2.0, (self.high - low) / 2.0)
        if len(given) > 1:
            raise SpecError(f"must have one of {', '.join(given)}")
        for name, reference in given.items():
            return Statement(kinds[name], reference, self.margin or 0.0)
        return Statement(ABOVE, 0.0, self.margin or 0.0)

    def clauses(self, agents: list[str], names: Mapping[str, str]) -> Iterator[Clause]:
        """Yield a clause for every switch and every pair of agents, which must be known."""
        for group in ("of", "minus", "falls"):
            check_known("no agent in this figure:", getattr(self, group), agents, group)
        for group in ("of", "minus"):
            known = getattr(self.beyond, group)
            check_known("no agent in this figure:", known, agents, "beyond", group)
        sides: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(self.of, self.minus)]
        if self.falls:
            sides = [((more,), (less,)) for more, less in pairwise(self.falls)]
        at = self.measure.at
        measures = [at(number) for number in self.switch] if at else []
        for of, minus in sides:
            for measure in measures or [self.measure]:
                clause = Clause(
                    measure,
                    of,
                    minus,
                    self.statement,
                    self.across,
                    self.figure,
                    (self.beyond.of, self.beyond.minus),
                    self.relative_margin,
                )
                known = {key: names[key] for key in clause.keys if key in names}
                yield replace(clause, names=known)


@dataclass(frozen=True, kw_only=True)
class WorkTable:
    """The counted work of one decision, over a grid of actions and features."""

    agents: Mapping[str, Mapping[str, Any]] = key(table_of(table()))
    actions: tuple[int, ...] = key(NUMBERS)
    features: tuple[int, ...] = key(NUMBERS)
    active: int = key(whole(1))
    much_more: float = key(number())

    def rule(self, names: Mapping[str, str]) -> CostRule:
        describe = Describer()
        agents = {
            name: (names.get(name, name), describe(Agent, f"agents.{name}", own))
            for name, own in self.agents.items()
        }
        return CostRule(agents, self.actions, self.features, self.active, self.much_more)


@dataclass(frozen=True, kw_only=True)
class ClaimTable:
    """One of the ``claims``."""

    id: int = key(whole(1))
    figure: str = key(text())
    claim: str = key(text())
    panel: str | None = key(text(), None)
    kind: str = key(one_of(*KINDS), KINDS[0])
    clauses: tuple[ClauseTable, ...] = key(tables(ClauseTable), ())
    work: WorkTable | None = key(table(WorkTable), None)
    beside: tuple[Measure, ...] = key(list_of(MEASURE, "measures"), ())

    def __post_init__(self) -> None:
        if (self.work is None) == (not self.clauses):
            raise SpecError("must have clauses, or work, and not both")

    def read(self, names: Mapping[str, str], figures: Mapping[str, Experiment]) -> Claim:
        """Make the claim, about agents of figures that must be known."""
        if self.work is not None:
            with inside("work"):
                rule = self.work.rule(names)
            return Claim(self.id, self.figure, self.claim, work=rule, names=names, kind=self.kind)
        clauses: list[Clause] = []
        for place, clause in enumerate(self.clauses):
            figure = clause.figure or self.figure
            check_known("no figure", [figure], [*figures], "figure")
            cells = figures[figure].names()
            panels = list(dict.fromkeys(panel for panel, _ in cells))
            if self.panel is not None:
                check_known("no panel", [self.panel], panels, "panel")
            agents = {agent for panel, agent in cells if self.panel in (None, panel)}
            with inside("clauses", place):
                clauses += clause.clauses(sorted(agents), names)
        return Claim(
            self.id,
            self.figure,
            self.claim,
            tuple(clauses),
            names=names,
            panel=self.panel,
            kind=self.kind,
            beside=self.beside,
        )


@dataclass(frozen=True, kw_only=True)
class ClaimsFile:
    """The keys of ``claims.toml``; ``names`` are for agents, in sentences."""

    names: Mapping[str, str] = key(table_of(text()), {})
    claims: tuple[ClaimTable, ...] = key(tables(ClaimTable), ())

    def __post_init__(self) -> None:
        ids = [claim.id for claim in self.claims]
        for place, id in enumerate(ids):
            if id in ids[:place]:
                raise SpecError(
                    f"must be a number of its own, got {id} twice", "claims", place, "id"
                )


def claims_in(data: Mapping[str, Any], figures: Mapping[str, Experiment]) -> Iterator[Claim]:
    """Read the claims in the data of a file, about the agents of some figures."""
    file = read_table(ClaimsFile, data)
    for place, claim in enumerate(file.claims):
        with inside("claims", place):
            yield claim.read(file.names, figures)
