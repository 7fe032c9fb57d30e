"""What every analysis, figure and report works on: the curves of one panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Panel:
    """The learning curves of some agents in one domain, under one reading of the paper.

    ``curves`` maps an agent's key to (runs, bins) mean returns; bin b starts at episode
    ``b * bin``. Run r of every agent had the same seed, so runs are paired. The goal moves after
    every ``switch_every`` episodes (None: never). ``optimum`` is the exact return of acting
    ε-greedily on optimal values, the same in every phase.
    """

    figure: str
    panel: str
    reading: str
    bin: int
    switch_every: int | None
    optimum: float
    curves: Mapping[str, np.ndarray]
    labels: Mapping[str, str]

    @property
    def first_episodes(self) -> np.ndarray:
        bins = next(iter(self.curves.values())).shape[1]
        return np.arange(bins) * self.bin

    @property
    def switches(self) -> tuple[int, ...]:
        """The bins at which the goal has just moved."""
        if self.switch_every is None:
            return ()
        bins, phase = self.first_episodes.size, self.switch_every // self.bin
        return tuple(range(phase, bins, phase))

    def windows(self, bins: int) -> list[Panel]:
        """The surroundings of every switch, so many bins before and after, as panels to draw.

        A drop and its recovery take up a hundredth of a long phase and cannot be seen in all of it.
        Episodes count from where a window begins.
        """
        return [
            replace(
                self,
                panel=f"goal move {number}, from episode {(start - bins) * self.bin:,}",
                switch_every=bins * self.bin,
                curves={key: c[:, start - bins : start + bins] for key, c in self.curves.items()},
            )
            for number, start in enumerate(self.switches, 1)
            if start - bins >= 0 and start + bins <= self.first_episodes.size
        ]
