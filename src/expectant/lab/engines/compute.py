"""Compute the cells of experiments, block by block, taking what is finished from the store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from expectant.descriptions import near_miss
from expectant.engine.compile.kernels import use_compiled
from expectant.engine.job import cores
from expectant.engine.workers import compile_ahead
from expectant.files import StoreError
from expectant.lab.cells import BLOCK, Cell, Hashes, Shard, cost
from expectant.lab.engines.tasks import Engine, Kernels, Task, threads_engine
from expectant.lab.store.store import Facts, Span, Store
from expectant.lab.store.timings import Session, Timings
from expectant.progress import Overall, say
from expectant.whose import told

GOLDEN_RATIO = (1 + 5**0.5) / 2
ENGINES = ("threads", "ray")


class CellError(RuntimeError):
    """A cell that cannot be computed; says which and why."""


@dataclass
class Work:
    """Some cells, the store they go to, and what has become of them.

    ``names`` are those under which cells are stored; ``failed`` maps a cell's id to its error, and
    ``facts`` is what is known of blocks that were checked or computed.
    """

    cells: Sequence[Cell]
    store: Store
    names: list[str] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)
    facts: dict[tuple[str, Span], Facts] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)  # names by the code that is here now
    found: int = 0
    computed: int = 0

    def __post_init__(self) -> None:
        hashes = Hashes()
        for cell in self.cells:
            try:
                self.names.append(hashes.name(cell))
            except Exception as error:  # parts that do not go together, each in its own way
                self.names.append("")
                self.failed[cell.id] = error
        if self.store.accept_versions:
            current, self.names = self.names, self.store.of_any_version(self.names)
            self.codes = dict(zip(self.names, current, strict=True))

    def unique(self) -> dict[str, Cell]:
        """The cells by name; of equal ones the first by id, with as many runs as any has."""
        found: dict[str, Cell] = {}
        for name, cell in zip(self.names, self.cells, strict=True):
            if name:
                known = found.get(name, cell)
                first = min(cell, known, key=lambda either: either.id)
                found[name] = replace(first, runs=max(cell.runs, known.runs))
        return found

    def missing(self, shard: Shard | None = None) -> list[Task]:
        """The blocks that are still to be computed, damaged ones included."""
        index = self.store.index()
        tasks: list[Task] = []
        position = spoilt = 0
        for name, cell in self.unique().items():
            start, there = position, index.get(name, [])
            spans = self._usable(name, there, cell)
            for span in there:
                if span not in spans and _ours(shard, start, span):
                    self.store.path(name, *span).unlink(missing_ok=True)
                    spoilt += 1
            for span in self.store.missing(cell, spans):
                if _ours(shard, start, span):
                    tasks.append(Task(cell, name, *span, self.codes.get(name, name)))
            self.found += len(spans)
            position += -(-cell.runs // BLOCK)
        if spoilt:
            say(f"{spoilt} blocks in {self.store.folder} are damaged; they are computed again")
        return tasks

    def _usable(self, name: str, spans: Sequence[Span], cell: Cell) -> list[Span]:
        """The blocks that are whole and of this cell, each of which is read once."""
        identity = cell.identity()
        for span in spans:
            facts = self.facts.get((name, span)) or self.store.facts_of(name, span)
            if facts is not None and facts.is_of(identity):
                self.facts[name, span] = facts
        return [span for span in spans if (name, span) in self.facts]

    def do(
        self, engine: Engine, kernels: Kernels, tasks: Sequence[Task], timings: Timings,
        session: Session, title: str,
    ) -> None:  # fmt: skip
        """Compute tasks and store their blocks as they come; failures are kept for later."""
        start = time.perf_counter()
        total = sum(cost(task.cell) * task.size for task in tasks)
        try:
            with Overall(title, total) as overall:
                self._compile(tasks, kernels, overall)
                session.compiling = time.perf_counter() - start
                for done in engine(
                    self._left(evenly_ordered(tasks)),
                    lambda cell, part: overall.show(cell.id, overall.done + part),
                ):
                    task = done.task
                    overall.done += cost(task.cell) * task.size
                    overall.show(task.cell.id, overall.done)
                    if done.error is not None or done.block is None:
                        self.failed[task.cell.id] = done.error or RuntimeError("no result")
                        continue
                    span = Span(task.first, task.size)
                    self.facts[task.name, span] = self.store.save(
                        task.name, task.first, done.block, task.cell
                    )
                    self.computed += 1
                    timings.add(task.name, done.seconds, done.steps)
                    session.runs += task.size
        finally:
            session.seconds = time.perf_counter() - start
            timings.write()

    def _compile(self, tasks: Sequence[Task], kernels: Kernels, overall: Overall) -> None:
        """Compile every composition before anything runs, several at once where there are more."""
        if use_compiled(kernels.compiled):
            with overall.counted_apart():
                compile_ahead(kernels.one_of_each(tasks), overall)
        seen: set[str] = set()
        for task in tasks:
            if task.name not in seen:
                seen.add(task.name)
                try:
                    kernels.for_task(task, overall)
                except Exception as error:  # of Numba, or of a part of somebody's own
                    self.failed[task.cell.id] = error

    def _left(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """The tasks one by one, without those of cells that have failed meanwhile."""
        for task in tasks:
            if task.cell.id not in self.failed:
                yield task


def evenly_ordered(tasks: Sequence[Task]) -> list[Task]:
    """The tasks in an order any beginning of which comes evenly from all over the list.

    So what has been done tells how long the rest will take, and an unfinished sweep has something
    of everything. The multiples of the golden ratio leave no large gaps.
    """
    places = [position * GOLDEN_RATIO % 1.0 for position in range(len(tasks))]
    return [task for _, task in sorted(zip(places, tasks, strict=True), key=lambda pair: pair[0])]


def _ours(shard: Shard | None, start: int, span: Span) -> bool:
    """Whether a block is for this process, if those of its cell are counted from ``start``."""
    return shard is None or shard.has(start + span.first // BLOCK)


def engine_named(name: str, threads: int | None, address: str | None, kernels: Kernels) -> Engine:
    """The engine of that name: ``threads`` are those of this machine, ``address`` a cluster's."""
    if name not in ENGINES:
        raise ValueError(f"--engine: unknown {name!r}" + near_miss(name, list(ENGINES)))
    if name == "ray":
        from expectant.lab.engines.on_ray import on_ray

        return on_ray(address, kernels)
    if address is not None:
        raise ValueError(f"--address: is for --engine ray, got {address!r} with {name!r}")
    return threads_engine(threads, kernels)


def compute(
    cells: Sequence[Cell], store: Store, *, threads: int | None = None, title: str = "running"
) -> list[np.ndarray]:
    """The curves (runs, bins) of all cells, in order; equal cells are computed once."""
    return computed(cells, store, threads=threads, title=title)[1]


def computed(
    cells: Sequence[Cell], store: Store, *, threads: int | None = None, title: str = "running"
) -> tuple[Work, list[np.ndarray]]:
    """What has become of all cells, and their curves (runs, bins), in order."""
    kernels, work = Kernels(), Work(cells, store)
    timings, session = Timings(store.folder.parent), Session(threads or cores())
    work.do(threads_engine(threads, kernels), kernels, work.missing(), timings, session, title)
    for cell, error in work.failed.items():
        raise CellError(f"{cell}: {told(error)}") from error
    curves = gathered(work)
    if curves is None:
        raise StoreError(f"blocks in {store.folder} are damaged by others; check the disk")
    return work, curves


def gathered(work: Work) -> list[np.ndarray] | None:
    """The curves of all cells from the store; None if a block has been damaged meanwhile."""
    known: dict[str, np.ndarray] = {}
    index = work.store.index()
    for name, cell in work.unique().items():
        curves = work.store.curves(name, index.get(name, []), cell.runs)
        if curves is None:
            return None
        known[name] = curves
    return [known[name][: cell.runs] for name, cell in zip(work.names, work.cells, strict=True)]
