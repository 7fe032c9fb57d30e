"""Algorithm 1 in C, compiled with gcc and run on the random numbers of a run of the library."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.core.rng import run_streams

FLAGS = ("-O3", "-march=native")
CAPACITY = 1000  # of the replay
Measure = Callable[[], tuple[float, int, np.ndarray]]


def compile_c(world: str, folder: Path, *flags: str) -> Any:
    """Compile Algorithm 1 in a world; None without gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    library = folder / f"{world}{''.join(flags)}.so"
    source = Path(__file__).with_name(f"{world}.c")
    command = [gcc, *FLAGS, *flags, "-shared", "-fPIC", "-o", str(library), str(source), "-lm"]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library))[world]
    function.restype = ctypes.c_int64
    return function


def measure_c(
    function: Any, domain: Any, features: Any, agent: Any, episodes: int, step_limit: int
) -> Measure:
    """Return a measurement of one run in C: seconds, steps and returns."""
    streams = run_streams(0, 0)
    part: Any = features.build(domain, streams.building)
    if isinstance(domain, ex.Corridor):
        world = [domain.cells, domain.slip, domain.switch_every or 1]
        encoding = [features.size, features.active, part.active]
    else:
        world, arrays = [], [part.low, part.scale, part.parts, part.displacements, part.strides]
        encoding = [*arrays, features.tilings, part.tiles]
    seed, returns = _seed_words(streams), np.zeros(episodes)
    values = [
        *world, *encoding, agent.value_step.step, agent.model_step.step, agent.epsilon,
        agent.discount, agent.planning_steps, CAPACITY, episodes, step_limit, seed, returns,
    ]  # fmt: skip
    arguments = [_argument(value) for value in values]

    def measure() -> tuple[float, int, np.ndarray]:
        start = time.perf_counter()
        steps = function(*arguments)
        return time.perf_counter() - start, steps, values[-1]  # also keeps the arrays alive

    return measure


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(value)


def _seed_words(streams: Any) -> np.ndarray:
    """Return the states of the three streams, four words of 64 bits each."""
    words, mask = [], 2**64 - 1
    for rng in (streams.world, streams.acting, streams.planning):
        state = rng.bit_generator.state["state"]
        for number in (state["state"], state["inc"]):
            words += [number >> 64, number & mask]
    return np.array(words, np.uint64)
