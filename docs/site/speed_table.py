"""The README's table of speed, from what ``expectant bench --json`` has printed.

    expectant bench --json > docs/measured/speed.json
    python docs/site/tables.py

Only ratios that are promised are in it: times differ from machine to machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

STORED = Path(__file__).parents[1] / "measured" / "speed.json"


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The table by its name."""
    return {"speed": "\n".join(_rows(stored["verdicts"]))}


def _rows(verdicts: dict[str, tuple[float, str, bool]]) -> Iterator[str]:
    yield "| ratio | measured | promised |"
    yield "|---|---|---|"
    for name, (ratio, promise, kept) in verdicts.items():
        yield f"| {name} | {ratio:.3g} | {promise}{'' if kept else ': not kept'} |"
