"""Finished batches of runs on disk, so that nothing is ever computed twice.

A batch is one Parquet file with a row for every point of every run. Its name has two hashes:
of the settings and the user's own code, and of the installed code that computed it. So results of
changed settings or changed code are never mistaken for others, and both stay in the folder. A batch
that is damaged, or that goes by the name of another, is computed again.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.core.errors import require_extra
from expectant.core.files import read_whole, write_bytes
from expectant.experiments.environment_code import environment_versions
from expectant.experiments.results_folder import check_layout, git_commit, mark_folder, versions
from expectant.experiments.trials import Trial, batches

KEY = b"expectant"  # of the facts in a file's metadata
AGAIN = "run the command that wrote it again"


class Batch(NamedTuple):
    """Some consecutive runs: ``curves`` (runs, bins), ``diverged`` (runs,), and the mean
    ``lengths`` of episodes (runs, bins) if they are recorded.

    ``evicted`` counts the entries that each run's model gave up; ``divergence`` has the reason why
    the first run that diverged did, and "" for all others.
    """

    curves: np.ndarray
    diverged: np.ndarray
    lengths: np.ndarray | None = None
    evicted: Sequence[int] = ()
    divergence: Sequence[str] = ()


class Facts(NamedTuple):
    """What is known of a batch without its curves; ``described`` is its metadata."""

    means: list[float]
    diverged: list[bool]
    evicted: list[int]
    divergence: list[str]
    described: Mapping[str, Any]

    @classmethod
    def of(cls, batch: Batch, described: Mapping[str, Any]) -> Facts:
        means, diverged = batch.curves.mean(axis=1).tolist(), batch.diverged.tolist()
        return cls(means, diverged, described["evicted"], described["divergence"], described)

    def is_of(self, identity: Mapping[str, object]) -> bool:
        """True if the batch was computed with these settings."""
        known = {key: self.described.get(key) for key in identity}
        return json.dumps(known, sort_keys=True) == json.dumps(identity, sort_keys=True)


class Span(NamedTuple):
    """Consecutive runs: the first, and how many."""

    first: int
    size: int

    @property
    def runs(self) -> range:
        return range(self.first, self.first + self.size)


class Store:
    """A folder of batches.

    With ``accept_versions``, batches computed with other versions of libraries, or of this
    package, are used as well.
    """

    def __init__(self, folder: Path, accept_versions: bool = False) -> None:
        require_extra("a folder of results", "experiments")
        check_layout(folder)
        self.folder = folder / "runs"
        self.accept_versions = accept_versions

    def path(self, name: str, first: int, count: int) -> Path:
        return self.folder / f"{name}-{first:05d}-{count:04d}.parquet"

    def index(self) -> dict[str, list[Span]]:
        """The batches that are there, by the names of their trials."""
        index: dict[str, list[Span]] = {}
        try:
            files = os.listdir(self.folder)
        except FileNotFoundError:
            return {}
        for file in sorted(files):
            trial, *span = file.removesuffix(".parquet").rsplit("-", 2)
            if len(span) == 2 and file.endswith(".parquet") and all(map(str.isdecimal, span)):
                index.setdefault(trial, []).append(Span(int(span[0]), int(span[1])))
        return index

    def of_any_version(self, names: Sequence[str]) -> list[str]:
        """For every name the one with most runs that differs at most in the installed code."""
        runs = {name: sum(span.size for span in spans) for name, spans in self.index().items()}
        most: dict[str, str] = {}
        for name in sorted({*runs, *names}, key=lambda name: (runs.get(name, 0), name in names)):
            most[name.partition("-")[0]] = name
        return [most[name.partition("-")[0]] for name in names]

    def missing(self, trial: Trial, spans: Sequence[Span]) -> Iterator[Span]:
        """The batches of a trial that are not among those that are there."""
        there = {run for span in spans for run in span.runs}
        for first, count in batches(trial.runs):
            left = [run for run in range(first, first + count) if run not in there]
            if left:
                yield Span(left[0], left[-1] - left[0] + 1)

    def load(self, name: str, span: Span) -> tuple[Batch, Facts] | None:
        """A finished batch, its checksums verified; None if it is not there, or damaged."""
        try:
            return _read_batch(read_table(self.path(name, *span)), name, span)
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            return None

    def facts_of(self, name: str, span: Span) -> Facts | None:
        """What is known of a batch without its curves, its checksums verified."""
        loaded = self.load(name, span)
        return None if loaded is None else loaded[1]

    def curves(self, name: str, spans: Sequence[Span], runs: int) -> np.ndarray:
        """The curves (runs, bins) of a trial from its batches, checked as they are read."""
        rows: dict[int, np.ndarray] = {}
        for span in spans:
            loaded = self.load(name, span)
            if loaded is not None:
                rows.update(zip(span.runs, loaded[0].curves, strict=True))
        if not all(run in rows for run in range(runs)):
            raise self.incomplete()
        return np.stack([rows[run] for run in range(runs)])

    def incomplete(self) -> ValueError:
        """The error for a batch that cannot be used."""
        return ValueError(
            f"{self.folder.parent}: batches are missing or damaged; run the command that wrote it "
            "again, which computes only those"
        )

    def save(self, name: str, first: int, batch: Batch, trial: Trial) -> Facts:
        """Write a batch in one piece."""
        mark_folder(self.folder.parent)
        runs = len(batch.curves)
        described = {
            "trial": trial.id,
            "name": name,
            "first": first,
            "shape": list(batch.curves.shape),
            "evicted": list(batch.evicted) or [0] * runs,
            "divergence": list(batch.divergence) or [""] * runs,
            **trial.identity(),
            "commit": git_commit(),
            "versions": {**versions(), **environment_versions(trial.domain)},
        }
        write_table(_batch_table(batch, trial, described), self.path(name, first, runs), described)
        return Facts.of(batch, described)


def write_table(table: Any, path: Path, facts: Mapping[str, Any]) -> None:
    """Write a table with page checksums and some facts in its metadata, in one piece."""
    from pyarrow import parquet

    told = {KEY: json.dumps(facts, sort_keys=True).encode()}
    file = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(told), file, write_page_checksum=True)
    write_bytes(path, file.getvalue())


def read_table(path: Path) -> Any:
    """The table in a file, its checksums verified; a ``ValueError`` if it is damaged."""
    require_extra("a folder of results", "experiments")
    import pyarrow as arrow
    from pyarrow import parquet

    source = arrow.BufferReader(read_whole(path))
    try:
        with parquet.ParquetFile(source, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except (OSError, arrow.ArrowException):
        raise ValueError(f"{path}: is damaged; {AGAIN}") from None


def facts_of_table(table: Any) -> dict[str, Any]:
    """The facts that were written with a table."""
    facts: dict[str, Any] = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    return facts


def _batch_table(batch: Batch, trial: Trial, described: Mapping[str, Any]) -> Any:
    import pyarrow as arrow

    first, (runs, bins) = described["first"], batch.curves.shape
    rows = runs * bins
    firsts = np.arange(bins) * trial.width if trial.record is None else trial.firsts
    lengths = arrow.nulls(rows, arrow.float64())
    if batch.lengths is not None:
        lengths = arrow.array(batch.lengths.ravel())
    return arrow.table(
        {
            "trial": arrow.repeat(trial.id, rows),
            "hash": arrow.repeat(described["name"], rows),
            "run": np.repeat(np.arange(first, first + runs, dtype=np.int32), bins),
            "bin": np.tile(np.arange(bins, dtype=np.int32), runs),
            "first": np.tile(firsts.astype(np.int64), runs),
            "value": batch.curves.ravel(),
            "length": lengths,
            "diverged": np.repeat(batch.diverged, bins),
        }
    )


def _read_batch(table: Any, name: str, span: Span) -> tuple[Batch, Facts] | None:
    """The batch in a table; None if it is another than its file's name says."""
    described = facts_of_table(table)
    shape = runs, bins = described["shape"]
    if (described["name"], described["first"], runs, table.num_rows) != (name, *span, runs * bins):
        return None
    lengths = table["length"]
    batch = Batch(
        table["value"].to_numpy().reshape(shape),
        table["diverged"].to_numpy().reshape(shape)[:, 0],
        None if lengths.null_count else lengths.to_numpy().reshape(shape),
        described["evicted"],
        described["divergence"],
    )
    return batch, Facts.of(batch, described)
