"""Learning curves as plain numbers, for static figures and the page alike.

An axis of values covers everything unless that would flatten the typical agent, the one in the
middle when all are ordered by their lowest values: if the axis would reach more than ``FARTHEST``
times as far down from its top as the typical agent does, it ends ``REACH`` times as far down. The
legend says what lies below, levels included. Bands widen the axis by at most ``BAND_SHARE`` of
what it shows of the means at either end, so that one wide band does not flatten all curves. Plots
share an axis, but one that would fill less than a tenth of it has its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval
from expectant.analysis.panel import Level, Panel
from expectant.report.formatting import format_number
from expectant.report.palette import Palette

COLUMNS = 3
DIFFERENCE = 5e-3  # relative; levels closer to each other are drawn once
FARTHEST, REACH = 5.0, 3.0
RARE, RARE_REACH = 0.05, 4.0  # a rare low counts up to so many times the reach of the rest
MARGIN = 0.05  # of the axis, below and above
BAND_SHARE = 0.25
FLAT = 0.1


class ValueRange(NamedTuple):
    """The ends of an axis, and the floor below which nothing is drawn (-inf if all is)."""

    low: float
    high: float
    floor: float


def value_range(
    values: Mapping[str, np.ndarray],
    levels: Sequence[float] = (),
    bands: Sequence[float] | np.ndarray = (),
    always: Sequence[float] = (),
) -> ValueRange:
    """Return the axis for values by agent and ``levels``; ``bands`` are covered in part."""
    by_agent = [_finite(agent_values) for agent_values in values.values()]
    everything = np.concatenate([*by_agent, _finite(levels), _finite(always)])
    floor = _floor([agent_values for agent_values in by_agent if agent_values.size], everything)
    floor = min([floor, *always])
    covered = everything[everything >= floor]
    if covered.size == 0:
        return ValueRange(0.0, 1.0, floor)
    low, high = float(covered.min()), float(covered.max())
    ends, share = _finite(bands), BAND_SHARE * (high - low)
    if ends.size:
        low = min(low, max(float(ends.min()), low - share))
        high = max(high, min(float(ends.max()), high + share))
    margin = MARGIN * ((high - low) or max(1.0, abs(high)))
    return ValueRange(low - margin, high + margin, floor)


def _floor(by_agent: Sequence[np.ndarray], everything: np.ndarray) -> float:
    if not by_agent:
        return -math.inf
    lows = sorted(map(_low, by_agent))
    highs = sorted(float(values.max()) for values in by_agent)
    # Of two, the better one is typical; but two that never meet are both shown.
    typical = min(lows[len(lows) // 2], highs[(len(highs) - 1) // 2])
    lowest, top = float(everything.min()), float(everything.max())
    is_far = top > typical and top - lowest > FARTHEST * (top - typical)
    return top - REACH * (top - typical) if is_far else -math.inf


def _low(values: np.ndarray) -> float:
    """Return the lowest value; a rare one far below the rest counts in part."""
    top, usual = float(values.max()), float(np.quantile(values, RARE, method="nearest"))
    return max(float(values.min()), top - RARE_REACH * (top - usual))


def _finite(values: Sequence[float] | np.ndarray) -> np.ndarray:
    array = np.asarray(values, float).ravel()
    return array[np.isfinite(array)]


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean over runs with its 95 % interval, (points,) each; NaN where a run had diverged.

    ``key`` selects the style, usually an agent's. ``x`` (points,) replaces that of the plot.
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

    The domain changes at the ``breaks``. ``x_name`` replaces that of the chart. For values of a
    parameter ``scale`` is "log" or "linear"; values that are not numbers are the ``ticks``. The
    curves are the same under all ``interpretations``.
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
    interpretations: Sequence[str] = ()

    def x_of(self, curve: Curve) -> np.ndarray:
        """Return the x of one of its curves."""
        return self.x if curve.x is None else curve.x

    def data(self, chart: Chart) -> dict[str, Any]:
        """Return what the page's script draws."""
        names, shared = list(chart.level_names), ("heading", "x", "begin", "end", "scale")
        listed = ("interpretations", "ticks", "breaks")
        return {
            **{name: getattr(self, name) for name in shared},
            **{name: list(getattr(self, name)) for name in listed},
            "xName": self.x_name or chart.x_name,
            "range": chart.range_of(self)[:2],
            "levels": [
                {"from": level.start, "to": level.end, "height": level.height,
                 "last": level.end_height, "kind": names.index(level.name)}
                for level in self.levels
            ],
            "curves": [
                {name: value for name, value in vars(curve).items() if value is not None}
                for curve in self.curves
            ],
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Chart:
    """Plots with one axis of values, which covers ``always`` however far below the rest."""

    plots: Sequence[Plot]
    columns: int
    x_name: str = "episode"
    y_name: str = "return per episode"
    break_name: str = "goal moves"
    always: Sequence[float] = ()

    @property
    def keys(self) -> list[str]:
        """All keys of curves, in order of appearance."""
        return list(dict.fromkeys(curve.key for plot in self.plots for curve in plot.curves))

    @property
    def level_names(self) -> dict[str, str]:
        """The names of levels, and what the legend says of them."""
        levels = {level.name: level.height for plot in self.plots for level in plot.levels}
        below = " ({}, below the axis)"
        return {
            name: name + (below.format(format_number(height)) if height < self.range.low else "")
            for name, height in levels.items()
        }

    @property
    def interpretations(self) -> list[str]:
        """All interpretations of the plots, in order of appearance."""
        return list(dict.fromkeys(name for plot in self.plots for name in plot.interpretations))

    @cached_property
    def range(self) -> ValueRange:
        """The axis of values."""
        by_key: dict[str, np.ndarray] = {}
        curves = [curve for plot in self.plots for curve in plot.curves]
        for curve in curves:
            earlier = by_key.get(curve.key, np.zeros(0))
            by_key[curve.key] = np.concatenate([earlier, curve.mean])
        levels = [level for plot in self.plots for level in plot.levels]
        heights = [height for level in levels for height in (level.height, level.end_height)]
        bands = np.concatenate([np.zeros(0), *(end for c in curves for end in (c.low, c.high))])
        return value_range(by_key, heights, bands, self.always)

    def range_of(self, plot: Plot) -> ValueRange:
        """Return the common axis of values, or a plot's own where that would flatten its curves."""
        own = Chart([plot], 1, always=self.always).range
        is_flat = own.high - own.low < FLAT * (self.range.high - self.range.low)
        return own if is_flat else self.range

    def _curves_of(self, key: str) -> list[Curve]:
        return [curve for plot in self.plots for curve in plot.curves if curve.key == key]

    def lowest_below(self, key: str) -> float | None:
        """Return the lowest mean if it is below the axis."""
        means = np.concatenate([curve.mean for curve in self._curves_of(key)])
        below = means[means < self.range.floor]
        return float(below.min()) if below.size else None

    def note(self, key: str) -> str:
        """Say how far curves go below the axis, and how many runs diverged in each plot."""
        curves, lowest = self._curves_of(key), self.lowest_below(key)
        parts = [] if lowest is None else [f"below the axis, down to {format_number(lowest)}"]
        if any(curve.diverged for curve in curves):
            counts = ", ".join(f"{curve.diverged} of {curve.runs}" for curve in curves)
            parts.append(f"{counts} runs diverged")
        return f"({'; '.join(parts)})" if parts else ""

    def data(self) -> dict[str, Any]:
        """Return what the page's script draws."""
        return {
            "keys": self.keys,
            "lowest": {key: self.lowest_below(key) for key in self.keys},
            "range": [self.range.low, self.range.high],
            "yName": self.y_name,
            "breakName": self.break_name if any(plot.breaks for plot in self.plots) else "",
            "plots": [plot.data(self) for plot in self.plots],
        }


def curve_of(key: str, runs: np.ndarray) -> Curve:
    """Return a curve from the values of all runs, (runs, points); one run has no interval."""
    values = finite_or_nan(runs)
    mean, low, high = interval(values, level=0.95)
    if len(values) == 1:
        low = high = np.full(mean.shape, np.nan)
    diverged = int(np.isnan(values).any(axis=1).sum())
    return Curve(key, mean, low, high, len(values), diverged)


def columns_for(plots: int) -> int:
    """Return the columns of a grid of plots: at most three, and four as two by two."""
    return 2 if plots == 4 else min(plots, COLUMNS)


def chart_of(panels: Sequence[Panel]) -> Chart:
    """Return the chart of panels, one row per interpretation if its panels fit into a row.

    Panels that are the same under several interpretations are drawn once.
    """
    plots = []
    for names, group in merge_identical(panels):
        plots += [_plot_of(panel, names) for panel in group]
    longest = max(Counter(panel.interpretation for panel in panels).values(), default=0)
    columns = min(len(plots), COLUMNS) if longest == 1 or longest > COLUMNS else longest
    has_phases = any(panel.points is not None or panel.changes for panel in panels)
    axes = (panels[0].x_label, panels[0].quantity) if panels else ()
    return Chart(plots, columns, *axes, *["next phase"] * has_phases)


def palette_of(panels: Iterable[Panel]) -> Palette:
    """Return one style for every agent of the panels, by figure; without a label, by its key."""
    names: dict[str, dict[str, str]] = {}
    for panel in panels:
        of_figure = names.setdefault(panel.figure, {})
        for agent in panel.curves:
            if of_figure.get(agent, agent) == agent:
                of_figure[agent] = panel.labels.get(agent, agent)
    palette = Palette({})
    for of_figure in names.values():
        for key, style in Palette(of_figure).items():
            palette.setdefault(key, style)
    return palette


def _plot_of(panel: Panel, interpretations: Sequence[str]) -> Plot:
    name = panel.title or panel.panel
    has_bins = panel.points is None and panel.bin > 1
    return Plot(
        heading="" if name == panel.figure else name,
        x=panel.x,
        end=panel.end,
        curves=[curve_of(agent, returns) for agent, returns in panel.curves.items()],
        breaks=panel.breaks,
        levels=_levels(panel) or list(panel.levels),
        begin=float(-panel.origin),
        x_name=panel.x_label + (f" (bins of {panel.bin:,})" if has_bins else ""),
        interpretations=interpretations,
    )


def _levels(panel: Panel) -> list[Level]:
    """Return the return of ε-greedy on q*, and that of the best ε-soft policy if it differs."""
    begin, end, optimum, best = -panel.origin, panel.end, panel.optimum, panel.best_soft
    levels = [Level(begin, end, optimum, "exact, ε-greedy on q*")] if math.isfinite(optimum) else []
    if math.isfinite(best) and not best - optimum <= DIFFERENCE * (1.0 + abs(best)):
        levels.append(Level(begin, end, best, "exact, best ε-soft policy"))
    return levels


def merge_identical(panels: Sequence[Panel]) -> list[tuple[list[str], list[Panel]]]:
    """Return the panels of identical interpretations once, with all their names."""
    groups: list[tuple[list[str], list[Panel]]] = []
    for name in dict.fromkeys(panel.interpretation for panel in panels):
        group = [panel for panel in panels if panel.interpretation == name]
        for names, others in groups:
            if _are_alike(others, group):
                names.append(name)
                break
        else:
            groups.append(([name], group))
    return groups


def _are_alike(panels: Sequence[Panel], others: Sequence[Panel]) -> bool:
    """True if they show the same agents with the same curves."""
    return len(panels) == len(others) and all(
        (panel.title, panel.panel) == (other.title, other.panel)
        and panel.curves.keys() == other.curves.keys()
        and all(
            np.array_equal(curve, other.curves[agent], equal_nan=True)
            for agent, curve in panel.curves.items()
        )
        for panel, other in zip(panels, others, strict=True)
    )
