"""Draw results: ``ex.plot``."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.panel import Level
from expectant.core.config import snake_case
from expectant.core.errors import require_extra
from expectant.core.files import write_bytes
from expectant.exact.reference_return import common_optimum
from expectant.report.chart_data import Chart, Curve, Plot, curve_of
from expectant.report.figure import FILES, chart_figure, render, use_style
from expectant.report.formatting import agent_names
from expectant.report.palette import AGENTS, Palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from expectant.engine.result import Result

EPISODE_NAMES = ("episode", "return per episode")  # of the two axes
STEP_NAMES = ("step", "reward per step")
LABEL_LETTERS = 60  # in a line of the legend
MOST_BINS = 80  # of episodes
MOST_POINTS = 100  # of a budget of steps, which is binned already


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
    if target is not None and target.suffix[1:].lower() not in FILES:
        raise ValueError(f"plot: path must end in .png, .svg or .pdf, got {os.fspath(target)!r}")
    by_name = _results_by_name(results)
    require_extra("drawing", "report")
    keys = style_keys(by_name)
    palette = Palette({key: _label(name) for name, key in keys.items()})
    with use_style():
        domains = {result.domain.display_name for result in by_name.values()}
        title = domains.pop() if len(domains) == 1 else ""
        figure = chart_figure(chart_of_results(by_name), title, palette)
        if target is not None:
            write_bytes(target, render(figure, target.suffix[1:].lower()))
    return figure


def _results_by_name(results: Any) -> dict[str, Result]:
    """Return the results by name, all over episodes or all over steps."""
    if isinstance(results, Mapping):
        by_name = {str(name): result for name, result in results.items()}
    else:
        listed = list(results) if isinstance(results, Sequence) else [results]
        agents = [getattr(result, "agent", None) for result in listed]
        by_name = dict(zip(agent_names(agents), listed, strict=True))
    wrong = [result for result in by_name.values() if not _is_result(result)]
    if wrong or not by_name:
        got = repr(wrong[0]) if wrong else "none"
        raise ValueError(f"plot: results must be results of ex.run, at least one, got {got}")
    if len({result.steps is None for result in by_name.values()}) > 1:
        raise ValueError("plot: results must all be over episodes or all over steps, got both")
    return by_name


def _is_result(result: Any) -> bool:
    return all(hasattr(result, name) for name in ("returns", "rewards", "diverged", "steps"))


def chart_of_results(results: Mapping[str, Result]) -> Chart:
    """Return one plot of results, all over episodes or all over steps."""
    listed = list(results.values())
    optimum, keys = common_optimum(listed), style_keys(results)
    longest = max(result.steps or result.returns.shape[1] for result in listed)
    curves = curves_of({keys[name]: result for name, result in results.items()})
    best = f"exact, ε-greedy on q*, ε = {optimum.epsilon:g}"
    levels = [Level(0, longest, optimum.value, best)] if optimum.is_known else []
    breaks = common_switches(listed, longest)
    x = max((curve.x for curve in curves if curve.x is not None), key=len)
    names = EPISODE_NAMES if listed[0].steps is None else STEP_NAMES
    return Chart([Plot("", x, longest, curves, breaks, levels)], 1, *names, break_name="switch")


def style_keys(results: Mapping[str, Result]) -> dict[str, str]:
    """Return the style key of every result: its kind of agent if those differ, else its name."""
    kinds = [snake_case(type(result.agent).__name__) for result in results.values()]
    is_unique = len(set(kinds)) == len(kinds) and all(kind in AGENTS for kind in kinds)
    return dict(zip(results, kinds if is_unique else results, strict=True))


def _label(name: str) -> str:
    # matplotlib hides labels that begin with an underscore
    label = textwrap.fill(name, LABEL_LETTERS) or "(no name)"
    return f"\u200b{label}" if label.startswith("_") else label


# ---------------------------------------------------------------------------------------- curves


def curves_of(results: Mapping[str, Result]) -> list[Curve]:
    """Average every result in bins, the same for all."""
    longest = max(result.returns.shape[1] for result in results.values())
    return [_curve(key, result, bin_size(longest)) for key, result in results.items()]


def _curve(key: str, result: Result, together: int) -> Curve:
    """Average some episodes ``together``, or the bins of a budget of steps."""
    values, sizes = result.returns, np.ones(result.returns.shape[1])
    if result.steps is not None:
        values, sizes = result.rewards, result.bin_lengths
        together = -(-values.shape[1] // MOST_POINTS)
    starts = np.arange(0, values.shape[1], together)
    totals = np.add.reduceat(sizes, starts)
    means = np.add.reduceat(finite_or_nan(values) * sizes, starts, axis=1) / totals
    return replace(curve_of(key, means), x=np.cumsum(totals) - totals / 2)


def bin_size(episodes: int) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, … episodes that makes at most ``MOST_BINS`` bins.

    >>> bin_size(80), bin_size(81), bin_size(2_000)
    (1, 2, 50)
    """
    sizes = (digit * 10**exponent for exponent in range(20) for digit in (1, 2, 5))
    return next(size for size in sizes if size * MOST_BINS >= episodes)


# ------------------------------------------------------------------------------------ references


def common_switches(results: Sequence[Result], episodes: int) -> list[int]:
    """Return the episodes before switches of all results; none if phases are shorter than bins."""
    period, *others = {result.domain.switch_every for result in results}
    over_episodes = all(result.steps is None for result in results)
    if others or period is None or period < bin_size(episodes) or not over_episodes:
        return []
    return list(range(period, episodes, period))
