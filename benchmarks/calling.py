"""Calling C with the random numbers of a run of the library."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def seed_words(streams: Any) -> np.ndarray:
    """The states of the world's, the acting and the planning stream, four words of 64 bits each."""
    words, mask = [], 2**64 - 1
    for rng in (streams.world, streams.acting, streams.planning):
        state = rng.bit_generator.state["state"]
        words += [state["state"] >> 64, state["state"] & mask]
        words += [state["inc"] >> 64, state["inc"] & mask]
    return np.array(words, np.uint64)


def timed(
    function: Any, arguments: list[Any], returns: np.ndarray, keep: Any
) -> Callable[[], tuple[float, int]]:
    """A measurement of one call: (seconds, steps). ``keep`` is what the arguments point to."""

    def measure() -> tuple[float, int]:
        start = time.perf_counter()
        steps = function(*arguments)
        return time.perf_counter() - start, steps

    measure.returns = returns  # type: ignore[attr-defined]
    measure.keep = keep  # type: ignore[attr-defined]
    return measure
