"""Draw results: ``ex.plot``."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.analysis.curves import finite_or_nan, interval
from expectant.analysis.panel import Level
from expectant.core.config import snake_case
from expectant.core.errors import require_extra
from expectant.core.files import write_bytes
from expectant.report.chart import Chart, Curve, Plot
from expectant.report.curve_figures import chart_figure
from expectant.report.figure import own_settings, rendered
from expectant.report.palette import AGENTS, Palette
from expectant.report.references import common_optimum, common_switch
from expectant.report.wording import names_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from expectant.engine.result import Result

KINDS = (".png", ".svg", ".pdf")
EPISODE_NAMES = ("episode", "return per episode")  # of the two axes
STEP_NAMES = ("step", "reward per step")
LABEL_LETTERS = 60  # in a line of the legend
MOST_BINS = 80  # of episodes
MOST_POINTS = 100  # of a budget of steps, whose bins are there already


def plot(
    results: Result | Sequence[Result] | Mapping[str, Result],
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw learning curves: one result, a list, or a dict of them by name.

    A line is the mean over runs in bins of episodes (of steps, where that was the budget), its
    band the 95 % bootstrap interval; a line ends, with a cross, where a run has diverged. Switches
    of the domain and the exact ε-greedy optimum are marked where all results share them. ``path``
    writes the figure as .png, .svg or .pdf. The figure shows itself in a notebook.
    """
    target = None if path is None else Path(path)
    if target is not None and target.suffix.lower() not in KINDS:
        raise ValueError(f"plot: path must end in .png, .svg or .pdf, got {os.fspath(target)!r}")
    named = _named(results)
    require_extra("drawing", "report")
    chart, palette = chart_of_results(named), palette_of_results(named)
    with own_settings():
        figure = chart_figure(chart, title_of(list(named.values())), palette)
        if target is not None:
            write_bytes(target, rendered(figure, target.suffix[1:].lower()))
    return figure


def _named(results: Any) -> dict[str, Result]:
    """The results by name, checked: all over episodes, or all over steps."""
    if isinstance(results, Mapping):
        named = {str(name): result for name, result in results.items()}
    else:
        listed = list(results) if isinstance(results, Sequence) else [results]
        agents = [getattr(result, "agent", None) for result in listed]
        named = dict(zip(names_of(agents), listed, strict=True))
    wrong = [result for result in named.values() if not _is_result(result)]
    if wrong or not named:
        got = repr(wrong[0]) if wrong else "none"
        raise ValueError(f"plot: results must be results of ex.run, at least one, got {got}")
    if len({result.steps is None for result in named.values()}) > 1:
        raise ValueError("plot: results must all be over episodes or all over steps, got both")
    return named


def _is_result(result: Any) -> bool:
    return all(hasattr(result, name) for name in ("returns", "rewards", "diverged", "steps"))


def chart_of_results(results: Mapping[str, Result]) -> Chart:
    """One plot of results, all over episodes or all over steps, each under its key."""
    some = list(results.values())
    switch, optimum = common_switch(some), common_optimum(some)
    longest = max(result.steps or result.returns.shape[1] for result in some)
    keys = keys_of(results)
    curves = curves_of({keys[name]: result for name, result in results.items()})
    best = f"exact, ε-greedy on q*, ε = {optimum.epsilon:g}"
    levels = [Level(0, longest, optimum.value, best)] if optimum.known else []
    breaks = shown_switches(longest, switch)
    x = max((curve.x for curve in curves if curve.x is not None), key=len)
    names = EPISODE_NAMES if some[0].steps is None else STEP_NAMES
    return Chart([Plot("", x, longest, curves, breaks, levels)], 1, *names, break_name="switch")


def palette_of_results(results: Mapping[str, Result]) -> Palette:
    """One style for every result, with its name."""
    return Palette({key: _label(name) for name, key in keys_of(results).items()})


def title_of(results: Sequence[Result]) -> str:
    """Where the results are from, and how many runs they are of, if that is the same for all."""
    kinds = {result.domain.display_name for result in results}
    runs = {
        f"{result.diverged.size:,} run" + "s" * (result.diverged.size > 1) for result in results
    }
    return ", ".join(fact for facts in (kinds, runs) if len(facts) == 1 for fact in facts)


def keys_of(results: Mapping[str, Result]) -> dict[str, str]:
    """By which key each result has its style: agents that are known look as they do on pages.

    Where that does not tell all of them apart, they go by their names.
    """
    kinds = [snake_case(type(result.agent).__name__) for result in results.values()]
    told = len(set(kinds)) == len(kinds) and all(kind in AGENTS for kind in kinds)
    return dict(zip(results, kinds if told else results, strict=True))


def _label(name: str) -> str:
    # matplotlib takes a label that begins with an underscore for none
    label = textwrap.fill(name, LABEL_LETTERS) or "(no name)"
    return f"\u200b{label}" if label.startswith("_") else label


# ---------------------------------------------------------------------------------------- curves


def curves_of(results: Mapping[str, Result]) -> list[Curve]:
    """Average every result in bins, the same for all."""
    if any(result.steps is not None for result in results.values()):
        return [_over_steps(name, result) for name, result in results.items()]
    size = bin_size(max(result.returns.shape[1] for result in results.values()))
    return [_over_episodes(name, result, size) for name, result in results.items()]


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


def shown_switches(episodes: int, switch_every: int | None) -> list[int]:
    """The episodes before which a switch can be seen: none, if phases are shorter than bins."""
    if switch_every is None or switch_every < bin_size(episodes):
        return []
    return list(range(switch_every, episodes, switch_every))


def _over_episodes(name: str, result: Result, size: int) -> Curve:
    episodes = result.returns.shape[1]
    starts = np.arange(0, episodes, size)
    return _curve(name, result, finite_or_nan(result.returns), np.ones(episodes), starts)


def _over_steps(name: str, result: Result) -> Curve:
    bins = result.rewards.shape[1]
    together = -(-bins // MOST_POINTS)
    starts = np.arange(0, bins, together)
    return _curve(name, result, finite_or_nan(result.rewards), result.bin_lengths, starts)


def _curve(
    name: str, result: Result, values: np.ndarray, sizes: np.ndarray, starts: np.ndarray
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
