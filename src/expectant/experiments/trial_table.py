"""All trials of a results folder as one table: settings, results, and problems."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.engine.progress import say
from expectant.experiments.config_file import trials_hash
from expectant.experiments.grid import settings_of, value_text
from expectant.experiments.results_folder import TRIALS, versions
from expectant.experiments.runner import Work
from expectant.experiments.store import (
    BatchSummary,
    RunSummary,
    Span,
    read_table,
    table_metadata,
    write_table,
)
from expectant.experiments.trials import Trial

if TYPE_CHECKING:
    from expectant.report import Section

PRINTED, LISTED = 10, 100  # trials with problems, by a command and on a page


def trial_table(work: Work) -> Any:
    """Return one row per trial, as an Arrow table.

    ``trial``, ``hash``, ``panel``, ``agent``, the names of those two in the config (``base_panel``,
    ``base_agent``) and ``label``; a column for every setting that differs between trials, such as
    ``domain.slip`` or ``agent.value_step``; the number of finished ``runs``, how many ``diverged``,
    the reason of the first (``divergence``), how many entries their models ``evicted``, their
    ``mean`` (NaN if one diverged) and the list of ``values``: the mean of every run's curve.
    """
    import pyarrow as arrow

    trials, finished = work.trials, finished_runs(work)
    values = [[run.mean for run in runs] for runs in finished]
    columns: dict[str, Any] = {
        "trial": [trial.id for trial in trials],
        "hash": work.names,
        "panel": [trial.panel for trial in trials],
        "agent": [trial.agent_key for trial in trials],
        "base_panel": [trial.base_panel for trial in trials],
        "base_agent": [trial.base_agent for trial in trials],
        "label": [trial.label for trial in trials],
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
        json.dumps(summary.metadata["versions"], sort_keys=True) for *_, summary in _batches(work)
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


def _batches(work: Work) -> Iterator[tuple[str, Span, BatchSummary]]:
    """Yield the finished batches of all trials; those not verified yet are verified now."""
    index = work.store.index()
    for name, trial in work.unique().items():
        for span in index.get(name, []):
            if span.first < trial.runs:  # others are of an earlier config, or fresh runs of `best`
                summary = work.summary(name, span)
                if summary is not None:
                    yield name, span, summary


def finished_runs(work: Work) -> list[list[RunSummary]]:
    """List the finished runs of every trial, in order."""
    by_name: dict[str, dict[int, RunSummary]] = {}
    for name, span, summary in _batches(work):
        by_name.setdefault(name, {}).update(zip(span.runs, summary.runs, strict=True))
    return [
        [summary for run, summary in sorted(by_name.get(name, {}).items()) if run < trial.runs]
        for name, trial in zip(work.names, work.trials, strict=True)
    ]


def settings_columns(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """Return a column for every setting that differs between trials; None where it is absent."""
    rows = [
        settings_of(
            {part: getattr(trial, part).to_dict() for part in ("domain", "features", "agent")}
        )
        for trial in trials
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: _unify_types(column)
        for name, column in columns.items()
        if len({value_text(value) for value in column}) > 1
    }


def _unify_types(column: list[Any]) -> list[Any]:
    """Convert a column of mixed types to text; integers beside floats become floats."""
    kinds = {type(value) for value in column if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in column]
    if len(kinds) == 1 and kinds <= {int, float, bool, str}:
        return column
    return [None if value is None else value_text(value) for value in column]


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
    """List the problems of the trials in a table."""
    rows = zip(*(table[name].to_pylist() for name in Trouble._fields), strict=True)
    return [row for row in map(Trouble._make, rows) if row.divergence or row.evicted]


def troubles_of(folder: Path) -> list[Trouble]:
    """List the problems of the trials in a folder, if it has a table."""
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
    yield from ((trouble.trial, trouble.text) for trouble in troubles[:most])
    if len(troubles) > most:
        more = f"{len(troubles) - most:,} more trials"
        yield more, f"see the columns divergence and evicted of {TRIALS}"
