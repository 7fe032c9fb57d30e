"""What is drawn of results: means over runs in bins, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval
from expectant.parts import Agent, Domain
from expectant.show.chart import Curve

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
    def bin_lengths(self) -> np.ndarray: ...
    @property
    def domain(self) -> Domain: ...
    @property
    def agent(self) -> Agent: ...


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


def _over_episodes(name: str, result: Drawable, edges: np.ndarray) -> Curve:
    episodes = result.returns.shape[1]
    edges = np.append(edges[edges < episodes], episodes)
    return _curve(name, result, finite_or_nan(result.returns), np.ones(episodes), edges[:-1])


def _over_steps(name: str, result: Drawable) -> Curve:
    bins = result.rewards.shape[1]
    together = -(-bins // MOST_POINTS)
    starts = np.arange(0, bins, together)
    return _curve(name, result, finite_or_nan(result.rewards), result.bin_lengths, starts)


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
    diverged = int(result.diverged.sum())
    return Curve(name, mean, low, high, values.shape[0], diverged, ends - totals / 2)
