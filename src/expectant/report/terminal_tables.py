"""Tables for the terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from expectant.analysis.curves import interval
from expectant.report.formatting import format_estimate, format_number, format_two_digits

WIDTH = 100  # where the output is not a terminal
COLOURS = {
    "holds": "green",
    "does not hold": "red",
    "equal": "blue",
    "unclear": "yellow",
    "undecided": "yellow",
    "adaptive": "green",
    "not adaptive": "red",
}
SIGNS = {"holds": "+", "equal": "=", "does not hold": "−", "unclear": "?"}


def print_table(table: Any) -> None:
    """Print a table to standard output."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)


def _table(title: str, left: Sequence[str], right: Sequence[str] = ()) -> Any:
    """Return an empty table with columns aligned to the left, then to the right."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in left:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right")
    return table


def verdict_table(verdicts: Sequence[Any]) -> Any:
    """Return verdicts with claims in rows and interpretations in columns."""
    from rich.markup import escape

    interpretations = list(dict.fromkeys(verdict.interpretation for verdict in verdicts))
    table = _table(
        "Verdicts", ["", "figure", "claim", *(name or "verdict" for name in interpretations)]
    )
    for number in sorted({verdict.id for verdict in verdicts}):
        by_interpretation = {v.interpretation: v for v in verdicts if v.id == number}
        first = next(iter(by_interpretation.values()))
        outcomes = [
            _coloured(by_interpretation[interpretation].verdict)
            if interpretation in by_interpretation
            else ""
            for interpretation in interpretations
        ]
        table.add_row(str(number), first.figure, escape(first.claim), *outcomes)
    return table


def _coloured(verdict: str) -> str:
    return f"[{COLOURS[verdict]}]{verdict}[/]"


def dependence_table(rows: Sequence[dict[str, Any]]) -> Any:
    """Return variants in rows and claims in columns; marked: moved by more than the margin."""
    claims = sorted({claim for row in rows for claim in row["verdicts"]})
    title = (
        "+ holds, = equal, − does not hold, ? unclear; marked: its number differs from the named "
        "interpretation's by more than the margin"
    )
    table = _table(title, ["interpretation", "detail", "choice", *map(str, claims)])
    for row in rows:
        cells = []
        for claim in claims:
            sign = SIGNS.get(row["verdicts"].get(claim, ""), "")
            matters = any(part["matters"] for part in row["moved"].get(claim, ()))
            cells.append(f"[reverse]{sign}[/]" if matters else sign)
        table.add_row(
            row["interpretation"], row["detail"] or "as it is", row["choice"] or "", *cells
        )
    return table


def curve_table(panels: Sequence[Any], times: Mapping[tuple[str, str], float]) -> Any:
    """Return means over all episodes and over the last quarter, and the time of a step."""
    from rich.markup import escape

    heads, rows = curve_rows(panels)
    names = heads.index("runs")
    title = f"mean {panels[0].quantity}, 95 % intervals"
    table = _table(title, heads[:names], [*heads[names:], "ns a step"])
    keys = [(panel.panel, agent) for panel in panels for agent in panel.curves]
    for key, row in zip(keys, rows, strict=True):
        table.add_row(*map(escape, row), format_number(round(times.get(key, math.nan), 0)))
    return table


def curve_rows(panels: Sequence[Any]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows: means over all episodes and over the last quarter."""
    has_names = any(panel.panel for panel in panels)
    heads = ["panel"] * has_names + ["agent", "runs", "diverged", f"all {panels[0].unit}s"]
    rows = []
    for panel in panels:
        for agent, curve in panel.curves.items():
            late = curve[:, -max(1, curve.shape[1] // 4) :]
            rows.append([
                *[panel.panel] * has_names, panel.labels[agent], str(curve.shape[0]),
                str(np.isnan(curve).any(axis=1).sum()), _estimate(curve), _estimate(late),
                format_number(panel.optimum),
            ])  # fmt: skip
    return [*heads, "last quarter", "ε-greedy on q*"], rows


def _estimate(runs: np.ndarray) -> str:
    value, between = format_estimate(*map(float, interval(runs.mean(axis=1))))
    return f"{value} ({between})" if between else "diverged" if value == "–" else value


def adaptation_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the adaptation test with one line per agent and backup distribution."""
    table = _table(
        "Local-change adaptation test",
        ["agent", "backups", "verdict"],
        ["P1", "adaptation", "95 %", "seeds that adapted"],
    )
    for row in rows:
        reason = f" ({row['why']})" if row["why"] else ""
        keys = ("P1", "adaptation", "adaptation_low", "adaptation_high")
        first, mean, low, high = (format_two_digits(row[key]) for key in keys)
        table.add_row(
            row["agent"], row["backups"], _coloured(row["verdict"]) + reason, first, mean,
            f"{low} to {high}", f"{row['adapted_seeds']} of {len(row['phase2'])}",
        )  # fmt: skip
    return table
