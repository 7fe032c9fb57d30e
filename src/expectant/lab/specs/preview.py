"""Previews of a config before it is run: how many cells and runs, how long, how much disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from expectant.core import tree
from expectant.lab.cells import Cell, blocks, cost
from expectant.lab.engines.tasks import Kernels, probe
from expectant.lab.specs.grid import dotted, word
from expectant.lab.specs.spec import Experiment
from expectant.progress import say

PROBES = 12  # cells that are tried, at most
PROBE_SECONDS = 0.3
RUN_SECONDS = 0.001  # what every run takes beside its loop
BLOCK_BYTES, POINT_BYTES = 4_700, 9  # of a file, and of every point of a curve in it
OVERHEAD = 1.1  # what a sweep takes on top of its loops


@dataclass(frozen=True)
class Preview:
    """A config in numbers; ``seconds`` is None where nothing was tried."""

    name: str
    length: str
    agents: dict[str, int]
    varied: dict[str, str]
    cells: int
    runs: int
    blocks: int
    compositions: int
    threads: int
    seconds: float | None
    bytes: int
    ids: list[str]

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """Describe it in a few lines."""
        lines = [
            f"{self.name}: {self.cells:,} cells, {self.runs:,} runs of {self.length}, "
            f"{self.blocks:,} blocks",
            "agents: " + ", ".join(f"{name} ({count:,})" for name, count in self.agents.items()),
            *(f"varied: {path} = {values}" for path, values in self.varied.items()),
            f"to compile: {self.compositions} kinds of loop, some 10 s each if not in the cache",
        ]
        if self.seconds is not None:
            lines.append(f"time: about {_duration(self.seconds)} on {self.threads} threads")
        return "\n".join(
            [*lines, f"disk: about {self.bytes / 1e6:.1f} MB", f"first cell: {self.ids[0]}"]
        )


def preview(experiment: Experiment, threads: int, kernels: Kernels | None) -> Preview:
    """Preview an experiment; with ``kernels``, some of it is tried for a moment."""
    cells, groups = experiment.cells(), dict[Any, list[Cell]]()
    for cell in cells:
        groups.setdefault(tree.structure(cell.job.prepare(0)[0]), []).append(cell)
    seconds = None if kernels is None else _seconds([*groups.values()], kernels)
    steps, episodes = experiment.steps, experiment.episodes
    return Preview(
        name=experiment.name,
        length=f"{steps:,} steps" if steps else f"{episodes:,} episodes",
        agents=dict(Counter(cell.base_agent for cell in cells)),
        varied={
            dotted(path): ", ".join(word(row[column]) for row in axis.rows)
            for panel in experiment.panels
            for axis in panel.axes
            for column, path in enumerate(axis.paths)
        },
        cells=len(cells),
        runs=sum(cell.runs for cell in cells),
        blocks=sum(len(list(blocks(cell.runs))) for cell in cells),
        compositions=len(groups),
        threads=threads,
        seconds=None if seconds is None else seconds * OVERHEAD / threads,
        bytes=sum(
            BLOCK_BYTES + count * cell.points * POINT_BYTES * (1 + cell.lengths)
            for cell in cells
            for _, count in blocks(cell.runs)
        ),
        ids=[cell.id for cell in cells],
    )


def _seconds(groups: Sequence[Sequence[Cell]], kernels: Kernels) -> float:
    """Estimate the time of all runs on one thread from the beginnings of a few.

    Settings differ in how long their episodes are, so cells from all over a group are tried.
    """
    each, total = max(1, PROBES // len(groups)), 0.0
    done: list[tuple[float, float]] = []  # cost, seconds
    for members in groups:
        tried = members[len(members) // (2 * each) :: max(1, len(members) // each)][:each]
        before = len(done)
        for cell in tried if before + len(tried) <= PROBES else ():
            say(f"trying {cell.id}")
            done.append((cost(cell), probe(cell, kernels, PROBE_SECONDS)))
        known = done[before:] or done
        rate = sum(seconds for _, seconds in known) / sum(work for work, _ in known)
        total += sum(cell.runs * (rate * cost(cell) + RUN_SECONDS) for cell in members)
    return total


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
