"""Tables about the readings of the paper, from what the command ``readings`` has found.

    python docs/site/tables.py results/readings

stores what is in that folder: joint readings, differences one at a time, the parameter study.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parents[1] / "measured"
JOINT, READINGS, PARAMETERS = (f"{name}.json" for name in ("joint", "readings", "parameters"))
FIGURE_5 = tuple(range(10, 18))


# ----------------------------------------------------------------------------------- what is kept


def store(folder: Path) -> list[Path]:
    """Write what a folder of the command ``readings`` has; returns what was written."""
    found: dict[str, Any] = {}
    if (folder / "joint.jsonl").exists():
        found[JOINT] = _joint(folder)
    if (folder / READINGS).exists():
        found[READINGS] = _differences(json.loads((folder / READINGS).read_text("utf-8")))
        found[READINGS]["processor_seconds"] = _seconds(folder)
    if (folder / PARAMETERS).exists():
        found[PARAMETERS] = _parameters(json.loads((folder / PARAMETERS).read_text("utf-8")))
        found[PARAMETERS]["processor_seconds"] = _seconds(folder)
    for name, data in found.items():
        (MEASURED / name).write_text(_lines(data), "utf-8")
    return [MEASURED / name for name in found]


def _joint(folder: Path) -> dict[str, Any]:
    from expectant.lab.joint import read_rows
    from expectant.lab.together import answer

    return answer(read_rows(folder / "joint.jsonl"), FIGURE_5)


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
    from expectant.lab.together import HEAD, answer_rows

    return HEAD, answer_rows(_read(JOINT))


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
    alone = [one for n, one in enumerate(chosen) if not any(map(_same(one), chosen[:n]))]
    body = [[cell.replace("-", "−") for cell in row] for row in choice_rows({"choices": alone})]
    return HEAD, body


def _same(one: dict[str, Any]) -> Any:
    """Whether another case is the same agent in the same place, as in figures 5a and 5b."""
    keys = ("set", "agent", "panel", "printed", "best", "behind", "tried")
    return lambda other: all(one[key] == other[key] for key in keys)


def at_best() -> tuple[Sequence[str], list[list[str]]]:
    """The verdicts on figure 5 with every agent at its best, claims in rows, sets in columns."""
    found = _read(PARAMETERS)["at_best"]
    sets = list(dict.fromkeys(one["reading"] for one in found))
    body = []
    for claim in sorted({one["id"] for one in found}):
        own = {one["reading"]: one for one in found if one["id"] == claim}
        cells = ["{verdict} {effect:.3g} ({low:.3g} to {high:.3g})".format(**own[s]) for s in sets]
        body.append([str(claim), *(cell.replace("-", "−") for cell in cells)])
    return ("claim", *(f"`{name}`" for name in sets)), body


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


NAMED = {
    "joint": joint,
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
