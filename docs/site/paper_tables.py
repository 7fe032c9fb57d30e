"""Tables and sentences about the readings of the paper, as the command ``readings`` found them.

    python docs/site/tables.py results/readings

stores what is in that folder: joint readings, differences one at a time, the parameter study.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parents[1] / "measured"
STORED_VERDICTS = MEASURED.parent / "verdicts.json"
JOINT, READINGS, PARAMETERS = (f"{name}.json" for name in ("joint", "readings", "parameters"))
FIGURE_5 = tuple(range(10, 18))


# ----------------------------------------------------------------------------------- what is kept


def store(folder: Path) -> list[Path]:
    """Write what a folder of the command ``readings`` has; returns what was written."""
    found: dict[str, Any] = {}
    if (folder / JOINT).exists():
        found[JOINT] = json.loads((folder / JOINT).read_text("utf-8"))
    if (folder / READINGS).exists():
        found[READINGS] = _differences(json.loads((folder / READINGS).read_text("utf-8")))
        found[READINGS]["processor_seconds"] = _seconds(folder)
    if (folder / PARAMETERS).exists():
        found[PARAMETERS] = _parameters(json.loads((folder / PARAMETERS).read_text("utf-8")))
        found[PARAMETERS]["processor_seconds"] = _seconds(folder)
    for name, data in found.items():
        (MEASURED / name).write_text(_lines(data), "utf-8")
    return [MEASURED / name for name in found]


def _differences(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of every change of a reading and every claim, the part that moved the most.

    One that cannot be told from zero only if none can.
    """
    kept = [
        {
            **{key: row[key] for key in ("set", "reading", "option", "runs")},
            "moved": {
                claim: {key: value for key, value in _first(parts).items() if key != "part"}
                for claim, parts in row["moved"].items()
            },
        }
        for row in rows
        if row["reading"] is not None and row["moved"]
    ]
    return {"rows": kept}


def _first(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return next((part for part in parts if part["clear"]), parts[0])


def _parameters(found: dict[str, Any]) -> dict[str, Any]:
    keys = ("id", "reading", "verdict", "effect", "low", "high", "margin", "runs")
    short = {name: [{k: one[k] for k in keys} for one in found[name]] for name in VERDICTS}
    return {**{key: found[key] for key in ("runs", "fresh", "choices")}, **short}


VERDICTS = ("verdicts", "at_best")


def _seconds(folder: Path) -> float:
    """The processor time in the loops of all that a folder holds."""
    cells = json.loads((folder / "timings.json").read_text("utf-8"))["cells"]
    return round(sum(seconds for seconds, _ in cells.values()), 1)


def _lines(data: dict[str, Any]) -> str:
    """JSON with a line for every entry of a list, so that changes can be read."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            entries = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            parts.append(f'"{key}": [\n{entries}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _read(name: str) -> dict[str, Any]:
    return json.loads((MEASURED / name).read_text("utf-8"))


# ---------------------------------------------------------------------------------------- tables


def joint() -> tuple[Sequence[str], list[list[str]]]:
    """Which claims can hold together, and the largest sets that do."""
    from expectant.lab.together_words import HEAD, answer_rows

    return HEAD, answer_rows(_read(JOINT))


def draws() -> tuple[Sequence[str], list[list[str]]]:
    """What the claims about Q-learning alone come to with each draw of the features."""
    from expectant.lab.together_words import spread_rows

    return spread_rows(_read(JOINT))


def largest_set() -> tuple[Sequence[str], list[list[str]]]:
    """The first combination under which the largest set of claims holds, reading by reading."""
    best = _read(JOINT)["sets"][0]
    head = ("reading", f"option under which {', '.join(map(str, best['claims']))} hold")
    return head, [[name, option] for name, option in best["readings"].items()]


def differences(named_set: str) -> tuple[Sequence[str], list[list[str]]]:
    """What every change of a reading does to the numbers of the claims about figure 5."""
    rows = [row for row in _read(READINGS)["rows"] if row["set"] == named_set]
    body = [
        [
            row["reading"],
            row["option"],
            *(_difference(row["moved"].get(str(claim))) for claim in FIGURE_5),
        ]
        for row in rows
    ]
    runs = ", ".join(map(str, sorted({row["runs"] for row in rows})))
    return ("reading", f"option ({runs} runs)", *map(str, FIGURE_5)), body


def _difference(part: dict[str, Any] | None) -> str:
    """Bold where it matters; nothing where nothing can be told from zero."""
    if part is None or not part["clear"]:
        return "·"
    number, low, high = (_signed(part[key]) for key in ("difference", "low", "high"))
    said = f"{number} ({low} to {high})"
    return f"**{said}**" if part["matters"] else said


def _signed(number: float) -> str:
    said = f"{number:+,.0f}" if abs(number) >= 100.0 else f"{number:+.3g}"
    return said.replace("-", "−")


def parameters(agents: Sequence[str] = ()) -> tuple[Sequence[str], list[list[str]]]:
    """Printed step sizes and the best of a grid, under every set."""
    from expectant.lab.parameters import HEAD, choice_rows

    found = _read(PARAMETERS)
    chosen = [one for one in found["choices"] if not agents or one["agent"] in agents]
    alone: list[dict[str, Any]] = []
    for one in chosen:
        known = next((other for other in alone if _alike(one, other)), None)
        if known is None:
            alone.append(dict(one))
        elif one["set"] not in known["set"].split(", "):
            known["set"] += f", {one['set']}"
    return HEAD, [[_minus(cell) for cell in row] for row in choice_rows({"choices": alone})]


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two cases are the same agent in the same place, under one set or under several."""
    keys = ("agent", "panel", "printed", "best", "behind", "best_return", "tried", "rank")
    return all(one[key] == other[key] for key in keys)


def _minus(cell: str) -> str:
    """Negative numbers as pages write them; hyphens stay."""
    return re.sub(r"(?<![\w])-(?=\d)", "−", cell)


def at_best() -> tuple[Sequence[str], list[list[str]]]:
    """The verdicts on figure 5 with every agent at its best, claims in rows, sets in columns."""
    found = _read(PARAMETERS)["at_best"]
    sets = list(dict.fromkeys(one["reading"] for one in found))
    body = []
    for claim in sorted({one["id"] for one in found}):
        own = {one["reading"]: one for one in found if one["id"] == claim}
        body.append([str(claim), *(_verdict(own[name]) for name in sets)])
    return ("claim", *(f"`{name}`" for name in sets)), body


def _verdict(one: dict[str, Any]) -> str:
    effect, low, high = (_signed(one[key]) for key in ("effect", "low", "high"))
    return f"**{one['verdict']}** {effect} ({low} to {high})"


def times() -> tuple[Sequence[str], list[list[str]]]:
    """What the three commands take, in processor time."""
    joint, readings, grid = (_read(name) for name in (JOINT, READINGS, PARAMETERS))
    commands = (
        ("--joint", joint, f"{joint['combinations']:,} combinations, {joint['runs']} runs"),
        ("--figure 5a --figure 5b --runs 100", readings, f"{len(readings['rows'])} changes"),
        ("--parameters", grid, f"{len(grid['choices'])} grids of step sizes"),
    )
    body = [
        [f"`expectant readings {options}`", what, f"{found['processor_seconds'] / 60:.0f} min"]
        for options, found, what in commands
    ]
    return ("command", "what it ran", "processor time, compiled before"), body


# ------------------------------------------------------------------------------------- sentences


def figure_5_answer() -> str:
    """Whether the published figure can be obtained, and from what that is known."""
    from expectant.lab.together_words import in_a_sentence

    found = _read(JOINT)
    return f"**Can it be obtained?** {in_a_sentence(found)} Each with {found['runs']} runs."


def many_differences() -> str:
    """How many differences the table shows the largest of, and how many of them matter."""
    rows = [row for row in _read(READINGS)["rows"] if row["set"] == "ours"]
    shown = [row["moved"].get(str(claim)) for row in rows for claim in FIGURE_5]
    matter = sum(part is not None and part["matters"] for part in shown)
    return (
        f"{len(rows)} changes and {len(FIGURE_5)} claims are {len(shown)} differences, of which "
        f"{matter} are beyond the margin with Holm's correction; of intervals that are not "
        f"corrected one in twenty misses."
    )


def step_sizes_answer() -> str:
    """Under which sets the printed step sizes would be chosen, and of how many agents."""
    found = _read(PARAMETERS)
    sets = list(dict.fromkeys(one["reading"] for one in found["verdicts"]))
    chosen = [one["reading"] for one in found["verdicts"] if one["verdict"] == "holds"]
    where = " and ".join(f"`{name}`" for name in chosen) or f"none of the {len(sets)} sets"
    counts = []
    for name in sets:
        alone: list[dict[str, Any]] = []
        for one in found["choices"]:
            if one["set"] == name and not any(_alike(one, other) for other in alone):
                alone.append(one)
        first = sum(one["rank"] == 1 for one in alone)
        good = sum(one["verdict"] == "holds" for one in alone)
        counts.append(f"`{name}` {first} and {good} of {len(alone)}")
    return (
        f"**Claim 22.** Under {where} would all printed step sizes be chosen. For how many agents "
        f"they are the best of the grid, and for how many as good: {', '.join(counts)}."
    )


def verdicts_answer() -> str:
    """Which claims hold whatever the reading, under none, or depending on it."""
    found: dict[int, set[str]] = {}
    for one in json.loads(STORED_VERDICTS.read_text("utf-8"))["verdicts"]:
        found.setdefault(one["id"], set()).add(one["verdict"])
    kinds: dict[str, list[str]] = {
        "hold under every set of readings they were judged under": [],
        "under some of them only": [],
        "under none": [],
        "are unclear under some and hold under none": [],
    }
    everywhere, somewhere, nowhere, unclear = kinds.values()
    for claim, own in sorted(found.items()):
        if "holds" in own:
            (everywhere if len(own) == 1 else somewhere).append(str(claim))
        else:
            (unclear if "unclear" in own else nowhere).append(str(claim))
    said = [f"{len(ids)} {kind} ({', '.join(ids)})" for kind, ids in kinds.items() if ids]
    return f"**In short**, of {len(found)} claims {'; '.join(said)}."


SENTENCES = {
    "verdicts": verdicts_answer,
    "figure-5": figure_5_answer,
    "differences": many_differences,
    "step-sizes": step_sizes_answer,
}

NAMED = {
    "joint": joint,
    "draws": draws,
    "largest-set": largest_set,
    "differences-ours": lambda: differences("ours"),
    "parameters": parameters,
    "at-best": at_best,
    "times": times,
    "parameters-q-learning": lambda: parameters(["q_learning"]),
    "parameters-q-planning": lambda: parameters(["q_planning_expectation", "q_planning_true"]),
    "parameters-lookahead": lambda: parameters(["lookahead"]),
    "parameters-cached-values": lambda: parameters(["cached_values"]),
    "parameters-cached-policy": lambda: parameters(["cached_policy"]),
}
