"""The mountain car: compiled against C, and through Gymnasium against acting at random."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import expectant as ex
from expectant.seeds import streams_of

DOMAIN = ex.MountainCar()
FEATURES = ex.Tiles(8, 8)
STEP = 0.05
AGENT = ex.Lookahead(value_step=STEP, model_step=STEP, planning_steps=5)
EPISODES = 60
GYM_STEPS = 20_000


def in_c(function: Any, calling: Any) -> Callable[[], tuple[float, int]]:
    """Algorithm 1 in C, from the same random numbers as run 0 of the library."""
    streams = streams_of(0, 0)
    tiles: Any = FEATURES.build(DOMAIN, streams.building)
    seed, returns = calling.seed_words(streams), np.zeros(EPISODES)
    real, whole, pointer = ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
    arrays = [tiles.low, tiles.scale, tiles.parts, tiles.displaced, tiles.strides]
    arguments = [
        *(pointer(array.ctypes.data) for array in arrays),
        whole(FEATURES.tilings), whole(tiles.each), real(STEP), real(STEP),
        real(AGENT.epsilon), real(AGENT.discount), whole(AGENT.planning_steps), whole(1000),
        whole(EPISODES), whole(DOMAIN.step_limit or 0), pointer(seed.ctypes.data),
        pointer(returns.ctypes.data),
    ]  # fmt: skip

    return calling.timed(function, arguments, returns, (arrays, seed))


def at_random() -> tuple[float, int]:
    """Seconds and steps of acting at random in Gymnasium's mountain car."""
    import gymnasium

    env = gymnasium.make("MountainCar-v0")
    env.action_space.seed(0)
    env.reset(seed=0)
    start = time.perf_counter()
    for _ in range(GYM_STEPS):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return time.perf_counter() - start, GYM_STEPS


def learning() -> tuple[float, int]:
    """Seconds and steps of Q-learning in the same environment."""
    result = ex.run(
        ex.Gym("MountainCar-v0"), FEATURES, ex.QLearning(0.05), steps=GYM_STEPS, runs=1, threads=1,
        progress=False,
    )  # fmt: skip
    return result.seconds, GYM_STEPS
