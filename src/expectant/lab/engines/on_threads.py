"""The engine for one machine: runs on threads, whichever block or cell they belong to."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from expectant.engine.away import Processes
from expectant.engine.job import cores
from expectant.engine.memory import Room
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

AHEAD = 4  # runs that wait for each thread, so that it never waits for us
LOOK_SECONDS = 0.2


@dataclass(eq=False)
class _Part:
    """A task under way."""

    task: Task
    runs: dict[int, Ran] = field(default_factory=dict)
    failed: bool = False


def threads_engine(threads: int | None, kernels: Kernels) -> Engine:
    """An engine with so many threads (None: one per core)."""

    def engine(tasks: Iterator[Task], watch: Watch) -> Iterator[Done]:
        crew = _Crew(threads or cores(), kernels)
        waiting = _runs_of(tasks)
        due = time.monotonic() + LOOK_SECONDS
        try:
            while True:
                crew.take(waiting)
                if not crew.busy:
                    return
                yield from crew.finished()
                if time.monotonic() >= due and crew.open:
                    due = time.monotonic() + LOOK_SECONDS
                    watch(next(iter(crew.open)).task.cell, crew.under_way())
        finally:
            crew.dismiss()

    return engine


class _Crew:
    """Threads that take runs from one queue and put what came of them into another."""

    def __init__(self, size: int, kernels: Kernels) -> None:
        self.kernels = kernels
        self.room = Room()
        self.control = np.zeros(1, np.int64)
        self.clocks: Clocks = {}
        self.open: dict[_Part, None] = {}
        self.busy = 0
        self.away = Processes() if size > 1 else None
        self.to_do: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(size)]
        for thread in self.threads:
            thread.start()

    def _work(self) -> None:
        while (item := self.to_do.get()) is not None:
            part, number = item
            came: Any = None
            try:
                with self.room.taken_by(part.task.cell.job, part.task.cell.beside):
                    if not self.control[0]:
                        came = run_one(
                            part.task, number, self.kernels, self.control, self.clocks, self.away
                        )
            except BaseException as error:
                came = error
            self.done.put((part, number, came))

    def take(self, waiting: Iterator[tuple[_Part, int]]) -> None:
        """Hand out runs until enough of them wait."""
        for part, number in itertools.islice(waiting, len(self.threads) * AHEAD - self.busy):
            self.open[part] = None
            self.to_do.put((part, number))
            self.busy += 1

    def finished(self) -> Iterator[Done]:
        """The block that the next run to end completes, or the first failure in one."""
        try:
            part, number, came = self.done.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            return
        self.busy -= 1
        if part.failed or came is None:
            return
        if isinstance(came, BaseException):
            if not isinstance(came, Exception):
                raise came
            part.failed = True
            self.open.pop(part)
            yield Done(part.task, None, came)
            return
        part.runs[number] = came
        if len(part.runs) == part.task.size:
            self.open.pop(part)
            yield assembled(part.task, [part.runs[number] for number in sorted(part.runs)])

    def under_way(self) -> float:
        """The cost of what has been done for blocks that are not finished."""
        ended = sum(cost(part.task.cell) * len(part.runs) for part in self.open)
        return ended + under_way(self.clocks)

    def dismiss(self) -> None:
        """Stop runs where they are, and wait for the threads to end."""
        self.control[0] = 1
        for _ in self.threads:
            self.to_do.put(None)
        for thread in self.threads:
            thread.join()


def _runs_of(tasks: Iterator[Task]) -> Iterator[tuple[_Part, int]]:
    """The runs of all tasks, one by one."""
    for task in tasks:
        part = _Part(task)
        for number in range(task.first, task.first + task.size):
            if not part.failed:
                yield part, number
