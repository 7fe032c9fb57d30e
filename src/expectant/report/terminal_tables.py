"""Tables that commands print."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from expectant.analysis.curves import interval
from expectant.core.formatting import text_table
from expectant.report.formatting import format_estimate, format_number, format_two_digits

WIDTH = 100  # letters of a line


def verdict_table(verdicts: Sequence[Any]) -> str:
    """Return verdicts with claims in rows and interpretations in columns."""
    names = list(dict.fromkeys(verdict.interpretation for verdict in verdicts))
    rows = []
    for number in sorted({verdict.id for verdict in verdicts}):
        by_name = {v.interpretation: v for v in verdicts if v.id == number}
        first = next(iter(by_name.values()))
        mark = " (ours)" * first.ours
        room = WIDTH - 4 - len(mark) - 15 * len(names)  # the widest verdict has 13 letters
        claim = textwrap.shorten(first.short or first.claim, room, placeholder=" …")
        outcomes = [str(by_name[name].verdict) if name in by_name else "" for name in names]
        rows.append([str(number), claim + mark, *outcomes])
    heads = ["", "claim", *(name or "verdict" for name in names)]
    return text_table(heads, rows, left=range(1, len(heads)))


def curve_table(panels: Sequence[Any]) -> str:
    """Return means over all episodes and over the last quarter."""
    heads, rows = curve_rows(panels)
    table = text_table(heads, rows, left=range(heads.index("runs")))
    return f"mean {panels[0].quantity}, 95 % intervals\n\n{table}"


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


def adaptation_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the adaptation test with one line per agent and backup distribution."""
    lines = []
    for row in rows:
        keys = ("P1", "adaptation", "adaptation_low", "adaptation_high")
        first, mean, low, high = (format_two_digits(row[key]) for key in keys)
        verdict = row["verdict"] + (f" ({row['why']})" if row["why"] else "")
        adapted = f"{row['adapted_seeds']} of {len(row['phase2'])}"
        lines.append(
            [row["agent"], row["backups"], verdict, first, mean, f"{low} to {high}", adapted]
        )
    heads = ["agent", "backups", "verdict", "P1", "adaptation", "95 %", "adapted"]
    return f"Local-change adaptation test\n\n{text_table(heads, lines, left=range(3))}"
