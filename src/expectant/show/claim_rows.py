"""Verdicts on claims, gathered claim by claim and put into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from expectant.show.wording import slug

Verdict = Mapping[str, object]
# Symbol and class; the word is always written too, so nothing depends on colour or on the symbol.
LOOKS = {
    "holds": ("✓", "holds"),
    "does not hold": ("✗", "fails"),
    "equal": ("=", "undecided"),
    "unclear": ("?", "undecided"),
    "undecided": ("?", "undecided"),
    "adaptive": ("✓", "holds"),
    "not adaptive": ("✗", "fails"),
}
PLURALS = {"holds": "hold", "does not hold": "do not hold", "equal": "equal"}


class ClaimRow(NamedTuple):
    """A claim with all verdicts on it; ``rule`` is empty where readings differ in it."""

    id: str
    figure: str
    text: str
    rule: str
    verdicts: list[Verdict]

    @property
    def anchor(self) -> str:
        return f"claim-{slug(self.figure)}-{slug(self.id)}"

    @property
    def kind(self) -> str:
        return str(self.verdicts[0].get("kind") or "")

    @property
    def is_explained(self) -> bool:
        """Whether there is more to say than the numbers."""
        return any(verdict.get("rule") or verdict.get("detail") for verdict in self.verdicts)

    def under(self, reading: str) -> list[Verdict]:
        """What was found under one reading."""
        return [v for v in self.verdicts if str(v["reading"]) == reading]


def badge_of(verdict: str) -> tuple[str, str]:
    """The symbol and the class of a verdict."""
    return LOOKS.get(verdict, ("·", "undecided"))


def parts_of(verdict: Verdict) -> list[str]:
    """What decided, part by part.

    >>> parts_of({"detail": "Return of a is 1, holds; beside it: 2."})
    ['Return of a is 1, holds', 'beside it: 2.']
    """
    detail = str(verdict.get("detail") or "")
    return detail.split("; ") if detail else []


def readings_of(verdicts: Sequence[Verdict]) -> list[str]:
    """Every reading, once, in order of appearance."""
    return list(dict.fromkeys(str(verdict["reading"]) for verdict in verdicts))


def claims_of(verdicts: Sequence[Verdict]) -> list[ClaimRow]:
    """The verdicts on each claim together, in order of appearance."""
    together: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        together.setdefault((str(verdict["figure"]), str(verdict["id"])), []).append(verdict)
    claims = []
    for (figure, name), found in together.items():
        rules = {str(verdict.get("rule") or "") for verdict in found}
        rule = rules.pop() if len(rules) == 1 else ""
        claims.append(ClaimRow(name, figure, str(found[0]["claim"]), rule, found))
    return claims


def totals(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """How many claims of each verdict, reading by reading."""
    lines = []
    for reading in readings_of(verdicts):
        found = [str(v["verdict"]) for v in verdicts if str(v["reading"]) == reading]
        kinds = [*LOOKS, *sorted(set(found) - set(LOOKS))]
        counts = [_count(found.count(kind), kind) for kind in kinds if kind in found]
        lines.append((reading, ", ".join(counts)))
    return lines


def _count(number_of: int, kind: str) -> str:
    return f"{number_of} {kind if number_of == 1 else PLURALS.get(kind, kind)}"
