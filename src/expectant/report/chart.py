"""What a figure of curves shows, as plain numbers: alike on paper and on the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval
from expectant.analysis.panel import Level, Panel
from expectant.report.figure import COLUMNS
from expectant.report.palette import Palette
from expectant.report.ranges import ValueRange, below_axis, value_range
from expectant.report.wording import shown_number

DIFFERENCE = 5e-3  # relative, from which on two levels can be told apart


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean over runs with its 95 % interval, (points,) each; NaN where a run had diverged.

    ``key`` is that of the agent, or of whatever else is told apart by colour. ``x`` is where the
    points are, if not where the plot's others have them.
    """

    key: str
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    runs: int
    diverged: int
    x: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Plot:
    """Curves over the same ``x`` (points,), on an axis from ``begin`` to ``end``.

    ``breaks`` are the places where something changes. ``x_name`` is what the axis counts, where
    that is not what the chart's others do. ``scale`` is "log" or "linear" where it is not counts
    but values of a setting, which ``ticks`` name at 0, 1, … if they are not numbers.
    """

    heading: str
    x: np.ndarray
    end: float
    curves: Sequence[Curve]
    breaks: Sequence[float] = ()
    levels: Sequence[Level] = ()
    begin: float = 0.0
    x_name: str = ""
    scale: str = ""
    ticks: Sequence[str] = ()

    def x_of(self, curve: Curve) -> np.ndarray:
        """Where the points of one of its curves are."""
        return self.x if curve.x is None else curve.x


@dataclass(frozen=True, eq=False)
class Chart:
    """Plots that belong together, with one axis of values, so that they compare.

    The axis covers what is ``always`` shown, however far below the rest.
    """

    plots: Sequence[Plot]
    columns: int
    x_name: str = "episode"
    y_name: str = "return per episode"
    break_name: str = "goal moves"
    always: Sequence[float] = ()

    @property
    def keys(self) -> list[str]:
        """Every key in any of the plots, once, in order of appearance."""
        return list(dict.fromkeys(curve.key for plot in self.plots for curve in plot.curves))

    @property
    def level_names(self) -> list[str]:
        return list(dict.fromkeys(level.name for plot in self.plots for level in plot.levels))

    @cached_property
    def range(self) -> ValueRange:
        """The ends of the axis of values."""
        values: dict[str, list[np.ndarray]] = {}
        for plot in self.plots:
            for curve in plot.curves:
                values.setdefault(curve.key, []).extend((curve.mean, curve.low, curve.high))
        lines = [level for plot in self.plots for level in plot.levels]
        levels = [height for line in lines for height in (line.height, line.end_height)]
        by_key = {key: np.concatenate(each) for key, each in values.items()}
        covered = value_range(by_key, [*levels, *self.always])
        return covered._replace(floor=min([covered.floor, *self.always]))

    def note(self, key: str) -> str:
        """How far below the axis a curve goes, and how many runs diverged in each of its plots."""
        found = [curve for plot in self.plots for curve in plot.curves if curve.key == key]
        parts = []
        means = np.concatenate([curve.mean for curve in found])
        if (below := means[means < self.range.floor]).size:
            parts.append(below_axis(below))
        if any(curve.diverged for curve in found):
            listed = ", ".join(f"{curve.diverged}/{curve.runs}" for curve in found)
            one = f"{found[0].diverged} of {found[0].runs} runs diverged"
            parts.append(one if len(found) == 1 else f"runs diverged, by panel: {listed}")
        return f"({'; '.join(parts)})" if parts else ""

    def data(self, anchor: str) -> dict[str, object]:
        """Everything that the page's script draws."""
        return {
            "id": anchor,
            "keys": self.keys,
            "range": [self.range.low, self.range.high],
            "xName": self.x_name,
            "yName": self.y_name,
            "plots": [
                self._plot(plot, f"{anchor}-plot-{place}")
                for place, plot in enumerate(self.plots, start=1)
            ],
        }

    def _plot(self, plot: Plot, anchor: str) -> dict[str, Any]:
        names = self.level_names
        return {
            "id": anchor,
            "x": plot.x,
            "begin": plot.begin,
            "end": plot.end,
            "xName": plot.x_name or self.x_name,
            "scale": plot.scale,
            "ticks": list(plot.ticks),
            "breaks": list(plot.breaks),
            "levels": [
                {"from": level.start, "to": level.end, "height": level.height,
                 "last": level.end_height, "text": shown_number(level.end_height),
                 "kind": names.index(level.name)}
                for level in plot.levels
            ],
            "curves": [
                {"key": curve.key, "mean": curve.mean, "low": curve.low, "high": curve.high}
                | ({} if curve.x is None else {"x": curve.x})
                for curve in plot.curves
            ],
        }  # fmt: skip


def curve_of(key: str, runs: np.ndarray) -> Curve:
    """A curve from the values of all runs, (runs, points)."""
    known = finite_or_nan(runs)
    diverged = int(np.isnan(known).any(axis=1).sum())
    return Curve(key, *interval(known, level=0.95), len(known), diverged)


def chart_of(panels: Sequence[Panel]) -> Chart:
    """The chart of some panels; what is the same under several interpretations is drawn once."""
    panels = told_apart(panels)
    ordered, columns = arranged(panels)
    plots = [_plot_of(panel, panels) for panel in ordered]
    looked = any(panel.points is not None or panel.changes for panel in panels)
    names = (panels[0].counted, panels[0].quantity) if panels else ()
    return Chart(plots, columns, *names, *(["next phase"] if looked else []))


def palette_of(panels: Iterable[Panel]) -> Palette:
    """One style for every agent in any of the panels; one without a name goes by its key."""
    names: dict[str, str] = {}
    for panel in panels:
        for agent in panel.curves:
            if names.get(agent, agent) == agent:
                names[agent] = panel.labels.get(agent, agent)
    return Palette(names)


def _plot_of(panel: Panel, panels: Sequence[Panel]) -> Plot:
    begin, end = float(-panel.origin), panel.end
    return Plot(
        heading=panel_heading(panel, panels),
        x=panel.x,
        end=end,
        curves=[curve_of(agent, returns) for agent, returns in panel.curves.items()],
        breaks=panel.breaks,
        levels=_levels(panel) or list(panel.levels),
        begin=begin,
        x_name=panel.counted,
    )


def _levels(panel: Panel) -> list[Level]:
    """What acting ε-greedily on q* earns, and the best return with that ε where it is another."""
    begin, end, optimum, best = -panel.origin, panel.end, panel.optimum, panel.best_soft
    found = [Level(begin, end, optimum, "exact, ε-greedy on q*")] if math.isfinite(optimum) else []
    differs = math.isfinite(best) and not best - optimum <= DIFFERENCE * (1.0 + abs(best))
    return [*found, *([Level(begin, end, best, "exact, best ε-soft policy")] if differs else [])]


def told_apart(panels: Sequence[Panel]) -> list[Panel]:
    """Merge interpretations with identical curves into one panel under all their names."""
    interpretations: dict[str, list[Panel]] = {}
    for panel in panels:
        interpretations.setdefault(panel.interpretation, []).append(panel)
    names: dict[str, list[str]] = {}
    for interpretation, own in interpretations.items():
        same = next(
            (first for first in names if _alike(interpretations[first], own)), interpretation
        )
        names.setdefault(same, []).append(interpretation)
    return [
        replace(panel, interpretation=" and ".join(names[panel.interpretation]))
        for panel in panels
        if panel.interpretation in names
    ]


def _alike(panels: Sequence[Panel], others: Sequence[Panel]) -> bool:
    """Whether they show the same agents with the same curves."""
    return len(panels) == len(others) and all(
        one.title == other.title
        and one.panel == other.panel
        and one.curves.keys() == other.curves.keys()
        and all(
            np.array_equal(curve, other.curves[agent], equal_nan=True)
            for agent, curve in one.curves.items()
        )
        for one, other in zip(panels, others, strict=True)
    )


def arranged(panels: Sequence[Panel]) -> tuple[list[Panel], int]:
    """The panels in drawing order and the number of columns: one row, or one row an interpretation.

    >>> arranged([])
    ([], 0)
    """
    if len(panels) <= COLUMNS:
        return list(panels), len(panels)
    interpretations = list(dict.fromkeys(panel.interpretation for panel in panels))
    rows = [
        [panel for panel in panels if panel.interpretation == interpretation]
        for interpretation in interpretations
    ]
    longest = max(len(row) for row in rows)
    aligned = all(len(row) == longest for row in rows) and 1 < longest <= COLUMNS
    return [panel for row in rows for panel in row], longest if aligned else COLUMNS


def panel_heading(panel: Panel, panels: Sequence[Panel]) -> str:
    """Return a panel's name, and its interpretation where panels differ in it."""
    name = panel.title or panel.panel
    parts = [name] if name and name != panel.figure else []
    if len({other.interpretation for other in panels}) > 1:
        parts.append(f"interpretation: {panel.interpretation}")
    return " · ".join(parts)
