"""Blocks of runs as tasks: what engines are given, and what comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import learning_curve
from expectant.experiments.cells import Cell, composition, cost
from expectant.experiments.store import Block
from expectant.running.job import closed, loop_for, whole_run
from expectant.running.kernels import Kernel
from expectant.running.loop import DIVERGED, EPISODE, STEPS
from expectant.running.progress import Reporter, Silent
from expectant.running.refusal import TooLargeError
from expectant.running.settled import settled


class Task(NamedTuple):
    """Some consecutive runs of a cell, to be stored under ``name``."""

    cell: Cell
    name: str
    first: int
    size: int


class Done(NamedTuple):
    """What became of a task: a block, or the error that prevented it.

    ``seconds`` passed in the loop, on one thread, for so many ``steps``; ``processor`` is the part
    of them that the thread was not kept waiting.
    """

    task: Task
    block: Block | None
    error: Exception | None
    seconds: float = 0.0
    processor: float = 0.0
    steps: int = 0


class Ran(NamedTuple):
    """One run: ``values`` are the returns of its episodes or the rewards in its bins.

    ``lengths`` are those of the episodes; what it took is measured as in :class:`Done`.
    """

    values: np.ndarray
    lengths: np.ndarray
    diverged: bool
    seconds: float
    processor: float
    steps: int


Watch = Callable[[Cell, float], None]  # told a cell and the cost of all that is under way
Engine = Callable[[Iterator[Task], Watch], Iterator[Done]]
Clocks = dict[tuple[str, int], tuple[Cell, np.ndarray]]  # of the runs under way


@dataclass
class Kernels:
    """The loop for every composition of parts, compiled when it is first asked for.

    ``broken`` are the compositions that cannot be compiled, which is tried once.
    """

    compiled: bool | None = None
    known: dict[Any, Kernel] = field(default_factory=dict)
    broken: dict[Any, Exception] = field(default_factory=dict)

    def for_task(self, task: Task, show: Reporter | None = None) -> Kernel:
        """The loop for a task, looked up once for every cell."""
        if task.name not in self.known:
            self.known[task.name] = self.of(task.cell, show)
        return self.known[task.name]

    def of(self, cell: Cell, show: Reporter | None = None) -> Kernel:
        key = composition(cell.job.prepare(0)[0]), settled(cell.job)
        if key in self.broken:
            raise self.broken[key]
        if key not in self.known:
            name = f"{type(cell.agent).__name__} in {type(cell.domain).__name__}"
            try:
                self.known[key] = loop_for(cell.job, self.compiled, name, show or Silent())
            except TooLargeError:  # a smaller cell of the same composition may fit
                raise
            except Exception as error:
                self.broken[key] = error
                raise
        return self.known[key]


def run_one(
    task: Task, number: int, kernels: Kernels, control: np.ndarray, clocks: Clocks
) -> Ran | None:
    """One run of a task; None if it was stopped through ``control``."""
    cell, job = task.cell, task.cell.job
    kernel = kernels.for_task(task)
    prepared, rng = job.prepare(number, control)
    clocks[task.name, number] = cell, prepared.clock
    start, processor = time.perf_counter(), time.thread_time()
    prepared, status = whole_run(job, kernel, prepared, number, rng, control)
    took = time.perf_counter() - start, time.thread_time() - processor
    clocks.pop((task.name, number), None)
    if control[0]:
        return None
    prepared = closed(job, prepared, status)
    values = prepared.rewards if job.steps else prepared.returns
    lengths = np.empty(0)
    if cell.lengths:
        lengths = np.where(np.isnan(prepared.returns), np.nan, prepared.lengths)
    return Ran(values, lengths, status == DIVERGED, *took, int(prepared.clock[STEPS]))


def assembled(task: Task, runs: list[Ran]) -> Done:
    """A block from its runs, in order."""
    cell, values = task.cell, np.stack([ran.values for ran in runs])
    curves = values if cell.steps else learning_curve(values, cell.bin)
    lengths = None
    if cell.lengths:
        lengths = learning_curve(np.stack([ran.lengths for ran in runs]), cell.bin)
    return Done(
        task, Block(curves, np.array([ran.diverged for ran in runs]), lengths), None,
        sum(ran.seconds for ran in runs), sum(ran.processor for ran in runs),
        sum(ran.steps for ran in runs),
    )  # fmt: skip


def under_way(clocks: Clocks) -> float:
    """The cost of what runs under way have done so far."""
    total = 0.0
    for cell, clock in list(clocks.values()):
        counter, goal = (STEPS, cell.steps) if cell.steps else (EPISODE, cell.episodes)
        total += cost(cell) * float(clock[counter]) / goal
    return total


def probe(cell: Cell, kernels: Kernels, seconds: float) -> float:
    """How long a run of a cell takes, judged by its beginning."""
    kernel = kernels.of(cell)
    control = np.zeros(1, np.int64)
    prepared, rng = cell.job.prepare(0, control)
    timer = threading.Timer(seconds, control.fill, [1])
    timer.start()
    start = time.perf_counter()
    prepared, status = whole_run(cell.job, kernel, prepared, 0, rng, control)
    passed = time.perf_counter() - start
    timer.cancel()
    counter, goal = (STEPS, cell.steps) if cell.steps else (EPISODE, cell.episodes)
    return (
        passed if status == DIVERGED else passed * goal / max(float(prepared.clock[counter]), 0.5)
    )
