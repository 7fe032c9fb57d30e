"""The sections of a page as plain data; the macro of its name lays each out.

A page is a list of sections; empty ones are left out.
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
# Symbol and CSS class; the word is written beside them.
BADGES = {
    "holds": ("✓", "holds"), "does not hold": ("✗", "fails"), "equal": ("=", "undecided"),
    "unclear": ("?", "undecided"), "undecided": ("?", "undecided"), "adaptive": ("✓", "holds"),
    "not adaptive": ("✗", "fails"),
}  # fmt: skip
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
        """Return the verdicts under one interpretation."""
        return [verdict for verdict in self.verdicts if verdict["interpretation"] == interpretation]


def claims_of(verdicts: Sequence[Verdict]) -> list[ClaimRow]:
    """Group the verdicts by claim, in order of appearance."""
    grouped: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        grouped.setdefault((str(verdict["figure"]), str(verdict["id"])), []).append(verdict)
    claims = []
    for (figure, name), group in grouped.items():
        rules = {verdict.get("rule") or "" for verdict in group}
        rule = rules.pop() if len(rules) == 1 else ""
        claims.append(ClaimRow(name, figure, group[0]["claim"], rule, group))
    return claims


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: the macro of its name lays it out, the script draws its ``data``."""

    plots: ClassVar[bool] = False  # True if plotly draws its data
    shows: ClassVar[tuple[str, ...]] = ()  # it is empty if all of these are

    @property
    def macro(self) -> str:
        return type(self).__name__.lower()

    @property
    def is_empty(self) -> bool:
        return bool(self.shows) and not any(getattr(self, name) for name in self.shows)

    def data(self, anchor: str) -> dict[str, object] | None:
        """Return the data for the script, or None."""
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
        """The number of claims of each verdict, by interpretation."""
        lines = []
        for name in self.interpretations:
            counts = Counter(v["verdict"] for v in self.verdicts if v["interpretation"] == name)
            kinds = [kind for kind in dict.fromkeys([*BADGES, *sorted(counts)]) if counts[kind]]
            parts = [f"{counts[k]} {PLURALS.get(k, k) if counts[k] > 1 else k}" for k in kinds]
            lines.append((name, ", ".join(parts)))
        return lines

    @property
    def figures(self) -> dict[str, list[ClaimRow]]:
        """The claims of every figure."""
        by_figure: dict[str, list[ClaimRow]] = {}
        for claim in claims_of(self.verdicts):
            by_figure.setdefault(claim.figure, []).append(claim)
        return by_figure


@dataclass(frozen=True, eq=False)
class Claims(Section):
    """Claims with their evidence; those without a figure have a ``heading``."""

    shows: ClassVar[tuple[str, ...]] = ("verdicts",)
    verdicts: Sequence[Verdict]
    heading: str = ""

    @property
    def claims(self) -> list[ClaimRow]:
        return claims_of(self.verdicts)


@dataclass(frozen=True, eq=False)
class Curves(Section):
    """One interactive figure of curves."""

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
    """Drawings of domains: (caption, bytes of a PNG)."""

    shows: ClassVar[tuple[str, ...]] = ("pictures",)
    pictures: Sequence[tuple[str, bytes]]

    @property
    def encoded(self) -> list[tuple[str, str]]:
        return [(caption, base64.b64encode(png).decode()) for caption, png in self.pictures]


@dataclass(frozen=True, eq=False)
class Table(Section):
    """A table; the first cell of a row is its name."""

    shows: ClassVar[tuple[str, ...]] = ("rows",)
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Parameters(Section):
    """Tables of (heading, rows of (name, value)), notes, and the command to repeat it ``place``."""

    shows: ClassVar[tuple[str, ...]] = ("tables", "notes", "command", "place")
    tables: Sequence[tuple[str, Rows]]
    notes: Sequence[str] = ()
    command: str = ""
    place: str = ""


@dataclass(frozen=True, eq=False)
class Environment(Section):
    """Versions and seeds, without a date: the same results give the same page."""

    shows: ClassVar[tuple[str, ...]] = ("rows",)
    rows: Rows


@dataclass(frozen=True, eq=False)
class Adaptation(Section):
    """The local-change adaptation test: rows by figure; ``agents`` and ``backups`` are labels."""

    shows: ClassVar[tuple[str, ...]] = ("tests",)
    tests: Mapping[str, Sequence[Mapping[str, Any]]]
    agents: Mapping[str, str]
    backups: Mapping[tuple[str, str], str]

    def backups_of(self, row: Mapping[str, Any]) -> str:
        return self.backups[row["agent"], row["backups"]]

    def matrix(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
        """Arrange the rows by backups and agent."""
        by_backups: dict[str, dict[str, Mapping[str, Any]]] = {}
        for row in rows:
            by_backups.setdefault(row["backups"], {})[row["agent"]] = row
        return by_backups

    @staticmethod
    def every_run(row: Mapping[str, Any]) -> str:
        return ", ".join(map(format_two_digits, row["adaptation_by_seed"]))
