"""The tables of docs/adaptation.md, from docs/loca.json.

    expectant loca
    python docs/site/adaptation_tables.py results/loca/loca.json

Without a file only the tables are written again, from what is stored.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guide import with_tables

PAGE = Path(__file__).parents[1] / "adaptation.md"
STORED = PAGE.with_name("loca.json")
KEPT = (
    "agent", "backups", "P1", "adaptation", "adaptation_low", "adaptation_high", "adapted_seeds",
    "verdict", "adaptation_by_seed",
)  # fmt: skip
AGENTS = {
    "q_planning_distribution": "Q-planning, distribution",
    "q_planning_expectation": "Q-planning, expectation",
    "lookahead": "Look-ahead",
    "cached_values": "Cached action values",
    "cached_policy": "Cached policy",
}
BACKUPS = (
    "all", "seen", "prioritized", "sampler", "unlimited", "replay", "recency", "trajectory",
    "current",
)  # fmt: skip
STYLES = {"adaptive": "**{}**", "not adaptive": "{}", "undecided": "*{}*"}
PUBLISHED = {
    "all": ("planning alone, uniformly random states", "adapts"),
    "current": ("planning alone, the current state", "does not"),
    "two_step": ("planning alone, uniformly random states, two-step model", "does not"),
    "sarsa": ("Sarsa(λ) with dutch traces", "does not"),
}

Row = dict[str, Any]


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The tables of the page by their names."""
    made = {"adaptation": _combinations, "published": _published}
    return {name: "\n".join(make(stored["rows"])) for name, make in made.items()}


def _combinations(rows: list[Row]) -> Iterator[str]:
    """Backup distributions by agents, and Q-learning, which has none."""
    found = {(row["agent"], row["backups"]): row for row in rows}
    yield f"| backups | {' | '.join(AGENTS.values())} |"
    yield f"|---|{'---|' * len(AGENTS)}"
    for backups in BACKUPS:
        yield f"| `{backups}` | {' | '.join(_cell(found[agent, backups]) for agent in AGENTS)} |"
    yield f"| none: Q-learning | {_cell(found['q_learning', 'none'])} |{' |' * (len(AGENTS) - 1)}"


def _cell(row: Row) -> str:
    number = f"{round(row['adaptation'], 2) + 0.0:.2f}".replace("-", "−")  # no −0.00
    return STYLES[row["verdict"]].format(f"{number} ({row['adapted_seeds']})")


def _published(rows: list[Row]) -> Iterator[str]:
    """The agents with the published settings."""
    yield "| agent | published | P1 | adaptation (95 %) | runs that reach 0.80 | verdict |"
    yield "|---|---|---|---|---|---|"
    for row in published_rows(rows):
        name, published = PUBLISHED[row["backups"]]
        interval = f"{row['adaptation_low']:.2f} to {row['adaptation_high']:.2f}"
        numbers = f"{row['P1']:.2f} | {row['adaptation']:.2f} ({interval})".replace("-", "−")
        seeds = f"{row['adapted_seeds']} of {len(row['adaptation_by_seed'])}"
        yield f"| {name} | {published} | {numbers} | {seeds} | {row['verdict']} |"


def published_rows(rows: list[Row]) -> list[Row]:
    """Those with the published settings."""
    return [row for row in rows if row["agent"] == "published"]


if __name__ == "__main__":
    if sys.argv[1:]:
        found = json.loads(Path(sys.argv[1]).read_text())
        rows = [{key: row[key] for key in KEPT} for row in found["rows"]]
        content = {"seed": found["seed"], "rows": rows}
        STORED.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(with_tables(PAGE.read_text(), tables(json.loads(STORED.read_text()))))
