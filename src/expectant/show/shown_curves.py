"""What is drawn of results: means over runs in bins, with intervals, and how far the axis goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval

MOST_BINS = 80  # of episodes
MOST_POINTS = 100  # of a budget of steps, whose bins are there already


class Drawable(Protocol):
    """What is drawn: see ``ex.Result``."""

    @property
    def returns(self) -> np.ndarray: ...
    @property
    def rewards(self) -> np.ndarray: ...
    @property
    def diverged(self) -> np.ndarray: ...
    @property
    def steps(self) -> int | None: ...
    @property
    def bin(self) -> int: ...
    @property
    def domain(self) -> Any: ...
    @property
    def agent(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class Curve:
    """One result's mean over runs with its 95 % interval at ``places`` (n,); NaN from where a run
    had diverged on. ``runs`` and ``diverged`` count them; one run has no interval."""

    name: str
    places: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    runs: int
    diverged: int


class ValueRange(NamedTuple):
    """What the axis of values covers; ``left_out`` is the most extreme value beyond it, if any."""

    low: float
    high: float
    left_out: float | None


def curves_of(results: Mapping[str, Drawable], switch_every: int | None) -> list[Curve]:
    """A curve for every result; the bins of all are the same and begin anew at every switch."""
    if any(result.steps is not None for result in results.values()):
        return [_over_steps(name, result) for name, result in results.items()]
    longest = max(result.returns.shape[1] for result in results.values())
    edges = episode_edges(longest, switch_every)
    return [_over_episodes(name, result, edges) for name, result in results.items()]


def bin_size(episodes: int) -> int:
    """The smallest of 1, 2, 5, 10, 20, … episodes that leaves no more than ``MOST_BINS`` bins.

    >>> bin_size(80), bin_size(81), bin_size(2_000)
    (1, 2, 50)
    """
    needed, scale = -(-episodes // MOST_BINS), 1
    while True:
        for size in (scale, 2 * scale, 5 * scale):
            if size >= needed:
                return size
        scale *= 10


def episode_edges(episodes: int, switch_every: int | None = None) -> np.ndarray:
    """Where bins begin and where the last one ends; each lies between two switches.

    A phase that is not a multiple of the bin's size is cut into equal parts. Phases shorter than a
    bin are not told apart.

    >>> episode_edges(10), episode_edges(400, 150)[[0, 29, 30, 31, -2, -1]]
    (array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10]), array([  0, 145, 150, 155, 395, 400]))
    """
    size = bin_size(episodes)
    phase = switch_every if shown_switches(episodes, switch_every) else episodes
    edges = [0]
    for start in range(0, episodes, phase or episodes):
        end = min(start + (phase or episodes), episodes)
        parts = -(-(end - start) // size)
        edges += [start + (end - start) * n // parts for n in range(1, parts + 1)]
    return np.array(edges)


def shown_switches(episodes: int, switch_every: int | None) -> list[int]:
    """The episodes before which a switch can be seen: none, if phases are shorter than bins."""
    if switch_every is None or switch_every < bin_size(episodes):
        return []
    return list(range(switch_every, episodes, switch_every))


def value_range(curves: Sequence[Curve], optimum: float) -> ValueRange:
    """A range in which a few extreme values do not flatten the rest.

    Everything is covered, unless the most extreme twentieth of the values would take up more than
    two thirds of the axis.
    """
    parts = [part for curve in curves for part in (curve.low, curve.mean, curve.high)]
    values = np.concatenate([[optimum], *parts])
    values = values[np.isfinite(values)]
    if values.size == 0:
        return ValueRange(0.0, 1.0, None)
    low, high = float(values.min()), float(values.max())
    low_bulk, high_bulk = (float(q) for q in np.quantile(values, [0.025, 0.975]))
    if np.isfinite(optimum):
        low_bulk, high_bulk = min(low_bulk, optimum), max(high_bulk, optimum)
    left_out, bulk = None, high_bulk - low_bulk
    if high - low > 3.0 * bulk > 0.0:
        left_out = low if low_bulk - low > high - high_bulk else high
        # what lies just outside the bulk, such as the foot of a drop, is still shown
        near = values[(values > low_bulk - bulk / 2) & (values < high_bulk + bulk / 2)]
        low, high = float(near.min()), float(near.max())
    span = (high - low) or max(1.0, abs(high))
    return ValueRange(low - 0.05 * span, high + 0.05 * span, left_out)


def _over_episodes(name: str, result: Drawable, edges: np.ndarray) -> Curve:
    episodes = result.returns.shape[1]
    edges = np.append(edges[edges < episodes], episodes)
    return _curve(name, result, finite_or_nan(result.returns), np.ones(episodes), edges[:-1])


def _over_steps(name: str, result: Drawable) -> Curve:
    bins = result.rewards.shape[1]
    together = -(-bins // MOST_POINTS)
    starts = np.arange(0, bins, together)
    return _curve(name, result, finite_or_nan(result.rewards), bin_lengths(result), starts)


def bin_lengths(result: Drawable) -> np.ndarray:
    """How many steps each bin has: the last one may be shorter."""
    bins = result.rewards.shape[1]
    lengths = np.full(bins, result.bin)
    lengths[-1] = (result.steps or 0) - result.bin * (bins - 1)
    return lengths


def _curve(
    name: str, result: Drawable, values: np.ndarray, sizes: np.ndarray, starts: np.ndarray
) -> Curve:
    """The means of values (runs, n), each for so many episodes or steps, from start to start."""
    totals = np.add.reduceat(sizes, starts)
    means = np.add.reduceat(values * sizes, starts, axis=1) / totals
    mean, low, high = interval(means)
    if values.shape[0] == 1:  # which is no certainty
        low = high = np.full(mean.shape, np.nan)
    ends = np.cumsum(totals)
    return Curve(
        name, ends - totals / 2, mean, low, high, values.shape[0], int(result.diverged.sum())
    )
