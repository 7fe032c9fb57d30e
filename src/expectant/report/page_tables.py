"""Tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

EXPLAINED = (
    "What holds: verdict, number of runs, chance that a figure of the source's size shows it; "
    "effect with its interval, and the margin"
)
MARKS = {"holds": "holds", "equal": "equal", "does not hold": "does NOT hold", "unclear": "unclear"}
COLOURS = {
    "holds": "green",
    "does not hold": "red",
    "equal": "blue",
    "unclear": "yellow",
    "undecided": "yellow",
    "adaptive": "green",
    "not adaptive": "red",
}


def _table(title: str, columns: Sequence[tuple[str, str]]) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name, justify in columns:
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    return table


def print_table(table: Any) -> None:
    """Print a table to standard output, as wide as it needs where nobody watches."""
    import sys

    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 150).print(table)


def verdict_table(verdicts: Sequence[Any]) -> Any:
    """Claims in rows, readings in columns: the verdict, and what it is from."""
    from rich.markup import escape

    readings = list(dict.fromkeys(verdict.reading for verdict in verdicts))
    columns = [("", "right"), ("figure", "left"), ("claim", "left")]
    table = _table(EXPLAINED, [*columns, *((name, "left") for name in readings)])
    for number in sorted({verdict.id for verdict in verdicts}):
        found = {v.reading: v for v in verdicts if v.id == number}
        first = next(iter(found.values()))
        cells = [_evidence(found[reading]) if reading in found else "" for reading in readings]
        table.add_row(str(number), first.figure, escape(first.claim), *cells)
    return table


def _evidence(found: Any) -> str:
    """A verdict with its numbers, on two lines."""
    said = f"[{COLOURS[found.verdict]}]{MARKS[found.verdict]}[/]"
    said += f" ({found.note})" if getattr(found, "note", "") else ""
    if found.effect != found.effect:
        return said
    chance = "" if found.chance != found.chance else f", {found.chance:.2f}"
    many = f", n {found.runs}" if found.runs else ""
    return (
        f"{said}{many}{chance}\n{found.effect:.3g} ({found.low:.3g} to {found.high:.3g}), "
        f"± {found.margin:g}"
    )


def dependence_table(rows: Sequence[dict[str, Any]]) -> Any:
    """Variants in rows, claims in columns; marked where a number moved by more than its margin."""
    claims = sorted({claim for row in rows for claim in row["verdicts"]})
    columns = [("set", "left"), ("reading", "left"), ("option", "left")]
    title = (
        "+ holds, = equal, − does not hold, ? unclear; marked: its number differs from the named "
        "set's by more than the margin"
    )
    table = _table(title, [*columns, *((str(claim), "center") for claim in claims)])
    signs = {"holds": "+", "equal": "=", "does not hold": "−", "unclear": "?"}
    for row in rows:
        cells = []
        for claim in claims:
            sign = signs.get(row["verdicts"].get(claim, ""), "")
            matters = any(part["matters"] for part in row["moved"].get(claim, ()))
            cells.append(f"[reverse]{sign}[/]" if matters else sign)
        table.add_row(row["set"], row["reading"] or "as it is", row["option"] or "", *cells)
    return table


def curve_table(panels: Sequence[Any], times: Mapping[tuple[str, str], float]) -> Any:
    """Mean return over all episodes and over the last quarter, and the time of a step."""
    import numpy as np
    from rich.markup import escape

    from expectant.analysis.curves import interval

    unit = panels[0].unit if panels else "episode"
    named = any(panel.panel for panel in panels)
    numbers = [f"all {unit}s", "last quarter", "ε-greedy on q*", "ns a step"]
    names = ["runs", "diverged", *numbers]
    first = [(name, "left") for name in (*["panel"] * named, "agent")]
    quantity = panels[0].quantity if panels else "return per episode"
    columns = [*first, *((name, "right") for name in names)]
    table = _table(f"mean {quantity}, 95 % intervals", columns)
    for panel in panels:
        for agent, curve in panel.curves.items():
            late = curve[:, -max(1, curve.shape[1] // 4) :]
            cells = []
            for part in (curve, late):
                mean, low, high = interval(part.mean(axis=1))
                known = f"{mean:.2f} ({low:.2f} to {high:.2f})"
                cells.append("diverged" if math.isnan(mean) else known)
            diverged = int(np.isnan(curve).any(axis=1).sum())
            table.add_row(
                *([escape(panel.panel)] if named else []), escape(panel.labels[agent]),
                str(curve.shape[0]), str(diverged),
                *cells,
                "" if math.isnan(panel.optimum) else f"{panel.optimum:.2f}",
                f"{times.get((panel.panel, agent), float('nan')):.0f}",
            )  # fmt: skip
    return table


def adaptation_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The local-change adaptation test: one line per agent and backup distribution."""
    columns = [("agent", "left"), ("backups", "left"), ("P1", "right"), ("adaptation", "right")]
    more = [("95 %", "right"), ("seeds that adapted", "right"), ("verdict", "left")]
    table = _table("Local-change adaptation test", [*columns, *more])
    for row in rows:
        said = f"[{COLOURS[row['verdict']]}]{row['verdict']}[/]"
        if row["why"]:
            said += f" ({row['why']})"
        between = f"{_two(row['adaptation_low'])} to {_two(row['adaptation_high'])}"
        table.add_row(
            row["agent"], row["backups"], _two(row["P1"]), _two(row["adaptation"]), between,
            f"{row['adapted_seeds']} of {len(row['phase2'])}", said,
        )  # fmt: skip
    return table


def _two(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.2f}"
