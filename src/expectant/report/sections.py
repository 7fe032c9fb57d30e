"""The sections of a page as plain data; the macro of its name lays each out.

A page is a list of sections; empty ones are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from expectant.report.chart_data import Chart
from expectant.report.formatting import figure_name, format_number, slug
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
PREFERRED = "preferred"  # the interpretation that is shown first, if there is one of that name
FARTHEST = 8.0  # margins from the claimed number to the end of the axis of a claim
NEAREST = 1.6
SENTENCE = {  # of one claim, and of several
    "every": ("holds wherever it was judged", "hold wherever they were judged"),
    "some": ("under some interpretations", "under some interpretations"),
    "none": ("under none", "under none"),
    "undecided": ("is undecided", "are undecided"),
}
SENTENCE_OF_ONE = {
    "holds": ("holds", "hold"),
    "equal": ("is equal within the margin", "are equal within the margin"),
    "does not hold": ("does not hold", "do not hold"),
    "unclear": ("is undecided", "are undecided"),
}


# --------------------------------------------------------------------------------------- claims


class ClaimRow(NamedTuple):
    """The verdicts on one claim, one for each interpretation under which it was tested.

    A verdict has the keys of :class:`expectant.experiments.claims.Verdict`.
    """

    verdicts: Sequence[Verdict]

    @property
    def first(self) -> Verdict:
        """A verdict, for what all have in common: id, figure, claim, short, ours, statement."""
        return self.verdicts[0]

    @property
    def anchor(self) -> str:
        return f"claim-{slug(self.first['figure'])}-{slug(self.first['id'])}"

    @property
    def tag(self) -> str:
        """The figure, if its name is short enough for a column."""
        figure = str(self.first["figure"])
        return figure if figure[:1].isdigit() else "abl." if figure.startswith("ablation") else ""

    @property
    def subject(self) -> str:
        """The number that decides, with its unit, if it is the same in all verdicts."""
        subjects = {(verdict["label"].rstrip(","), verdict["unit"]) for verdict in self.verdicts}
        return ", ".join(filter(None, subjects.pop())) if len(subjects) == 1 else ""

    @property
    def claimed(self) -> str:
        """The claimed number, and its margin, where they are the same in all verdicts."""
        stated, number, margin = (self.first[key] for key in ("stated", "reference", "margin"))
        if number is None or any(v["reference"] != number for v in self.verdicts):
            return ""
        is_common = margin and all(v["margin"] == margin for v in self.verdicts)
        suffix = f", margin {format_number(margin)}" if is_common else ""
        return f"{stated} {format_number(number)}{suffix}"

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
    def marks(self) -> list[dict[str, Any]]:
        """Positions in per cent of an axis in margins from the claimed number, by verdict.

        ``beyond`` is "left" or "right" if the effect is beyond the end of the axis.
        """
        scaled = [_in_margins(verdict) for verdict in self.verdicts]
        numbers = [x for values in scaled for x in values.values()]
        start = max(-FARTHEST, min([-NEAREST, *numbers]))
        end = min(FARTHEST, max([NEAREST, *numbers]))

        def position(x: float) -> float:
            return round(100.0 * (min(max(x, start), end) - start) / (end - start), 2)

        marks: list[dict[str, Any]] = []
        for verdict, values in zip(self.verdicts, scaled, strict=True):
            mark: dict[str, Any] = {name: position(x) for name, x in values.items()}
            if mark:
                effect = values["effect"]
                mark["claimed"] = position(0.0)
                mark["band"] = (position(-1.0), position(1.0)) if verdict["margin"] else None
                mark["beyond"] = "left" if effect < start else "right" if effect > end else ""
            marks.append(mark)
        return marks


def _in_margins(verdict: Verdict) -> dict[str, float]:
    """Return low, effect and high in margins from the claimed number; empty if unknown."""
    numbers = {key: verdict[key] for key in ("low", "effect", "high")}
    claimed = verdict["reference"]
    if claimed is None or None in numbers.values():
        return {}
    unit = verdict["margin"] or abs(verdict["effect"] - claimed) or 1.0
    return {key: (number - claimed) / unit for key, number in numbers.items()}


def claims_of(verdicts: Sequence[Verdict]) -> list[ClaimRow]:
    """Group the verdicts by claim, in order of appearance."""
    grouped: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        grouped.setdefault((str(verdict["figure"]), str(verdict["id"])), []).append(verdict)
    return [ClaimRow(group) for group in grouped.values()]


# ------------------------------------------------------------------------------------- sections


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page, laid out by the macro of its name; with a ``label``, in the navigation."""

    shows: ClassVar[tuple[str, ...]] = ()  # it is empty if all of these are

    @property
    def macro(self) -> str:
        return type(self).__name__.lower()

    @property
    def label(self) -> str:
        return getattr(self, "heading", "")

    @property
    def anchor(self) -> str:
        return slug(self.label) if self.label else self.macro

    @property
    def is_empty(self) -> bool:
        return bool(self.shows) and not any(getattr(self, name) for name in self.shows)


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

    heading: ClassVar[str] = "Overview"
    shows: ClassVar[tuple[str, ...]] = ("verdicts",)
    verdicts: Sequence[Verdict]
    figures: Sequence[Curves] = ()
    total: int = 0  # claims of the paper, 0 if the study is of none

    @cached_property
    def claims(self) -> list[ClaimRow]:
        return claims_of(self.verdicts)

    @property
    def counted(self) -> list[ClaimRow]:
        return [claim for claim in self.claims if not claim.first["ours"]]

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
            for kind in dict.fromkeys([*BADGES, *sorted(counts)]):
                width = 100.0 * counts[kind] / max(len(claims), 1)
                parts += [(kind, counts[kind], round(start, 2), round(width, 2))] * (width > 0.0)
                start += width
            bars.append((name, parts, len(claims) - len(verdicts)))
        return bars

    @property
    def sentence(self) -> str:
        """Count the claims that hold under every, some or no interpretation."""
        claims = self.counted
        if len(self.interpretations) == 1:
            counts = Counter(str(claim.verdicts[0]["verdict"]) for claim in claims)
            words = SENTENCE_OF_ONE
        else:
            counts, words = Counter(claim.outcome for claim in claims), SENTENCE
        parts = [
            f"{counts[kind]} {word[counts[kind] > 1]}"
            for kind, word in words.items()
            if counts[kind]
        ]
        listed = " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
        if self.total == len(claims):
            return f"Of the paper's {len(claims)} claims, {listed}."
        tested = f"{len(claims)} of the paper's {self.total}" if self.total else str(len(claims))
        return f"Of {tested} claims, {listed}."


@dataclass(frozen=True, eq=False)
class Curves(Section):
    """One figure of curves, with a switch for the interpretation, and the claims about it.

    ``facts`` stand below the curves; ``alerts`` are (what diverged, why); ``files`` are links to
    the figure beside the page. ``close_up`` shows more of the same. ``parameters`` are names with a
    value for each interpretation, or one for all; ``command`` makes the figure again.
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

    @property
    def label(self) -> str:
        return figure_name(self.figure)

    @property
    def anchor(self) -> str:
        return f"figure-{slug(self.figure)}"

    @property
    def rows(self) -> list[ClaimRow]:
        return claims_of(self.claims)

    @property
    def default(self) -> str:
        """The interpretation that is shown first."""
        names = self.chart.interpretations
        return PREFERRED if PREFERRED in names else next(iter(names), "")

    @property
    def is_wide(self) -> bool:
        """True if it has no claims, or more than one plot is shown at once."""
        is_shown = [self.default in (*plot.interpretations, "") for plot in self.chart.plots]
        return not self.claims or sum(is_shown) > 1

    def describe(self, palette: Palette) -> str:
        """Describe the curves for those who cannot see them: where each ends."""
        curves = [curve for plot in self.chart.plots[:1] for curve in plot.curves]
        ends = [f"{palette[c.key].name} ends at {format_number(c.mean[-1])}" for c in curves]
        return f"{self.label}, {self.chart.y_name} over {self.chart.x_name}: {', '.join(ends)}"

    def data(self) -> dict[str, object]:
        """Return what the page's script draws."""
        more = {} if self.close_up is None else {"closeUp": self.close_up.data()}
        return {**self.chart.data(), "id": self.anchor, "default": self.default, **more}


@dataclass(frozen=True, eq=False)
class Claims(Section):
    """Claims without a figure."""

    shows: ClassVar[tuple[str, ...]] = ("verdicts",)
    verdicts: Sequence[Verdict]
    heading: str = "Claims without a figure"

    @property
    def rows(self) -> list[ClaimRow]:
        return claims_of(self.verdicts)


@dataclass(frozen=True, eq=False)
class Folded(Section):
    """Sections that are shown on demand."""

    shows: ClassVar[tuple[str, ...]] = ("parts",)
    heading: str
    hint: str
    parts: Sequence[Section] = ()


@dataclass(frozen=True, eq=False)
class Worlds(Section):
    """Pictures of domains: (caption, bytes of a PNG)."""

    shows: ClassVar[tuple[str, ...]] = ("pictures",)
    pictures: Sequence[tuple[str, bytes]]


@dataclass(frozen=True, eq=False)
class Rules(Section):
    """The rules of all verdicts, and the metrics as (name, meaning)."""

    heading: ClassVar[str] = "Rules"
    shows: ClassVar[tuple[str, ...]] = ("rules", "metrics")
    rules: Sequence[str]
    metrics: Rows = ()


@dataclass(frozen=True, eq=False)
class Table(Section):
    """A table; the first cell of a row is its name, a pair is (verdict, text)."""

    shows: ClassVar[tuple[str, ...]] = ("rows",)
    heading: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str | tuple[str, str]]]

    @property
    def columns(self) -> list[int]:
        """The columns that are not empty in all rows."""
        return [n for n, _ in enumerate(self.heads) if any(row[n] for row in self.rows)]


@dataclass(frozen=True, eq=False)
class Environment(Section):
    """Versions and seeds, and the command that makes the page again."""

    shows: ClassVar[tuple[str, ...]] = ("facts",)
    facts: Mapping[str, object]
    command: str = ""
