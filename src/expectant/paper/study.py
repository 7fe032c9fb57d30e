"""The parameter study: every agent over a grid, the best of each re-run on fresh seeds."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import Interval, interval
from expectant.analysis.panel import Panel
from expectant.analysis.selection import no_worse, pick, responses
from expectant.experiments.compute import compute
from expectant.experiments.results import panels_of, write_curves
from expectant.experiments.spec import Cell
from expectant.experiments.store import Store
from expectant.paper.figures import read

FRESH = 1_000_003  # added to the seed: runs that had no part in the choice


@dataclass(frozen=True, eq=False)
class Scored:
    """A setting of an agent and the mean return of its runs, all of them in ``means`` (runs,)."""

    cell: Cell
    settings: Mapping[str, Any]
    means: np.ndarray
    score: Interval
    diverged: int


@dataclass(frozen=True, eq=False)
class Study:
    """All settings per agent, and the best of each on fresh seeds."""

    scored: Mapping[str, Sequence[Scored]]
    best: Mapping[str, Scored]
    fresh: Mapping[str, Interval]
    panel: Panel


def grids() -> dict[str, Any]:
    """The study's file."""
    text = resources.files(__package__).joinpath("study.toml").read_text("utf-8")
    return tomllib.loads(text)


def study(
    folder: Path, seed: int = 0, runs: int | None = None, threads: int | None = None
) -> Study:
    """Run the whole grid, choose per agent by mean return, re-run the choices."""
    plan = grids()
    runs = runs or plan["runs"]
    templates = {
        cell.agent_key: cell for name in ("5a", "5b") for cell in read(name, "text").cells()
    }
    planned = [
        (key, settings, _cell(templates[key], settings, plan, seed, runs))
        for key, grid in plan["grids"].items()
        for settings in _product(grid)
    ]
    store = Store(folder)
    curves = compute([cell for _, _, cell in planned], store, threads=threads, title="study")
    scored: dict[str, list[Scored]] = {}
    for (key, settings, cell), curve in zip(planned, curves, strict=True):
        scored.setdefault(key, []).append(_score(cell, settings, curve))
    best = {key: found[_best(found)] for key, found in scored.items()}
    again = [_fresh(found.cell, templates[key]) for key, found in best.items()]
    curves = compute(again, store, threads=threads, title="best settings, fresh seeds")
    panel = panels_of(again, curves)[0]
    fresh = {
        cell.agent_key: interval(curve.mean(axis=1))
        for cell, curve in zip(again, curves, strict=True)
    }
    write_curves(folder / "study.parquet", [panel], {"seed": seed, "runs": runs})
    return Study(scored, best, fresh, panel)


def _product(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _cell(
    template: Cell, settings: Mapping[str, Any], plan: Mapping[str, Any], seed: int, runs: int
) -> Cell:
    agent = template.agent.replace(**settings)
    return replace(
        template, experiment="study", panel="", agent=agent, episodes=plan["episodes"], runs=runs,
        bin=plan["bin"], seed=seed,
    )  # fmt: skip


def _fresh(cell: Cell, template: Cell) -> Cell:
    """The same setting for as long as figure 5, from other seeds."""
    return replace(cell, episodes=template.episodes, seed=cell.seed + FRESH)


def _score(cell: Cell, settings: Mapping[str, Any], curve: np.ndarray) -> Scored:
    means = curve.mean(axis=1)
    return Scored(cell, settings, means, interval(means), int(np.isnan(means).sum()))


def _best(scored: Sequence[Scored]) -> int:
    return pick(_scores(scored))


def _scores(scored: Sequence[Scored]) -> np.ndarray:
    return np.array([float(found.score.mean) for found in scored])


def sensitivity(scored: Sequence[Scored], setting: str) -> list[tuple[Any, Scored]]:
    """For every value of one setting, the best that the others can make of it."""
    columns = {name: [found.settings[name] for found in scored] for name in scored[0].settings}
    found = responses(columns, _scores(scored), setting, _best(scored))
    return [(response.value, scored[response.envelope]) for response in found]


def count_no_worse(scored: Sequence[Scored]) -> int:
    """How many settings are not shown to be worse than the best, by the runs it was chosen on."""
    return int(no_worse(np.stack([found.means for found in scored]), _best(scored)).sum())
