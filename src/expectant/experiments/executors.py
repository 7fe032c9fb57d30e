"""Engines, which compute batches of runs: threads of this machine, or a Ray cluster.

With Ray, only the process that was started writes results. A worker or a node that dies costs the
batches it was computing, which Ray gives to others.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.curves import learning_curve
from expectant.core.config import suggest_name
from expectant.core.errors import EnvError, require_extra
from expectant.core.memory import TooLargeError
from expectant.engine.driver import drive, fraction_done, new_control
from expectant.engine.progress import Reporter, Silent
from expectant.engine.run import Finished, finish_run
from expectant.engine.setup import MemoryPool, Setup, core_count, load_loop
from expectant.engine.workers import (
    CompileOrder,
    OnStart,
    RunOne,
    RunSource,
    compile_ahead,
    compile_loop,
    run_in_worker,
    run_on_threads,
)
from expectant.experiments.recording import load_kernel, order_kernel, record_run
from expectant.experiments.store import FinishedRun, versions
from expectant.experiments.trials import LENGTH, TOTAL, Trial, cost, trial_hash
from expectant.jit.compile import Kernel, use_compiled

ENGINES = ("threads", "ray")
TASKS_PER_CORE = 2  # handed out to Ray at once
RETRIES = 3  # of a batch whose worker or node dies
POLL_SECONDS = 1.0
ANSWER_SECONDS = 5.0
LONGEST_LINE = 120


class Task(NamedTuple):
    """Some consecutive runs of a trial, to be stored under ``name``."""

    trial: Trial
    name: str
    numbers: range

    @property
    def cost(self) -> float:
        return cost(self.trial) * len(self.numbers)


class TaskResult(NamedTuple):
    """The runs of a task in order, or the error that prevented them."""

    task: Task
    runs: Sequence[FinishedRun]
    error: Exception | None = None


OnProgress = Callable[[Trial, float], None]  # gets a trial and the cost of all runs under way


class Engine(NamedTuple):
    """A function that computes tasks, and the kernels that it uses."""

    kernels: Kernels
    compute: Callable[[Iterator[Task], OnProgress], Iterator[TaskResult]]


def make_engine(
    name: str = "threads",
    threads: int | None = None,
    address: str | None = None,
    compiled: bool | None = None,
) -> Engine:
    """Return an engine: ``threads`` (None: one per core), or the Ray cluster at an ``address``."""
    kernels = Kernels(compiled)
    if name not in ENGINES:
        raise ValueError(f"--engine: unknown {name!r}" + suggest_name(name, list(ENGINES)))
    if name == "ray":
        require_extra("--engine ray", "ray")
        import ray

        _check_address(address)
        return Engine(kernels, partial(use_ray, ray, address, kernels))
    if address is not None:
        raise ValueError(f"--address: is for --engine ray, got {address!r} with {name!r}")
    return Engine(kernels, partial(use_threads, threads or core_count(), kernels))


# ------------------------------------------------------------------------------------------ one run


@dataclass(frozen=True, eq=False)
class TrialRuns(RunSource):
    """The runs of a trial, in this process or in a worker that loads its own kernels."""

    setup: Setup
    trial: Trial
    compiled: bool | None

    def prepare(self) -> RunOne:
        return Kernels(self.compiled).prepare(self)

    def run(
        self, loop: Kernel, probe: Kernel | None, number: int, control: np.ndarray, start: OnStart
    ) -> FinishedRun | None:
        """Compute one run in this process; None if it was stopped through ``control``."""
        trial, setup = self.trial, self.setup
        if trial.record is None or probe is None:
            driver = drive(setup, number, loop, control, (0, setup.length))
            start(next(driver).run.clock)
            stop = next(driver)
            driver.close()
        else:
            curve, stop = record_run(
                setup, number, loop, probe, control, trial.record, lambda s: start(s.run.clock)
            )
        if control[0]:
            return None
        run = finish_run(setup, stop)
        if trial.record is None:
            curve = make_curve(trial, run)
        return FinishedRun(curve, run.diverged, run.evicted, run.divergence)


@dataclass
class Kernels:
    """The loop, and the probe, for every composition of parts, compiled when first asked for."""

    compiled: bool | None = None
    _loaded: dict[object, Kernel | Exception] = field(default_factory=dict)  # by composition
    _runs: dict[str, tuple[TrialRuns, RunOne]] = field(default_factory=dict)  # by name of a trial

    def load(self, task: Task, show: Reporter | None = None) -> tuple[TrialRuns, RunOne]:
        """Return the runs of a task's trial, and the function that computes one of them here."""
        if task.name not in self._runs:
            runs = TrialRuns(task.trial.setup, task.trial, self.compiled)
            self._runs[task.name] = runs, self.prepare(runs, show)
        return self._runs[task.name]

    def prepare(self, runs: TrialRuns, show: Reporter | None = None) -> RunOne:
        """Load the loop, and the probe of a record; return the function that computes one run."""
        setup, record, key = runs.setup, runs.trial.record, runs.trial.composition
        rest, probe = (self.compiled, setup.title, show or Silent()), None
        loop = self._load_once(key, partial(load_loop, setup, *rest))
        if record is not None:
            load_probe = partial(load_kernel, setup, record, *rest)
            probe = self._load_once((key, record.probe), load_probe)
        return partial(runs.run, loop, probe)

    def _load_once(self, key: object, load: Callable[[], Kernel]) -> Kernel:
        """Return a kernel, or raise the error of one that cannot be compiled."""
        if key not in self._loaded:
            try:
                self._loaded[key] = load()
            except TooLargeError:  # a smaller trial of the same composition may fit
                raise
            except Exception as error:
                self._loaded[key] = error
        kernel = self._loaded[key]
        if isinstance(kernel, Exception):
            raise kernel
        return kernel

    def compile_ahead(self, tasks: Iterable[Task], show: Reporter) -> None:
        """Compile what tasks need, once for every composition, several at once."""
        orders: dict[object, CompileOrder] = {}
        for task in tasks if use_compiled(self.compiled) else ():
            with suppress(Exception):  # reported where the kernel is needed
                key, setup, record = task.trial.composition, task.trial.setup, task.trial.record
                orders.setdefault(key, CompileOrder(compile_loop, setup))
                if record is not None:
                    orders.setdefault((key, record.probe), order_kernel(setup, record))
        compile_ahead(list(orders.values()), show)


def run_one(
    task: Task, number: int, kernels: Kernels, control: np.ndarray,
    clocks: dict[int, np.ndarray], in_workers: bool = False,
) -> FinishedRun | None:  # fmt: skip
    """Compute one run of a task, of external domains in a worker; None if it was stopped."""
    runs, run_here = kernels.load(task)
    on_start = partial(clocks.__setitem__, number)
    run: FinishedRun | None
    if in_workers and task.trial.domain.external:
        run = run_in_worker(runs, number, control, on_start, run_here)
    else:
        run = run_here(number, control, on_start)
    clocks.pop(number, None)
    return run


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
    clocks: dict[int, np.ndarray] = field(default_factory=dict)  # of the runs under way
    failed: bool = False

    @property
    def cost_so_far(self) -> float:
        clocks, setup = list(self.clocks.values()), self.task.trial.setup
        done = len(self.runs) + sum(fraction_done(setup, clock) for clock in clocks)
        return cost(self.task.trial) * done


def use_threads(
    size: int, kernels: Kernels, tasks: Iterator[Task], on_progress: OnProgress
) -> Iterator[TaskResult]:
    """Compute tasks on ``size`` threads of this machine."""
    memory, control = MemoryPool(), new_control()
    in_progress: dict[_TaskInProgress, None] = {}

    def list_runs() -> Iterator[tuple[_TaskInProgress, int]]:
        for task in tasks:
            part = _TaskInProgress(task)
            in_progress[part] = None
            for number in task.numbers:
                if not part.failed:
                    yield part, number

    def work(item: tuple[_TaskInProgress, int]) -> FinishedRun | None:
        part, number = item
        with memory.reserve(part.task.trial.setup):
            return run_one(part.task, number, kernels, control, part.clocks, size > 1)

    for ended in run_on_threads(work, list_runs(), size, control, batch_size=4):
        for (part, number), future in ended:
            error = future.exception()
            run = None if error else future.result()
            if error is not None and not isinstance(error, Exception):
                raise error
            if part.failed or (run is None and error is None):
                continue
            if run is not None:
                part.runs[number] = run
            part.failed = error is not None
            if part.failed or len(part.runs) == len(part.task.numbers):
                in_progress.pop(part)
                runs = [part.runs[number] for number in sorted(part.runs)]
                yield TaskResult(part.task, runs, error)
        if not ended and in_progress:
            first, *_ = parts = list(in_progress)
            on_progress(first.task.trial, sum(part.cost_so_far for part in parts))


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
        if task.name not in _same_code and trial_hash(task.trial) != task.name:
            raise RuntimeError(
                f"the worker on {socket.gethostname()} has other code for this trial "
                f"({versions()}) than the command that was started ({sender}): install the same "
                "packages, and the same files of your own, on all machines and start the cluster "
                "again"
            )
        _same_code.add(task.name)
        control = new_control()
        runs = [run_one(task, number, kernels, control, {}) for number in task.numbers]
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
