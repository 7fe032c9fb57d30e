"""The local-change adaptation test as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

COLOURS = {"adaptive": "green", "not adaptive": "red", "undecided": "yellow"}


def adaptation_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """One line per agent and backup distribution."""
    from rich.table import Table

    table = Table(title="Local-change adaptation test", title_justify="left")
    for name, justify in (("agent", "left"), ("backups", "left"), ("P1", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name in ("adaptation", "95 %", "seeds that adapted"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for row in rows:
        said = f"[{COLOURS[row['verdict']]}]{row['verdict']}[/]"
        if row["why"]:
            said += f" ({row['why']})"
        between = f"{_number(row['adaptation_low'])} to {_number(row['adaptation_high'])}"
        table.add_row(
            row["agent"], row["backups"], _number(row["P1"]), _number(row["adaptation"]), between,
            f"{row['adapted_seeds']} of {len(row['phase2'])}", said,
        )  # fmt: skip
    return table


def _number(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.2f}"
