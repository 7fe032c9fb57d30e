"""How many planning backups prioritized sweeping saves, against uniform replay.

A corridor of 50 cells with one-hot features: run the agent, look at its values after every few
steps, and count the planning backups until their root mean squared error to the optimal values (all
cells alike) is a tenth of what it was at the start. The same seeds serve all distributions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import expectant as ex
from expectant.engine.compile.compiling import kernel_for
from expectant.engine.job import UNLIMITED, Job
from expectant.engine.loop import Budget

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


def main(seeds: int = 30) -> None:
    """Print the table."""
    print(f"planning backups to a tenth of the initial error, median of {seeds} seeds")
    print(f"{'':38}{'replay':>9}{'seen':>9}{'prioritized':>13}   fewer by (median, range)")
    for name, agent in AGENTS.items():
        result = compare(agent, seeds)
        medians = [int(np.median(needed)) for needed in result["needed"].values()]
        factors = result["factors"]
        print(
            f"{name:38}{medians[0]:9}{medians[1]:9}{medians[2]:13}   "
            f"{np.median(factors):.1f} ({factors.min():.1f} to {factors.max():.1f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
