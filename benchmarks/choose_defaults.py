"""Choose the default settings of agents: a grid on 24 problems.

Twelve are episodic; twelve are those of the study planning-pays on which settings are chosen,
without the river in which all agents fail. None is among the environments and problems that these
agents are judged on. Every setting has ten runs; its mean return (or reward per step) is scaled
from random play (0) to the best of all settings of all agents (1), no less than −1, which is also
the score of a diverged run. Every agent gets the setting with the highest average over the
problems. The chosen ones are run again with another seed, because the best of many was also lucky.

    python benchmarks/choose_defaults.py [FOLDER]    # resumes; writes docs/defaults.json
"""

from __future__ import annotations

import itertools
import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from puddle_world import PuddleWorld

import expectant as ex

STORED = Path(__file__).parents[1] / "docs" / "defaults.json"
RUNS, SEED, FRESH_SEED, STEPS = 10, 1, 2, 8_000
SHOWN = 3  # settings of every agent that are stored, the best first
MAZE = """
##########
#S..#....#
#.#...#P.#
#.P.#....#
#...#.P..#
#.#....#G#
##########
"""


class Problem(NamedTuple):
    """A problem to choose on: so many episodes, or STEPS steps; ``chance``: it is stochastic."""

    domain: ex.Domain
    features: ex.Features
    episodes: int | None
    step_limit: int
    chance: bool

    @property
    def length(self) -> dict[str, Any]:
        """Return the arguments of ex.run that say how long a run is."""
        return {"steps": STEPS} if self.episodes is None else {"episodes": self.episodes}


def read_panels() -> Iterator[tuple[str, Problem]]:
    """Yield the problems of planning-pays on which settings are chosen."""
    path = Path(ex.__file__).parent / "studies" / "planning-pays" / "choosing.toml"
    for panel in tomllib.loads(path.read_text("utf-8"))["panels"]:
        if panel["name"] != "river swim, 6 states":
            domain, features = (
                ex.extend.Config.from_dict(panel.get(key, {"kind": "one_hot"}))
                for key in ("domain", "features")
            )
            yield panel["name"], Problem(domain, features, None, 500, True)  # type: ignore[arg-type]


SWIM = {"forward": 0.6, "back": 0.1, "hold": 0.6, "low_reward": 0.1, "high_reward": 1.0}
FEW, SOME = ex.RandomBinary(14, 5), ex.RandomBinary(60, 5)
PROBLEMS = {
    "corridor, slip 0.1": Problem(ex.Corridor(slip=0.1), ex.OneHot(), 150, 2_000, True),
    "corridor, slip 0.3": Problem(ex.Corridor(slip=0.3), ex.OneHot(), 150, 2_000, True),
    "corridor, slip 0.1, random binary": Problem(ex.Corridor(slip=0.1), FEW, 300, 2_000, True),
    "Dyna maze, 40 episodes": Problem(ex.domains.DynaMaze(), ex.OneHot(), 40, 100, False),
    "Dyna maze, steps cost 1": Problem(
        ex.domains.DynaMaze(goal_reward=0.0, step_reward=-1.0), ex.OneHot(), 60, 1_000, False
    ),
    "LoCA grid, first phase": Problem(
        ex.domains.LocaGrid(phase_steps=(10_000_000, 1, 1)), ex.OneHot(), 300, 100, True
    ),
    "river swim, 4 states": Problem(ex.domains.RiverSwim(4, **SWIM), ex.OneHot(), 100, 100, True),
    "two rooms, slip 0.1": Problem(ex.domains.TwoRooms(slip=0.1), ex.OneHot(), 100, 200, True),
    "two rooms, random binary": Problem(ex.domains.TwoRooms(), SOME, 60, 300, False),
    "maze with pits, slip 0.3": Problem(
        ex.domains.Rooms(MAZE, slip=0.3), ex.OneHot(), 150, 200, True
    ),
    "random task, 50 states": Problem(
        ex.domains.Branching(states=50, branches=3), ex.OneHot(), 500, 2_000, True
    ),
    "puddle world, tiles": Problem(PuddleWorld(depth=100.0), ex.Tiles(4, 5), 40, 300, True),
    **dict(read_panels()),
}
ADAPTIVE = ex.step_sizes.Autostep(0.3, 0.1)
FINE = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)  # where there is one step
GRID: dict[str, tuple[type[Any], dict[str, Sequence[Any]]]] = {
    "q_learning": (ex.QLearning, {"action_step": FINE}),
    "sarsa": (
        ex.Sarsa,
        {"action_step": (0.1, 0.2, 0.3, 0.5, 1.0), "trace": (0.5, 0.8, 0.9)},
    ),
    "lookahead": (
        ex.Lookahead,
        {"value_step": (0.1, 0.3, 1.0), "model_step": (0.3, ADAPTIVE, "auto")},
    ),
    "cached_values": (
        ex.CachedValues,
        {"action_step": (0.3, 0.5, 1.0), "model_step": (ADAPTIVE, "auto")},
    ),
    "cached_policy": (
        ex.CachedPolicy,
        {"policy_step": (0.1, 0.3, 1.0), "model_step": (0.3, "auto")},
    ),
}  # fmt: skip


def grid() -> Iterator[tuple[str, dict[str, Any], ex.Agent]]:
    """Yield every setting: the kind of agent, what is varied, and the agent."""
    for kind, (made, axes) in GRID.items():
        for values in itertools.product(*axes.values()):
            varied = dict(zip(axes, values, strict=True))
            yield kind, varied, made(**varied)


def mean_returns(name: str, folder: Path) -> np.ndarray:
    """Return the mean return of random play and of every setting; NaN where a run diverged."""
    problem = PROBLEMS[name]
    agents = {f"{kind}-{n}": agent for n, (kind, _, agent) in enumerate(grid())}
    sweep = ex.Sweep(
        name=name, domain=problem.domain, features=problem.features,
        agents={"random": ex.QLearning(0.0, epsilon=1.0), **agents},
        runs=RUNS, seed=SEED, step_limit=problem.step_limit, **problem.length,
    )  # fmt: skip
    rows = sweep.run(folder).table().to_pylist()
    means = {row["agent"]: row["mean"] if row["diverged"] == 0 else np.nan for row in rows}
    return np.array([means[agent] for agent in ("random", *agents)], float)


def scale(means: np.ndarray) -> np.ndarray:
    """Return scores (P, C) of means (P, 1 + C), random play first."""
    random, rest = means[:, :1], means[:, 1:]
    best = np.nanmax(rest, axis=1, keepdims=True)
    return np.clip(np.nan_to_num((rest - random) / (best - random), nan=-1.0), -1.0, 1.0)


def choose(means: np.ndarray) -> dict[str, Any]:
    """Return what is stored: the problems, and the best settings of every agent."""
    scores = scale(means)
    agents: dict[str, list[Any]] = {kind: [] for kind in GRID}
    for n, (kind, varied, _) in enumerate(grid()):
        each = [_short(score) for score in scores[:, n]]
        mean = _short(scores[:, n].mean())
        agents[kind].append({"settings": _data(varied), "score": mean, "each": each})
    best = {k: sorted(rows, key=lambda row: -row["score"])[:SHOWN] for k, rows in agents.items()}
    problems = [
        {"name": name, "chance": problem.chance, "episodes": problem.episodes,
         "random": _short(row[0]), "best": _short(np.nanmax(row[1:])),
         "scores": {kind: rows[0]["each"][n] for kind, rows in best.items()}}
        for n, ((name, problem), row) in enumerate(zip(PROBLEMS.items(), means, strict=True))
    ]  # fmt: skip
    tried = {kind: len(rows) for kind, rows in agents.items()}
    return {"runs": RUNS, "problems": problems, "tried": tried, "best": best}


def confirm(stored: dict[str, Any]) -> dict[str, float]:
    """Return the scores of the chosen settings in fresh runs."""
    by_settings = {(kind, json.dumps(_data(varied))): made for kind, varied, made in grid()}
    found = {}
    for kind, rows in stored["best"].items():
        agent = by_settings[kind, json.dumps(rows[0]["settings"])]
        scores = [_fresh_score(agent, row) for row in stored["problems"]]
        found[kind] = _short(float(np.mean(scores)))
    return found


def _fresh_score(agent: ex.Agent, row: dict[str, Any]) -> float:
    problem = PROBLEMS[row["name"]]
    result = ex.run(
        problem.domain, problem.features, agent, runs=RUNS, seed=FRESH_SEED,
        step_limit=problem.step_limit, progress=False, **problem.length,
    )  # fmt: skip
    score = (float(result.means.mean()) - row["random"]) / (row["best"] - row["random"])
    return -1.0 if np.isnan(score) else min(max(score, -1.0), 1.0)


def _data(varied: dict[str, Any]) -> dict[str, Any]:
    return {
        key: v.to_dict() if isinstance(v, ex.step_sizes.Autostep) else v
        for key, v in varied.items()
    }


def _short(number: float) -> float:
    return float(f"{number:.4g}")


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/defaults")
    stored = choose(np.array([mean_returns(name, folder / name) for name in PROBLEMS]))
    stored["fresh"] = confirm(stored)
    STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
