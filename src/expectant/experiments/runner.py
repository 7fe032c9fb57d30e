"""Compute the trials of experiments, batch by batch, taking what is finished from the store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from expectant.core.config import suggest_name
from expectant.core.errors import describe_error
from expectant.engine.progress import OverallProgress, say
from expectant.engine.workers import compile_ahead
from expectant.experiments.store import Facts, Span, Store
from expectant.experiments.tasks import Engine, Kernels, Task, threads_engine
from expectant.experiments.timings import Times, add_times
from expectant.experiments.trials import BATCH, Hashes, Shard, Trial, cost
from expectant.jit.compile import use_compiled

GOLDEN_RATIO = (1 + 5**0.5) / 2
ENGINES = ("threads", "ray")


class TrialError(RuntimeError):
    """A trial that cannot be computed; says which and why."""


@dataclass
class Work:
    """Some trials, the store they go to, and what has become of them.

    ``names`` are the storage names of trials; ``failed`` maps a trial's id to its error, and
    ``facts`` is what is known of batches that were checked or computed: ``found`` and ``computed``
    of them. ``seconds`` have passed, of which ``compiling`` before the first batch, for so many
    ``runs``.
    """

    trials: Sequence[Trial]
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
        trials, self.trials = self.trials, []
        self.add(trials)

    def add(self, trials: Sequence[Trial]) -> None:
        """Add trials, under the names that they are stored by."""
        hashes, names = Hashes(), list[str]()
        for trial in trials:
            try:
                names.append(hashes.name(trial))
            except Exception as error:  # parts that do not go together, each in its own way
                names.append("")
                self.failed[trial.id] = error
        stored = self.store.of_any_version(names) if self.store.accept_versions else names
        self.codes.update(zip(stored, names, strict=True))
        self.trials = [*self.trials, *trials]
        self.names += stored

    def unique(self) -> dict[str, Trial]:
        """The trials by name; of equal ones the first by id, with as many runs as any has."""
        trials: dict[str, Trial] = {}
        for name, trial in zip(self.names, self.trials, strict=True):
            if name:
                known = trials.get(name, trial)
                first = min(trial, known, key=lambda either: either.id)
                trials[name] = replace(first, runs=max(trial.runs, known.runs))
        return trials

    def missing(self, shard: Shard | None = None) -> list[Task]:
        """The batches that are still to be computed, damaged ones included."""
        index = self.store.index()
        tasks: list[Task] = []
        position = spoilt = usable = 0
        for name, trial in self.unique().items():
            there, identity = index.get(name, []), trial.identity()
            for span in there:
                facts = self.facts.get((name, span)) or self.store.facts_of(name, span)
                if facts is not None and facts.is_of(identity):
                    self.facts[name, span] = facts
                elif _is_ours(shard, position, span):
                    self.store.path(name, *span).unlink(missing_ok=True)
                    spoilt += 1
            whole = [span for span in there if (name, span) in self.facts]
            tasks += [
                Task(trial, name, *span, self.codes[name])
                for span in self.store.missing(trial, whole)
                if _is_ours(shard, position, span)
            ]
            usable += len(whole)
            position += -(-trial.runs // BATCH)
        self.found = usable - self.computed
        if spoilt:
            say(f"{spoilt} batches in {self.store.folder} are damaged; they are computed again")
        return tasks

    def do(
        self, engine: Engine, kernels: Kernels, tasks: Sequence[Task], title: str, suffix: str = ""
    ) -> None:
        """Compute tasks and store their batches as they come; failures are kept for later.

        Processor seconds and steps go to a file of measurements with a ``suffix``.
        """
        start, times = time.perf_counter(), Times()
        total = sum(cost(task.trial) * task.size for task in tasks)
        try:
            with OverallProgress(title, total) as overall:
                self._compile(tasks, kernels, overall)
                self.compiling += time.perf_counter() - start
                for task, batch, error, seconds, steps in engine(
                    self._left(order_evenly(tasks)),
                    lambda trial, part: overall.show(trial.id, overall.done + part),
                ):
                    overall.done += cost(task.trial) * task.size
                    overall.show(task.trial.id, overall.done)
                    if error is not None or batch is None:
                        self.failed[task.trial.id] = error or RuntimeError("no result")
                        continue
                    facts = self.store.save(task.name, task.first, batch, task.trial)
                    self.facts[task.name, Span(task.first, task.size)] = facts
                    self.computed += 1
                    self.runs += task.size
                    before = times.get(task.name, (0.0, 0))
                    times[task.name] = before[0] + seconds, before[1] + steps
        finally:
            self.seconds += time.perf_counter() - start
            add_times(self.store.folder.parent, times, suffix)

    def _compile(self, tasks: Sequence[Task], kernels: Kernels, overall: OverallProgress) -> None:
        """Compile every composition before anything runs, several at once where there are more."""
        if use_compiled(kernels.compiled):
            with overall.exclude_time():
                compile_ahead(kernels.orders(tasks), overall)
        for task in {task.name: task for task in tasks}.values():
            try:
                kernels.load_loop(task, overall)
                kernels.load_probe(task, overall)
            except Exception as error:  # of Numba, or of a part of somebody's own
                self.failed[task.trial.id] = error

    def _left(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """The tasks one by one, without those of trials that have failed meanwhile."""
        return (task for task in tasks if task.trial.id not in self.failed)

    def curves(self) -> list[np.ndarray]:
        """The curves (runs, bins) of all trials from the store; an error if a batch is missing."""
        index = self.store.index()
        curves = {
            name: self.store.curves(name, index.get(name, []), trial.runs)
            for name, trial in self.unique().items()
        }
        return [
            curves[name][: trial.runs] for name, trial in zip(self.names, self.trials, strict=True)
        ]


def order_evenly(tasks: Sequence[Task]) -> list[Task]:
    """The tasks in an order any beginning of which comes evenly from all over the list.

    So what has been done tells how long the rest will take, and an unfinished sweep has something
    of everything. The multiples of the golden ratio leave no large gaps.
    """
    places = sorted(range(len(tasks)), key=lambda place: place * GOLDEN_RATIO % 1.0)
    return [tasks[place] for place in places]


def _is_ours(shard: Shard | None, start: int, span: Span) -> bool:
    """True if a batch is for this process, if those of its trial are counted from ``start``."""
    return shard is None or shard.has(start + span.first // BATCH)


def make_engine(name: str, threads: int | None, address: str | None, kernels: Kernels) -> Engine:
    """The engine of that name: ``threads`` are those of this machine, ``address`` a cluster's."""
    if name not in ENGINES:
        raise ValueError(f"--engine: unknown {name!r}" + suggest_name(name, list(ENGINES)))
    if name == "ray":
        from expectant.experiments.ray_runner import on_ray

        return on_ray(address, kernels)
    if address is not None:
        raise ValueError(f"--address: is for --engine ray, got {address!r} with {name!r}")
    return threads_engine(threads, kernels)


def compute(
    trials: Sequence[Trial], store: Store, *, threads: int | None = None, title: str = "running"
) -> Work:
    """Compute all trials on threads; equal ones once. A trial that fails is an error."""
    kernels, work = Kernels(), Work(trials, store)
    work.do(threads_engine(threads, kernels), kernels, work.missing(), title)
    for trial, error in work.failed.items():
        raise TrialError(f"{trial}: {describe_error(error)}") from error
    return work
