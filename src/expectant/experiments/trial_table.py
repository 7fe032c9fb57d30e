"""All trials of a results folder as one table: settings, what came out, and what went wrong."""

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
from expectant.experiments.results_folder import versions
from expectant.experiments.runner import Work
from expectant.experiments.store import Facts, Span, facts_of_table, read_table, write_table
from expectant.experiments.trials import Trial

if TYPE_CHECKING:
    from expectant.report import Section

TRIALS = "trials.parquet"
TOLD, LISTED = 10, 100  # trials in which something went wrong, by a command and on a page


class RunFacts(NamedTuple):
    """One run: the mean of its values, whether it diverged, what its model evicted, and why."""

    mean: float
    diverged: bool
    evicted: int
    divergence: str


def trial_table(work: Work) -> Any:
    """One row per trial, as an Arrow table.

    ``trial``, ``hash``, ``panel``, ``agent``, the names of those two in the spec (``base_panel``,
    ``base_agent``) and ``label``; a column for every setting that is not
    the same everywhere, such as ``domain.slip`` or ``agent.value_step``; ``runs`` that are there,
    how many ``diverged``, why the first of them did (``divergence``), how many entries their models
    ``evicted``, their ``mean`` (NaN if one diverged) and the list of ``values``: the mean of every
    run's curve.
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


def write_trials(work: Work, folder: Path, spec: Mapping[str, Any] | None = None) -> None:
    """Write the table of all trials beside their batches.

    Its metadata say which ``spec`` asked for them, and with which versions how many batches were
    computed.
    """
    counts = Counter(
        json.dumps(facts.described["versions"], sort_keys=True) for _, facts in _batches(work)
    )
    facts = {
        "trials_of": None if spec is None else trials_hash(spec),
        "versions": [[json.loads(text), count] for text, count in sorted(counts.items())],
        "accept_versions": work.store.accept_versions,
    }
    write_table(trial_table(work), folder / TRIALS, facts)


def read_trials(folder: Path) -> Any:
    """The table that a sweep has written, as an Arrow table."""
    return read_table(folder / TRIALS)


def accepts_versions(table: Any) -> bool:
    """True if the trials of a table may come from other versions of libraries."""
    return bool(facts_of_table(table).get("accept_versions"))


def is_of_config(table: Any, spec: Mapping[str, Any]) -> bool:
    """True if the trials of a table are those of a spec, which may have been changed since."""
    return bool(facts_of_table(table).get("trials_of") == trials_hash(spec))


def version_rows(folder: Path) -> list[tuple[str, str]]:
    """The versions that the batches of a folder were computed with; how many, where they differ."""
    stored = facts_of_table(read_trials(folder))["versions"] if (folder / TRIALS).exists() else []
    known, rows = stored or [(versions(), 0)], []
    for name in dict.fromkeys(name for used, _ in known for name in used):
        counts: Counter[str] = Counter()
        for used, batches in known:
            counts[used.get(name, "unknown")] += batches
        several = [
            f"{version} ({batches:,} batches)" for version, batches in sorted(counts.items())
        ]
        rows.append((name, ", ".join(several) if len(counts) > 1 else next(iter(counts))))
    return rows


def _batches(work: Work) -> Iterator[tuple[tuple[str, Span], Facts]]:
    """Every batch of some trials with its facts; those not checked yet are checked now."""
    index = work.store.index()
    for name, trial in work.unique().items():
        for span in index.get(name, []):
            if span.first < trial.runs:  # others are of an earlier spec, or fresh runs of the best
                facts = work.facts.get((name, span)) or work.store.facts_of(name, span)
                if facts is not None:
                    work.facts[name, span] = facts
                    yield (name, span), facts


def finished_runs(work: Work) -> list[list[RunFacts]]:
    """The runs of every trial that are there, in order."""
    by_name: dict[str, dict[int, RunFacts]] = {}
    for (name, span), facts in _batches(work):
        runs = map(RunFacts, facts.means, facts.diverged, facts.evicted, facts.divergence)
        by_name.setdefault(name, {}).update(zip(span.runs, runs, strict=True))
    return [
        [facts for run, facts in sorted(by_name.get(name, {}).items()) if run < trial.runs]
        for name, trial in zip(work.names, work.trials, strict=True)
    ]


def settings_columns(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """A column for every setting that differs between trials; None where a trial has it not."""
    rows = [_settings(trial) for trial in trials]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: _one_type(column)
        for name, column in columns.items()
        if len({value_text(value) for value in column}) > 1
    }


def _settings(trial: Trial) -> dict[str, Any]:
    parts = {"domain": trial.domain, "features": trial.features, "agent": trial.agent}
    return settings_of({name: part.to_dict() for name, part in parts.items()})


def _one_type(column: list[Any]) -> list[Any]:
    """Numbers or truth values as they are if there is nothing else, otherwise words."""
    kinds = {type(value) for value in column if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in column]
    if len(kinds) == 1 and kinds <= {int, float, bool, str}:
        return column
    return [None if value is None else value_text(value) for value in column]


class Trouble(NamedTuple):
    """What went wrong in a trial: why a run diverged, or "", and how many entries were evicted."""

    trial: str
    panel: str
    agent: str
    divergence: str
    evicted: int

    @property
    def text(self) -> str:
        """The same in words."""
        full = f"{self.evicted:,} entries of models were evicted, whose columns were full"
        return "; ".join([self.divergence] * bool(self.divergence) + [full] * bool(self.evicted))


def troubles_in(table: Any) -> list[Trouble]:
    """The trials of a table in which something went wrong."""
    rows = zip(*(table[name].to_pylist() for name in Trouble._fields), strict=True)
    return [row for row in map(Trouble._make, rows) if row.divergence or row.evicted]


def troubles_of(folder: Path) -> list[Trouble]:
    """The same of the table in a folder, if there is one."""
    return troubles_in(read_trials(folder)) if (folder / TRIALS).exists() else []


def tell_troubles(troubles: Sequence[Trouble]) -> None:
    """Say what went wrong, once for every trial; of very many trials only how many."""
    for trial, text in _trouble_rows(troubles, TOLD):
        say(f"{trial}: {text}")


def troubles_section(troubles: Sequence[Trouble]) -> Section:
    """The same on a page, where it is empty if nothing went wrong."""
    from expectant.report import Table

    rows = [list(row) for row in _trouble_rows(troubles, LISTED)]
    return Table("What went wrong", ["trial", "what happened"], rows)


def _trouble_rows(troubles: Sequence[Trouble], most: int) -> Iterator[tuple[str, str]]:
    yield from ((trouble.trial, trouble.text) for trouble in troubles[:most])
    if len(troubles) > most:
        more = f"{len(troubles) - most:,} more trials"
        yield more, f"see the columns divergence and evicted of {TRIALS}"
