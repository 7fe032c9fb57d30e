"""How many observations a second compiled code encodes, on one core."""

from __future__ import annotations

import time
from typing import Any

import numba
import numpy as np

import expectant as ex
from expectant.dispatch import borrowed
from expectant.engine.compile.compiling import register_overloads
from expectant.engine.compile.overloads import with_borrowed
from expectant.features.vector import empty_state
from expectant.verbs import encode

TILES = "8 tilings of 8×8"
MAPS = {
    TILES: ex.Tiles(8, 8),
    "the same, hashed to 1,024": ex.Tiles(8, 8, hash_size=1024),
    "Fourier, order 3": ex.Fourier(3),
    "the last 4 of those tilings": ex.History(ex.Tiles(8, 8), 4),
    "traces of those tilings": ex.Traces(ex.Tiles(8, 8), 0.9),
}
OBSERVATIONS = 100_000
REPEATS = 5


class Square(ex.Domain):
    """Only what feature maps ask of a domain: two components between 0 and 1."""

    actions = 2
    bounds = ((0.0, 1.0), (0.0, 1.0))


def encode_all(features, observation, observations, state):
    """Encode rows of observations one after another; the sum of some indices keeps them needed."""
    features, observation = borrowed(features), borrowed(observation)
    observations, state = borrowed(observations), borrowed(state)
    total = 0
    for row in range(observations.shape[0]):
        observation[0] = observations[row, 0]
        observation[1] = observations[row, 1]
        encode(features, observation, 0 if row > 0 else -1, state)
        total += state.active[row % state.active.shape[0]]
    return total


def encodings_a_second(features: Any) -> float:
    """The best of some repeats, on random points of the square."""
    rng, square = np.random.default_rng(0), Square()
    part, state = features.build(square, rng), empty_state(features.shape(square))
    observation, observations = np.zeros(2), rng.random((OBSERVATIONS, 2))
    register_overloads()
    kernel = numba.njit(nogil=True, error_model="numpy")(with_borrowed(encode_all))
    kernel(part, observation, observations[:1], state)  # compiles
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        kernel(part, observation, observations, state)
        best = min(best, time.perf_counter() - start)
    return OBSERVATIONS / best


def encodings() -> dict[str, float]:
    """Encodings a second of points of a square, by feature map."""
    return {name: encodings_a_second(features) for name, features in MAPS.items()}


def main() -> None:
    """Print the table."""
    for name, speed in encodings().items():
        print(f"{name:30}{speed / 1e6:8.2f} million a second")


if __name__ == "__main__":
    main()
