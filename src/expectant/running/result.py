"""What came out of many runs of an agent in a domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.running.loop import Run


@dataclass(frozen=True, eq=False)
class Result:
    """What came out of ``ex.run``.

    ``returns`` and ``lengths`` are (runs, episodes): total reward and number of steps. With a
    budget of steps they are empty and ``rewards`` is (runs, bins): the mean reward of a step in
    each bin. ``diverged`` (runs,) marks runs whose weights overflowed: NaN (and length 0) from
    that episode or bin on.
    """

    returns: np.ndarray
    lengths: np.ndarray
    rewards: np.ndarray
    diverged: np.ndarray
    domain: Any
    features: Any
    agent: Any
    seed: int
    compile_seconds: float
    seconds: float
    kept: tuple[tuple[Run, np.random.Generator], ...] = ()

    def __repr__(self) -> str:
        kind, table = ("episodes", self.returns) if self.returns.size else ("bins", self.rewards)
        return (
            f"Result({type(self.agent).__name__}: {table.shape[0]} runs × {table.shape[1]} {kind}, "
            f"{int(self.diverged.sum())} diverged, {self.seconds:.2f} s)"
        )
