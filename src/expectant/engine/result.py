"""``ex.Result``: returns, lengths and rewards of many runs."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from expectant.analysis.curves import interval
from expectant.core import formatting as tables
from expectant.core.errors import require_extra
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.rng import Streams
from expectant.engine.loop import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyarrow import Table


@dataclass(frozen=True, eq=False)
class Result:
    """The result of ``ex.run``.

    ``returns`` and ``lengths`` are (runs, episodes): total reward and number of steps. With a
    budget of ``steps`` they are empty and ``rewards`` is (runs, bins): the mean reward of a step in
    each bin. ``diverged`` (runs,) marks runs whose weights overflowed: NaN (and length 0) from
    that episode or bin on; ``divergence`` explains each of them, and each run whose weights are far
    larger than any return, in one sentence with advice. Runs are numbered from ``first_run`` on,
    without those ``missing`` because their environment failed (see ``ex.EnvError``). ``evicted``
    (runs,) counts entries that the model of a run evicted for lack of capacity.
    """

    returns: np.ndarray
    lengths: np.ndarray
    rewards: np.ndarray
    diverged: np.ndarray
    domain: Domain
    features: Features
    agent: Agent
    seed: int
    compile_seconds: float
    seconds: float
    kept: tuple[tuple[Run, Streams], ...] = ()
    steps: int | None = None
    first_run: int = 0
    divergence: tuple[str, ...] = ()
    evicted: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    missing: tuple[int, ...] = ()

    @property
    def numbers(self) -> list[int]:
        """Run numbers, without those missing."""
        end = self.first_run + self.diverged.size + len(self.missing)
        return [number for number in range(self.first_run, end) if number not in self.missing]

    @property
    def bin(self) -> int:
        """The number of steps in a bin of ``rewards``; the last one may be shorter."""
        return -(-(self.steps or 0) // max(self.rewards.shape[1], 1))

    @property
    def bin_lengths(self) -> np.ndarray:
        """The number of steps in each bin of ``rewards`` (bins,)."""
        lengths = np.full(self.rewards.shape[1], self.bin)
        lengths[-1:] -= self.bin * lengths.size - (self.steps or 0)
        return lengths

    @property
    def means(self) -> np.ndarray:
        """The mean return of an episode, or reward of a step, in each run; NaN if it diverged."""
        if self.steps is None:
            return self.returns.mean(axis=1)
        return self.rewards @ self.bin_lengths / self.steps

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw its learning curve; ``path`` writes it as .png, .svg or .pdf, see ``ex.plot``."""
        from expectant.report.plot import plot

        return plot(self, path)

    def table(self) -> Table:
        """Return a row for every episode: run, episode, return, length.

        With a budget of steps a row for every bin: run, bin, return, its length in steps, and
        reward, which is the mean of a step; the return is their sum.
        """
        require_extra("a table", "experiments")
        import pyarrow

        over_steps = self.steps is not None
        earned = self.rewards * self.bin_lengths if over_steps else self.returns
        runs, count = earned.shape
        columns = {
            "run": np.repeat(self.numbers, count),
            "bin" if over_steps else "episode": np.tile(np.arange(count), runs),
            "return": earned.ravel(),
            "length": np.tile(self.bin_lengths, runs) if over_steps else self.lengths.ravel(),
        }
        if over_steps:
            columns["reward"] = self.rewards.ravel()
        return pyarrow.table(columns)

    def __repr__(self) -> str:
        mean = float(self.means.mean())  # not finite with a diverged run
        shown = tables.number_text(mean, tables.decimals_for([mean]))
        facts = [extent_of(self)]
        if math.isfinite(mean):
            facts.append(f"mean {measure_of(self)} {shown}")
        facts.append(f"{int(self.diverged.sum())} diverged")
        if self.evicted.any():
            facts.append(f"{int(self.evicted.sum()):,} entries evicted")
        facts.append(f"{self.seconds:.2f} s")
        where = f"{self.agent.title()} in {self.domain.display_name}"
        return f"Result({where}: {', '.join(facts)})"


def measure_of(result: Result) -> str:
    """Return the name of the quantity that is averaged."""
    return "return" if result.steps is None else "reward"


def extent_of(result: Result) -> str:
    """Return the number and length of the runs, in words."""
    runs = f"{result.diverged.size:,} run" + "s" * (result.diverged.size != 1)
    if result.steps is not None:
        return f"{runs} of {result.steps:,} steps"
    return f"{runs} of {result.returns.shape[1]:,} episodes"


def estimate_of(result: Result) -> tuple[float, float, float]:
    """Return the mean over runs and its interval; NaN where there is none."""
    mean, low, high = (float(end) for end in interval(result.means))
    return (mean, low, high) if result.diverged.size > 1 else (mean, math.nan, math.nan)
