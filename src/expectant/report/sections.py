"""The sections of a page as plain data; the macro of its name lays each out.

A page is a list of sections; empty ones are left out.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from expectant.report.chart import Chart
from expectant.report.formatting import figure_name, format_number, format_two_digits, slug
from expectant.report.palette import Palette

Rows = Sequence[tuple[str, object]]
Verdict = Mapping[str, Any]
# Symbol and CSS class; the word stands beside them or in the legend.
BADGES = {
    "holds": ("✓", "holds"), "equal": ("=", "equal"), "unclear": ("?", "unclear"),
    "undecided": ("?", "unclear"), "does not hold": ("✗", "fails"), "adaptive": ("✓", "holds"),
    "not adaptive": ("✗", "fails"),
}  # fmt: skip
UNKNOWN = ("·", "unclear")
DEFAULT = "preferred"  # the interpretation that is shown first, if there is one of that name
FARTHEST = 8.0  # margins from the claimed number to the end of the axis of a claim
NEAREST = 1.6
TAG = 5  # letters
SINGULAR = {"hold": "holds", "are": "is", "do": "does"}


# --------------------------------------------------------------------------------------- claims


class Marks(NamedTuple):
    """Positions in per cent of a claim's axis; None where unknown or beyond its end."""

    band: tuple[float, float] | None
    claimed: float
    low: float
    high: float
    effect: float
    beyond: str  # "left" or "right" if the effect is


class ClaimRow(NamedTuple):
    """A claim with its verdicts, one for each interpretation under which it was tested.

    A verdict has the keys of ``claims.json``, and ``short``, ``ours`` and ``statement``, see
    :class:`expectant.experiments.claims.Claim`.
    """

    id: str
    figure: str
    text: str
    verdicts: Sequence[Verdict]

    @property
    def anchor(self) -> str:
        return f"claim-{slug(self.figure)}-{slug(self.id)}"

    @property
    def tag(self) -> str:
        """The figure, if that is short enough for a column."""
        return (
            "abl."
            if self.figure.startswith("ablation")
            else self.figure[: TAG * self.figure[:1].isdigit()]
        )

    @property
    def short(self) -> str:
        return self.verdicts[0].get("short") or self.text

    @property
    def is_ours(self) -> bool:
        return bool(self.verdicts[0].get("ours"))

    @property
    def statement(self) -> str:
        return str(self.verdicts[0].get("statement") or "")

    @property
    def subject(self) -> str:
        """The number that decides, with its unit, if it is the same in all verdicts."""
        subjects = {(v.get("label", "").rstrip(","), v.get("unit")) for v in self.verdicts}
        return ", ".join(filter(None, subjects.pop())) if len(subjects) == 1 else ""

    @property
    def claimed(self) -> str:
        """The claimed number, and its margin, where they are the same in all verdicts."""
        numbers = {(v.get("stated"), v.get("reference")) for v in self.verdicts}
        margins = {v.get("margin") for v in self.verdicts}
        ((stated, number),) = numbers if len(numbers) == 1 else [("", None)]
        (margin,) = margins if len(margins) == 1 else [None]
        parts = [f"{stated} {format_number(number)}"] if number is not None else []
        parts += [f"margin {format_number(margin)}"] if parts and margin else []
        return ", ".join(parts)

    def under(self, interpretation: str) -> Verdict | None:
        """Return the verdict under one interpretation."""
        return next((v for v in self.verdicts if v["interpretation"] == interpretation), None)

    @property
    def outcome(self) -> str:
        """All verdicts in one word: every, some, none (of them holds) or undecided."""
        verdicts = {verdict["verdict"] for verdict in self.verdicts}
        if "holds" in verdicts:
            return "every" if verdicts == {"holds"} else "some"
        return "undecided" if "unclear" in verdicts else "none"

    @property
    def marks(self) -> list[Marks | None]:
        """Effects and intervals on an axis in margins from the claimed number, by verdict."""
        scaled = [_in_margins(verdict) for verdict in self.verdicts]
        numbers = [x for values in scaled for x in values or ()]
        start = max(-FARTHEST, min([-NEAREST, *numbers]))
        end = min(FARTHEST, max([NEAREST, *numbers]))

        def position(x: float) -> float:
            return round(100.0 * (min(max(x, start), end) - start) / (end - start), 2)

        marks: list[Marks | None] = []
        for verdict, values in zip(self.verdicts, scaled, strict=True):
            if values is None:
                marks.append(None)
                continue
            band = (position(-1.0), position(1.0)) if verdict.get("margin") else None
            beyond = "left" if values[1] < start else "right" if values[1] > end else ""
            low, effect, high = map(position, values)
            marks.append(Marks(band, position(0.0), low, high, effect, beyond))
        return marks


def _in_margins(verdict: Verdict) -> tuple[float, float, float] | None:
    """Return low, effect and high in margins from the claimed number."""
    numbers = [verdict.get(name) for name in ("low", "effect", "high", "reference")]
    if any(number is None for number in numbers):
        return None
    low, effect, high, reference = (float(number) for number in numbers if number is not None)
    unit = float(verdict.get("margin") or abs(effect - reference) or 1.0)
    return (low - reference) / unit, (effect - reference) / unit, (high - reference) / unit


def claims_of(verdicts: Sequence[Verdict]) -> list[ClaimRow]:
    """Group the verdicts by claim, in order of appearance."""
    grouped: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        grouped.setdefault((str(verdict["figure"]), str(verdict["id"])), []).append(verdict)
    return [
        ClaimRow(name, figure, group[0]["claim"], group)
        for (figure, name), group in grouped.items()
    ]


# ------------------------------------------------------------------------------------- sections


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: the macro of its name lays it out, the script draws its ``data``."""

    shows: ClassVar[tuple[str, ...]] = ()  # it is empty if all of these are

    @property
    def macro(self) -> str:
        return type(self).__name__.lower()

    @property
    def anchor(self) -> str:
        return self.macro

    @property
    def label(self) -> str:
        """Its name in the navigation; none: it is not there."""
        return ""

    @property
    def is_empty(self) -> bool:
        return bool(self.shows) and not any(getattr(self, name) for name in self.shows)

    @property
    def parts(self) -> Sequence[Section]:
        """Sections within it."""
        return ()

    def data(self, anchor: str) -> dict[str, object] | None:
        """Return the data for the script, or None."""
        return None


@dataclass(frozen=True, eq=False)
class Header(Section):
    """The title of the page; ``notes`` are paragraphs, ``facts`` stand in one line."""

    title: str
    subtitle: str = ""
    notes: Sequence[str] = ()
    source: str = ""
    link: str = ""
    facts: Sequence[str] = ()
    warning: str = ""


@dataclass(frozen=True, eq=False)
class Summary(Section):
    """All claims by interpretation, with thumbnails of the figures; ours are not counted."""

    shows: ClassVar[tuple[str, ...]] = ("verdicts",)
    verdicts: Sequence[Verdict]
    figures: Sequence[Curves] = ()
    is_of_a_paper: bool = False

    @property
    def label(self) -> str:
        return "Overview"

    @property
    def claims(self) -> list[ClaimRow]:
        return claims_of(self.verdicts)

    @property
    def counted(self) -> list[ClaimRow]:
        return [claim for claim in self.claims if not claim.is_ours]

    @property
    def interpretations(self) -> list[str]:
        return list(dict.fromkeys(verdict["interpretation"] for verdict in self.verdicts))

    @property
    def bars(self) -> list[tuple[str, list[tuple[str, int, float, float]], int]]:
        """Of every interpretation: (verdict, count, start and width in per cent), and untested."""
        claims, bars = self.counted, []
        for name in self.interpretations:
            verdicts = [verdict for claim in claims if (verdict := claim.under(name))]
            counts = Counter(str(verdict["verdict"]) for verdict in verdicts)
            start, parts = 0.0, []
            for kind in [
                *(kind for kind in BADGES if counts[kind]),
                *sorted({*counts} - {*BADGES}),
            ]:
                width = 100.0 * counts[kind] / len(claims)
                parts.append((kind, counts[kind], round(start, 2), round(width, 2)))
                start += width
            bars.append((name, parts, len(claims) - len(verdicts)))
        return bars

    @property
    def sentence(self) -> str:
        """Count the claims that hold under every, some or no interpretation."""
        claims, whose = self.counted, "the paper's " if self.is_of_a_paper else ""
        words = {
            "every": "hold under every interpretation", "some": "under some",
            "none": "under none", "undecided": "are undecided",
        }  # fmt: skip
        counts = Counter(claim.outcome for claim in claims)
        if len(self.interpretations) == 1:
            counts = Counter(str(claim.verdicts[0]["verdict"]) for claim in claims)
            words = {
                "holds": "hold", "equal": "are equal within the margin",
                "does not hold": "do not hold", "unclear": "are undecided",
            }  # fmt: skip
        parts = [_counted(counts[kind], word) for kind, word in words.items() if counts[kind]]
        listed = " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
        return f"Of {whose}{len(claims)} claims, {listed}."


def _counted(count: int, words: str) -> str:
    verb, space, rest = words.partition(" ")
    return f"{count} {SINGULAR.get(verb, verb) if count == 1 else verb}{space}{rest}"


@dataclass(frozen=True, eq=False)
class Curves(Section):
    """One figure of curves, with a switch for the interpretation, and the claims about it.

    ``facts`` stand below the curves; ``alerts`` are (what diverged, why); ``files`` are links to
    the figure beside the page. ``close_up`` shows more of the same. ``parameters`` are names with a
    value for each interpretation, or one for all; ``command`` makes the figure again ``place``.
    """

    figure: str
    title: str
    chart: Chart
    claims: Sequence[Verdict] = ()
    facts: Sequence[str] = ()
    alerts: Rows = ()
    files: Sequence[str] = ()
    close_up: Chart | None = None
    parameters: Sequence[tuple[str, Sequence[str]]] = ()
    notes: Sequence[str] = ()
    command: str = ""
    place: str = ""

    @property
    def name(self) -> str:
        return figure_name(self.figure)

    @property
    def label(self) -> str:
        return self.name

    @property
    def anchor(self) -> str:
        return f"figure-{slug(self.figure)}"

    @property
    def rows(self) -> list[ClaimRow]:
        return claims_of(self.claims)

    @property
    def interpretations(self) -> list[str]:
        return self.chart.interpretations

    @property
    def default(self) -> str:
        return DEFAULT if DEFAULT in self.interpretations else next(iter(self.interpretations), "")

    @property
    def is_wide(self) -> bool:
        """True if it has no claims, or more than one plot is shown at once."""
        return (
            not self.claims
            or sum(self.default in (*plot.interpretations, "") for plot in self.chart.plots) > 1
        )

    def describe(self, palette: Palette) -> str:
        """Describe the curves for those who cannot see them: where each ends."""
        curves = [curve for plot in self.chart.plots[:1] for curve in plot.curves]
        ends = [f"{palette[c.key].name} ends at {format_number(c.mean[-1])}" for c in curves]
        return f"{self.name}, {self.chart.y_name} over {self.chart.x_name}: {', '.join(ends)}"

    def data(self, anchor: str) -> dict[str, object] | None:
        if not self.chart.plots:
            return None
        more = {} if self.close_up is None else {"closeUp": self.close_up.data()}
        return {**self.chart.data(anchor), "default": self.default, **more}


@dataclass(frozen=True, eq=False)
class Claims(Section):
    """Claims without a figure, under a heading."""

    shows: ClassVar[tuple[str, ...]] = ("verdicts",)
    verdicts: Sequence[Verdict]
    heading: str = "Claims without a figure"

    @property
    def anchor(self) -> str:
        return slug(self.heading)

    @property
    def label(self) -> str:
        return self.heading

    @property
    def rows(self) -> list[ClaimRow]:
        return claims_of(self.verdicts)


@dataclass(frozen=True, eq=False)
class Folded(Section):
    """Sections that are shown on demand, under a heading with a hint."""

    shows: ClassVar[tuple[str, ...]] = ("parts",)
    heading: str
    hint: str
    parts: Sequence[Section] = field(default=())

    @property
    def anchor(self) -> str:
        return slug(self.heading)

    @property
    def label(self) -> str:
        return self.heading


@dataclass(frozen=True, eq=False)
class Worlds(Section):
    """Drawings of domains: (caption, bytes of a PNG)."""

    shows: ClassVar[tuple[str, ...]] = ("pictures",)
    pictures: Sequence[tuple[str, bytes]]

    @property
    def encoded(self) -> list[tuple[str, str]]:
        return [(caption, base64.b64encode(png).decode()) for caption, png in self.pictures]


@dataclass(frozen=True, eq=False)
class Rules(Section):
    """The rules of all verdicts, and the metrics as (name, meaning)."""

    shows: ClassVar[tuple[str, ...]] = ("rules", "metrics")
    rules: Sequence[str]
    metrics: Rows = ()

    @property
    def label(self) -> str:
        return "Rules"


@dataclass(frozen=True, eq=False)
class Table(Section):
    """A table; the first cell of a row is its name."""

    shows: ClassVar[tuple[str, ...]] = ("rows",)
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def columns(self) -> list[int]:
        """The columns that are not empty in all rows."""
        return [n for n, _ in enumerate(self.heads) if any(row[n] for row in self.rows)]

    @property
    def anchor(self) -> str:
        return slug(self.title)

    @property
    def label(self) -> str:
        return self.title


@dataclass(frozen=True, eq=False)
class Parameters(Section):
    """The command to make the page again ``place``."""

    shows: ClassVar[tuple[str, ...]] = ("command",)
    tables: Sequence[tuple[str, Rows]]
    notes: Sequence[str] = ()
    command: str = ""
    place: str = ""


@dataclass(frozen=True, eq=False)
class Environment(Section):
    """Versions and seeds."""

    shows: ClassVar[tuple[str, ...]] = ("rows",)
    rows: Rows


@dataclass(frozen=True, eq=False)
class Adaptation(Section):
    """The local-change adaptation test: rows by figure; ``agents`` and ``backups`` are labels."""

    shows: ClassVar[tuple[str, ...]] = ("tests",)
    tests: Mapping[str, Sequence[Mapping[str, Any]]]
    agents: Mapping[str, str]
    backups: Mapping[tuple[str, str], str]

    @property
    def label(self) -> str:
        return "Adaptation"

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
