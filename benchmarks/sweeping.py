"""How many planning backups prioritized sweeping saves, against uniform replay.

A corridor of 50 cells with one-hot features: run the agent, look at its values after every few
steps, and count the planning backups until their root mean squared error to the optimal values (all
cells alike) is a tenth of what it was at the start. The same seeds serve all distributions.

    python benchmarks/sweeping.py 30    # seeds; stores docs/measured/sweeping.json
    python docs/site/tables.py          # writes the table
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.engine.compile.compiling import kernel_for
from expectant.engine.job import UNLIMITED, Job
from expectant.engine.loop import Budget

STORED = Path(__file__).parents[1] / "docs" / "measured" / "sweeping.json"
DOMAIN = ex.Corridor(cells=50, slip=0.1)
SHARE = 0.1
EVERY = 5  # real steps between two looks
LIMIT = 100_000  # backups after which a run is given up, and counted as so many
STEP_LIMIT = 10_000

AGENTS = {
    "learned model": ex.Lookahead(0.1, 0.3, planning_steps=5),
    "learned model, larger steps": ex.Lookahead(0.3, 0.3, planning_steps=2),
    "exact model": ex.Lookahead(0.1, model="exact", planning_steps=5),
    "exact model, larger steps": ex.Lookahead(0.3, model="exact", planning_steps=2),
    "exact model, full steps": ex.Lookahead(1.0, model="exact", planning_steps=2),
    "bound by experience, not by planning": ex.Lookahead(0.3, 0.1, planning_steps=5),
}


def backups_needed(agent: ex.Lookahead, seed: int) -> int:
    """Planning backups until the values are right but for a tenth of the initial error."""
    optimal = ex.exact.optimal_values(DOMAIN, discount=agent.discount)
    goal = SHARE * np.sqrt(np.mean(optimal**2))
    prepared, streams = Job(DOMAIN, ex.OneHot(), agent, step_limit=STEP_LIMIT, seed=seed).prepare(0)
    kernel, control = kernel_for(prepared), np.zeros(1, np.int64)
    for steps in range(EVERY, LIMIT // agent.planning_steps + 1, EVERY):
        kernel(prepared, Budget(UNLIMITED, steps, STEP_LIMIT), streams, control)
        error = prepared.agent.weights[: DOMAIN.cells] - optimal
        if np.sqrt(np.mean(error**2)) <= goal:
            return steps * agent.planning_steps
    return LIMIT


def compare(agent: ex.Lookahead, seeds: int) -> dict[str, Any]:
    """Backups needed per distribution (seeds,), and how many times fewer than replay needs."""
    needed = {
        name: np.array([backups_needed(agent.replace(backups=name), seed) for seed in range(seeds)])
        for name in ("replay", "seen", "prioritized")
    }
    return {"needed": needed, "factors": needed["replay"] / needed["prioritized"]}


def found(result: dict[str, Any]) -> dict[str, Any]:
    """Medians over seeds, and the range of the factors."""
    medians = {name: float(np.median(needed)) for name, needed in result["needed"].items()}
    factors = result["factors"]
    spread = [float(np.median(factors)), float(factors.min()), float(factors.max())]
    return {"needed": medians, "factor": [round(number, 2) for number in spread]}


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The table by its name."""
    head = "value step, model (or its step), planning steps | replay | seen | prioritized"
    factor = f"replay ÷ prioritized ({stored['seeds']} seeds)"
    lines = [f"| {head} | {factor} |", "|---|---|---|---|---|"]
    for row in stored["rows"]:
        needed = " | ".join(f"{number:,.0f}" for number in row["needed"].values())
        middle, low, high = row["factor"]
        lines.append(f"| {row['settings']} | {needed} | {middle:.1f} ({low:.1f} to {high:.1f}) |")
    return {"sweeping": "\n".join(lines)}


def settings(agent: ex.Lookahead) -> str:
    """What tells the rows of the table apart."""
    model = agent.model if agent.model != "expectation" else agent.model_step
    return f"{agent.value_step:g}, {model}, {agent.planning_steps}"


def main(seeds: int = 30) -> None:
    """Measure, and store what came out."""
    rows = []
    for name, agent in AGENTS.items():
        rows.append({"name": name, "settings": settings(agent), **found(compare(agent, seeds))})
        print(rows[-1], flush=True)
    lines = ",\n".join(json.dumps(row) for row in rows)
    STORED.write_text(f'{{"seeds": {seeds}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
