"""What a search among readings has found: how often each claim holds, and which hold at once.

Combinations that differ in nothing that matters to a claim are one setting of it and count once.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

KINDS = ("holds", "equal", "does not hold", "unclear")
SETS = 6  # of the largest ones are told
CHECKED = 6  # combinations of each are run again
MIDDLE = (0.25, 0.75)  # half of the settings are between these
SPREAD = "features"  # the reading whose options are told one by one: many draws

Row = Mapping[str, Any]
Held = frozenset[int]


def answer_from_rows(
    rows: Sequence[Row],
    published: Sequence[int],
    matters: Mapping[int, Sequence[str]],
    alone: Sequence[Row] = (),
    fresh: Sequence[Row] = (),
) -> dict[str, Any]:
    """What rows say of every claim, of those that hold at once, and of the ``published`` figure.

    That can be obtained if under some combination all of its claims hold, or if at least a figure
    of its size could have shown them all. ``matters`` has the readings that make a difference to
    each claim; ``alone`` are rows of single agents' settings, ``fresh`` some combinations again.
    """
    claims = sorted({int(claim) for row in rows for claim in row["verdicts"]})
    both = [*alone, *rows]
    held = [_held(row) for row in both]
    return {
        "combinations": len(rows),
        "runs": rows[0]["runs"] if rows else 0,
        "processor_seconds": _seconds([*both, *fresh]),
        "claims": {
            claim: {
                **_claim(claim, _settings(claim, both, matters[claim])),
                "never_with": [
                    other
                    for other in claims
                    if other != claim and not any({claim, other} <= found for found in held)
                ],
            }
            for claim in claims
        },
        "sets": [_confirmed(one, rows, fresh) for one in _sets(rows, published)],
        "alone": _alone(alone, published),
        "spread": _spread(alone),
        "published": {
            "claims": sorted(published),
            "holds": sum(_held(row) >= frozenset(published) for row in rows),
            **_likeliest(rows, fresh),
        },
    }


def favoured(alone: Sequence[Row], published: Sequence[int]) -> list[dict[str, str]]:
    """The settings of single agents under which all published claims about these hold."""
    found = []
    for row in alone:
        claims = frozenset(map(int, row["verdicts"])) & frozenset(published)
        if claims and claims <= _held(row):
            found.append(dict(row["readings"]))
    return found


def to_confirm(rows: Sequence[Row], published: Sequence[int]) -> list[dict[str, str]]:
    """The combinations that are to be run again: some of each of the largest sets of claims that
    hold at once, and the one that comes nearest to what was published."""
    wanted = []
    for one in _sets(rows, published):
        own = [row for row in rows if frozenset(one["claims"]) <= _held(row)]
        places = np.linspace(0, len(own) - 1, min(CHECKED, len(own))).round().astype(int)
        wanted += [own[place]["readings"] for place in places]
    likeliest = _likeliest(rows, ())["readings"]
    wanted += [likeliest] if likeliest else []
    return [dict(found) for found in {_name(chosen): chosen for chosen in wanted}.values()]


def _name(chosen: Mapping[str, str]) -> str:
    return json.dumps(chosen, sort_keys=True)


def _seconds(rows: Sequence[Row]) -> float | None:
    """The processor time of all rows, judged by those that were timed."""
    known = [row["processor_seconds"] for row in rows if "processor_seconds" in row]
    return round(len(rows) * sum(known) / len(known), 1) if known else None


def _held(row: Row) -> Held:
    return frozenset(int(claim) for claim, found in row["verdicts"].items() if found == "holds")


def _settings(claim: int, rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """One row for every setting of a claim: those of the others say the same of it."""
    own = [row for row in rows if str(claim) in row["verdicts"]]
    return list({tuple(row["readings"][name] for name in names): row for row in own}.values())


def _claim(claim: int, settings: Sequence[Row]) -> dict[str, Any]:
    """Its settings by verdict, the middle half of its effects, and its chance at best.

    Where agents diverge effects are as large as their worst runs, so the extremes say nothing.
    """
    counts = Counter(row["verdicts"][str(claim)] for row in settings)
    effects = [row["effects"][str(claim)] for row in settings]
    return {
        "settings": len(settings),
        **{kind: counts[kind] for kind in KINDS},
        "effect": _between(effects, MIDDLE),
        "chance": max((row["chances"][str(claim)] for row in settings), default=0.0),
    }


def _between(effects: Sequence[float], shares: tuple[float, float]) -> list[float] | None:
    """Where such shares of the effects lie below; None if none is known."""
    known = [effect for effect in effects if math.isfinite(effect)]
    return [float(f"{edge:.4g}") for edge in np.quantile(known, shares)] if known else None


def _sets(rows: Sequence[Row], published: Sequence[int]) -> list[dict[str, Any]]:
    """The largest sets of published claims that hold at once, without those that are part of
    another.

    Of each, under how many combinations all of it holds, and the first of them.
    """
    held = [_held(row) & frozenset(published) for row in rows]
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


def _confirmed(one: Mapping[str, Any], rows: Sequence[Row], fresh: Sequence[Row]) -> dict[str, Any]:
    """A set with how many of its combinations were run again, and under how many it still holds."""
    claims = frozenset(one["claims"])
    own = {_name(row["readings"]) for row in rows if claims <= _held(row)}
    again = [row for row in fresh if _name(row["readings"]) in own]
    return {**one, "again": len(again), "confirmed": sum(claims <= _held(row) for row in again)}


def _alone(rows: Sequence[Row], published: Sequence[int]) -> list[dict[str, Any]]:
    """Of every agent that was tried alone, in how many settings all published claims hold."""
    found = []
    for agent in dict.fromkeys(row["agent"] for row in rows):
        own = [row for row in rows if row["agent"] == agent]
        claims = frozenset(map(int, own[0]["verdicts"])) & frozenset(published)
        holds = sum(claims <= _held(row) for row in own)
        found.append(
            {"agent": agent, "claims": sorted(claims), "settings": len(own), "holds": holds}
        )
    return found


def _spread(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What the claims about single agents come to with each draw of the features.

    Of every claim how many settings there are, in how many it holds, and from where to where its
    effects go.
    """
    options: dict[str, list[Row]] = {}
    for row in rows:
        if SPREAD in row["readings"]:
            options.setdefault(row["readings"][SPREAD], []).append(row)
    return [
        {
            "option": option,
            "claims": {
                claim: {
                    "settings": len(own),
                    "holds": sum(row["verdicts"].get(claim) == "holds" for row in own),
                    "effect": _between([row["effects"][claim] for row in own], (0.0, 1.0)),
                }
                for claim in own[0]["verdicts"]
            },
        }
        for option, own in sorted(options.items(), key=lambda item: _by_number(item[0]))
    ]


def _by_number(option: str) -> tuple[str, int]:
    """Draw 2 comes before draw 10."""
    stem, _, number = option.rpartition(" ")
    return (stem, int(number)) if number.isdigit() else (option, 0)


def _likeliest(rows: Sequence[Row], fresh: Sequence[Row]) -> dict[str, Any]:
    """The combination under which a figure of the published size shows it all most often."""
    known = [row for row in rows if math.isfinite(row["shown"])]
    best = max(known, key=lambda row: row["shown"], default=None)
    if best is None or best["shown"] == 0.0:
        return {"chance": 0.0, "readings": None, "fresh_chance": None}
    again = [row["shown"] for row in fresh if row["readings"] == best["readings"]]
    chances = {"chance": best["shown"], "fresh_chance": again[0] if again else None}
    return {**chances, "readings": best["readings"]}
