"""Tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from expectant.analysis.curves import interval
from expectant.report.formatting import format_estimate, format_number, format_two_digits

WIDTH = 100  # where the output is not a terminal
COLOURS = {
    "holds": "green", "does not hold": "red", "equal": "blue", "unclear": "yellow",
    "undecided": "yellow", "adaptive": "green", "not adaptive": "red",
}  # fmt: skip
SIGNS = {"holds": "+", "equal": "=", "does not hold": "−", "unclear": "?"}


def print_table(table: Any) -> None:
    """Print a table to standard output."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else WIDTH).print(table)


def _table(
    title: str, left: Sequence[str], right: Sequence[str], rows: Sequence[Sequence[Any]]
) -> Any:
    """Return a table of plain texts, with columns aligned to the left, then to the right."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    shape = {"box": box.SIMPLE_HEAD, "pad_edge": False, "collapse_padding": True}
    table = Table(title=title, title_justify="left", **shape)  # type: ignore[arg-type]
    for name in left:
        table.add_column(name)
    for name in right:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*(escape(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _colour(verdict: str) -> Any:
    from rich.text import Text

    return Text(verdict, COLOURS.get(verdict, ""))


def verdict_table(verdicts: Sequence[Any]) -> Any:
    """Return verdicts with claims in rows and interpretations in columns."""
    names = list(dict.fromkeys(verdict.interpretation for verdict in verdicts))
    rows = []
    for number in sorted({verdict.id for verdict in verdicts}):
        by_name = {v.interpretation: v for v in verdicts if v.id == number}
        first = next(iter(by_name.values()))
        ours = " (ours)" if first.ours else ""
        outcomes = [_colour(by_name[name].verdict) if name in by_name else "" for name in names]
        rows.append([str(number), (first.short or first.claim) + ours, *outcomes])
    return _table("", ["", "claim", *(name or "verdict" for name in names)], [], rows)


def dependence_table(rows: Sequence[dict[str, Any]]) -> Any:
    """Return variants in rows and claims in columns; marked: moved by more than the margin."""
    from rich.text import Text

    claims = sorted({claim for row in rows for claim in row["verdicts"]})
    lines = []
    for row in rows:
        cells = []
        for claim in claims:
            matters = any(part["matters"] for part in row["moved"].get(claim, ()))
            sign = SIGNS.get(row["verdicts"].get(claim, ""), "")
            cells.append(Text(sign, "reverse" if matters else ""))
        detail, choice = row["detail"] or "as it is", row["choice"] or ""
        lines.append([row["interpretation"], detail, choice, *cells])
    title = (
        "+ holds, = equal, − does not hold, ? unclear; marked: its number differs from the named "
        "interpretation's by more than the margin"
    )
    return _table(title, ["interpretation", "detail", "choice", *map(str, claims)], [], lines)


def curve_table(panels: Sequence[Any]) -> Any:
    """Return means over all episodes and over the last quarter."""
    heads, rows = curve_rows(panels)
    names = heads.index("runs")
    title = f"mean {panels[0].quantity}, 95 % intervals"
    return _table(title, heads[:names], heads[names:], rows)


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


def mean_returns(trials: Any) -> list[dict[str, Any]]:
    """Return the mean of every trial of a table with its 95 % interval, and its problems."""
    names, rows = ("panel", "agent", "runs", "diverged", "problem"), []
    for trial in trials.to_pylist():
        numbers = interval(np.array(trial["values"]))
        finite = [float(x) if np.isfinite(x) else None for x in numbers]
        means = dict(zip(("mean_return", "low", "high"), finite, strict=True))
        rows.append({**{name: trial[name] for name in names}, **means})
    return rows


def _estimate(runs: np.ndarray) -> str:
    value, between = format_estimate(*map(float, interval(runs.mean(axis=1))))
    return f"{value} ({between})" if between else "diverged" if value == "–" else value


def adaptation_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the adaptation test with one line per agent and backup distribution."""
    lines = []
    for row in rows:
        keys = ("P1", "adaptation", "adaptation_low", "adaptation_high")
        first, mean, low, high = (format_two_digits(row[key]) for key in keys)
        verdict = _colour(row["verdict"]).append(f" ({row['why']})" if row["why"] else "")
        adapted = f"{row['adapted_seeds']} of {len(row['phase2'])}"
        lines.append(
            [row["agent"], row["backups"], verdict, first, mean, f"{low} to {high}", adapted]
        )
    heads = ["P1", "adaptation", "95 %", "seeds that adapted"]
    return _table("Local-change adaptation test", ["agent", "backups", "verdict"], heads, lines)
