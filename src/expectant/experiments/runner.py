"""Compute the cells of experiments, block by block, taking what is finished from the store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from expectant.core.config import near_miss
from expectant.core.errors import told
from expectant.core.progress import Overall, say
from expectant.engine.workers import compile_ahead
from expectant.experiments.store import Facts, Span, Store
from expectant.experiments.tasks import Engine, Kernels, Task, threads_engine
from expectant.experiments.timings import Times, add_times
from expectant.experiments.trials import BLOCK, Hashes, Shard, Trial, cost
from expectant.jit.compile import use_compiled

GOLDEN_RATIO = (1 + 5**0.5) / 2
ENGINES = ("threads", "ray")


class CellError(RuntimeError):
    """A cell that cannot be computed; says which and why."""


@dataclass
class Work:
    """Some cells, the store they go to, and what has become of them.

    ``names`` are those under which cells are stored; ``failed`` maps a cell's id to its error, and
    ``facts`` is what is known of blocks that were checked or computed: ``found`` and ``computed``
    of them. ``seconds`` have passed, of which ``compiling`` before the first block, for so many
    ``runs``.
    """

    cells: Sequence[Trial]
    store: Store
    names: list[str] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)
    facts: dict[tuple[str, Span], Facts] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)  # names by the code that is here now
    found: int = 0
    computed: int = 0
    runs: int = 0
    seconds: float = 0.0
    compiling: float = 0.0

    def __post_init__(self) -> None:
        cells, self.cells = self.cells, []
        self.add(cells)

    def add(self, cells: Sequence[Trial]) -> None:
        """Add cells, under the names that they are stored by."""
        hashes, names = Hashes(), list[str]()
        for cell in cells:
            try:
                names.append(hashes.name(cell))
            except Exception as error:  # parts that do not go together, each in its own way
                names.append("")
                self.failed[cell.id] = error
        stored = self.store.of_any_version(names) if self.store.accept_versions else names
        self.codes.update(zip(stored, names, strict=True))
        self.cells = [*self.cells, *cells]
        self.names += stored

    def unique(self) -> dict[str, Trial]:
        """The cells by name; of equal ones the first by id, with as many runs as any has."""
        cells: dict[str, Trial] = {}
        for name, cell in zip(self.names, self.cells, strict=True):
            if name:
                known = cells.get(name, cell)
                first = min(cell, known, key=lambda either: either.id)
                cells[name] = replace(first, runs=max(cell.runs, known.runs))
        return cells

    def missing(self, shard: Shard | None = None) -> list[Task]:
        """The blocks that are still to be computed, damaged ones included."""
        index = self.store.index()
        tasks: list[Task] = []
        position = spoilt = usable = 0
        for name, cell in self.unique().items():
            there, identity = index.get(name, []), cell.identity()
            for span in there:
                facts = self.facts.get((name, span)) or self.store.facts_of(name, span)
                if facts is not None and facts.is_of(identity):
                    self.facts[name, span] = facts
                elif _is_ours(shard, position, span):
                    self.store.path(name, *span).unlink(missing_ok=True)
                    spoilt += 1
            whole = [span for span in there if (name, span) in self.facts]
            tasks += [
                Task(cell, name, *span, self.codes[name])
                for span in self.store.missing(cell, whole)
                if _is_ours(shard, position, span)
            ]
            usable += len(whole)
            position += -(-cell.runs // BLOCK)
        self.found = usable - self.computed
        if spoilt:
            say(f"{spoilt} blocks in {self.store.folder} are damaged; they are computed again")
        return tasks

    def do(
        self, engine: Engine, kernels: Kernels, tasks: Sequence[Task], title: str, suffix: str = ""
    ) -> None:
        """Compute tasks and store their blocks as they come; failures are kept for later.

        Processor seconds and steps go to a file of measurements with a ``suffix``.
        """
        start, times = time.perf_counter(), Times()
        total = sum(cost(task.cell) * task.size for task in tasks)
        try:
            with Overall(title, total) as overall:
                self._compile(tasks, kernels, overall)
                self.compiling += time.perf_counter() - start
                for task, block, error, seconds, steps in engine(
                    self._left(order_evenly(tasks)),
                    lambda cell, part: overall.show(cell.id, overall.done + part),
                ):
                    overall.done += cost(task.cell) * task.size
                    overall.show(task.cell.id, overall.done)
                    if error is not None or block is None:
                        self.failed[task.cell.id] = error or RuntimeError("no result")
                        continue
                    facts = self.store.save(task.name, task.first, block, task.cell)
                    self.facts[task.name, Span(task.first, task.size)] = facts
                    self.computed += 1
                    self.runs += task.size
                    before = times.get(task.name, (0.0, 0))
                    times[task.name] = before[0] + seconds, before[1] + steps
        finally:
            self.seconds += time.perf_counter() - start
            add_times(self.store.folder.parent, times, suffix)

    def _compile(self, tasks: Sequence[Task], kernels: Kernels, overall: Overall) -> None:
        """Compile every composition before anything runs, several at once where there are more."""
        if use_compiled(kernels.compiled):
            with overall.counted_apart():
                compile_ahead(kernels.orders(tasks), overall)
        for task in {task.name: task for task in tasks}.values():
            try:
                kernels.loop_for(task, overall)
                kernels.look_for(task, overall)
            except Exception as error:  # of Numba, or of a part of somebody's own
                self.failed[task.cell.id] = error

    def _left(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """The tasks one by one, without those of cells that have failed meanwhile."""
        return (task for task in tasks if task.cell.id not in self.failed)

    def curves(self) -> list[np.ndarray]:
        """The curves (runs, bins) of all cells from the store; an error if a block is missing."""
        index = self.store.index()
        curves = {
            name: self.store.curves(name, index.get(name, []), cell.runs)
            for name, cell in self.unique().items()
        }
        return [
            curves[name][: cell.runs] for name, cell in zip(self.names, self.cells, strict=True)
        ]


def order_evenly(tasks: Sequence[Task]) -> list[Task]:
    """The tasks in an order any beginning of which comes evenly from all over the list.

    So what has been done tells how long the rest will take, and an unfinished sweep has something
    of everything. The multiples of the golden ratio leave no large gaps.
    """
    places = sorted(range(len(tasks)), key=lambda place: place * GOLDEN_RATIO % 1.0)
    return [tasks[place] for place in places]


def _is_ours(shard: Shard | None, start: int, span: Span) -> bool:
    """True if a block is for this process, if those of its cell are counted from ``start``."""
    return shard is None or shard.has(start + span.first // BLOCK)


def engine_named(name: str, threads: int | None, address: str | None, kernels: Kernels) -> Engine:
    """The engine of that name: ``threads`` are those of this machine, ``address`` a cluster's."""
    if name not in ENGINES:
        raise ValueError(f"--engine: unknown {name!r}" + near_miss(name, list(ENGINES)))
    if name == "ray":
        from expectant.experiments.ray_runner import on_ray

        return on_ray(address, kernels)
    if address is not None:
        raise ValueError(f"--address: is for --engine ray, got {address!r} with {name!r}")
    return threads_engine(threads, kernels)


def compute(
    cells: Sequence[Trial], store: Store, *, threads: int | None = None, title: str = "running"
) -> Work:
    """Compute all cells on threads; equal ones once. A cell that fails is an error."""
    kernels, work = Kernels(), Work(cells, store)
    work.do(threads_engine(threads, kernels), kernels, work.missing(), title)
    for cell, error in work.failed.items():
        raise CellError(f"{cell}: {told(error)}") from error
    return work
