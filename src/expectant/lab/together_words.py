"""What a search among readings has found, as a table and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from expectant.lab.together import KINDS

HEAD = (
    "claims", "settings", *KINDS, "effect, middle half", "chance of a figure, at best",
    "on fresh runs", "never together with",
)  # fmt: skip

Found = Mapping[str, Any]


def answer_rows(found: Found) -> list[list[str]]:
    """The answer as rows of one table: claims, sets of them that hold at once, and all of them.

    Columns: what, how many settings or combinations there are, how many of each verdict, the
    effect, the chance of a figure at best, in how many combinations that were run again it holds,
    and what it never holds together with.
    """
    rows = [
        [
            str(claim),
            f"{one['settings']:,}",
            *(f"{one[kind]:,}" for kind in KINDS),
            "–" if one["effect"] is None else " to ".join(map(_short, one["effect"])),
            f"{100 * one['chance']:.0f} %",
            "",
            ", ".join(map(str, one["never_with"])) or "–",
        ]
        for claim, one in found["claims"].items()
    ]
    total = f"{found['combinations']:,}"
    for one in found["sets"]:
        again = f"{one['confirmed']} of {one['again']}"
        name, holds = _all_of(one["claims"]), f"{one['combinations']:,}"
        rows.append([name, total, holds, *[""] * 5, again, ""])
    whole = found["published"]
    chance = f"{100 * whole['chance']:.1f} %"
    rows.append([_all_of(whole["claims"]), total, f"{whole['holds']:,}", *[""] * 4, chance, "", ""])
    return rows


def spread_rows(found: Found) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a table: what claims about one agent come to, draw by draw."""
    claims = list(found["spread"][0]["claims"]) if found["spread"] else []
    head = [
        "features",
        "settings",
        *(text for c in claims for text in (f"{c} holds", f"{c}, from – to")),
    ]
    rows = []
    for one in found["spread"]:
        own = [one["claims"][claim] for claim in claims]
        cells = [
            cell
            for each in own
            for cell in (str(each["holds"]), " to ".join(map(_short, each["effect"] or ())) or "–")
        ]
        rows.append([one["option"], str(own[0]["settings"]), *cells])
    return head, rows


def in_a_sentence(found: Found) -> str:
    """Whether the published figure can be obtained, in words."""
    whole, many = found["published"], f"{found['combinations']:,} combinations"
    all_of = f"claims {_span(whole['claims'])}"
    chance = f"{100 * whole['chance']:.1f} %"
    if whole["holds"]:
        said = f"Yes: {all_of} all hold under {whole['holds']:,} of {many}."
    elif whole["chance"]:
        fresh = whole["fresh_chance"]
        again = "" if fresh is None else f" ({100 * fresh:.1f} % on fresh runs)"
        said = (
            f"Only by luck: {all_of} all hold under none of {many}, though under one of them a "
            f"figure of the published size shows them all with a chance of {chance}{again}."
        )
    else:
        said = (
            f"No: {all_of} all hold under none of {many}, and under none does a figure of the "
            "published size ever show them all."
        )
    return " ".join([said, *_of_alone(found), *_of_sets(found)])


def _of_alone(found: Found) -> list[str]:
    """What is known of single agents: these are conditions for all of it."""
    return [
        f"Of {one['settings']:,} settings of `{one['agent']}` that were tried, {_holds(one)}."
        for one in found["alone"]
        if one["claims"]
    ]


def _holds(one: Mapping[str, Any]) -> str:
    where = f"in {one['holds']:,}" if one["holds"] else "in none"
    if len(one["claims"]) == 1:
        return f"claim {one['claims'][0]} holds {where}"
    return f"claims {_span(one['claims'])} hold at once {where}"


def _of_sets(found: Found) -> list[str]:
    """What holds at most."""
    if not found["sets"]:
        return ["None of them holds under any."]
    top = found["sets"][0]
    count = f"{top['combinations']:,} combination{'s' * (top['combinations'] != 1)}"
    again = f", and on fresh runs in {top['confirmed']} of {top['again']} that were run again"
    return [
        f"At most {len(top['claims'])} of the {len(found['published']['claims'])} hold at once "
        f"({_span(top['claims'])}): in {count}{again if top['again'] else ''}."
    ]


def _short(number: float) -> str:
    """Three digits, or all before the point."""
    said = f"{number:,.0f}" if abs(number) >= 100.0 else f"{number:.3g}"
    return said.replace("-", "−")


def _all_of(claims: Sequence[int]) -> str:
    return f"all of {_span(claims)}"


def _span(claims: Sequence[int]) -> str:
    """Claims in words: neighbours as a span."""
    if len(claims) > 2 and list(claims) == list(range(claims[0], claims[-1] + 1)):
        return f"{claims[0]} to {claims[-1]}"
    return ", ".join(map(str, claims))
