"""The table of docs/adaptation.md on the published settings, from docs/loca-published.json.

    expectant loca --agent published
    python docs/site/published.py results/loca/loca.json

Without a file only the table is written again, from what is stored.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guide import with_tables

PAGE = Path(__file__).parents[1] / "adaptation.md"
STORED = PAGE.with_name("loca-published.json")
KEPT = (
    "backups", "P1", "adaptation", "adaptation_low", "adaptation_high", "adapted_seeds", "verdict",
    "adaptation_by_seed",
)  # fmt: skip
NAMES = {
    "all": ("planning alone, uniformly random states", "adapts"),
    "current": ("planning alone, the current state", "does not"),
    "two_step": ("planning alone, uniformly random states, two-step model", "does not"),
    "sarsa": ("Sarsa(λ) with dutch traces", "does not"),
}


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The table of the page by its name."""
    return {"published": "\n".join(_rows(stored))}


def _rows(stored: dict[str, Any]) -> Iterator[str]:
    yield "| agent | published | P1 | adaptation (95 %) | runs that reach 0.80 | verdict |"
    yield "|---|---|---|---|---|---|"
    for row in stored["rows"]:
        name, published = NAMES[row["backups"]]
        interval = f"{row['adaptation_low']:.2f} to {row['adaptation_high']:.2f}"
        numbers = f"{row['P1']:.2f} | {row['adaptation']:.2f} ({interval})".replace("-", "−")
        seeds = f"{row['adapted_seeds']} of {stored['runs']}"
        yield f"| {name} | {published} | {numbers} | {seeds} | {row['verdict']} |"


if __name__ == "__main__":
    if sys.argv[1:]:
        found = json.loads(Path(sys.argv[1]).read_text())
        rows = [{key: row[key] for key in KEPT} for row in found["rows"]]
        runs = len(rows[0]["adaptation_by_seed"])
        content = {"seed": found["seed"], "runs": runs, "rows": rows}
        STORED.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(with_tables(PAGE.read_text(), tables(json.loads(STORED.read_text()))))
