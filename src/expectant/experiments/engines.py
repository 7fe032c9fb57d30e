"""Engines, which compute batches of runs: threads of this machine, or a Ray cluster.

With Ray, only the process that was started writes results. A worker or a node that dies costs the
batches it was computing, which Ray gives to others.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import learning_curve
from expectant.core import tree
from expectant.core.config import suggest_name
from expectant.core.errors import EnvError, require_extra
from expectant.core.memory import TooLargeError
from expectant.engine.driver import drive, fraction_done, new_control
from expectant.engine.progress import Reporter, Silent
from expectant.engine.run import Finished, finish_run
from expectant.engine.setup import (
    MemoryPool,
    Setup,
    core_count,
    has_fixed_types,
    load_loop,
)
from expectant.engine.workers import (
    CompileOrder,
    OnStart,
    RunOne,
    RunSource,
    compile_loop,
    run_in_worker,
    run_on_threads,
)
from expectant.experiments.recording import load_kernel, order_kernel, record_run
from expectant.experiments.store import FinishedRun, Span, versions
from expectant.experiments.trials import LENGTH, TOTAL, Trial, cost, trial_hash
from expectant.jit.compile import Kernel

ENGINES = ("threads", "ray")
TASKS_PER_CORE = 2  # handed out to Ray at once
RETRIES = 3  # of a batch whose worker or node dies
POLL_SECONDS = 1.0
ANSWER_SECONDS = 5.0
LONGEST_LINE = 120


class Task(NamedTuple):
    """Some consecutive runs of a trial, to be stored under ``name``.

    ``code_name`` is the trial's name with the code of the process that asks; it differs from
    ``name`` if results of other versions are accepted.
    """

    trial: Trial
    name: str
    span: Span
    code_name: str = ""

    @property
    def cost(self) -> float:
        return cost(self.trial) * self.span.size


class TaskResult(NamedTuple):
    """The runs of a task in order, or the error that prevented them."""

    task: Task
    runs: Sequence[FinishedRun]
    error: Exception | None = None


OnProgress = Callable[[Trial, float], None]  # gets a trial and the cost of all runs under way
Engine = Callable[[Iterator[Task], OnProgress], Iterator[TaskResult]]
Clocks = dict[tuple[str, int], tuple[Trial, np.ndarray]]  # of the runs under way


def make_engine(name: str, threads: int | None, address: str | None, kernels: Kernels) -> Engine:
    """Return an engine: ``threads`` (None: one per core), or the Ray cluster at an ``address``."""
    if name not in ENGINES:
        raise ValueError(f"--engine: unknown {name!r}" + suggest_name(name, list(ENGINES)))
    if name == "ray":
        require_extra("--engine ray", "ray")
        import ray

        _check_address(address)
        return partial(use_ray, ray, address, kernels)
    if address is not None:
        raise ValueError(f"--address: is for --engine ray, got {address!r} with {name!r}")
    return partial(use_threads, threads or core_count(), kernels)


# ------------------------------------------------------------------------------------------ one run


@dataclass
class Kernels:
    """The loop, and the probe, for every composition of parts, compiled when first asked for."""

    compiled: bool | None = None
    _kernels: dict[object, Kernel | Exception] = field(default_factory=dict)
    _compositions: dict[str, object] = field(default_factory=dict)  # by name of a trial
    _sources: dict[str, TaskRuns] = field(default_factory=dict)

    def source_for(self, task: Task) -> TaskRuns:
        """Return the runs of a trial for workers, the same object for all its tasks."""
        return self._sources.setdefault(task.name, TaskRuns(task.trial.setup, task, self.compiled))

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

    def load(self, task: Task, show: Reporter | None = None) -> tuple[Kernel, Kernel | None]:
        """Return the loop for a task, and the kernel that probes its agent if it has a record."""
        key, setup, record = self._composition(task), task.trial.setup, task.trial.record
        rest = self.compiled, setup.title, show or Silent()
        loop = self._load(key, lambda: load_loop(setup, *rest))
        if record is None:
            return loop, None
        return loop, self._load((key, record.probe), lambda: load_kernel(setup, record, *rest))

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
class TaskRuns(RunSource):
    """The runs of a task, for workers."""

    setup: Setup
    task: Task
    compiled: bool | None

    def prepare(self) -> RunOne:
        kernels = Kernels(self.compiled)
        kernels.load(self.task)
        return partial(run_here, self.task, kernels)


def run_one(
    task: Task, number: int, kernels: Kernels, control: np.ndarray, clocks: Clocks,
    in_workers: bool = False,
) -> FinishedRun | None:  # fmt: skip
    """Compute one run of a task, of external domains in a worker; None if it was stopped."""

    def on_start(clock: np.ndarray) -> None:
        clocks[task.name, number] = task.trial, clock

    run: FinishedRun | None
    if in_workers and task.trial.domain.external:
        local = partial(run_here, task, kernels)
        run = run_in_worker(kernels.source_for(task), number, control, on_start, local)
    else:
        run = run_here(task, kernels, number, control, on_start)
    clocks.pop((task.name, number), None)
    return run


def run_here(
    task: Task, kernels: Kernels, number: int, control: np.ndarray, on_start: OnStart
) -> FinishedRun | None:
    """Compute one run of a task in this process; None if it was stopped through ``control``."""
    trial, setup = task.trial, task.trial.setup
    loop, probe = kernels.load(task)
    start = time.thread_time()
    if trial.record is None or probe is None:
        driver = drive(setup, number, loop, control, (0, setup.length))
        on_start(next(driver).run.clock)
        start = time.thread_time()
        stop = next(driver)
        driver.close()
    else:
        curve, stop = record_run(
            setup, number, loop, probe, control, trial.record, lambda stop: on_start(stop.run.clock)
        )
    seconds = time.thread_time() - start
    if control[0]:
        return None
    run = finish_run(setup, stop)
    if trial.record is None:
        curve = make_curve(trial, run)
    return FinishedRun(curve, run.diverged, run.evicted, run.divergence, seconds, stop.steps)


def make_curve(trial: Trial, run: Finished) -> np.ndarray:
    """Return the curve of a run: of returns, lengths, rewards, or summed rewards."""
    if trial.steps:
        sizes = np.diff(np.append(trial.firsts, trial.steps))
        return np.cumsum(run.rewards * sizes) if trial.curve == TOTAL else run.rewards
    lengths = np.where(np.isnan(run.returns), np.nan, run.lengths)
    values = lengths if trial.curve == LENGTH else run.returns
    return learning_curve(values[np.newaxis], trial.bin)[0]


# ------------------------------------------------------------------------------------------ threads


@dataclass(eq=False)
class _TaskInProgress:
    task: Task
    runs: dict[int, FinishedRun] = field(default_factory=dict)
    failed: bool = False


def use_threads(
    size: int, kernels: Kernels, tasks: Iterator[Task], on_progress: OnProgress
) -> Iterator[TaskResult]:
    """Compute tasks on so many threads of this machine."""
    memory, control, clocks = MemoryPool(), new_control(), Clocks()
    in_progress: dict[_TaskInProgress, None] = {}

    def list_runs() -> Iterator[tuple[_TaskInProgress, int]]:
        for task in tasks:
            part = _TaskInProgress(task)
            in_progress[part] = None
            for number in task.span.runs:
                if not part.failed:
                    yield part, number

    def work(item: tuple[_TaskInProgress, int]) -> FinishedRun | None:
        part, number = item
        with memory.reserve(part.task.trial.setup):
            return run_one(part.task, number, kernels, control, clocks, size > 1)

    def cost_so_far() -> float:
        total = sum(cost(part.task.trial) * len(part.runs) for part in list(in_progress))
        for trial, clock in list(clocks.values()):
            total += cost(trial) * fraction_done(trial.setup, clock)
        return total

    for ended in run_on_threads(work, list_runs(), size, control, batch_size=4):
        for (part, number), run, error in ended:
            if error is not None and not isinstance(error, Exception):
                raise error
            if part.failed or (run is None and error is None):
                continue
            if run is not None:
                part.runs[number] = run
            part.failed = error is not None
            if part.failed or len(part.runs) == part.task.span.size:
                in_progress.pop(part)
                runs = [part.runs[number] for number in sorted(part.runs)]
                yield TaskResult(part.task, runs, error)
        if not ended and in_progress:
            on_progress(next(iter(in_progress)).task.trial, cost_so_far())


# ---------------------------------------------------------------------------------------------- Ray

_worker_kernels: dict[bool | None, Kernels] = {}
_same_code: set[str] = set()  # names of trials whose code is the same here and at the sender


def use_ray(
    ray: Any, address: str | None, kernels: Kernels, tasks: Iterator[Task], _: OnProgress
) -> Iterator[TaskResult]:
    """Compute tasks on the cluster at an address ("auto": the one of this machine).

    Without an address a cluster of this machine alone is started, and stopped at the end.
    """
    leave = _connect(ray, address)
    compute = ray.remote(num_cpus=1, max_retries=RETRIES)(run_batch)
    pending: dict[Any, Task] = {}
    try:
        while True:
            most = TASKS_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(pending) < most and (task := next(tasks, None)) is not None:
                pending[compute.remote(task, kernels.compiled, versions())] = task
            if not pending:
                return
            for reference in ray.wait(list(pending), timeout=POLL_SECONDS)[0]:
                task = pending.pop(reference)
                try:
                    yield ray.get(reference)
                except ray.exceptions.RayError as error:
                    yield TaskResult(task, [], RuntimeError(_first_line(error)))
    finally:
        for reference in pending:
            ray.cancel(reference, force=True)
        if leave:
            ray.shutdown()


def run_batch(task: Task, compiled: bool | None, sender: dict[str, str]) -> TaskResult:
    """Compute a batch in a worker, unless the code here differs from the sender's.

    ``sender`` are the versions there.
    """
    kernels = _worker_kernels.setdefault(compiled, Kernels(compiled))
    try:
        if task.name not in _same_code and trial_hash(task.trial) != task.code_name:
            raise RuntimeError(
                f"the worker on {socket.gethostname()} has other code for this trial "
                f"({versions()}) than the command that was started ({sender}): install the same "
                "packages, and the same files of your own, on all machines and start the cluster "
                "again"
            )
        _same_code.add(task.name)
        control = new_control()
        runs = [run_one(task, number, kernels, control, {}) for number in task.span.runs]
    except EnvError as error:
        return TaskResult(task, [], error)
    except Exception as error:  # whatever it is, it concerns this trial only
        return TaskResult(task, [], RuntimeError(f"{type(error).__name__}: {error}"))
    return TaskResult(task, [run for run in runs if run is not None])


def _check_address(address: str | None) -> None:
    """Check in seconds that something listens at an address; Ray takes minutes to give up."""
    host, colon, port = (address or "").rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host.rpartition("/")[2], int(port)), ANSWER_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise ConnectionError(f"no Ray cluster at {address!r}: {error}") from None


def _connect(ray: Any, address: str | None) -> bool:
    """Join the cluster; True if this process has to leave it again."""
    if ray.is_initialized():
        return False
    try:
        dashboard = None if address else False
        ray.init(address=address or "local", include_dashboard=dashboard, log_to_driver=False)
    except Exception as error:  # Ray raises plain ones, too
        raise ConnectionError(f"no Ray cluster at {address!r}: {_first_line(error)}") from None
    return True


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:LONGEST_LINE].strip()
