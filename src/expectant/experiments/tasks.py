"""Batches of runs as tasks: their compiled loops, and how one run is computed."""

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
from expectant.engine.driver import drive
from expectant.engine.loop import DIVERGED, Run
from expectant.engine.progress import Reporter, Silent
from expectant.engine.setup import (
    Setup,
    finish_records,
    has_fixed_types,
    load_loop,
    report_evictions,
)
from expectant.engine.workers import CompileOrder, OnStart, Processes, RunOne, compile_loop
from expectant.experiments.recording import load_kernel, order_kernel, record_run
from expectant.experiments.store import Batch
from expectant.experiments.trials import LENGTH, TOTAL, Trial
from expectant.jit.compile import Kernel


class Task(NamedTuple):
    """Some consecutive runs of a trial, to be stored under ``name``.

    ``code_name`` is the trial's name with the code of the process that asks; it differs from
    ``name`` if results of other versions are accepted.
    """

    trial: Trial
    name: str
    first: int
    size: int
    code_name: str = ""

    @property
    def title(self) -> str:
        return f"{type(self.trial.agent).__name__} in {self.trial.domain.display_name}"


class TaskResult(NamedTuple):
    """The batch of a task, or the error that prevented it.

    ``seconds`` of processor time were spent in the loop, for so many ``steps``.
    """

    task: Task
    batch: Batch | None
    error: Exception | None
    seconds: float = 0.0
    steps: int = 0


class FinishedRun(NamedTuple):
    """One run: ``values`` are the returns of its episodes or the rewards in its bins.

    ``evicted`` counts the entries that its model dropped at its capacity, ``divergence`` is the
    reason why it diverged.
    """

    values: np.ndarray
    diverged: bool
    seconds: float
    steps: int
    evicted: int = 0
    divergence: str = ""


OnProgress = Callable[[Trial, float], None]  # gets a trial and the cost of all runs under way
Engine = Callable[[Iterator[Task], OnProgress], Iterator[TaskResult]]
Clocks = dict[tuple[str, int], tuple[Trial, np.ndarray]]  # of the runs under way


@dataclass
class Kernels:
    """The loop, and the probe, for every composition of parts, compiled when first asked for."""

    compiled: bool | None = None
    _kernels: dict[object, Kernel | Exception] = field(default_factory=dict)
    _compositions: dict[str, object] = field(default_factory=dict)  # by name of a trial
    _sources: dict[str, TaskRuns] = field(default_factory=dict)

    def source_for(self, task: Task) -> TaskRuns:
        """Return the runs of a trial for workers, the same object for all its tasks."""
        return self._sources.setdefault(task.name, TaskRuns(task, self.compiled))

    def compile_orders(self, tasks: Sequence[Task]) -> list[CompileOrder]:
        """List what to compile, once for every composition; leave out what cannot be built."""
        orders: dict[object, CompileOrder] = {}
        for task in {task.name: task for task in tasks}.values():
            with suppress(Exception):  # reported where the kernel is needed
                key, setup = self._composition(task), task.trial.setup
                orders.setdefault(key, CompileOrder(compile_loop, setup))
                if task.trial.record is not None:
                    probe = order_kernel(setup, task.trial.record)
                    orders.setdefault((key, probe.compile), probe)
        return list(orders.values())

    def load_loop(self, task: Task, show: Reporter | None = None) -> Kernel:
        """Return the loop for a task."""
        setup, show = task.trial.setup, show or Silent()
        return self._load(
            self._composition(task), lambda: load_loop(setup, self.compiled, task.title, show)
        )

    def load_probe(self, task: Task, show: Reporter | None = None) -> Kernel | None:
        """Return the kernel that probes the agent of a task, if its trial has a record."""
        setup, record, show = task.trial.setup, task.trial.record, show or Silent()
        if record is None:
            return None
        return self._load(
            (self._composition(task), record.probe),
            lambda: load_kernel(setup, record, self.compiled, task.title, show),
        )

    def _load(self, key: object, load: Callable[[], Kernel]) -> Kernel:
        """Return a kernel, or raise the error of one that cannot be compiled."""
        if key not in self._kernels:
            try:
                self._kernels[key] = load()
            except TooLargeError:  # a smaller trial of the same composition may fit
                raise
            except Exception as error:
                self._kernels[key] = error
        kernel = self._kernels[key]
        if isinstance(kernel, Exception):
            raise kernel
        return kernel

    def _composition(self, task: Task) -> object:
        if task.name not in self._compositions:
            setup = task.trial.setup
            types = tree.structure(setup.build(0)[0]), has_fixed_types(setup)
            self._compositions[task.name] = types
        return self._compositions[task.name]


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
        return partial(run_here, self.task, kernels)


def run_one(
    task: Task,
    number: int,
    kernels: Kernels,
    control: np.ndarray,
    clocks: Clocks,
    processes: Processes | None = None,
) -> FinishedRun | None:
    """Compute one run of a task, of external domains in a worker; None if it was stopped."""

    def on_start(clock: np.ndarray) -> None:
        clocks[task.name, number] = task.trial, clock

    local = partial(run_here, task, kernels)
    if processes is not None and task.trial.domain.external:
        source = kernels.source_for(task)
        finished: FinishedRun | None = processes.run(source, number, control, on_start, local)
    else:
        finished = local(number, control, on_start)
    clocks.pop((task.name, number), None)
    if finished is not None:
        report_evictions(task.trial.setup, number, finished.evicted)
    return finished


def run_here(
    task: Task, kernels: Kernels, number: int, control: np.ndarray, on_start: OnStart
) -> FinishedRun | None:
    """Compute one run of a task in this process; None if it was stopped through ``control``."""
    trial, setup = task.trial, task.trial.setup
    loop, probe = kernels.load_loop(task), kernels.load_probe(task)
    start = time.thread_time()
    if trial.record is None or probe is None:
        driver = drive(setup, number, loop, control, (0, setup.length))
        on_start(next(driver).run.clock)
        start = time.thread_time()
        stop = next(driver)
        driver.close()
    else:
        values, stop = record_run(
            setup, number, loop, probe, control, trial.record, lambda stop: on_start(stop.run.clock)
        )
    seconds = time.thread_time() - start
    if control[0]:
        return None
    evicted = count_evicted(stop.run.agent)
    reason = explain_divergence(stop.run, stop.status, trial.agent, trial.domain.display_name)
    if trial.record is None:
        values = curve_values(trial, finish_records(setup, stop.run, stop.status))
    diverged = stop.status == DIVERGED
    return FinishedRun(values, diverged, seconds, stop.steps, evicted, reason)


def curve_values(trial: Trial, run: Run) -> np.ndarray:
    """Return the values of a run's curve: returns, lengths, rewards, or summed rewards."""
    if trial.curve == LENGTH:
        return np.where(np.isnan(run.returns), np.nan, run.lengths)
    if trial.curve == TOTAL:
        sizes = np.diff(np.append(trial.firsts, trial.steps))
        return np.cumsum(run.rewards * sizes)
    return run.rewards if trial.steps else run.returns


def assemble_batch(task: Task, runs: list[FinishedRun]) -> TaskResult:
    """Make a batch of its runs, in order."""
    trial, values = task.trial, np.stack([run.values for run in runs])
    curves = values if trial.steps or trial.record else learning_curve(values, trial.bin)
    first = next((place for place, run in enumerate(runs) if run.divergence), 0)
    reasons = [run.divergence if place == first else "" for place, run in enumerate(runs)]
    diverged, evicted = np.array([run.diverged for run in runs]), [run.evicted for run in runs]
    batch = Batch(curves, diverged, evicted, reasons)
    seconds, steps = sum(run.seconds for run in runs), sum(run.steps for run in runs)
    return TaskResult(task, batch, None, seconds, steps)
