"""Drawing results: ``ex.plot``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from expectant.extras import need
from expectant.files import write_bytes
from expectant.show.naming import names_of
from expectant.show.shown_curves import Drawable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (".png", ".svg", ".pdf")


def plot(
    results: Drawable | Sequence[Drawable] | Mapping[str, Drawable],
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw learning curves: one result, a list, or a dict of them by name.

    A line is the mean over runs in bins of episodes (of steps, where that was the budget), its
    band the 95 % bootstrap interval; a line ends, with a cross, where a run has diverged. Switches
    of the domain and the exact ε-greedy optimum are marked where all results share them. ``path``
    writes the figure as .png, .svg or .pdf. The figure shows itself in a notebook.
    """
    target = None if path is None else _target(path)
    named = _named(results)
    need("drawing", "show")
    from expectant.show.rendering import own_settings, rendered
    from expectant.show.result_chart import chart_of_results, palette_of_results, title_of
    from expectant.show.static_curves import chart_figure

    chart, palette = chart_of_results(named), palette_of_results(named)
    with own_settings():
        figure = chart_figure(chart, title_of(list(named.values())), palette)
        if target is not None:
            write_bytes(target, rendered(figure, target.suffix[1:].lower()))
    return figure


def _target(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix.lower() not in KINDS:
        raise ValueError(f"plot: path must end in .png, .svg or .pdf, got {os.fspath(path)!r}")
    return target


def _named(results: Any) -> dict[str, Drawable]:
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
        budgets = ", ".join(
            f"{name!r} over {'episodes' if result.steps is None else 'steps'}"
            for name, result in named.items()
        )
        raise ValueError(f"plot: results must all be over episodes or over steps, got {budgets}")
    return named


def _is_result(result: Any) -> bool:
    return all(hasattr(result, name) for name in ("returns", "rewards", "diverged", "steps"))
