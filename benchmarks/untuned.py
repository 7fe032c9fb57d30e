"""Measure agents with default parameters on ten environments and five more: docs/untuned.json.

Features are those that ``expectant try`` proposed; models are sparse where there are many tiles.
The references are random play and Q-learning with the step that was best in other runs. Defaults
were chosen on other problems (``benchmarks/choose_defaults.py``).

    python benchmarks/untuned.py [NAME …]    # those that are not stored yet, or these again
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import expectant as ex
from expectant.analysis.curves import interval
from expectant.analysis.verdicts import paired_difference

STORED = Path(__file__).parents[1] / "docs" / "untuned.json"
RUNS, SEED = 10, 1
TUNING_RUNS, TUNING_SEED = 3, 2
STEPS = (0.05, 0.1, 0.2, 0.5, 1.0)
MANY = 500  # features from which on models are sparse, unless one is active
LABELS = {
    "random": "random play", "q_learning": "Q-learning", "tuned": "Q-learning, tuned step",
    "sarsa": "Sarsa(λ)", "lookahead": "Algorithm 1", "cached_values": "Algorithm 2",
    "cached_policy": "Algorithm 3",
}  # fmt: skip
COMPARED = list(LABELS)[3:]
TORQUES = np.array([[-2.0], [0.0], [2.0]], np.float32)


def pendulum() -> Any:
    """Return Pendulum-v1 with three torques instead of any between −2 and 2."""
    world = gymnasium.make("Pendulum-v1")
    actions = gymnasium.spaces.Discrete(len(TORQUES))
    return gymnasium.wrappers.TransformAction(world, lambda action: TORQUES[action], actions)


class PlaceAndDirection(gymnasium.ObservationWrapper):
    """Observe MiniGrid's agent by its place and direction: enough in an empty room."""

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        inner = world.unwrapped
        self.observation_space = gymnasium.spaces.MultiDiscrete([inner.width, inner.height, 4])

    def observation(self, observation: Any) -> np.ndarray:
        inner: Any = self.unwrapped
        return np.array([*inner.agent_pos, inner.agent_dir], np.int64)


def minigrid() -> Any:
    """Return MiniGrid's empty room of 5 × 5 (the package minigrid)."""
    import minigrid  # noqa: F401 (registers its environments)

    return PlaceAndDirection(gymnasium.make("MiniGrid-Empty-5x5-v0"))


def join_tiles(coarse: ex.Tiles) -> ex.Features:
    """Return coarse tiles of all components, and fine ones of pairs."""
    joined: ex.Features = coarse
    for first in range(0, len(coarse.bounds or ()), 2):
        fine = ex.Tiles(4, 6, coarse.bounds, dimensions=(first, first + 1))
        joined = ex.features.Joined(joined, fine)
    return joined


class Environment(NamedTuple):
    """An environment and how long it is tried; ``step_limit`` where it has none of its own."""

    source: Any
    episodes: int
    step_limit: int | None = None
    features: ex.Features = ex.OneHot()


CART = (
    (-4.800000190734863, 4.800000190734863), (-2.542628991603851, 2.3793030858039854),
    (-0.41887903213500977, 0.41887903213500977), (-3.5376858472824098, 3.8618948221206666),
)  # fmt: skip
ARMS = tuple((-most, most) for most in (1.0, 1.0, 1.0, 1.0, 12.566370964050293, 28.274333953857422))
HILL = ((-1.2000000476837158, 0.6000000238418579), (-0.07000000029802322, 0.07000000029802322))
TEN = {
    "CliffWalking": Environment("CliffWalking-v1", 150, 500),
    "Taxi": Environment("Taxi-v4", 200),
    "FrozenLake 4×4": Environment("FrozenLake-v1", 1_000),
    "FrozenLake 8×8": Environment("FrozenLake8x8-v1", 500),
    "Blackjack": Environment("Blackjack-v1", 5_000, 100),
    "CartPole": Environment("CartPole-v1", 100, None, join_tiles(ex.Tiles(8, 3, CART))),
    "Acrobot": Environment(
        "Acrobot-v1", 20, None, join_tiles(ex.Tiles(8, 2, ARMS, hash_size=8_192))
    ),
    "MountainCar": Environment("MountainCar-v0", 100, None, ex.Tiles(8, 8, HILL)),
    "Pendulum, three torques": Environment(
        "untuned:pendulum", 40, None, ex.Tiles(8, 5, ((-1.0, 1.0), (-1.0, 1.0), (-8.0, 8.0)))
    ),
    "MiniGrid, empty 5×5": Environment("untuned:minigrid", 100, 100),
}

MAZE = """
S....#....
.###.#.##.
.#P..#..#.
.#.####.#.
...#....#.
.#...##..G
"""
FIVE: dict[str, tuple[ex.Domain, ex.Features, dict[str, Any]]] = {
    "Garnet, 150 states, 5 actions": (
        ex.domains.Garnet(states=150, actions=5, task_per_run=True, task_seed=21_000),
        ex.OneHot(), {"steps": 8_000},
    ),
    "blocking maze": (ex.domains.BlockingMaze(change_after=3_000), ex.OneHot(), {"steps": 8_000}),
    "queue with 8 servers": (ex.domains.AccessControl(servers=8), ex.OneHot(), {"steps": 8_000}),
    "maze with a pit, 60 features": (
        ex.domains.Rooms(MAZE, slip=0.2), ex.RandomBinary(60, 5), {"episodes": 200},
    ),
    "mountain car, Fourier basis": (ex.MountainCar(), ex.Fourier(4), {"episodes": 60}),
}  # fmt: skip
FURTHER_RUNS = 30


def measure_further(name: str) -> dict[str, Any]:
    """Compare Algorithm 1 with Q-learning, and with a model fitted by gradients."""
    domain, features, length = FIVE[name]
    agents = {
        "q_learning": ex.QLearning(),
        "gradient": ex.Lookahead(model_step=ex.step_sizes.Autostep(0.3, 0.1)),
        "lookahead": ex.Lookahead(),
    }
    found = ex.compare(
        domain, features, agents, runs=FURTHER_RUNS, seed=SEED, step_limit=1_000, progress=False,
        quiet=True, **length,
    )  # fmt: skip
    means = {kind: float(f"{result.means.mean():.4g}") for kind, result in found.results.items()}
    pairs = [pair for pair in found.differences if pair.name == "lookahead"]
    verdicts = {f"against_{pair.reference}": pair.verdict for pair in pairs}
    return {"problem": name, **means, **verdicts}


def measure(world: Environment) -> dict[str, Any]:
    """Run all agents in one environment."""
    domain = ex.Gym(world.source)
    shape = world.features.shape(domain)
    model: dict[str, Any] = {"model": "sparse"} if shape.size > MANY and shape.active > 1 else {}

    def earn(agent: ex.Agent, runs: int, seed: int) -> ex.Result:
        return ex.run(
            domain, world.features, agent, episodes=world.episodes, runs=runs, seed=seed,
            step_limit=world.step_limit or domain.step_limit or 10_000, progress=False,
        )  # fmt: skip

    def tuned_return(step: float) -> float:
        means = earn(ex.QLearning(step), TUNING_RUNS, TUNING_SEED).means
        return float(np.nan_to_num(means.mean(), nan=-math.inf))

    step = max(STEPS, key=tuned_return)
    agents = {
        "random": ex.QLearning(0.0, epsilon=1.0), "q_learning": ex.QLearning(),
        "tuned": ex.QLearning(step), "sarsa": ex.Sarsa(),
        "lookahead": ex.Lookahead(**model), "cached_values": ex.CachedValues(**model),
        "cached_policy": ex.CachedPolicy(**model),
    }  # fmt: skip
    rows = {kind: summarise_runs(earn(agent, RUNS, SEED)) for kind, agent in agents.items()}
    return {"episodes": world.episodes, "features": repr(world.features), "tuned_step": step} | rows


def summarise_runs(result: ex.Result) -> dict[str, Any]:
    """Return the mean return of every run, over all episodes and over the last quarter."""
    last = max(1, result.returns.shape[1] // 4)
    means, late = result.returns.mean(axis=1), result.returns[:, -last:].mean(axis=1)
    short = [
        [float(f"{x:.5g}") if math.isfinite(x) else None for x in row] for row in (means, late)
    ]
    steps, diverged = round(float(result.lengths.sum(axis=1).mean())), int(result.diverged.sum())
    return {"means": short[0], "last": short[1], "steps": steps, "diverged": diverged}


def compare(row: dict[str, Any], other: dict[str, Any]) -> str:
    """Compare two agents in the same runs, by a paired interval of 95 %."""
    if row["diverged"] or other["diverged"]:
        return "less" if row["diverged"] else "more"
    found = paired_difference(np.array(row["means"]), np.array(other["means"]))
    return "more" if found.low > 0.0 else "less" if found.high < 0.0 else "alike"


def mean_of(row: dict[str, Any]) -> float:
    return -math.inf if row["diverged"] else float(np.mean(row["means"]))


def summarise(worlds: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of the three tables of the documentation."""
    rows: list[dict[str, Any]] = []
    highest: dict[str, list[str]] = {kind: [] for kind in ("q_learning", *COMPARED)}
    for name, found in worlds.items():
        best = max(highest, key=lambda kind, found=found: mean_of(found[kind]))  # type: ignore[misc]
        highest[best].append(name)
        for kind, label in LABELS.items():
            row = found[kind]
            estimate = None if row["diverged"] else [*map(float, interval(np.array(row["means"])))]
            tuned = f", {found['tuned_step']:g}" if kind == "tuned" else ""
            rows.append({
                "environment": name, "episodes": found["episodes"], "agent": label + tuned,
                "mean": estimate, "last": estimate and float(np.mean(row["last"])),
                "steps": row["steps"], "diverged": row["diverged"],
                "against": compare(row, found["q_learning"]) if kind in COMPARED else "",
            })  # fmt: skip
    counts = []
    for kind in COMPARED:
        pairs = [(found[kind], found["q_learning"]) for found in worlds.values()]
        sure = [compare(*pair) for pair in pairs]
        higher = sum(mean_of(row) > mean_of(other) for row, other in pairs)
        counts.append({"agent": LABELS[kind], "higher": higher, "more": sure.count("more"),
                       "less": sure.count("less")})  # fmt: skip
    best_on = {LABELS[kind]: "; ".join(names) or "none" for kind, names in highest.items()}
    return {"rows": rows, "counts": counts, "highest": best_on}


def main() -> None:
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    worlds = stored.get("environments", {})
    further = {row["problem"]: row for row in stored.get("further", [])}
    wanted = sys.argv[1:] or [name for name in (*TEN, *FIVE) if name not in {**worlds, **further}]
    for name in wanted:
        if name in TEN:
            worlds[name] = measure(TEN[name])
        else:
            further[name] = measure_further(name)
        ordered = {name: worlds[name] for name in TEN if name in worlds}
        rows = [further[name] for name in FIVE if name in further]
        stored = {"environments": ordered, **summarise(ordered), "further": rows}
        STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
        print(f"{name} is stored", flush=True)


if __name__ == "__main__":
    main()
