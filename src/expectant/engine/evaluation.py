"""What came out of acting without learning."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from expectant import formatting as tables
from expectant.analysis.curves import interval


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came out of ``ex.evaluate``.

    ``returns`` and ``lengths`` are (episodes,) of a learner, (runs, episodes) of a result.
    ``diverged`` (runs,) marks runs whose weights had overflowed: all NaN.
    """

    returns: np.ndarray
    lengths: np.ndarray
    diverged: np.ndarray
    seconds: float

    @property
    def mean(self) -> float:
        """The mean return of an episode; NaN with a diverged run."""
        return float(self.returns.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the mean: over runs, or over the episodes of only one."""
        several = self.diverged.size > 1
        samples = self.returns.mean(axis=1) if several else self.returns.ravel()
        if samples.size == 1:
            return math.nan, math.nan
        _, low, high = interval(samples)
        return float(low), float(high)

    @property
    def low(self) -> float:
        return self.interval[0]

    @property
    def high(self) -> float:
        return self.interval[1]

    def __repr__(self) -> str:
        return f"Evaluation({', '.join(f'{name} {text}' for name, text in self._facts())})"

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        names, texts = zip(*self._facts(), strict=True)
        return tables.html_table(names, [texts])

    def _facts(self) -> list[tuple[str, str]]:
        low, high = self.interval
        decimals = tables.decimals_for([self.mean, low, high])
        ends = tables.interval_text(low, high, decimals)
        shown = f"{tables.number_text(self.mean, decimals)} ({ends})"
        facts = [("mean return", shown), ("episodes", f"{self.returns.shape[-1]:,}")]
        if self.returns.ndim > 1:
            facts.append(("runs", f"{self.diverged.size:,}"))
        if self.diverged.any():
            facts.append(("diverged", str(int(self.diverged.sum()))))
        return facts
