"""Finished runs on disk, so that nothing is ever computed twice.

A batch of runs is one Parquet file with a row for every point of every run. Its name has two
hashes: of the settings and the user's own code, and of the installed code that computed it. Results
of changed settings or code are therefore never mistaken for others, and both stay in the folder. A
file that is damaged, or whose name and content disagree, is computed again.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.core.errors import require_extra
from expectant.core.files import StoreError, read_whole, write_bytes, write_text
from expectant.experiments.results_folder import (
    RUNS,
    check_layout,
    mark_folder,
    versions,
)
from expectant.experiments.trials import Trial, batches, environment_versions

METADATA_KEY = b"expectant"


class Batch(NamedTuple):
    """Some consecutive runs: ``curves`` (runs, bins) and ``diverged`` (runs,).

    ``evicted`` counts the entries that each run's model dropped; ``divergence`` is the reason of
    the first run that diverged, and "" for all others.
    """

    curves: np.ndarray
    diverged: np.ndarray
    evicted: Sequence[int] = ()
    divergence: Sequence[str] = ()


class RunSummary(NamedTuple):
    """One run without its curve: the mean of its values and the fields of :class:`Batch`."""

    mean: float
    diverged: bool
    evicted: int
    divergence: str


class BatchSummary(NamedTuple):
    """A batch without its curves, and the metadata of its file."""

    runs: list[RunSummary]
    metadata: Mapping[str, Any]

    @classmethod
    def of(cls, batch: Batch, metadata: Mapping[str, Any]) -> BatchSummary:
        means, diverged = batch.curves.mean(axis=1).tolist(), batch.diverged.tolist()
        columns = means, diverged, metadata["evicted"], metadata["divergence"]
        return cls(list(map(RunSummary, *columns)), metadata)

    def has_identity(self, identity: Mapping[str, object]) -> bool:
        """True if the batch was computed with these settings."""
        stored = {name: self.metadata.get(name) for name in identity}
        return json.dumps(stored, sort_keys=True) == json.dumps(identity, sort_keys=True)


class Span(NamedTuple):
    """Consecutive runs: the first, and how many."""

    first: int
    size: int

    @property
    def runs(self) -> range:
        return range(self.first, self.first + self.size)


class Store:
    """The result files of a folder.

    With ``accept_versions``, runs computed with other versions of libraries, or of this package,
    are used as well.
    """

    def __init__(self, folder: Path, accept_versions: bool = False) -> None:
        require_extra("a folder of results", "experiments")
        check_layout(folder)
        self.folder = folder / RUNS
        self.accept_versions = accept_versions

    def path(self, name: str, first: int, count: int) -> Path:
        return self.folder / f"{name}-{first:05d}-{count:04d}.parquet"

    def index(self) -> dict[str, list[Span]]:
        """List the batches in the folder, by the storage names of their trials."""
        index: dict[str, list[Span]] = {}
        with suppress(FileNotFoundError):
            for file in sorted(os.listdir(self.folder)):
                name, *span = file.removesuffix(".parquet").rsplit("-", 2)
                if len(span) == 2 and file.endswith(".parquet") and all(map(str.isdecimal, span)):
                    index.setdefault(name, []).append(Span(int(span[0]), int(span[1])))
        return index

    def match_versions(self, names: Sequence[str]) -> list[str]:
        """Replace each name by the one with most runs that differs at most in installed code."""
        runs = {name: sum(span.size for span in spans) for name, spans in self.index().items()}
        most: dict[str, str] = {}
        for name in sorted({*runs, *names}, key=lambda name: (runs.get(name, 0), name in names)):
            most[name.partition("-")[0]] = name
        return [most[name.partition("-")[0]] for name in names]

    def missing(self, trial: Trial, spans: Sequence[Span]) -> Iterator[Span]:
        """Yield the batches of a trial that lack runs outside of ``spans``."""
        finished = {run for span in spans for run in span.runs}
        for first, count in batches(trial.runs):
            left = [run for run in range(first, first + count) if run not in finished]
            if left:
                yield Span(left[0], left[-1] - left[0] + 1)

    def load(self, name: str, span: Span) -> tuple[Batch, BatchSummary] | None:
        """Read a batch and verify its checksums; None if it is missing or damaged."""
        try:
            table = read_table(self.path(name, *span))
            metadata = table_metadata(table)
            shape = runs, bins = metadata["shape"]
            stored_as = metadata["name"], metadata["first"], runs, table.num_rows
            if stored_as != (name, *span, runs * bins):
                return None
            batch = Batch(
                table["value"].to_numpy().reshape(shape),
                table["diverged"].to_numpy().reshape(shape)[:, 0],
                metadata["evicted"],
                metadata["divergence"],
            )
            return batch, BatchSummary.of(batch, metadata)
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            return None

    def summary(self, name: str, span: Span) -> BatchSummary | None:
        """Summarise a batch whose checksums were verified."""
        loaded = self.load(name, span)
        return None if loaded is None else loaded[1]

    def curves(self, name: str, spans: Sequence[Span], runs: int) -> np.ndarray:
        """Read and verify the curves (runs, bins) of a trial."""
        rows: dict[int, np.ndarray] = {}
        for span in spans:
            loaded = self.load(name, span)
            if loaded is not None:
                rows.update(zip(span.runs, loaded[0].curves, strict=True))
        if not all(run in rows for run in range(runs)):
            raise self.incomplete()
        return np.stack([rows[run] for run in range(runs)])

    def incomplete(self) -> ValueError:
        """The error for runs that are missing or damaged."""
        return ValueError(
            f"{self.folder.parent}: runs are missing or damaged; run the command that wrote it "
            "again, which computes only those"
        )

    def save(self, name: str, first: int, batch: Batch, trial: Trial) -> BatchSummary:
        """Write a batch atomically."""
        mark_folder(self.folder.parent)
        runs = len(batch.curves)
        metadata = {
            "trial": trial.id,
            "name": name,
            "first": first,
            "shape": list(batch.curves.shape),
            "evicted": list(batch.evicted) or [0] * runs,
            "divergence": list(batch.divergence) or [""] * runs,
            **trial.identity(),
            "versions": {**versions(), **environment_versions(trial.domain)},
        }
        write_table(_batch_table(batch, trial, metadata), self.path(name, first, runs), metadata)
        return BatchSummary.of(batch, metadata)


def _batch_table(batch: Batch, trial: Trial, metadata: Mapping[str, Any]) -> Any:
    import pyarrow as arrow

    first, (runs, bins) = metadata["first"], batch.curves.shape
    rows = runs * bins
    firsts = np.arange(bins) * trial.width if trial.record is None else trial.firsts
    return arrow.table(
        {
            "trial": arrow.repeat(trial.id, rows),
            "hash": arrow.repeat(metadata["name"], rows),
            "run": np.repeat(np.arange(first, first + runs, dtype=np.int32), bins),
            "bin": np.tile(np.arange(bins, dtype=np.int32), runs),
            "first": np.tile(firsts.astype(np.int64), runs),
            "value": batch.curves.ravel(),
            "diverged": np.repeat(batch.diverged, bins),
        }
    )


def write_table(table: Any, path: Path, metadata: Mapping[str, Any]) -> None:
    """Write a table atomically, with page checksums and metadata."""
    from pyarrow import parquet

    schema = {METADATA_KEY: json.dumps(metadata, sort_keys=True).encode()}
    file = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(schema), file, write_page_checksum=True)
    write_bytes(path, file.getvalue())


def read_table(path: Path) -> Any:
    """Read a table and verify its checksums; a ``ValueError`` if it is damaged."""
    require_extra("a folder of results", "experiments")
    import pyarrow as arrow
    from pyarrow import parquet

    source = arrow.BufferReader(read_whole(path))
    try:
        with parquet.ParquetFile(source, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except (OSError, arrow.ArrowException):
        raise ValueError(f"{path}: is damaged; run the command that wrote it again") from None


def table_metadata(table: Any) -> dict[str, Any]:
    """Return the metadata that :func:`write_table` stored with a table."""
    metadata: dict[str, Any] = json.loads((table.schema.metadata or {}).get(METADATA_KEY, b"{}"))
    return metadata


# ----------------------------------------------------------------------------------------- timings

Times = dict[str, tuple[float, int]]  # processor seconds and steps, by storage name of a trial


def add_times(folder: Path, times: Times, suffix: str = "") -> None:
    """Add to the times in a folder; they are no results, so failing to write them is no error."""
    path = folder / f"timings{suffix}.json"
    totals = _read_times(path)
    for name, (seconds, steps) in times.items():
        before = totals.get(name, (0.0, 0))
        totals[name] = before[0] + seconds, before[1] + steps
    if times:
        with suppress(StoreError):
            write_text(path, json.dumps(totals, indent=1, sort_keys=True))


def step_nanoseconds(names: Sequence[str], folder: Path) -> list[float]:
    """Return the time of a step of each trial on one thread; NaN where it was not measured."""
    times: Times = {}
    for path in sorted(folder.glob("timings*.json")):
        times.update(_read_times(path))
    pairs = [times.get(name, (0.0, 0)) for name in names]
    return [seconds / steps * 1e9 if steps else float("nan") for seconds, steps in pairs]


def _read_times(path: Path) -> Times:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return {}
