"""What a spec means, before it is run: how many cells and runs, how long, how much disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from expectant.core import tree
from expectant.lab.cells import Cell, blocks, cost
from expectant.lab.engines.tasks import Kernels, probe
from expectant.lab.specs.grid import Range, dotted, word
from expectant.lab.specs.spec import Experiment
from expectant.progress import say

PROBES = 12  # cells that are tried, at most
PROBE_SECONDS = 0.3
RUN_SECONDS = 0.001  # what every run takes beside its loop
BLOCK_BYTES, POINT_BYTES = 4_700, 9  # of a file, and of every point of a curve in it
OVERHEAD = 1.1  # what a sweep takes on top of its loops


@dataclass(frozen=True)
class Preview:
    """The meaning of a spec in numbers; ``seconds`` is None where nothing was tried."""

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
        """A few lines for people."""
        agents = ", ".join(f"{name} ({count:,})" for name, count in self.agents.items())
        lines = [
            f"{self.name}: {self.cells:,} cells, {self.runs:,} runs of {self.length}, "
            f"{self.blocks:,} blocks",
            f"agents: {agents}",
            *(f"varied: {path} = {values}" for path, values in self.varied.items()),
            f"to compile: {self.compositions} kinds of loop, some 10 s each if not in the cache",
        ]
        if self.seconds is not None:
            lines.append(f"time: about {_duration(self.seconds)} on {self.threads} threads")
        lines += [f"disk: about {self.bytes / 1e6:.1f} MB", f"first cell: {self.ids[0]}"]
        return "\n".join(lines)


def preview(experiment: Experiment, threads: int, kernels: Kernels | None) -> Preview:
    """What an experiment asks for; with ``kernels``, some of it is tried for a moment."""
    cells = experiment.cells()
    groups = _groups(cells)
    return Preview(
        name=experiment.name,
        length=_length(experiment),
        agents=dict(Counter(cell.agent_key.split(" ")[0] for cell in cells)),
        varied=_varied(experiment),
        cells=len(cells),
        runs=sum(cell.runs for cell in cells),
        blocks=sum(len(list(blocks(cell.runs))) for cell in cells),
        compositions=len(groups),
        threads=threads,
        seconds=None if kernels is None else _seconds(groups, kernels) * OVERHEAD / threads,
        bytes=sum(map(_bytes, cells)),
        ids=[cell.id for cell in cells],
    )


def _length(experiment: Experiment) -> str:
    if experiment.steps:
        return f"{experiment.steps:,} steps"
    return f"{experiment.episodes:,} episodes"


def _varied(experiment: Experiment) -> dict[str, str]:
    found = {}
    for panel in experiment.panels:
        for axis in panel.axes:
            for column, path in enumerate(axis.paths):
                found[dotted(path)] = (
                    _range_text(axis.range)
                    if axis.range is not None
                    else ", ".join(word(row[column]) for row in axis.rows)
                )
    return found


def _range_text(found: Range) -> str:
    return f"{found.low:g} to {found.high:g}" + (" (log)" if found.log else "")


def _groups(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that share a compiled loop."""
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(tree.structure(cell.job.prepare(0)[0]), []).append(cell)
    return list(groups.values())


def _seconds(groups: Sequence[Sequence[Cell]], kernels: Kernels) -> float:
    """The time of all runs on one thread, from the beginnings of a few.

    Settings differ in how long their episodes are, so cells from all over a group are tried.
    """
    each = max(1, PROBES // len(groups))
    done: list[tuple[float, float]] = []  # cost, seconds
    total = 0.0
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


def _bytes(cell: Cell) -> int:
    point = POINT_BYTES * (2 if cell.lengths else 1)
    return sum(BLOCK_BYTES + count * cell.points * point for _, count in blocks(cell.runs))


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
