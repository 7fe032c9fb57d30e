"""Where the settings of agents without arguments come from: small problems, a coarse grid.

None of them is among the environments that these agents are judged on. Of every setting the mean
return an episode is put on a scale from random play (0) to the best of all settings (1), and the
scales of the four problems are averaged; a setting of which a run diverges counts as random play.
Every agent gets the setting with the highest average, by the same rule. Baselines with one step
have a finer grid, so that no agent is chosen from many more settings than another.

    python benchmarks/untuned_steps.py [runs [agents, such as QLearning Sarsa]]
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import expectant as ex

PROBLEMS: dict[str, tuple[ex.Domain, ex.Features, int]] = {
    "Dyna maze, one-hot": (ex.DynaMaze(), ex.OneHot(), 30),
    "Dyna maze, random binary": (ex.DynaMaze(), ex.RandomBinary(60, 5), 30),
    "corridor, random binary": (ex.Corridor(slip=0.1), ex.RandomBinary(14, 5), 200),
    "two rooms, one-hot": (ex.TwoRooms(), ex.OneHot(), 60),
}
COMMON = {"step_unit": "total", "bounded_step": True, "discount": 0.99}
STEPS = (0.1, 0.3, 1.0)
FINE = (0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)  # where there is one step
UPDATES = ("levi", "gradient")


def settings() -> Iterator[tuple[str, ex.Agent]]:
    """Every agent that is tried, by its class."""
    grid: list[tuple[type[Any], dict[str, tuple[Any, ...]]]] = [
        (ex.QLearning, {"action_step": FINE}),
        (ex.Sarsa, {"action_step": FINE, "trace": (0.0, 0.8)}),
        (ex.Lookahead, {"value_step": STEPS, "model_step": STEPS, "planning_update": UPDATES}),
        (
            ex.CachedValues,
            {"value_step": STEPS, "action_step": STEPS, "model_step": (0.1, 0.3),
             "planning_update": UPDATES},
        ),
        (
            ex.CachedPolicy,
            {"value_step": STEPS, "policy_step": (0.3, 1.0, 3.0), "model_step": (0.1, 0.3),
             "planning_update": UPDATES},
        ),
    ]  # fmt: skip
    for kind, axes in grid:
        for values in itertools.product(*axes.values()):
            yield kind.__name__, kind(**dict(zip(axes, values, strict=True)), **COMMON)


def earned(problem: str, agent: ex.Agent, runs: int) -> float:
    """The mean return an episode, or NaN if a run diverged."""
    domain, features, episodes = PROBLEMS[problem]
    found = ex.run(
        domain, features, agent, episodes=episodes, runs=runs, seed=1, step_limit=2_000,
        progress=False,
    )  # fmt: skip
    lost = 0.001 * found.lengths.mean(axis=1)  # where only the goal pays, faster is better
    return float((found.means - lost).mean())


def shown(agent: ex.Agent) -> str:
    """What was varied."""
    names = ("value_step", "action_step", "policy_step", "model_step", "trace", "planning_update")
    return ", ".join(f"{name} {getattr(agent, name)}" for name in names if hasattr(agent, name))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    wanted = sys.argv[2:]
    tried = [(name, agent) for name, agent in settings() if not wanted or name in wanted]
    scores = np.array([[earned(p, agent, runs) for p in PROBLEMS] for _, agent in tried])
    random = np.array([earned(p, ex.QLearning(0.0, epsilon=1.0), runs) for p in PROBLEMS])
    scores = np.where(np.isnan(scores), random, scores)
    scale = (np.maximum(scores, random) - random) / (scores.max(axis=0) - random)
    for kind in dict.fromkeys(name for name, _ in tried):
        rows = [i for i, (name, _) in enumerate(tried) if name == kind]
        print(f"{kind}, {len(rows)} settings, {runs} runs each", flush=True)
        for i in sorted(rows, key=lambda i: -scale[i].mean())[:6]:
            each = " ".join(f"{x:.2f}" for x in scale[i])
            print(f"  {scale[i].mean():.3f} ({each}) {shown(tried[i][1])}", flush=True)


if __name__ == "__main__":
    main()
