"""Finished blocks of runs on disk, so that nothing is ever computed twice.

A block is one small Parquet file, written under a temporary name and renamed: it is there in full
or not at all. Its name holds a hash of what decides its numbers, the code included, so results of
changed settings or changed code are never mistaken for these. All blocks of a folder together are
one table, with a row for every point of every run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.experiments.cells import Cell, blocks
from expectant.experiments.facts import versions
from expectant.experiments.files import StoreError, make_folder, write_table

__all__ = ["Block", "Facts", "Store", "StoreError", "versions"]

KEY = b"expectant"
SET_ASIDE = "set-aside"


class Block(NamedTuple):
    """Some consecutive runs: ``curves`` (runs, bins), ``diverged`` (runs,), and the mean
    ``lengths`` of episodes (runs, bins) if they are recorded."""

    curves: np.ndarray
    diverged: np.ndarray
    lengths: np.ndarray | None = None


class Facts(NamedTuple):
    """What the end of a block's file says: its cell, and the mean of every run's values."""

    cell: str
    first: int
    means: list[float]
    diverged: list[bool]


class Span(NamedTuple):
    """Consecutive runs: the first, and how many."""

    first: int
    size: int

    @property
    def runs(self) -> range:
        return range(self.first, self.first + self.size)


class Store:
    """A folder of blocks; ``facts`` are written into each of them."""

    def __init__(self, folder: Path, facts: Mapping[str, Any] | None = None) -> None:
        self.folder = folder / "blocks"
        self.aside = folder / SET_ASIDE
        self.facts = dict(facts or {})

    def path(self, name: str, first: int, count: int) -> Path:
        return self.folder / f"{name}-{first:05d}-{count:04d}.parquet"

    def index(self) -> dict[str, list[Span]]:
        """The blocks that are there, by the names of their cells."""
        return index_of(self.folder)

    def missing(self, cell: Cell, spans: list[Span]) -> Iterator[Span]:
        """The blocks of a cell that are not among those that are there."""
        there = {run for span in spans for run in span.runs}
        for first, count in blocks(cell.runs):
            left = [run for run in range(first, first + count) if run not in there]
            if left:
                yield Span(left[0], left[-1] - left[0] + 1)

    def facts_of(self, name: str, span: Span) -> Facts | None:
        """What the end of a block's file says; None if it is not there, or not whole."""
        import pyarrow as arrow
        from pyarrow import parquet

        try:
            metadata = parquet.read_metadata(self.path(name, *span))
            found = json.loads(metadata.metadata[KEY])
            runs, bins = found["shape"]
            whole = metadata.num_rows == runs * bins and runs == span.size
            facts = Facts(found["cell"], span.first, found["means"], found["diverged"])
        except (OSError, KeyError, TypeError, ValueError, arrow.ArrowException):
            return None
        return facts if whole else None

    def load(self, name: str, span: Span) -> Block | None:
        """A finished block; None if it is not there, or not whole."""
        import pyarrow as arrow
        from pyarrow import parquet

        try:
            file = parquet.ParquetFile(self.path(name, *span), page_checksum_verification=True)
            table = file.read(use_threads=False)
            shape = json.loads(table.schema.metadata[KEY])["shape"]
            curves = table["value"].to_numpy().reshape(shape)
            diverged = table["diverged"].to_numpy().reshape(shape)[:, 0]
            lengths = table["length"]
            extra = None if lengths.null_count else lengths.to_numpy().reshape(shape)
        except (OSError, KeyError, TypeError, ValueError, arrow.ArrowException):
            return None
        return Block(curves, diverged, extra)

    def curves(self, name: str, runs: int) -> np.ndarray | None:
        """The curves (runs, bins) of a cell from all its blocks; None if one is not whole."""
        rows: dict[int, np.ndarray] = {}
        for span in index_of(self.folder, name).get(name, []):
            block = self.load(name, span)
            if block is None:
                self.path(name, *span).unlink(missing_ok=True)
                return None
            rows.update(zip(span.runs, block.curves, strict=True))
        return np.stack([rows[run] for run in range(runs)])

    def save(self, name: str, first: int, block: Block, cell: Cell) -> None:
        """Write a block in one piece."""
        make_folder(self.folder)
        write_table(self._table(first, block, cell), self.path(name, first, len(block.curves)))

    def rename(self, name: str, span: Span, cell: Cell) -> None:
        """Write a block again under the id that its cell has by now."""
        import pyarrow as arrow
        from pyarrow import parquet

        path = self.path(name, *span)
        table = parquet.read_table(path)
        found = {**json.loads(table.schema.metadata[KEY]), "cell": cell.id}
        table = table.set_column(0, "cell", arrow.repeat(cell.id, table.num_rows))
        write_table(table.replace_schema_metadata(_metadata(found)), path)

    def forget(self, name: str, span: Span) -> None:
        """Remove a block that is not whole."""
        try:
            self.path(name, *span).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot remove a damaged file in {self.folder}: {error.strerror}"
            ) from None

    def set_aside(self, wanted: set[str]) -> set[str]:
        """Move the blocks of all other cells out of the way; returns the names of those cells."""
        others = {name: spans for name, spans in self.index().items() if name not in wanted}
        if others:
            make_folder(self.aside)
        for name, spans in others.items():
            self._move(name, spans, self.folder, self.aside)
        return set(others)

    def take_back(self, wanted: set[str]) -> set[str]:
        """Move blocks that were set aside back to where they are asked for again."""
        found = {name: spans for name, spans in index_of(self.aside).items() if name in wanted}
        if found:
            make_folder(self.folder)
        for name, spans in found.items():
            self._move(name, spans, self.aside, self.folder)
        return set(found)

    def _move(self, name: str, spans: list[Span], source: Path, target: Path) -> None:
        for span in spans:
            file = self.path(name, *span).name
            try:
                os.replace(source / file, target / file)
            except OSError as error:
                raise StoreError(f"cannot move {source / file}: {error.strerror}") from None

    def _table(self, first: int, block: Block, cell: Cell) -> Any:
        import pyarrow as arrow

        runs, bins = block.curves.shape
        rows = runs * bins
        lengths = arrow.nulls(rows, arrow.float64())
        if block.lengths is not None:
            lengths = arrow.array(block.lengths.ravel())
        table = arrow.table(
            {
                "cell": arrow.repeat(cell.id, rows),
                "run": np.repeat(np.arange(first, first + runs, dtype=np.int32), bins),
                "bin": np.tile(np.arange(bins, dtype=np.int32), runs),
                "first": np.tile(np.arange(bins, dtype=np.int64) * cell.width, runs),
                "value": block.curves.ravel(),
                "length": lengths,
                "diverged": np.repeat(block.diverged, bins),
            }
        )
        facts = {
            "cell": cell.id,
            "shape": [runs, bins],
            "means": block.curves.mean(axis=1).tolist(),
            "diverged": block.diverged.tolist(),
            **cell.identity(),
            **self.facts,
            **versions(),
        }
        return table.replace_schema_metadata(_metadata(facts))


def index_of(folder: Path, name: str = "*") -> dict[str, list[Span]]:
    """The blocks in a folder by the names of their cells, those of one cell only if asked."""
    found: dict[str, list[Span]] = {}
    files = folder.glob(f"{name}-*.parquet") if name != "*" else _scanned(folder)
    for file in files:
        cell, first, count = file.name.removesuffix(".parquet").rsplit("-", 2)
        if first.isdigit() and count.isdigit():
            found.setdefault(cell, []).append(Span(int(first), int(count)))
    return {cell: sorted(spans) for cell, spans in found.items()}


def _scanned(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".parquet") and entry.name.count("-") >= 2:
                    yield Path(entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"cannot write results to {folder}: {error.strerror}") from None


def _metadata(facts: Mapping[str, Any]) -> dict[bytes, bytes]:
    return {KEY: json.dumps(facts, sort_keys=True).encode()}
