"""Measure steps per second of expectant and of other libraries, side by side in one run.

    python -m venv scratch
    scratch/bin/pip install . gymnasium rl-blox gymnax rlax stable-baselines3
    scratch/bin/python benchmarks/libraries.py > docs/measured/libraries.json

Each task is the same environment and, unless the row says otherwise, the same algorithm in one
thread. Compilation is not counted: every measurement is the best of interleaved repeats after one
that warms up. A library that is not installed is left out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import gymnasium

import expectant as ex

REPEATS = 3
GRID, CAR, POLE = "CliffWalking-v1", "MountainCar-v0", "CartPole-v1"
TILINGS = TILES = 8
EPSILON, DISCOUNT, STEP = 0.1, 0.99, 0.1
Measure = Callable[[], int]  # runs once, and returns the number of steps
Task = tuple[str, dict[str, tuple[int, Callable[[int], Measure]]]]


def run_expectant(domain: Any, features: Any, agent: Any, steps: int, runs: int = 1) -> Measure:
    def measure() -> int:
        ex.run(domain, features, agent, steps=steps, runs=runs, threads=1, progress=False)
        return steps * runs

    return measure


def run_rl_blox(planning_steps: int, steps: int) -> Measure:
    """Tabular Q-learning, or Dyna-Q, of rl-blox on a grid of Gymnasium."""
    import jax.numpy as jnp
    from rl_blox.algorithm.dynaq import train_dynaq
    from rl_blox.algorithm.q_learning import train_q_learning

    environment: Any = gymnasium.make(GRID)
    table = jnp.zeros((environment.observation_space.n, environment.action_space.n))
    train = (
        partial(train_dynaq, n_planning_steps=planning_steps)
        if planning_steps
        else train_q_learning
    )
    settings = {"learning_rate": STEP, "epsilon": EPSILON, "gamma": DISCOUNT}

    def measure() -> int:
        train(environment, table, **settings, total_timesteps=steps, progress_bar=False)
        return steps

    return measure


def run_jax(runs: int, steps: int) -> Measure:
    """Q-learning with tile coding: the update of rlax in the MountainCar of gymnax, compiled."""
    import gymnax
    import jax
    import jax.numpy as jnp
    import rlax

    environment, parameters = gymnax.make(CAR)
    low, width = jnp.array([-1.2, -0.07]), jnp.array([1.8, 0.14])
    offsets = jnp.arange(TILINGS)[:, None] * jnp.array([1, 3]) / TILINGS
    rows = jnp.arange(TILINGS)

    def encode(observation: Any) -> Any:
        places = jnp.floor((observation - low) / width * TILES + offsets % 1.0).astype(int)
        places = jnp.clip(places, 0, TILES)
        return (rows * (TILES + 1) + places[:, 0]) * (TILES + 1) + places[:, 1]

    def advance(carry: Any, _: Any) -> Any:
        key, state, active, weights = carry
        key, explore, random, move = jax.random.split(key, 4)
        values = weights[active].sum(axis=0)
        action = jnp.where(
            jax.random.uniform(explore) < EPSILON,
            jax.random.randint(random, (), 0, 3),
            values.argmax(),
        )
        observation, state, reward, terminated, truncated, _ = environment.step(
            move, state, action, parameters
        )
        following, done = encode(observation), terminated | truncated
        error = rlax.q_learning(
            values, action, reward, DISCOUNT * (1.0 - done), weights[following].sum(axis=0)
        )
        weights = weights.at[active, action].add(STEP / TILINGS * error)
        return (key, state, following, weights), None

    @jax.jit
    @jax.vmap
    def train(key: Any) -> Any:
        observation, state = environment.reset(key, parameters)
        weights = jnp.zeros((TILINGS * (TILES + 1) ** 2, 3))
        carry = key, state, encode(observation), weights
        return jax.lax.scan(advance, carry, None, length=steps)[0][3]

    def measure() -> int:
        train(jax.random.split(jax.random.key(0), runs)).block_until_ready()
        return steps * runs

    return measure


def run_sb3(steps: int) -> Measure:
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)

    def measure() -> int:
        DQN("MlpPolicy", POLE, device="cpu", seed=0).learn(steps)
        return steps

    return measure


GRID_WORLD = ex.Gym(GRID), ex.OneHot()
CAR_WORLD = ex.MountainCar(), ex.Tiles(TILINGS, TILES)
POLE_WORLD = (
    ex.Gym(POLE),
    ex.Tiles(8, (2, 2, 4, 4), bounds=((-2.4, 2.4), (-3.0, 3.0), (-0.21, 0.21), (-3.0, 3.0))),
)
AGENT: dict[str, Any] = {"epsilon": EPSILON, "discount": DISCOUNT}
Q_LEARNING = ex.QLearning(STEP, **AGENT)
PLANNER = ex.Lookahead(**AGENT)
TASKS: list[Task] = [
    ("CliffWalking: Q-learning", {
        "expectant": (20_000, partial(run_expectant, *GRID_WORLD, Q_LEARNING)),
        "rl-blox": (1_000, partial(run_rl_blox, 0)),
    }),
    ("CliffWalking: Dyna-Q", {
        "expectant": (20_000, partial(run_expectant, *GRID_WORLD, ex.agents.DynaQ(STEP, **AGENT))),
        "rl-blox": (300, partial(run_rl_blox, 5)),
    }),
    ("MountainCar: Q-learning", {
        "expectant": (500_000, partial(run_expectant, *CAR_WORLD, Q_LEARNING)),
        "gymnax + rlax": (50_000, partial(run_jax, 1)),
    }),
    ("MountainCar: 64 runs", {
        "expectant": (50_000, partial(run_expectant, *CAR_WORLD, Q_LEARNING, runs=64)),
        "gymnax + rlax": (5_000, partial(run_jax, 64)),
    }),
    ("CartPole: look-ahead, DQN", {
        "expectant": (20_000, partial(run_expectant, *POLE_WORLD, PLANNER)),
        "Stable-Baselines3": (3_000, run_sb3),
    }),
]  # fmt: skip


def find_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0  # a small one shows that all works
    rows = []
    for name, libraries in TASKS:
        measures: dict[str, Measure] = {}
        for library, (steps, prepare) in libraries.items():
            try:
                measures[library] = prepare(max(100, int(scale * steps)))
                measures[library]()
            except ImportError as error:
                print(f"{library} is left out: {error}", file=sys.stderr)
        best = dict.fromkeys(measures, 0.0)
        for _ in range(REPEATS):
            for library, measure in measures.items():
                start = time.perf_counter()
                steps = measure()
                best[library] = max(best[library], steps / (time.perf_counter() - start))
        print(name, best, file=sys.stderr, flush=True)
        own = best.pop("expectant")
        rows += [
            {"task": name, "library": library, "rate": rate, "expectant": own, "ratio": own / rate}
            for library, rate in best.items()
        ]
    names = ("numpy", "numba", "gymnasium", "rl-blox", "gymnax", "rlax", "jax", "stable-baselines3")
    versions = {name: version for name in names if (version := find_version(name))}
    json.dump({"rows": rows, "versions": versions}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
