"""A results folder: its kind, its config, its locks and its finished runs.

A batch of runs is one Parquet file with a row for every point of every run. Its name has two
hashes: of the settings and the user's own code, and of the installed code that computed it. Results
of changed settings or code are therefore never mistaken for others, and both stay in the folder. A
file that is damaged, or whose name and content disagree, is computed again.
"""

from __future__ import annotations

import io
import json
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from expectant.core.errors import require_extra
from expectant.core.files import (
    StoreError,
    make_folder,
    read_whole,
    remove_scratch,
    write_bytes,
    write_text,
)
from expectant.experiments.toml_tables import ConfigError, hash_data, parse_toml
from expectant.experiments.trials import WHOLE, Shard, Trial, environment_code

KIND, CONFIG, RUNS, TRIALS, LOCK = "folder.json", "config.toml", "runs", "trials.parquet", ".lock"
LAYOUT = 3  # version of the files in a folder; folders of another version are refused
RESULTS = (KIND, RUNS, TRIALS, "curves.parquet", "blocks", "cells.parquet", "rows")
RUN, SWEEP, STUDY, TRY = "run", "sweep", "study", "try"
COMMANDS = {RUN: "run", SWEEP: "run", STUDY: "reproduce", TRY: "try"}
PATIENCE = 10.0  # seconds that a shard waits for another one that is just opening the folder
METADATA_KEY = b"expectant"


@cache
def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    names = ("expectant", "numpy", "numba")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


# ---------------------------------------------------------------------------------- kind and layout


def mark_folder(folder: Path, kind: str = "") -> None:
    """Write the kind of results of a folder; without a kind, keep the present one."""
    mark = _read_json(folder / KIND)
    if not mark or (kind and mark.get("kind") != kind):
        write_text(folder / KIND, json.dumps({"kind": kind, "layout": LAYOUT}) + "\n")


def check_layout(folder: Path) -> None:
    """Refuse a folder of another version, before anything in it is changed."""
    has_results = any((folder / name).exists() for name in RESULTS)
    if has_results and _read_json(folder / KIND).get("layout") != LAYOUT:
        raise ValueError(
            f"{folder}: was written by another version of expectant; nothing in it was changed: "
            "move it away, or give another folder with --out"
        )


def require_kind(folder: Path, *wanted: str) -> str:
    """Return the kind of results in a folder; refuse other kinds than ``wanted``."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; `reproduce` and `run` write one")
    check_layout(folder)
    kind = str(_read_json(folder / KIND).get("kind"))
    if kind not in wanted:
        origin = f"of `expectant {COMMANDS[kind]}`" if kind in COMMANDS else "of no command"
        raise ValueError(f"{folder}: has results {origin}; give a folder of {' or '.join(wanted)}")
    return kind


def rerun_command(folder: Path) -> str:
    """Return the command that makes the results of a config again, in the same folder."""
    return f"expectant run {quote(str(folder / CONFIG))} --out {quote(str(folder))}"


def _read_json(path: Path) -> dict[str, Any]:
    """Read a table of JSON; an empty one if there is none."""
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


# -------------------------------------------------------------------------------------------- locks


@contextmanager
def lock_folder(folder: Path, text: str, shard: Shard = WHOLE, kind: str = "") -> Iterator[None]:
    """Lock a folder while the trials of a config are computed, and mark it as one of a ``kind``.

    A whole sweep has the folder for itself. Shards share it, each with its own lock; only one that
    is alone may change the config.
    """
    check_layout(folder)
    make_folder(folder)
    is_whole = shard == WHOLE
    with _lock(folder / LOCK, f"{folder} is in use", 0.0 if is_whole else PATIENCE):
        is_alone = not any(map(_is_locked, folder.glob(f"{LOCK}-*")))
        if is_whole and not is_alone:
            raise StoreError(f"{folder} is in use by shards; wait for them, or use --out")
        if not _has_config(folder, text):
            if not is_alone:
                raise StoreError(f"{folder} is in use by shards of another config; use --out")
            write_text(folder / CONFIG, text)
        mark_folder(folder, kind)
        if is_alone:
            remove_scratch(folder / RUNS)
        if is_whole:
            yield
            return
        problem = f"shard {shard.number}/{shard.of} of {folder} is in use"
        shard_lock = _lock(folder / f"{LOCK}{shard.suffix}", problem)
    with shard_lock:
        yield


def _lock(path: Path, problem: str, patience: float = 0.0) -> AbstractContextManager[Any]:
    """Lock a file; the lock ends with the process, however that ends."""
    require_extra("a folder of results", "experiments")
    from filelock import FileLock, Timeout

    try:
        return FileLock(path).acquire(timeout=patience)
    except Timeout:
        raise StoreError(f"{problem} by another process; wait for it, or use --out") from None
    except OSError as error:
        raise StoreError(f"cannot write results to {path.parent}: {error.strerror}") from None


def _is_locked(path: Path) -> bool:
    try:
        with _lock(path, ""):
            return False
    except StoreError:
        return True


def _has_config(folder: Path, text: str) -> bool:
    """True if the folder's config file has the content of a text."""
    try:
        stored = parse_toml(read_whole(folder / CONFIG).decode(), CONFIG)
        return hash_data(stored) == hash_data(parse_toml(text, ""))
    except (FileNotFoundError, UnicodeDecodeError, ConfigError):
        return False


# ------------------------------------------------------------------------------------------ batches


class FinishedRun(NamedTuple):
    """One run: the ``curve`` of its points, and problems.

    ``evicted`` counts the entries that its model dropped at its capacity, ``divergence`` is the
    reason why it diverged.
    """

    curve: np.ndarray
    diverged: bool
    evicted: int = 0
    divergence: str = ""

    @property
    def mean(self) -> float:
        return float(self.curve.mean())


class Batch(NamedTuple):
    """Some consecutive runs, and the metadata of their file."""

    runs: Sequence[FinishedRun]
    metadata: Mapping[str, Any]


class Store:
    """The result files of a folder."""

    def __init__(self, folder: Path) -> None:
        require_extra("a folder of results", "experiments")
        check_layout(folder)
        self.folder = folder

    def path(self, name: str, numbers: range) -> Path:
        return self.folder / RUNS / f"{name}-{numbers.start:05d}-{len(numbers):04d}.parquet"

    @cached_property
    def batches(self) -> dict[str, set[range]]:
        """The numbers of runs in every batch, by the storage names of their trials."""
        batches: dict[str, set[range]] = {}
        for path in (self.folder / RUNS).glob("*.parquet"):
            match = re.fullmatch(r"(.*)-([0-9]+)-([0-9]+)", path.stem)
            if match:
                numbers = range(int(match[2]), int(match[2]) + int(match[3]))
                batches.setdefault(match[1], set()).add(numbers)
        return batches

    def load(self, name: str, numbers: range) -> Batch | None:
        """Read a batch and verify its checksums; None if it is missing or damaged."""
        try:
            table = read_table(self.path(name, numbers))
            metadata = table_metadata(table)
            shape = count, _ = metadata["shape"]
            if (metadata["name"], metadata["first"], count) != (name, numbers.start, len(numbers)):
                return None
            curves = table["value"].to_numpy().reshape(shape)
            diverged = table["diverged"].to_numpy().reshape(shape)[:, 0].tolist()
            columns = curves, diverged, metadata["evicted"], metadata["divergence"]
            return Batch([FinishedRun(*run) for run in zip(*columns, strict=True)], metadata)
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            return None

    def curves(self, name: str, runs: int) -> np.ndarray:
        """Read and verify the curves (runs, points) of a trial."""
        curves: dict[int, np.ndarray] = {}
        for numbers in self.batches.get(name, ()):
            batch = self.load(name, numbers)
            if batch is not None:
                curves.update(zip(numbers, (run.curve for run in batch.runs), strict=True))
        if not curves.keys() >= set(range(runs)):
            raise ValueError(
                f"{self.folder}: runs are missing or damaged; run the command that wrote it "
                "again, which computes only those"
            )
        return np.stack([curves[number] for number in range(runs)]) if runs else np.empty((0, 0))

    def save(self, name: str, first: int, runs: Sequence[FinishedRun], trial: Trial) -> Batch:
        """Write a batch atomically."""
        import pyarrow as arrow

        curves = np.stack([run.curve for run in runs])
        count, points = curves.shape
        metadata = {
            "trial": trial.id,
            "name": name,
            "first": first,
            "shape": [count, points],
            "evicted": [run.evicted for run in runs],
            "divergence": [run.divergence for run in runs],
            **trial.identity(),
            "versions": {**versions(), **environment_code(trial.domain)[0]},
        }
        columns = {
            "trial": arrow.repeat(trial.id, curves.size),
            "hash": arrow.repeat(name, curves.size),
            "run": np.repeat(np.arange(first, first + count, dtype=np.int32), points),
            "bin": np.tile(np.arange(points, dtype=np.int32), count),
            "first": np.tile(trial.firsts, count),
            "value": curves.ravel(),
            "diverged": np.repeat([run.diverged for run in runs], points),
        }
        numbers = range(first, first + count)
        write_table(arrow.table(columns), self.path(name, numbers), metadata)
        self.batches.setdefault(name, set()).add(numbers)
        return Batch(runs, metadata)


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
