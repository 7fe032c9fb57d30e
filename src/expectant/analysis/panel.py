"""The curves of one panel of a figure, as input of statistics, figures and reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from expectant.analysis.verdicts import clip_at_floor

FLOOR = 4.0  # stuck and diverged bins count as random − 4 × (optimal − random)
FLOORS = (1.0, FLOOR, 10.0)  # at which verdicts are compared


class Unavailable(Exception):
    """The data lack something that a statistic needs."""


class Level(NamedTuple):
    """A reference line from ``start`` to ``end``: at ``height``, or from there to ``last``."""

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

    ``curves`` maps an agent's key to (runs, bins) mean returns; bin b starts at episode (or step,
    see ``unit``) ``b * bin``. Runs are paired: run r of every agent has the same seed. The goal
    moves every ``switch_every`` episodes (None: never); ``changes`` are other changes of the
    domain. Curves of a probe hold a ``quantity`` at ``points`` (M,) in ``phases`` (M,).

    ``optimum`` is the exact return of acting ε-greedily on optimal values, ``best_soft`` that of
    the best ε-soft policy, ``levels`` are further reference lines. ``origin`` is the episode drawn
    as zero. ``floor`` is the lower clip of bins in claims: as often as ``floor_multiple`` says as
    far below acting at random as that is below the optimum. ``of_errors``: lower is better.
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
    floor_multiple: float = FLOOR
    of_errors: bool = False

    def __repr__(self) -> str:
        names = "/".join(filter(None, (self.interpretation, self.figure, self.panel)))
        sizes = ", ".join(f"{agent} {curve.shape}" for agent, curve in self.curves.items())
        return f"Panel({names}: {self.quantity} of {sizes})"

    @property
    def x(self) -> np.ndarray:
        """Positions of a curve's values: the middle of each bin, or ``points``."""
        middles = self.first_episodes + self.bin / 2 - self.origin
        return middles if self.points is None else self.points

    @property
    def end(self) -> float:
        """The end of the x axis."""
        firsts = self.first_episodes
        return float(firsts[-1] + self.bin - self.origin if self.points is None else firsts[-1])

    @property
    def breaks(self) -> list[float]:
        """Positions of goal switches, changes of the domain or phases."""
        if self.points is None or self.phases is None:
            moved = [float(self.first_episodes[switch] - self.origin) for switch in self.switches]
            return moved or [change for change in self.changes if change < self.end]
        return [float(at) for at in self.points[1:][np.diff(self.phases) > 0]]

    @property
    def first_episodes(self) -> np.ndarray:
        """The first episode (or step) of every bin, or ``points``."""
        if self.points is not None:
            return self.points
        bins = next(iter(self.curves.values())).shape[1]
        return np.arange(bins) * self.bin

    @property
    def x_label(self) -> str:
        return "episodes since the goal moved" if self.origin else self.unit

    @cached_property
    def clipped(self) -> dict[str, np.ndarray]:
        """The curves by agent, with diverged and very bad bins at the floor."""
        curves = list(self.curves.values())
        clipped = clip_at_floor(curves, self.floor, of_errors=self.of_errors)
        return dict(zip(self.curves, clipped, strict=True))

    def with_floor(self, multiple: float) -> Panel:
        return replace(self, floor=self.floor_at(multiple), floor_multiple=multiple)

    def floor_at(self, multiple: float) -> float:
        """The return of acting at random, minus ``multiple`` × (optimal − random)."""
        at_random = (self.floor + self.floor_multiple * self.optimum) / (1.0 + self.floor_multiple)
        return at_random - multiple * (self.optimum - at_random)

    @property
    def runs(self) -> int:
        return min(curve.shape[0] for curve in self.curves.values())

    def first_runs(self, runs: int | None) -> Panel:
        """The panel with at most ``runs`` runs of every agent (None: all)."""
        if runs is None or all(curve.shape[0] <= runs for curve in self.curves.values()):
            return self
        return replace(self, curves={key: curve[:runs] for key, curve in self.curves.items()})

    @property
    def switches(self) -> tuple[int, ...]:
        """The first bin after each goal switch."""
        if self.switch_every is None or self.points is not None or self.unit != "episode":
            return ()
        if self.origin:
            return (self.origin // self.bin,)
        bins, phase = self.first_episodes.size, self.switch_every // self.bin
        return tuple(range(phase, bins, phase))

    def windows(self, before: int, after: int) -> list[Panel]:
        """A panel for every switch, with the bins around it and episodes counted from it."""
        name = self.title or self.panel
        return [
            replace(
                self,
                title=f"{name}: move {number}" if name else f"move {number} of the goal",
                panel=f"{self.panel} move {number}".strip(),
                origin=before * self.bin,
                curves={
                    key: c[:, start - before : start + after] for key, c in self.curves.items()
                },
            )
            for number, start in enumerate(self.switches, 1)
            if start - before >= 0 and start + after <= self.first_episodes.size
        ]
