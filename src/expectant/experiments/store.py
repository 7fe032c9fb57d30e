"""Finished blocks of runs on disk, so that nothing is ever computed twice.

A block is one small Parquet file, written under a temporary name and renamed: it is there in full
or not at all. Its name holds a hash of what decides its numbers, the code included, so results of
changed settings or changed code are never mistaken for these.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.experiments.spec import Cell
from expectant.running.fingerprint import fingerprint, part_types
from expectant.running.loop import simulate
from expectant.running.run import Job

KEY = b"expectant"


class Block(NamedTuple):
    """Binned returns of some consecutive runs: ``curves`` (runs, bins), ``diverged`` (runs,)."""

    curves: np.ndarray
    diverged: np.ndarray


class StoreError(OSError):
    """The store cannot be written; says what to do."""


def cell_hash(cell: Cell) -> str:
    """A name for everything that decides the numbers of a cell's runs."""
    job = Job(cell.domain, cell.features, cell.agent, 1, 0, 1, cell.step_limit, cell.seed)
    prepared, _ = job.prepare(0)
    code = fingerprint(simulate, part_types(prepared)).name
    text = json.dumps([cell.identity(), code], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Store:
    """A folder of blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "blocks"

    @cached_property
    def _ready(self) -> bool:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write results to {self.folder}: {error.strerror}") from None
        return True

    def path(self, name: str, first: int, count: int) -> Path:
        return self.folder / f"{name}-{first:05d}-{count:04d}.parquet"

    def load(self, name: str, first: int, count: int) -> Block | None:
        """A finished block; None if it is not there, or not whole."""
        import pyarrow as arrow
        from pyarrow import parquet

        path = self.path(name, first, count)
        if not path.exists():
            return None
        try:
            table = parquet.read_table(path)
            shape = json.loads(table.schema.metadata[KEY])["shape"]
            curves = table["mean_return"].to_numpy().reshape(shape)
        except (OSError, KeyError, TypeError, ValueError, arrow.ArrowException):
            return None
        return Block(curves, np.isnan(curves[:, -1]))

    def save(self, name: str, first: int, block: Block, cell: Cell) -> None:
        """Write a block in one piece."""
        import pyarrow as arrow

        runs, bins = block.curves.shape
        table = arrow.table(
            {
                "run": np.repeat(np.arange(first, first + runs, dtype=np.int32), bins),
                "bin": np.tile(np.arange(bins, dtype=np.int32), runs),
                "mean_return": block.curves.ravel(),
            }
        )
        facts = {"shape": [runs, bins], **cell.identity(), **versions()}
        table = table.replace_schema_metadata({KEY: json.dumps(facts, sort_keys=True).encode()})
        if self._ready:
            write_table(table, self.path(name, first, runs))


def write_table(table: Any, path: Path) -> None:
    """Write a Parquet file so that nobody ever sees half of it."""
    from pyarrow import parquet

    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(scratch, "wb") as file:
            parquet.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    import platform
    from importlib import metadata

    names = ("expectant", "numpy", "numba")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}
