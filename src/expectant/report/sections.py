"""What a page is made of: sections, as plain data, each drawn by the macro of its name.

A page is a list of these in order. One that has nothing to show does not appear.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from expectant.report.chart import Chart
from expectant.report.formatting import figure_name, format_two_digits, slug

Rows = Sequence[tuple[str, object]]
Verdict = Mapping[str, Any]
# Symbol and class; the word is always written too, so nothing depends on colour or on the symbol.
BADGES = {
    "holds": ("✓", "holds"),
    "does not hold": ("✗", "fails"),
    "equal": ("=", "undecided"),
    "unclear": ("?", "undecided"),
    "undecided": ("?", "undecided"),
    "adaptive": ("✓", "holds"),
    "not adaptive": ("✗", "fails"),
}
UNKNOWN = ("·", "undecided")
PLURALS = {"holds": "hold", "does not hold": "do not hold"}


class ClaimRow(NamedTuple):
    """A claim with all verdicts on it; ``rule`` is empty where interpretations differ in it."""

    id: str
    figure: str
    text: str
    rule: str
    verdicts: list[Verdict]

    @property
    def anchor(self) -> str:
        return f"claim-{slug(self.figure)}-{slug(self.id)}"

    def under(self, interpretation: str) -> list[Verdict]:
        """The verdicts under one interpretation."""
        return [verdict for verdict in self.verdicts if verdict["interpretation"] == interpretation]


def claims_of(verdicts: Sequence[Verdict]) -> list[ClaimRow]:
    """Group the verdicts by claim, in order of appearance."""
    grouped: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        grouped.setdefault((str(verdict["figure"]), str(verdict["id"])), []).append(verdict)
    claims = []
    for (figure, name), own in grouped.items():
        rules = {verdict.get("rule") or "" for verdict in own}
        rule = rules.pop() if len(rules) == 1 else ""
        claims.append(ClaimRow(name, figure, own[0]["claim"], rule, own))
    return claims


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: the macro of its name lays it out, the script draws its ``data``."""

    plots: ClassVar[bool] = False  # whether its data are drawn by plotly
    shows: ClassVar[tuple[str, ...]] = ()  # without any of these it is empty

    @property
    def macro(self) -> str:
        return type(self).__name__.lower()

    @property
    def is_empty(self) -> bool:
        return bool(self.shows) and not any(getattr(self, name) for name in self.shows)

    def data(self, anchor: str) -> dict[str, object] | None:
        """What the script needs; ``anchor`` is the address of the section."""
        return None


@dataclass(frozen=True, eq=False)
class Header(Section):
    """The title of the page; ``notes`` are paragraphs."""

    title: str
    subtitle: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Glance(Section):
    """Claims by interpretations at a glance.

    A verdict has the keys id, figure, interpretation, kind, claim, verdict ("holds", "equal", "does
    not hold" or "unclear"), effect, low, high, margin, runs, replication_probability, rule and
    detail; it may have label and unit of its effect, and a note.
    """

    shows: ClassVar[tuple[str, ...]] = ("verdicts",)
    verdicts: Sequence[Verdict]

    @property
    def interpretations(self) -> list[str]:
        return list(dict.fromkeys(verdict["interpretation"] for verdict in self.verdicts))

    @property
    def totals(self) -> list[tuple[str, str]]:
        """The number of claims of each verdict, interpretation by interpretation."""
        lines = []
        for interpretation in self.interpretations:
            counts = Counter(
                v["verdict"] for v in self.verdicts if v["interpretation"] == interpretation
            )
            kinds = [kind for kind in dict.fromkeys([*BADGES, *sorted(counts)]) if counts[kind]]
            said = [f"{counts[k]} {PLURALS.get(k, k) if counts[k] > 1 else k}" for k in kinds]
            lines.append((interpretation, ", ".join(said)))
        return lines

    @property
    def figures(self) -> dict[str, list[ClaimRow]]:
        """The claims of every figure."""
        found: dict[str, list[ClaimRow]] = {}
        for claim in claims_of(self.verdicts):
            found.setdefault(claim.figure, []).append(claim)
        return found


@dataclass(frozen=True, eq=False)
class Claims(Section):
    """Claims with their evidence; under a ``heading``, where they do not belong to a figure."""

    shows: ClassVar[tuple[str, ...]] = ("verdicts",)
    verdicts: Sequence[Verdict]
    heading: str = ""

    @property
    def claims(self) -> list[ClaimRow]:
        return claims_of(self.verdicts)


@dataclass(frozen=True, eq=False)
class Curves(Section):
    """One figure of curves, which can be switched on and off."""

    plots: ClassVar[bool] = True
    figure: str
    title: str
    chart: Chart

    @property
    def name(self) -> str:
        return figure_name(self.figure)

    def data(self, anchor: str) -> dict[str, object] | None:
        return self.chart.data(anchor) if self.chart.plots else None


@dataclass(frozen=True, eq=False)
class Worlds(Section):
    """Drawings of domains: ``pictures`` of (caption, the bytes of a PNG)."""

    shows: ClassVar[tuple[str, ...]] = ("pictures",)
    pictures: Sequence[tuple[str, bytes]]

    @property
    def encoded(self) -> list[tuple[str, str]]:
        """The pictures as text."""
        return [(caption, base64.b64encode(png).decode()) for caption, png in self.pictures]


@dataclass(frozen=True, eq=False)
class Table(Section):
    """A table under a ``title``; the first cell of a row names it."""

    shows: ClassVar[tuple[str, ...]] = ("rows",)
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Parameters(Section):
    """How something was made: ``tables`` of (heading, rows of (name, value)), ``notes`` in words
    and the ``command`` that makes it again, at some ``place``."""

    shows: ClassVar[tuple[str, ...]] = ("tables", "notes", "command", "place")
    tables: Sequence[tuple[str, Rows]]
    notes: Sequence[str] = ()
    command: str = ""
    place: str = ""


@dataclass(frozen=True, eq=False)
class Environment(Section):
    """Versions and seeds, and no date: the same results make the same page."""

    shows: ClassVar[tuple[str, ...]] = ("rows",)
    rows: Rows


@dataclass(frozen=True, eq=False)
class Adaptation(Section):
    """The local-change adaptation test: rows as plain data by the name of their figure.

    ``agents`` is what people call them, ``backups`` the same by agent and backups.
    """

    shows: ClassVar[tuple[str, ...]] = ("tests",)
    tests: Mapping[str, Sequence[Mapping[str, Any]]]
    agents: Mapping[str, str]
    backups: Mapping[tuple[str, str], str]

    def backups_of(self, row: Mapping[str, Any]) -> str:
        return self.backups[row["agent"], row["backups"]]

    def matrix(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
        """The rows by backups and agent."""
        found: dict[str, dict[str, Mapping[str, Any]]] = {}
        for row in rows:
            found.setdefault(row["backups"], {})[row["agent"]] = row
        return found

    @staticmethod
    def every_run(row: Mapping[str, Any]) -> str:
        return ", ".join(map(format_two_digits, row["adaptation_by_seed"]))
