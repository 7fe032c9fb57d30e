"""The engine for one machine: runs on threads, whichever block or cell they belong to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from expectant.engine.course import going_on
from expectant.engine.job import cores
from expectant.engine.memory import Room
from expectant.engine.workers import Processes, run_on_threads
from expectant.lab.cells import cost
from expectant.lab.engines.tasks import (
    Clocks,
    Done,
    Engine,
    Kernels,
    Ran,
    Task,
    Watch,
    assembled,
    run_one,
    under_way,
)


@dataclass(eq=False)
class _Part:
    """A task under way."""

    task: Task
    runs: dict[int, Ran] = field(default_factory=dict)
    failed: bool = False


def threads_engine(threads: int | None, kernels: Kernels) -> Engine:
    """An engine with so many threads (None: one per core)."""
    size = threads or cores()

    def engine(tasks: Iterator[Task], watch: Watch) -> Iterator[Done]:
        room, control, clocks = Room(), going_on(), Clocks()
        parts: dict[_Part, None] = {}

        def runs() -> Iterator[tuple[_Part, int]]:
            for task in tasks:
                part = _Part(task)
                parts[part] = None
                for number in range(task.first, task.first + task.size):
                    if not part.failed:
                        yield part, number

        def work(item: tuple[_Part, int]) -> Ran | None:
            part, number = item
            with room.taken_by(part.task.cell.job, part.task.cell.beside):
                away = processes if size > 1 else None
                return run_one(part.task, number, kernels, control, clocks, away)

        with Processes() as processes:
            for batch in run_on_threads(work, runs(), size, control, batch_size=4):
                for (part, number), ran, error in batch:
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    if part.failed or (ran is None and error is None):
                        continue
                    if ran is not None:
                        part.runs[number] = ran
                    part.failed = error is not None
                    if part.failed or len(part.runs) == part.task.size:
                        parts.pop(part)
                        ended = [part.runs[number] for number in sorted(part.runs)]
                        yield Done(part.task, None, error) if error else assembled(part.task, ended)
                if not batch and parts:
                    ended_cost = sum(cost(part.task.cell) * len(part.runs) for part in list(parts))
                    watch(next(iter(parts)).task.cell, ended_cost + under_way(clocks))

    return engine
