"""How many planning backups prioritized sweeping saves, against uniform replay.

On a corridor of 50 cells with one-hot features, count the planning backups until the root mean
squared error of the values is a tenth of what it was at the start, with the same seeds for all.

    python benchmarks/sweeping.py 30    # seeds; stores docs/measured/sweeping.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.engine.loop import Budget
from expectant.engine.setup import UNLIMITED, Setup
from expectant.jit.compile import kernel_for

STORED = Path(__file__).parents[1] / "docs" / "measured" / "sweeping.json"
DOMAIN = ex.Corridor(cells=50, slip=0.1)
SHARE = 0.1
EVERY = 5  # real steps between two probes
LIMIT = 100_000  # backups after which a run is given up, and counted as so many
STEP_LIMIT = 10_000
AGENTS: dict[str, Any] = {
    "learned model": ex.Lookahead.paper(0.1, 0.3, planning_steps=5),
    "learned model, larger steps": ex.Lookahead.paper(0.3, 0.3, planning_steps=2),
    "exact model": ex.Lookahead.paper(0.1, model="exact", planning_steps=5),
    "exact model, larger steps": ex.Lookahead.paper(0.3, model="exact", planning_steps=2),
    "exact model, full steps": ex.Lookahead.paper(1.0, model="exact", planning_steps=2),
    "bound by experience, not by planning": ex.Lookahead.paper(0.3, 0.1, planning_steps=5),
}


def backups_needed(agent: ex.Lookahead, seed: int) -> int:
    """Count planning backups until a tenth of the initial error is left."""
    optimal = ex.exact.optimal_values(DOMAIN, discount=agent.discount)
    goal = SHARE * np.sqrt(np.mean(optimal**2))
    prepared, streams = Setup(DOMAIN, ex.OneHot(), agent, step_limit=STEP_LIMIT, seed=seed).build(0)
    kernel, control = kernel_for(prepared), np.zeros(1, np.int64)
    for steps in range(EVERY, LIMIT // agent.planning_steps + 1, EVERY):
        kernel(prepared, Budget(UNLIMITED, steps, STEP_LIMIT), streams, control)
        error = prepared.agent.weights[: DOMAIN.cells] - optimal
        if np.sqrt(np.mean(error**2)) <= goal:
            return steps * agent.planning_steps
    return LIMIT


def compare(agent: ex.Lookahead, seeds: int) -> dict[str, Any]:
    """Return backups needed per distribution (seeds,), and replay's divided by prioritized's."""
    needed = {
        name: np.array([backups_needed(agent.replace(backups=name), seed) for seed in range(seeds)])
        for name in ("replay", "seen", "prioritized")
    }
    return {"needed": needed, "factors": needed["replay"] / needed["prioritized"]}


def main(seeds: int = 30) -> None:
    """Store medians over seeds, and the range of the factors."""
    rows = []
    for name, agent in AGENTS.items():
        result = compare(agent, seeds)
        model = agent.model if agent.model != "expectation" else f"{agent.model_step.step:g}"
        factors = result["factors"]
        spread = [float(np.median(factors)), float(factors.min()), float(factors.max())]
        rows.append({
            "name": name,
            "settings": f"{agent.value_step.step:g}, {model}, {agent.planning_steps}",
            "needed": {key: float(np.median(each)) for key, each in result["needed"].items()},
            "factor": [round(number, 2) for number in spread],
        })  # fmt: skip
        print(rows[-1], flush=True)
    lines = ",\n".join(json.dumps(row) for row in rows)
    STORED.write_text(f'{{"seeds": {seeds}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
