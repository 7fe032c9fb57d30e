"""Compute the cells of experiments, block by block, taking what is finished from the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import learning_curve
from expectant.experiments.spec import Cell
from expectant.experiments.store import Block, Store, cell_hash
from expectant.running.progress import Overall
from expectant.running.run import cores, run

BLOCK = 10
TIMINGS = "timings.json"
PASS_COST = 4.0  # a step without planning costs about as much as four backups' worth of work


def compute(
    cells: Sequence[Cell], store: Store, *, threads: int | None = None, title: str = "running"
) -> list[np.ndarray]:
    """The curves (runs, bins) of all cells, in order; equal cells are computed once."""
    names = [cell_hash(cell) for cell in cells]
    needed = dict(zip(names, cells, strict=True))
    most = dict.fromkeys(names, 0)
    for name, cell in zip(names, cells, strict=True):
        most[name] = max(most[name], cell.runs)
    total = sum(cost(needed[name]) * most[name] for name in needed)
    done: dict[str, np.ndarray] = {}
    timings = Timings(store.folder.parent / TIMINGS)
    with Overall(title, total) as overall:
        for name in dict.fromkeys(names):
            parts = [
                _block(needed[name], name, first, count, store, overall, threads, timings).curves
                for first, count in blocks(most[name])
            ]
            done[name] = np.concatenate(parts)
    timings.write()
    return [done[name][: cell.runs] for name, cell in zip(names, cells, strict=True)]


def step_nanoseconds(cells: Sequence[Cell], store: Store) -> list[float]:
    """The time a step took on one thread, where it was measured; NaN where it was not."""
    found = Timings(store.folder.parent / TIMINGS).known
    pairs = [found.get(cell_hash(cell), [0.0, 0]) for cell in cells]
    return [seconds / steps * 1e9 if steps else float("nan") for seconds, steps in pairs]


class Timings:
    """Seconds and steps of every cell computed so far: a measurement, kept apart from results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.known: dict[str, list[float]] = json.loads(path.read_text())
        except (OSError, ValueError):
            self.known = {}

    def add(self, name: str, seconds: float, steps: int) -> None:
        before = self.known.get(name, [0.0, 0])
        self.known[name] = [before[0] + seconds, before[1] + steps]

    def write(self) -> None:
        if self.known:
            self.path.write_text(json.dumps(self.known, indent=1, sort_keys=True))


def blocks(runs: int) -> Iterator[tuple[int, int]]:
    """(first run, number of runs) of every block."""
    for first in range(0, runs, BLOCK):
        yield first, min(BLOCK, runs - first)


def cost(cell: Cell) -> float:
    """A rough measure of a run's work, for the progress bar."""
    return cell.episodes * (PASS_COST + getattr(cell.agent, "planning_steps", 0))


def _block(
    cell: Cell, name: str, first: int, count: int, store: Store, overall: Overall,
    threads: int | None, timings: Timings,
) -> Block:  # fmt: skip
    weight = count * cost(cell)
    found = store.load(name, first, count)
    if found is not None:
        overall.advance(weight)
        return found
    what = " · ".join(filter(None, (cell.experiment, cell.panel, cell.reading, cell.label)))
    reporter: Any = overall.part(what, weight)
    result = run(
        cell.domain, cell.features, cell.agent, episodes=cell.episodes, runs=count, seed=cell.seed,
        first_run=first, step_limit=cell.step_limit, threads=threads, progress=reporter,
    )  # fmt: skip
    block = Block(learning_curve(result.returns, cell.bin), result.diverged)
    store.save(name, first, block, cell)
    used = min(threads or cores(), count)
    timings.add(name, result.seconds * used, int(result.lengths.sum()))
    return block
