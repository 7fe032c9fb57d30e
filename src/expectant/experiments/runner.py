"""Compute the trials that a store lacks, and tabulate all of them: settings, results, problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.looks import Arm
from expectant.analysis.panel import Panel
from expectant.core.errors import describe_error
from expectant.engine.progress import OverallProgress, say
from expectant.experiments.curves import group_panels
from expectant.experiments.executors import Engine, Task, make_engine
from expectant.experiments.grid import settings_of, value_text
from expectant.experiments.store import (
    TRIALS,
    Batch,
    FinishedRun,
    Store,
    mark_folder,
    read_table,
    table_metadata,
    versions,
    write_table,
)
from expectant.experiments.toml_tables import hash_data
from expectant.experiments.trials import BATCH, WHOLE, Hashes, Shard, Trial

PRINTED, LISTED = 10, 100  # trials with problems, by a command and on a page
PARTS = ("domain", "features", "agent")


class TrialError(RuntimeError):
    """A trial that cannot be computed; says which and why."""


@dataclass
class Work:
    """Some trials with their finished runs in a store.

    ``names`` are the storage names of trials, "" of one that fails. ``runs`` has the finished runs
    by name and number, every curve replaced by its mean. ``found`` batches were in the store,
    ``computed`` are new. ``failed`` has the reason why a trial failed, by id.
    """

    trials: Sequence[Trial]
    store: Store
    names: list[str] = field(default_factory=list)
    runs: dict[str, dict[int, FinishedRun]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    damaged: list[Path] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    found: int = 0
    computed: int = 0

    def __post_init__(self) -> None:
        """Read the results that are in the store."""
        self.names = self.name_trials(self.trials)
        self.runs = {name: {} for name in self.names}
        for name in self.runs:
            for numbers in self.store.batches.get(name, ()):
                batch = self.store.load(name, numbers)
                if batch is None:
                    self.damaged.append(self.store.path(name, numbers))
                else:
                    self._keep(batch, name, numbers)
                    self.found += 1

    @property
    def folder(self) -> Path:
        return self.store.folder

    # ------------------------------------------------------------------------------------- running

    def extend(self, runs: Mapping[Arm, int]) -> None:
        """Raise the number of runs of some trials."""
        self.trials = [
            replace(trial, runs=max(trial.runs, runs.get(arm_of(trial), 0)))
            for trial in self.trials
        ]

    def name_trials(self, trials: Sequence[Trial]) -> list[str]:
        """Return the storage names of trials; "" of one that fails."""
        hashes, names = Hashes(), list[str]()
        for trial in trials:
            try:
                names.append(hashes.name(trial))
            except Exception as error:  # components that do not go together, each in its own way
                names.append("")
                self.failed[trial.id] = describe_error(error)
        return names

    def _keep(self, batch: Batch, name: str, numbers: range) -> None:
        means = [run._replace(curve=run.curve.mean(keepdims=True)) for run in batch.runs]
        self.runs[name].update(zip(numbers, means, strict=True))
        self.versions |= batch.metadata["versions"]

    def unique(self) -> dict[str, Trial]:
        """Return the trials by name; of equal ones the first by id, with the most runs."""
        trials: dict[str, Trial] = {}
        for name, trial in zip(self.names, self.trials, strict=True):
            if name:
                other = trials.get(name, trial)
                first = min(trial, other, key=lambda either: either.id)
                trials[name] = replace(first, runs=max(trial.runs, other.runs))
        return trials

    def missing_tasks(self, shard: Shard = WHOLE) -> list[Task]:
        """List the batches that are still to be computed."""
        tasks, position = list[Task](), 0
        for name, trial in self.unique().items():
            for first in range(0, trial.runs, BATCH):
                left = {*range(first, min(first + BATCH, trial.runs))} - self.runs[name].keys()
                if left and shard.has(position):
                    tasks.append(Task(trial, name, range(min(left), max(left) + 1)))
                position += 1
        return tasks

    def run_tasks(
        self, engine: Engine, tasks: Sequence[Task], title: str, later: float = 0.0
    ) -> None:
        """Compute tasks and store their batches as they come; a failure does not stop others.

        First runs of all trials come first: an unfinished sweep has some runs of everything, and
        the time that they took predicts the time left, ``later`` being the cost of what may follow.
        """
        mark_folder(self.folder)
        if self.damaged:
            say(
                f"{len(self.damaged)} batches in {self.folder} are damaged; they are computed again"
            )
        while self.damaged:
            self.damaged.pop().unlink(missing_ok=True)
        with OverallProgress(title, sum(task.cost for task in tasks), later) as overall:
            by_name = {task.name: task for task in tasks}
            with overall.exclude_time():
                engine.kernels.compile_ahead(by_name.values(), overall)
            for task in by_name.values():
                try:
                    engine.kernels.load(task, overall)
                except Exception as error:  # of Numba, or of a user's part
                    self.failed[task.trial.id] = describe_error(error)
            ordered = sorted(tasks, key=lambda task: task.numbers.start)
            for task, runs, problem in engine.compute(
                (task for task in ordered if task.trial.id not in self.failed),
                lambda trial, part: overall.show(trial.id, overall.done + part),
            ):
                overall.done += task.cost
                overall.show(task.trial.id, overall.done)
                if problem is not None:
                    self.failed[task.trial.id] = describe_error(problem)
                    continue
                batch = self.store.save(task.name, task.numbers.start, runs, task.trial)
                self._keep(batch, task.name, task.numbers)
                self.computed += 1

    def raise_failure(self) -> None:
        """Raise a TrialError if a trial failed."""
        for trial, reason in self.failed.items():
            raise TrialError(f"{trial}: {reason}")

    # ------------------------------------------------------------------------------------- results

    def curves(self) -> list[np.ndarray]:
        """Read the curves (runs, points) of all trials; an error if a batch is missing."""
        curves = {
            name: self.store.curves(name, trial.runs) for name, trial in self.unique().items()
        }
        return [
            curves[name][: trial.runs] for name, trial in zip(self.names, self.trials, strict=True)
        ]

    def panels(self) -> list[Panel]:
        """Return the curves of all runs, grouped by panel, for analyses and claims."""
        if self.failed:
            raise ValueError(f"{self.folder}: not all trials are finished; run the sweep again")
        started = [(t, c) for t, c in zip(self.trials, self.curves(), strict=True) if t.runs]
        return group_panels(*zip(*started, strict=True)) if started else []

    def table(self) -> Any:
        """Return one row per trial, as an Arrow table.

        ``trial``, ``hash``, ``panel``, ``agent``, the names of those two in the config
        (``base_panel``, ``base_agent``) and ``label``; a column for every setting that differs
        between trials, such as ``domain.slip`` or ``agent.value_step``; the number of finished
        ``runs``, how many ``diverged``, a ``problem`` of theirs, their ``mean`` (NaN if one
        diverged) and the list of ``values``: the mean of every run's curve.
        """
        import pyarrow as arrow

        trials = self.trials
        finished = [
            [run for number, run in sorted(self.runs[name].items()) if number < trial.runs]
            for name, trial in zip(self.names, trials, strict=True)
        ]
        values = [[run.mean for run in runs] for runs in finished]
        names = "panel", "agent_key", "base_panel", "base_agent", "label"
        named = {name: [getattr(trial, name) for trial in trials] for name in names}
        columns: dict[str, Any] = {
            "trial": [trial.id for trial in trials],
            "hash": self.names,
            **{name.removesuffix("_key"): column for name, column in named.items()},
            **settings_columns(trials),
            "runs": [len(runs) for runs in finished],
            "diverged": [sum(run.diverged for run in runs) for runs in finished],
            "problem": [describe_problems(runs) for runs in finished],
            "mean": [float(np.mean(means)) if means else float("nan") for means in values],
            "values": arrow.array(values, arrow.list_(arrow.float64())),
        }
        return arrow.table(columns)

    def as_data(self) -> dict[str, object]:
        """Return counts, failures and other problems."""
        return {
            "folder": str(self.folder),
            "trials": len(self.trials),
            "batches_found": self.found,
            "batches_computed": self.computed,
            "failed": self.failed,
            "problems": dict(problem_rows(self.table())),
        }

    def __repr__(self) -> str:
        return (
            f"{len(self.trials):,} trials: {self.computed:,} batches computed, "
            f"{self.found:,} were there, {len(self.failed):,} trials failed\n"
            f"results: {self.folder}"
        )


def arm_of(trial: Trial) -> Arm:
    return trial.experiment, trial.panel, trial.interpretation, trial.agent_key


def compute(
    trials: Sequence[Trial], store: Store, *, threads: int | None = None, title: str = "running"
) -> Work:
    """Compute all trials on threads, equal ones once; raise TrialError if one fails."""
    work = Work(trials, store)
    work.run_tasks(make_engine(threads=threads), work.missing_tasks(), title)
    work.raise_failure()
    return work


# -------------------------------------------------------------------------------- table of trials


def write_trials(work: Work, folder: Path, config: Mapping[str, Any] | None = None) -> None:
    """Write the table of all trials, with a hash of the config and the versions that ran them."""
    trials_of = None if config is None else trials_hash(config)
    write_table(work.table(), folder / TRIALS, {"trials_of": trials_of, "versions": work.versions})


def read_trials(folder: Path) -> Any:
    """Read the table of a finished sweep, as an Arrow table; None if there is none."""
    return read_table(folder / TRIALS) if (folder / TRIALS).exists() else None


def trials_hash(config: Mapping[str, Any]) -> str:
    """Hash the trials that a config asks for, not its name, title and notes."""
    names = ("name", "title", "notes")
    return hash_data({name: value for name, value in config.items() if name not in names})


def stored_versions(folder: Path) -> dict[str, str]:
    """Return the versions of packages that computed the runs of a folder."""
    table = read_trials(folder)
    stored = {} if table is None else table_metadata(table)["versions"]
    return stored or versions()


def settings_columns(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """Return a column for every setting that differs between trials; None where it is absent."""
    columns: dict[str, list[Any]] = {}
    rows = [
        settings_of({part: getattr(trial, part).to_dict() for part in PARTS}) for trial in trials
    ]
    for name in dict.fromkeys(name for row in rows for name in row):
        column = [row.get(name) for row in rows]
        texts = [None if value is None else value_text(value) for value in column]
        kinds = {type(value) for value in column if value is not None}
        has_one_type = kinds <= {int, float} or kinds in ({bool}, {str})
        if len(set(texts)) > 1:
            columns[name] = column if has_one_type else texts
    return columns


def describe_problems(runs: Sequence[FinishedRun]) -> str:
    """Say why the first of some runs diverged, and how many entries their models evicted."""
    evicted = sum(run.evicted for run in runs)
    full = f"{evicted:,} entries of models were evicted, whose columns were full" * bool(evicted)
    divergence = next((run.divergence for run in runs if run.divergence), "")
    return "; ".join(filter(None, (divergence, full)))


def problem_rows(table: Any, most: int | None = None) -> list[tuple[str, str]]:
    """List the trials of a table that have a problem; from ``most`` on, only their number."""
    pairs = zip(table["trial"].to_pylist(), table["problem"].to_pylist(), strict=True)
    rows = [(trial, problem) for trial, problem in pairs if problem]
    if most is None or len(rows) <= most:
        return rows
    more = f"{len(rows) - most:,} more trials", f"see the column problem of {TRIALS}"
    return [*rows[:most], more]


def print_problems(table: Any) -> None:
    """Print the problems of the first few trials."""
    for trial, problem in problem_rows(table, PRINTED):
        say(f"{trial}: {problem}")
