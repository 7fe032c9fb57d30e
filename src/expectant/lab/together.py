"""What a search among readings has found: how often each claim holds, and which hold at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

KINDS = ("holds", "equal", "does not hold", "unclear")
SETS = 6  # of the largest ones are told
MIDDLE = (0.25, 0.75)  # half of the combinations are between these

Row = Mapping[str, Any]
Held = frozenset[int]


def answer(rows: Sequence[Row], published: Sequence[int]) -> dict[str, Any]:
    """What rows say of every claim, of those that hold at once, and of the ``published`` figure.

    That can be obtained if under some combination all of its claims hold, or if at least a figure
    of its size could have shown them all.
    """
    claims = sorted({int(claim) for row in rows for claim in row["verdicts"]})
    held = [_held(row) for row in rows]
    figure = [found & frozenset(published) for found in held]
    return {
        "combinations": len(rows),
        "runs": rows[0]["runs"] if rows else 0,
        "processor_seconds": _seconds(rows),
        "claims": {claim: _claim(claim, claims, rows, held) for claim in claims},
        "sets": _sets(rows, figure),
        "published": {
            "claims": sorted(published),
            "holds": sum(len(found) == len(published) for found in figure),
            **_likeliest(rows),
        },
    }


def _seconds(rows: Sequence[Row]) -> float | None:
    """The processor time of all combinations, judged by those that were timed."""
    known = [row["processor_seconds"] for row in rows if "processor_seconds" in row]
    return round(len(rows) * sum(known) / len(known), 1) if known else None


def _held(row: Row) -> Held:
    return frozenset(int(claim) for claim, found in row["verdicts"].items() if found == "holds")


def _claim(
    claim: int, claims: Sequence[int], rows: Sequence[Row], held: Sequence[Held]
) -> dict[str, Any]:
    """Its verdicts, the middle half of its effects, and what it never holds together with.

    Where agents diverge effects are as large as their worst runs, so the extremes say nothing.
    """
    own = [row for row in rows if str(claim) in row["verdicts"]]
    counts = Counter(row["verdicts"][str(claim)] for row in own)
    effects = [row["effects"][str(claim)] for row in own]
    effects = [effect for effect in effects if math.isfinite(effect)]
    return {
        **{kind: counts[kind] for kind in KINDS},
        "effect": [float(f"{edge:.4g}") for edge in np.quantile(effects, MIDDLE)]
        if effects
        else None,
        "chance": max((row["chances"][str(claim)] for row in own), default=0.0),
        "never_with": [
            other
            for other in claims
            if other != claim and not any({claim, other} <= found for found in held)
        ],
    }


def _middle(effects: Sequence[float]) -> list[float] | None:
    return [float(f"{edge:.4g}") for edge in np.quantile(effects, MIDDLE)] if effects else None


def _sets(rows: Sequence[Row], held: Sequence[Held]) -> list[dict[str, Any]]:
    """The largest sets of claims that hold at once, those left out that are part of another.

    Of each, under how many combinations all of it holds, and the first of them.
    """
    different = {found for found in held if found}
    largest = [found for found in different if not any(found < other for other in different)]
    sets = [
        {
            "claims": sorted(found),
            "combinations": sum(found <= other for other in held),
            "readings": rows[next(n for n, other in enumerate(held) if found <= other)]["readings"],
        }
        for found in largest
    ]
    sets.sort(key=lambda one: (-len(one["claims"]), -one["combinations"], one["claims"]))
    return sets[:SETS]


def _likeliest(rows: Sequence[Row]) -> dict[str, Any]:
    """The combination under which a figure of the published size shows it all most often."""
    known = [row for row in rows if math.isfinite(row["shown"])]
    best = max(known, key=lambda row: row["shown"], default=None)
    if best is None or best["shown"] == 0.0:
        return {"chance": 0.0, "readings": None}
    return {"chance": best["shown"], "readings": best["readings"]}


def answer_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """The answer as rows of one table: claims, sets of them that hold at once, and all of them.

    Columns: what, how many combinations of each verdict, the effect, the chance of a figure at
    best, and what it never holds together with.
    """
    rows = [
        [
            str(claim),
            *(str(one[kind]) for kind in KINDS),
            "–" if one["effect"] is None else " to ".join(map(_short, one["effect"])),
            f"{100 * one['chance']:.0f} %",
            ", ".join(map(str, one["never_with"])) or "–",
        ]
        for claim, one in found["claims"].items()
    ]
    for one in found["sets"]:
        rows.append([_all_of(one["claims"]), str(one["combinations"]), *[""] * 6])
    whole = found["published"]
    chance = f"{100 * whole['chance']:.1f} %"
    rows.append([_all_of(whole["claims"]), str(whole["holds"]), *[""] * 4, chance, ""])
    return rows


def _short(number: float) -> str:
    """Three digits, or all before the point."""
    said = f"{number:,.0f}" if abs(number) >= 100.0 else f"{number:.3g}"
    return said.replace("-", "−")


HEAD = (
    "claims", *KINDS, "effect, middle half", "chance of a figure, at best",
    "never together with",
)  # fmt: skip


def _all_of(claims: Sequence[int]) -> str:
    if len(claims) > 2 and list(claims) == list(range(claims[0], claims[-1] + 1)):
        return f"all of {claims[0]} to {claims[-1]}"
    return "all of " + ", ".join(map(str, claims))
