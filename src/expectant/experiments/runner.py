"""Compute the trials that a store lacks, and tabulate all of them: settings, results, problems."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.core.errors import describe_error
from expectant.engine.progress import OverallProgress, say
from expectant.experiments.engines import Engine, Kernels, Task, make_engine
from expectant.experiments.grid import settings_of, value_text
from expectant.experiments.store import (
    TRIALS,
    Batch,
    FinishedRun,
    Store,
    add_times,
    mark_folder,
    read_table,
    table_metadata,
    versions,
    write_table,
)
from expectant.experiments.toml_tables import config_hash
from expectant.experiments.trials import BATCH, WHOLE, Hashes, Shard, Trial

if TYPE_CHECKING:
    from expectant.report import Section

GOLDEN_RATIO = (1 + 5**0.5) / 2
PRINTED, LISTED = 10, 100  # trials with problems, by a command and on a page


class TrialError(RuntimeError):
    """A trial that cannot be computed; says which and why."""


@dataclass
class Work:
    """Some trials, their store, and how far they are.

    ``names`` are the storage names of trials, ``code_names`` map them to the names with the present
    code. ``failed`` maps a trial's id to its error, ``batches`` has the verified ones without
    curves, of which ``found`` were there and ``computed`` are new. ``seconds`` have passed, of
    which ``compiling`` before the first batch, for so many ``runs``.
    """

    trials: Sequence[Trial]
    store: Store
    names: list[str] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)
    batches: dict[tuple[str, range], Batch] = field(default_factory=dict)
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

    def batch(self, name: str, numbers: range) -> Batch | None:
        """Return a batch without curves, verified once; None if it is missing or damaged."""
        if (name, numbers) not in self.batches:
            batch = self.store.load(name, numbers)
            if batch is None:
                return None
            self.batches[name, numbers] = batch.without_curves()
        return self.batches[name, numbers]

    def missing(self, shard: Shard = WHOLE) -> list[Task]:
        """List the batches that are still to be computed, damaged ones included."""
        index, tasks = self.store.index(), list[Task]()
        position = damaged = usable = 0
        for name, trial in self.unique().items():
            finished = set[int]()
            for numbers in index.get(name, []):
                if self.batch(name, numbers) is not None:
                    finished.update(numbers)
                    usable += 1
                elif shard.has(position + numbers.start // BATCH):
                    self.store.path(name, numbers).unlink(missing_ok=True)
                    damaged += 1
            for first in range(0, trial.runs, BATCH):
                left = {*range(first, min(first + BATCH, trial.runs))} - finished
                if left and shard.has(position):
                    numbers = range(min(left), max(left) + 1)
                    tasks.append(Task(trial, name, numbers, self.code_names[name]))
                position += 1
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
        start, times = time.perf_counter(), list[tuple[str, float, int]]()
        mark_folder(self.store.folder)
        try:
            with OverallProgress(title, sum(task.cost for task in tasks)) as overall:
                by_name = {task.name: task for task in tasks}
                with overall.exclude_time():
                    kernels.compile_ahead(by_name.values(), overall)
                for task in by_name.values():
                    try:
                        kernels.load(task, overall)
                    except Exception as reason:  # of Numba, or of a user's part
                        self.failed[task.trial.id] = reason
                self.compiling += time.perf_counter() - start
                for task, runs, error in engine(
                    (task for task in order_evenly(tasks) if task.trial.id not in self.failed),
                    lambda trial, part: overall.show(trial.id, overall.done + part),
                ):
                    overall.done += task.cost
                    overall.show(task.trial.id, overall.done)
                    if error is not None:
                        self.failed[task.trial.id] = error
                        continue
                    batch = self.store.save(task.name, task.numbers.start, runs, task.trial)
                    self.batches[task.name, task.numbers] = batch.without_curves()
                    self.computed += 1
                    self.runs += len(runs)
                    times += [(task.name, run.seconds, run.steps) for run in runs]
        finally:
            self.seconds += time.perf_counter() - start
            add_times(self.store.folder, times, suffix)

    def curves(self) -> list[np.ndarray]:
        """Read the curves (runs, points) of all trials; an error if a batch is missing."""
        index = self.store.index()
        curves = {
            name: self.store.curves(name, index.get(name, []), trial.runs)
            for name, trial in self.unique().items()
        }
        return [
            curves[name][: trial.runs] for name, trial in zip(self.names, self.trials, strict=True)
        ]

    def finished_batches(self) -> Iterator[tuple[str, range, Batch]]:
        """Yield the finished batches of all trials without curves, by name and numbers of runs."""
        index = self.store.index()
        for name, trial in self.unique().items():
            for numbers in index.get(name, []):
                if numbers.start < trial.runs:  # others are of an earlier config, or fresh runs
                    batch = self.batch(name, numbers)
                    if batch is not None:
                        yield name, numbers, batch

    def finished_runs(self) -> list[list[FinishedRun]]:
        """List the finished runs of every trial in order, without curves."""
        by_name: dict[str, dict[int, FinishedRun]] = {}
        for name, numbers, batch in self.finished_batches():
            by_name.setdefault(name, {}).update(zip(numbers, batch.runs, strict=True))
        return [
            [run for number, run in sorted(by_name.get(name, {}).items()) if number < trial.runs]
            for name, trial in zip(self.names, self.trials, strict=True)
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
    work.run_tasks(make_engine("threads", threads, None, kernels), kernels, work.missing(), title)
    for trial, error in work.failed.items():
        raise TrialError(f"{trial}: {describe_error(error)}") from error
    return work


# -------------------------------------------------------------------------------- table of trials


def trial_table(work: Work) -> Any:
    """Return one row per trial, as an Arrow table.

    ``trial``, ``hash``, ``panel``, ``agent``, the names of those two in the config (``base_panel``,
    ``base_agent``) and ``label``; a column for every setting that differs between trials, such as
    ``domain.slip`` or ``agent.value_step``; the number of finished ``runs``, how many ``diverged``,
    the reason of the first (``divergence``), how many entries their models ``evicted``, their
    ``mean`` (NaN if one diverged) and the list of ``values``: the mean of every run's curve.
    """
    import pyarrow as arrow

    trials, finished = work.trials, work.finished_runs()
    values = [[run.mean for run in runs] for runs in finished]
    names = "panel", "agent_key", "base_panel", "base_agent", "label"
    named = {name: [getattr(trial, name) for trial in trials] for name in names}
    columns: dict[str, Any] = {
        "trial": [trial.id for trial in trials],
        "hash": work.names,
        **{name.removesuffix("_key"): column for name, column in named.items()},
        **settings_columns(trials),
        "runs": [len(runs) for runs in finished],
        "diverged": [sum(run.diverged for run in runs) for runs in finished],
        "divergence": [next((r.divergence for r in runs if r.divergence), "") for runs in finished],
        "evicted": [sum(run.evicted for run in runs) for runs in finished],
        "mean": [float(np.mean(means)) if means else float("nan") for means in values],
        "values": arrow.array(values, arrow.list_(arrow.float64())),
    }
    return arrow.table(columns)


def write_trials(work: Work, folder: Path, config: Mapping[str, Any] | None = None) -> None:
    """Write the table of all trials.

    Its metadata have a hash of the ``config``, and how many batches were computed with which
    versions.
    """
    counts = Counter(
        json.dumps(batch.metadata["versions"], sort_keys=True)
        for *_, batch in work.finished_batches()
    )
    metadata = {
        "trials_of": None if config is None else trials_hash(config),
        "versions": [[json.loads(text), count] for text, count in sorted(counts.items())],
        "accept_versions": work.store.accept_versions,
    }
    write_table(trial_table(work), folder / TRIALS, metadata)


def read_trials(folder: Path) -> Any:
    """Read the table of a finished sweep, as an Arrow table."""
    return read_table(folder / TRIALS)


def accepts_versions(table: Any) -> bool:
    """True if the trials of a table may come from other versions of libraries."""
    return bool(table_metadata(table).get("accept_versions"))


def is_of_config(table: Any, config: Mapping[str, Any]) -> bool:
    """True if the trials of a table are those of a config, which may have changed since."""
    return bool(table_metadata(table).get("trials_of") == trials_hash(config))


def trials_hash(config: Mapping[str, Any]) -> str:
    """Hash the trials that a config asks for, not its name, title and notes."""
    names = ("name", "title", "notes")
    return config_hash({name: value for name, value in config.items() if name not in names})


def version_rows(folder: Path) -> list[tuple[str, str]]:
    """List the versions that computed a folder; with numbers of batches where they differ."""
    stored = table_metadata(read_trials(folder))["versions"] if (folder / TRIALS).exists() else []
    used, rows = stored or [(versions(), 0)], []
    for name in dict.fromkeys(name for each, _ in used for name in each):
        counts: Counter[str] = Counter()
        for each, batches in used:
            counts[each.get(name, "unknown")] += batches
        several = [f"{version} ({count:,} batches)" for version, count in sorted(counts.items())]
        rows.append((name, ", ".join(several) if len(counts) > 1 else next(iter(counts))))
    return rows


def settings_columns(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """Return a column for every setting that differs between trials; None where it is absent."""
    parts, columns = ("domain", "features", "agent"), dict[str, list[Any]]()
    rows = [
        settings_of({part: getattr(trial, part).to_dict() for part in parts}) for trial in trials
    ]
    for name in dict.fromkeys(name for row in rows for name in row):
        column = [row.get(name) for row in rows]
        texts = [None if value is None else value_text(value) for value in column]
        kinds = {type(value) for value in column if value is not None}
        has_one_type = kinds <= {int, float} or kinds in ({bool}, {str})
        if len(set(texts)) > 1:
            columns[name] = column if has_one_type else texts
    return columns


# ---------------------------------------------------------------------------------------- problems


class Trouble(NamedTuple):
    """A problem of a trial: why a run diverged, or "", and how many entries were evicted."""

    trial: str
    panel: str
    agent: str
    divergence: str
    evicted: int

    @property
    def text(self) -> str:
        full = f"{self.evicted:,} entries of models were evicted, whose columns were full"
        return "; ".join([self.divergence] * bool(self.divergence) + [full] * bool(self.evicted))


def troubles_in(table: Any) -> list[Trouble]:
    """List the trials in a table; those without a problem have no text."""
    rows = zip(*(table[name].to_pylist() for name in Trouble._fields), strict=True)
    return [Trouble._make(row) for row in rows]


def troubles_of(folder: Path) -> list[Trouble]:
    """List the trials in a folder, if it has a table."""
    return troubles_in(read_trials(folder)) if (folder / TRIALS).exists() else []


def print_troubles(troubles: Sequence[Trouble]) -> None:
    """Print the problems of the first few trials, and how many more there are."""
    for trial, text in _trouble_rows(troubles, PRINTED):
        say(f"{trial}: {text}")


def troubles_section(troubles: Sequence[Trouble]) -> Section:
    """Return the section of a page with the problems; empty if there are none."""
    from expectant.report import Table

    rows = [list(row) for row in _trouble_rows(troubles, LISTED)]
    return Table("What went wrong", ["trial", "what happened"], rows)


def _trouble_rows(troubles: Sequence[Trouble], most: int) -> Iterator[tuple[str, str]]:
    rows = [(trouble.trial, trouble.text) for trouble in troubles if trouble.text]
    yield from rows[:most]
    if len(rows) > most:
        more = f"{len(rows) - most:,} more trials"
        yield more, f"see the columns divergence and evicted of {TRIALS}"
