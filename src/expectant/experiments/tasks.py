"""Batches of runs as tasks: what engines are given, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from expectant.analysis.curves import learning_curve
from expectant.core import tree
from expectant.core.memory import TooLargeError
from expectant.core.verbs import count_evicted
from expectant.engine.divergence import explain_divergence
from expectant.engine.driver import drive, fraction_done, new_control
from expectant.engine.loop import DIVERGED, Run
from expectant.engine.memory import MemoryPool
from expectant.engine.progress import Reporter, Silent
from expectant.engine.setup import (
    Setup,
    core_count,
    finish_records,
    has_fixed_types,
    load_loop,
    report_evictions,
)
from expectant.engine.workers import (
    CompileOrder,
    OnStart,
    Processes,
    RunOne,
    compile_loop,
    run_on_threads,
)
from expectant.experiments.recording import load_kernel, order_kernel, record_run
from expectant.experiments.store import Batch
from expectant.experiments.trials import LENGTH, TOTAL, Trial, cost
from expectant.jit.compile import Kernel


class Task(NamedTuple):
    """Some consecutive runs of a trial, to be stored under ``name``.

    ``code`` is the name that the trial has with the code of the process that asks.
    """

    trial: Trial
    name: str
    first: int
    size: int
    code: str = ""


class Done(NamedTuple):
    """What became of a task: a batch, or the error that prevented it.

    ``seconds`` are those that a processor spent in the loop, for so many ``steps``.
    """

    task: Task
    batch: Batch | None
    error: Exception | None
    seconds: float = 0.0
    steps: int = 0


class Ran(NamedTuple):
    """One run: ``values`` are the returns of its episodes or the rewards in its bins.

    ``lengths`` are those of the episodes; what it took is measured as in :class:`Done`. ``evicted``
    is how many entries of its model it gave up for want of room, ``divergence`` why it diverged.
    """

    values: np.ndarray
    lengths: np.ndarray
    diverged: bool
    seconds: float
    steps: int
    evicted: int = 0
    divergence: str = ""


Watch = Callable[[Trial, float], None]  # told a trial and the cost of all that is under way
Engine = Callable[[Iterator[Task], Watch], Iterator[Done]]
Clocks = dict[tuple[str, int], tuple[Trial, np.ndarray]]  # of the runs under way


@dataclass
class Kernels:
    """The loop, and the look, for every composition of parts, compiled when first asked for.

    ``known`` has kernels, or the error of one that cannot be compiled.
    """

    compiled: bool | None = None
    known: dict[object, Kernel | Exception] = field(default_factory=dict)
    compositions: dict[str, object] = field(default_factory=dict)  # by name of a trial
    sources: dict[str, TaskRuns] = field(default_factory=dict)

    def source_for(self, task: Task) -> TaskRuns:
        """The runs of a trial for workers, the same for all its tasks."""
        return self.sources.setdefault(task.name, TaskRuns(task, self.compiled))

    def orders(self, tasks: Sequence[Task]) -> list[CompileOrder]:
        """List what to compile, once for every composition; leave out what cannot be prepared."""
        orders: dict[object, CompileOrder] = {}
        for task in {task.name: task for task in tasks}.values():
            with suppress(Exception):  # told where it is needed
                key, setup = self._composition(task), task.trial.setup
                orders.setdefault(key, CompileOrder(compile_loop, setup))
                if task.trial.record is not None:
                    look = order_kernel(setup, task.trial.record)
                    orders.setdefault((key, look.compile), look)
        return list(orders.values())

    def load_loop(self, task: Task, show: Reporter | None = None) -> Kernel:
        """The loop for a task."""
        make = partial(load_loop, task.trial.setup, self.compiled, _title(task), show or Silent())
        return self._made(self._composition(task), make)

    def load_probe(self, task: Task, show: Reporter | None = None) -> Kernel | None:
        """The kernel that looks at the agent of a task, if its trial has a record."""
        setup, record = task.trial.setup, task.trial.record
        if record is None:
            return None
        title = _title(task)
        make = partial(load_kernel, setup, record, self.compiled, title, show or Silent())
        return self._made((self._composition(task), record.probe), make)

    def _made(self, key: object, make: Callable[[], Kernel]) -> Kernel:
        if key not in self.known:
            try:
                self.known[key] = make()
            except TooLargeError:  # a smaller trial of the same composition may fit
                raise
            except Exception as error:
                self.known[key] = error
        kernel = self.known[key]
        if isinstance(kernel, Exception):
            raise kernel
        return kernel

    def _composition(self, task: Task) -> object:
        if task.name not in self.compositions:
            setup = task.trial.setup
            types = tree.structure(setup.build(0)[0]), has_fixed_types(setup)
            self.compositions[task.name] = types
        return self.compositions[task.name]


def _title(task: Task) -> str:
    return f"{type(task.trial.agent).__name__} in {task.trial.domain.display_name}"


@dataclass(frozen=True, eq=False)
class TaskRuns:
    """The runs of a task, for workers."""

    task: Task
    compiled: bool | None

    @property
    def setup(self) -> Setup:
        return self.task.trial.setup

    def prepare(self) -> RunOne:
        kernels = Kernels(self.compiled)
        kernels.load_loop(self.task)
        kernels.load_probe(self.task)
        return partial(run_task, self.task, kernels)


def run_one(
    task: Task,
    number: int,
    kernels: Kernels,
    control: np.ndarray,
    clocks: Clocks,
    processes: Processes | None = None,
) -> Ran | None:
    """One run of a task, in a worker where that is better; None if it was stopped."""

    def on_start(clock: np.ndarray) -> None:
        clocks[task.name, number] = task.trial, clock

    local = partial(run_task, task, kernels)
    if processes is not None and task.trial.domain.external:
        source = kernels.source_for(task)
        ran: Ran | None = processes.run(source, number, control, on_start, local)
    else:
        ran = local(number, control, on_start)
    clocks.pop((task.name, number), None)
    if ran is not None:
        report_evictions(task.trial.setup, number, ran.evicted)
    return ran


def run_task(
    task: Task, kernels: Kernels, number: int, control: np.ndarray, on_start: OnStart
) -> Ran | None:
    """One run of a task in this process; None if it was stopped through ``control``."""
    trial, setup = task.trial, task.trial.setup
    loop, look = kernels.load_loop(task), kernels.load_probe(task)
    start = time.thread_time()
    if trial.record is None or look is None:
        course = drive(setup, number, loop, control, (0, setup.length))
        on_start(next(course).run.clock)
        start = time.thread_time()
        stop = next(course)
        course.close()
    else:
        values, stop = record_run(
            setup, number, loop, look, control, trial.record, lambda stop: on_start(stop.run.clock)
        )
    seconds = time.thread_time() - start
    if control[0]:
        return None
    given_up = count_evicted(stop.run.agent)
    why = explain_divergence(stop.run, stop.status, trial.agent, trial.domain.display_name)
    lengths = np.empty(0)
    if trial.record is None:
        run = finish_records(setup, stop.run, stop.status)
        values = curve_values(trial, run)
        if trial.lengths:
            lengths = np.where(np.isnan(run.returns), np.nan, run.lengths)
    return Ran(values, lengths, stop.status == DIVERGED, seconds, stop.steps, given_up, why)


def curve_values(trial: Trial, run: Run) -> np.ndarray:
    """What the curve of a run is made of: returns, lengths, rewards, or rewards added up."""
    if trial.curve == LENGTH:
        return np.where(np.isnan(run.returns), np.nan, run.lengths)
    if trial.curve == TOTAL:
        sizes = np.diff(np.append(trial.firsts, trial.steps))
        return np.cumsum(run.rewards * sizes)
    return run.rewards if trial.steps else run.returns


def assembled(task: Task, runs: list[Ran]) -> Done:
    """A batch from its runs, in order."""
    trial, values = task.trial, np.stack([ran.values for ran in runs])
    curves = values if trial.steps or trial.record else learning_curve(values, trial.bin)
    lengths = None
    if trial.lengths:
        lengths = learning_curve(np.stack([ran.lengths for ran in runs]), trial.bin)
    first = next((place for place, ran in enumerate(runs) if ran.divergence), 0)
    reasons = [ran.divergence if place == first else "" for place, ran in enumerate(runs)]
    diverged, given_up = np.array([ran.diverged for ran in runs]), [ran.evicted for ran in runs]
    batch = Batch(curves, diverged, lengths, given_up, reasons)
    seconds, steps = sum(ran.seconds for ran in runs), sum(ran.steps for ran in runs)
    return Done(task, batch, None, seconds, steps)


# --------------------------------------------------------------------------------- on one machine


@dataclass(eq=False)
class _Part:
    """A task under way."""

    task: Task
    runs: dict[int, Ran] = field(default_factory=dict)
    failed: bool = False


def threads_engine(threads: int | None, kernels: Kernels) -> Engine:
    """An engine with so many threads (None: one per core)."""
    size = threads or core_count()

    def engine(tasks: Iterator[Task], watch: Watch) -> Iterator[Done]:
        room, control, clocks = MemoryPool(), new_control(), Clocks()
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
            with room.reserve(part.task.trial.setup):
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
                    spent = sum(cost(part.task.trial) * len(part.runs) for part in list(parts))
                    for trial, clock in list(clocks.values()):
                        spent += cost(trial) * fraction_done(trial.setup, clock)
                    watch(next(iter(parts)).task.trial, spent)

    return engine
