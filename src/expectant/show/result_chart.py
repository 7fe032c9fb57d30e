"""The chart of some results: their curves, the switches of their domain and what is best there."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from expectant.analysis.panel import Level
from expectant.descriptions import snake_case
from expectant.show.chart import Chart, Plot
from expectant.show.palette import AGENTS, Palette
from expectant.show.references import common_optimum, common_switch
from expectant.show.shown_curves import Drawable, curves_of, shown_switches

EPISODE_NAMES = ("episode", "return per episode")  # of the two axes
STEP_NAMES = ("step", "reward per step")
LABEL_LETTERS = 60  # in a line of the legend


def chart_of_results(results: Mapping[str, Drawable]) -> Chart:
    """One plot of results, all over episodes or all over steps, each under its key."""
    some = list(results.values())
    switch, optimum = common_switch(some), common_optimum(some)
    longest = max(result.steps or result.returns.shape[1] for result in some)
    keys = keys_of(results)
    curves = curves_of({keys[name]: result for name, result in results.items()}, switch)
    best = f"exact, ε-greedy on q*, ε = {optimum.epsilon:g}"
    levels = [Level(0, longest, optimum.value, best)] if optimum.known else []
    breaks = shown_switches(longest, switch)
    x = max((curve.x for curve in curves if curve.x is not None), key=len)
    names = EPISODE_NAMES if some[0].steps is None else STEP_NAMES
    return Chart([Plot("", x, longest, curves, breaks, levels)], 1, *names, break_name="switch")


def palette_of_results(results: Mapping[str, Drawable]) -> Palette:
    """One style for every result, with its name."""
    return Palette({key: _label(name) for name, key in keys_of(results).items()})


def title_of(results: Sequence[Drawable]) -> str:
    """Where the results are from, and how many runs they are of, if that is the same for all."""
    kinds = {result.domain.called for result in results}
    runs = {
        f"{result.diverged.size:,} run" + "s" * (result.diverged.size > 1) for result in results
    }
    return ", ".join(fact for facts in (kinds, runs) if len(facts) == 1 for fact in facts)


def keys_of(results: Mapping[str, Drawable]) -> dict[str, str]:
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
