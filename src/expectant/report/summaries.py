"""What is drawn of a panel: means, intervals, names and ranges, alike on paper and on the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import interval
from expectant.analysis.panel import Panel

COLUMNS = 3


@dataclass(frozen=True, eq=False)
class Curve:
    """One agent's mean over runs with its 95 % interval, per bin; NaN where a run had diverged."""

    agent: str
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class ValueRange(NamedTuple):
    """What the axis of returns covers; ``left_out`` is the most extreme value beyond it, if any."""

    low: float
    high: float
    left_out: float | None


def summarise(panel: Panel) -> list[Curve]:
    """The curves of a panel, in its own order."""
    return [_curve(agent, _finite(returns)) for agent, returns in panel.curves.items()]


def _curve(agent: str, returns: np.ndarray) -> Curve:
    mean, low, high = interval(returns, level=0.95)
    return Curve(agent, mean, low, high)


def _finite(returns: np.ndarray) -> np.ndarray:
    """The same returns with NaN for infinities: a run that overflowed has diverged."""
    returns = np.asarray(returns, float)
    return np.where(np.isfinite(returns), returns, np.nan)


def middle_episodes(panel: Panel) -> np.ndarray:
    """Where a bin is drawn: in its middle, so that a drop appears after the switch it follows."""
    return panel.first_episodes + panel.bin / 2


def agents_of(panels: Iterable[Panel]) -> list[str]:
    """Every agent in any of the panels, once, in order of appearance."""
    return list(dict.fromkeys(agent for panel in panels for agent in panel.curves))


def label_of(panels: Iterable[Panel], agent: str) -> str:
    """An agent's name, or its key where no panel names it."""
    return next((p.labels[agent] for p in panels if agent in p.labels), agent)


def divergence_note(panels: Iterable[Panel], agent: str) -> str:
    """How many of an agent's runs diverged, in each panel that it is in; empty if none did."""
    counts = [_diverged(panel, agent) for panel in panels if agent in panel.curves]
    if not any(diverged for diverged, _ in counts):
        return ""
    if len(counts) == 1:
        return f"({counts[0][0]} of {counts[0][1]} runs diverged)"
    listed = ", ".join(f"{diverged}/{runs}" for diverged, runs in counts)
    return f"(runs diverged, by panel: {listed})"


def _diverged(panel: Panel, agent: str) -> tuple[int, int]:
    finite = np.isfinite(np.asarray(panel.curves[agent], float)).all(axis=1)
    return int((~finite).sum()), finite.size


def arranged(panels: Sequence[Panel]) -> tuple[list[Panel], int]:
    """The panels in drawing order and the number of columns: one row, or one row a reading.

    >>> arranged([])
    ([], 0)
    """
    if len(panels) <= COLUMNS:
        return list(panels), len(panels)
    readings = list(dict.fromkeys(panel.reading for panel in panels))
    rows = [[panel for panel in panels if panel.reading == reading] for reading in readings]
    longest = max(len(row) for row in rows)
    aligned = all(len(row) == longest for row in rows) and 1 < longest <= COLUMNS
    return [panel for row in rows for panel in row], longest if aligned else COLUMNS


def panel_heading(panel: Panel, panels: Sequence[Panel]) -> str:
    """What tells a panel from its neighbours: its name, and its reading where they differ."""
    parts = [panel.panel] if panel.panel and panel.panel != panel.figure else []
    if len({other.reading for other in panels}) > 1:
        parts.append(f"reading: {panel.reading}")
    return " · ".join(parts)


def value_range(panels: Sequence[Panel], curves: Sequence[Sequence[Curve]]) -> ValueRange:
    """One range for all panels, so that they compare; a few extreme bins do not flatten the rest.

    Everything is covered, unless the most extreme twentieth of the values would take up more than
    two thirds of the axis.
    """
    optima = np.array([panel.optimum for panel in panels], float)
    parts = [(curve.low, curve.mean, curve.high) for row in curves for curve in row]
    values = np.concatenate([optima, *(array for part in parts for array in part)])
    values = values[np.isfinite(values)]
    if values.size == 0:
        return ValueRange(0.0, 1.0, None)
    low, high = float(values.min()), float(values.max())
    low_bulk, high_bulk = (float(q) for q in np.quantile(values, [0.025, 0.975]))
    high_bulk = max([high_bulk, *optima[np.isfinite(optima)].tolist()])
    left_out = None
    bulk = high_bulk - low_bulk
    if high - low > 3.0 * bulk > 0.0:
        left_out = low if low_bulk - low > high - high_bulk else high
        # What lies just outside the bulk, such as the foot of a drop, is still shown.
        near = values[(values > low_bulk - bulk / 2) & (values < high_bulk + bulk / 2)]
        low, high = float(near.min()), float(near.max())
    span = (high - low) or max(1.0, abs(high))
    # More room above: that is where the optimum's label stands.
    return ValueRange(low - 0.05 * span, high + 0.14 * span, left_out)


def number(value: Any) -> str:
    """A number for people: four digits, a true minus sign, a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return str(value)
    amount = float(value)
    if math.isnan(amount):
        return "–"
    text = f"{amount:,.0f}" if 1000 <= abs(amount) < 1e7 else f"{amount:.4g}"
    # The minus of an exponent stays: 1e-05.
    return text.replace("-", "−", 1) if amount < 0 else text
