"""Compute trials batch by batch, on threads or on a cluster; finished ones come from the store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from expectant.core.config import suggest_name
from expectant.core.errors import describe_error
from expectant.engine.driver import fraction_done, new_control
from expectant.engine.memory import MemoryPool
from expectant.engine.progress import OverallProgress, say
from expectant.engine.setup import core_count
from expectant.engine.workers import Processes, compile_ahead, run_on_threads
from expectant.experiments.store import BatchSummary, Span, Store, Times, add_times
from expectant.experiments.tasks import (
    Clocks,
    Engine,
    FinishedRun,
    Kernels,
    OnProgress,
    Task,
    TaskResult,
    assemble_batch,
    run_one,
)
from expectant.experiments.trials import BATCH, Hashes, Shard, Trial, cost
from expectant.jit.compile import use_compiled

GOLDEN_RATIO = (1 + 5**0.5) / 2
ENGINES = ("threads", "ray")


class TrialError(RuntimeError):
    """A trial that cannot be computed; says which and why."""


@dataclass
class Work:
    """Some trials, their store, and how far they are.

    ``names`` are the storage names of trials, ``code_names`` map them to the names with the present
    code. ``failed`` maps a trial's id to its error, ``summaries`` has the verified batches, of
    which ``found`` were there and ``computed`` are new. ``seconds`` have passed, of which
    ``compiling`` before the first batch, for so many ``runs``.
    """

    trials: Sequence[Trial]
    store: Store
    names: list[str] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)
    summaries: dict[tuple[str, Span], BatchSummary] = field(default_factory=dict)
    code_names: dict[str, str] = field(default_factory=dict)
    found: int = 0
    computed: int = 0
    runs: int = 0
    seconds: float = 0.0
    compiling: float = 0.0

    def __post_init__(self) -> None:
        trials, self.trials = self.trials, []
        self.add(trials)

    def add(self, trials: Sequence[Trial]) -> None:
        """Add trials and compute their storage names."""
        hashes, names = Hashes(), list[str]()
        for trial in trials:
            try:
                names.append(hashes.name(trial))
            except Exception as error:  # components that do not go together, each in its own way
                names.append("")
                self.failed[trial.id] = error
        stored = self.store.match_versions(names) if self.store.accept_versions else names
        self.code_names.update(zip(stored, names, strict=True))
        self.trials = [*self.trials, *trials]
        self.names += stored

    def unique(self) -> dict[str, Trial]:
        """Return the trials by name; of equal ones the first by id, with the most runs."""
        trials: dict[str, Trial] = {}
        for name, trial in zip(self.names, self.trials, strict=True):
            if name:
                other = trials.get(name, trial)
                first = min(trial, other, key=lambda either: either.id)
                trials[name] = replace(first, runs=max(trial.runs, other.runs))
        return trials

    def summary(self, name: str, span: Span) -> BatchSummary | None:
        """Summarise a batch, verified once; None if it is missing or damaged."""
        summary = self.summaries.get((name, span)) or self.store.summary(name, span)
        if summary is not None:
            self.summaries[name, span] = summary
        return summary

    def missing(self, shard: Shard | None = None) -> list[Task]:
        """List the batches that are still to be computed, damaged ones included."""
        index, tasks = self.store.index(), list[Task]()
        position = damaged = usable = 0
        for name, trial in self.unique().items():
            identity, start, whole = trial.identity(), position, list[Span]()

            def is_ours(span: Span, start: int = start) -> bool:
                return shard is None or shard.has(start + span.first // BATCH)

            for span in index.get(name, []):
                summary = self.summary(name, span)
                if summary is not None and summary.has_identity(identity):
                    whole.append(span)
                elif is_ours(span):
                    self.summaries.pop((name, span), None)
                    self.store.path(name, *span).unlink(missing_ok=True)
                    damaged += 1
            tasks += [
                Task(trial, name, *span, self.code_names[name])
                for span in self.store.missing(trial, whole)
                if is_ours(span)
            ]
            usable += len(whole)
            position += -(-trial.runs // BATCH)
        self.found = usable - self.computed
        if damaged:
            say(f"{damaged} batches in {self.store.folder} are damaged; they are computed again")
        return tasks

    def run_tasks(
        self, engine: Engine, kernels: Kernels, tasks: Sequence[Task], title: str, suffix: str = ""
    ) -> None:
        """Compute tasks and store their batches as they come; a failure does not stop others.

        Processor seconds and steps go to a file of timings with a ``suffix``.
        """
        start, times = time.perf_counter(), Times()
        total = sum(cost(task.trial) * task.size for task in tasks)
        try:
            with OverallProgress(title, total) as overall:
                self._compile(tasks, kernels, overall)
                self.compiling += time.perf_counter() - start
                order = order_evenly(tasks)
                for task, batch, error, seconds, steps in engine(
                    (task for task in order if task.trial.id not in self.failed),
                    lambda trial, part: overall.show(trial.id, overall.done + part),
                ):
                    overall.done += cost(task.trial) * task.size
                    overall.show(task.trial.id, overall.done)
                    if error is not None or batch is None:
                        self.failed[task.trial.id] = error or RuntimeError("no result")
                        continue
                    summary = self.store.save(task.name, task.first, batch, task.trial)
                    self.summaries[task.name, Span(task.first, task.size)] = summary
                    self.computed += 1
                    self.runs += task.size
                    before = times.get(task.name, (0.0, 0))
                    times[task.name] = before[0] + seconds, before[1] + steps
        finally:
            self.seconds += time.perf_counter() - start
            add_times(self.store.folder.parent, times, suffix)

    def _compile(self, tasks: Sequence[Task], kernels: Kernels, overall: OverallProgress) -> None:
        """Compile every composition before anything runs, several at once if there are more."""
        if use_compiled(kernels.compiled):
            with overall.exclude_time():
                compile_ahead(kernels.compile_orders(tasks), overall)
        for task in {task.name: task for task in tasks}.values():
            try:
                kernels.load_loop(task, overall)
                kernels.load_probe(task, overall)
            except Exception as error:  # of Numba, or of a user's part
                self.failed[task.trial.id] = error

    def curves(self) -> list[np.ndarray]:
        """Read the curves (runs, bins) of all trials; an error if a batch is missing."""
        index = self.store.index()
        curves = {
            name: self.store.curves(name, index.get(name, []), trial.runs)
            for name, trial in self.unique().items()
        }
        return [
            curves[name][: trial.runs] for name, trial in zip(self.names, self.trials, strict=True)
        ]


def order_evenly(tasks: Sequence[Task]) -> list[Task]:
    """Order tasks such that any beginning is spread evenly over the list.

    The finished part then predicts the remaining time, and an unfinished sweep has some runs of
    everything. Multiples of the golden ratio leave no large gaps.
    """
    places = sorted(range(len(tasks)), key=lambda place: place * GOLDEN_RATIO % 1.0)
    return [tasks[place] for place in places]


def compute(
    trials: Sequence[Trial], store: Store, *, threads: int | None = None, title: str = "running"
) -> Work:
    """Compute all trials on threads, equal ones once; raise TrialError if one fails."""
    kernels, work = Kernels(), Work(trials, store)
    work.run_tasks(threads_engine(threads, kernels), kernels, work.missing(), title)
    for trial, error in work.failed.items():
        raise TrialError(f"{trial}: {describe_error(error)}") from error
    return work


def make_engine(name: str, threads: int | None, address: str | None, kernels: Kernels) -> Engine:
    """Return an engine: ``threads`` of this machine, or the Ray cluster at an ``address``."""
    if name not in ENGINES:
        raise ValueError(f"--engine: unknown {name!r}" + suggest_name(name, list(ENGINES)))
    if name == "ray":
        from expectant.experiments.ray_runner import ray_engine

        return ray_engine(address, kernels)
    if address is not None:
        raise ValueError(f"--address: is for --engine ray, got {address!r} with {name!r}")
    return threads_engine(threads, kernels)


@dataclass(eq=False)
class _TaskInProgress:
    task: Task
    runs: dict[int, FinishedRun] = field(default_factory=dict)
    failed: bool = False


def threads_engine(threads: int | None, kernels: Kernels) -> Engine:
    """Return an engine with so many threads (None: one per core)."""
    size = threads or core_count()

    def engine(tasks: Iterator[Task], on_progress: OnProgress) -> Iterator[TaskResult]:
        memory, control, clocks = MemoryPool(), new_control(), Clocks()
        in_progress: dict[_TaskInProgress, None] = {}

        def list_runs() -> Iterator[tuple[_TaskInProgress, int]]:
            for task in tasks:
                part = _TaskInProgress(task)
                in_progress[part] = None
                for number in range(task.first, task.first + task.size):
                    if not part.failed:
                        yield part, number

        def work(item: tuple[_TaskInProgress, int]) -> FinishedRun | None:
            part, number = item
            with memory.reserve(part.task.trial.setup):
                workers = processes if size > 1 else None
                return run_one(part.task, number, kernels, control, clocks, workers)

        def cost_so_far() -> float:
            total = sum(cost(part.task.trial) * len(part.runs) for part in list(in_progress))
            for trial, clock in list(clocks.values()):
                total += cost(trial) * fraction_done(trial.setup, clock)
            return total

        with Processes() as processes:
            for ended in run_on_threads(work, list_runs(), size, control, batch_size=4):
                for (part, number), run, error in ended:
                    if error is not None and not isinstance(error, Exception):
                        raise error
                    if part.failed or (run is None and error is None):
                        continue
                    if run is not None:
                        part.runs[number] = run
                    part.failed = error is not None
                    if error is not None:
                        in_progress.pop(part)
                        yield TaskResult(part.task, None, error)
                    elif len(part.runs) == part.task.size:
                        in_progress.pop(part)
                        yield assemble_batch(part.task, [part.runs[n] for n in sorted(part.runs)])
                if not ended and in_progress:
                    on_progress(next(iter(in_progress)).task.trial, cost_so_far())

    return engine
