"""What every analysis, figure and report works on: the curves of one panel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np


class Unavailable(Exception):
    """The data lacks something that a statistic needs, so nothing can be decided."""


class Level(NamedTuple):
    """A line from ``start`` to ``end``, such as an optimum: level, or that ends ``last`` high."""

    start: float
    end: float
    height: float
    name: str
    last: float | None = None

    @property
    def end_height(self) -> float:
        return self.height if self.last is None else self.last


@dataclass(frozen=True, eq=False)
class Panel:
    """The learning curves of some agents in one domain, under one interpretation of the paper.

    ``curves`` maps an agent's key to (runs, bins) mean returns; bin b starts at episode
    ``b * bin``. Run r of every agent had the same seed, so runs are paired. The goal moves after
    every ``switch_every`` episodes (None: never). ``optimum`` is the exact return of acting
    ε-greedily on optimal values, the same in every phase.

    Instead of episodes, steps may be counted (``unit``), and instead of means over bins the curves
    may be of something (``quantity``) that was looked at after so many of them, ``points`` (M,), in
    the ``phases`` (M,); ``levels`` are lines to hold it against. ``origin`` is the episode that is
    drawn as zero. ``best_soft`` is the best that any policy with that ε can earn, which may be more
    than ``optimum``. ``changes`` are where the domain changes, where that is neither said by phases
    nor by switches. ``floor`` is what the return of a bin counts at least where claims are judged:
    far below acting at random, where only runs that are stuck or have diverged come to. Of
    ``of_errors`` less is better.
    """

    figure: str
    panel: str
    interpretation: str
    bin: int
    switch_every: int | None
    optimum: float
    curves: Mapping[str, np.ndarray]
    labels: Mapping[str, str]
    title: str = ""
    unit: str = "episode"
    quantity: str = "return per episode"
    points: np.ndarray | None = None
    phases: np.ndarray | None = None
    levels: tuple[Level, ...] = ()
    origin: int = 0
    best_soft: float = math.nan
    changes: tuple[float, ...] = ()
    floor: float = math.nan
    of_errors: bool = False

    def __repr__(self) -> str:
        names = "/".join(filter(None, (self.interpretation, self.figure, self.panel)))
        sizes = ", ".join(f"{agent} {curve.shape}" for agent, curve in self.curves.items())
        return f"Panel({names}: {self.quantity} of {sizes})"

    @property
    def x(self) -> np.ndarray:
        """Where the values of a curve stand: a bin in its middle, so that a drop appears after the
        switch it follows."""
        middles = self.first_episodes + self.bin / 2 - self.origin
        return middles if self.points is None else self.points

    @property
    def end(self) -> float:
        """Where the axis ends."""
        firsts = self.first_episodes
        return float(firsts[-1] + self.bin - self.origin if self.points is None else firsts[-1])

    @property
    def breaks(self) -> list[float]:
        """Where something changes."""
        if self.points is None or self.phases is None:
            moved = [float(self.first_episodes[switch] - self.origin) for switch in self.switches]
            return moved or [change for change in self.changes if change < self.end]
        return [float(at) for at in self.points[1:][np.diff(self.phases) > 0]]

    @property
    def first_episodes(self) -> np.ndarray:
        """The first episode (or step) of every bin, or after how many something was looked at."""
        if self.points is not None:
            return self.points
        bins = next(iter(self.curves.values())).shape[1]
        return np.arange(bins) * self.bin

    @property
    def counted(self) -> str:
        """What the axis counts."""
        return "episodes since the goal moved" if self.origin else self.unit

    @property
    def runs(self) -> int:
        return min(curve.shape[0] for curve in self.curves.values())

    def first_runs(self, runs: int | None) -> Panel:
        """The first so many runs of it."""
        if runs is None or runs >= self.runs:
            return self
        return replace(self, curves={key: curve[:runs] for key, curve in self.curves.items()})

    @property
    def switches(self) -> tuple[int, ...]:
        """The bins at which the goal has just moved."""
        if self.switch_every is None or self.points is not None or self.unit != "episode":
            return ()
        if self.origin:
            return (self.origin // self.bin,)
        bins, phase = self.first_episodes.size, self.switch_every // self.bin
        return tuple(range(phase, bins, phase))

    def windows(self, before: int, after: int) -> list[Panel]:
        """The surroundings of every switch, so many bins before and after it, as panels to draw.

        A drop and its recovery take up a small part of a phase and cannot be seen in all of it.
        Episodes count from the switch.
        """
        place = self.title or self.panel
        return [
            replace(
                self,
                title=f"{place}: move {number}" if place else f"move {number} of the goal",
                panel=f"{self.panel} move {number}".strip(),
                origin=before * self.bin,
                curves={
                    key: c[:, start - before : start + after] for key, c in self.curves.items()
                },
            )
            for number, start in enumerate(self.switches, 1)
            if start - before >= 0 and start + after <= self.first_episodes.size
        ]
