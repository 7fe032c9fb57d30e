"""A results folder: its kind and layout, its config file, and its locks."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from shlex import quote
from typing import Any

from expectant.core.errors import require_extra
from expectant.core.files import StoreError, make_folder, read_whole, remove_scratch, write_text
from expectant.experiments.toml_tables import ConfigError, config_hash, parse_toml
from expectant.experiments.trials import Shard

KIND, CONFIG, RUNS, TRIALS, LOCK = "folder.json", "config.toml", "runs", "trials.parquet", ".lock"
LAYOUT = 3  # version of the files in a folder; folders of another version are refused
RESULTS = (KIND, RUNS, TRIALS, "curves.parquet", "blocks", "cells.parquet", "rows")
RUN, SWEEP, STUDY, TRY = "run", "sweep", "study", "try"
COMMANDS = {RUN: "run", SWEEP: "run", STUDY: "reproduce", TRY: "try"}
PATIENCE = 10.0  # seconds that a shard waits for another one that is just opening the folder


@cache
def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    names = ("expectant", "numpy", "numba")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


# ---------------------------------------------------------------------------------- kind and layout


def mark_folder(folder: Path, kind: str = "") -> None:
    """Write the kind of results of a folder; without a kind, keep the present one."""
    mark = _read_mark(folder)
    if not mark or (kind and mark.get("kind") != kind):
        write_text(folder / KIND, json.dumps({"kind": kind, "layout": LAYOUT}) + "\n")


def check_layout(folder: Path) -> None:
    """Refuse a folder of another version, before anything in it is changed."""
    has_results = any((folder / name).exists() for name in RESULTS)
    if has_results and _read_mark(folder).get("layout") != LAYOUT:
        raise ValueError(
            f"{folder}: was written by another version of expectant; nothing in it was changed: "
            "move it away, or give another folder with --out"
        )


def kind_of(folder: Path) -> str:
    """Return the kind of results in a folder, "" if it has none; refuse another layout."""
    check_layout(folder)
    kind = _read_mark(folder).get("kind")
    return kind if isinstance(kind, str) and kind in COMMANDS else ""


def require_kind(folder: Path, *wanted: str) -> str:
    """Return the kind of results in a folder; refuse kinds other than ``wanted``."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; `reproduce` and `run` write one")
    kind = kind_of(folder)
    if not kind:
        raise ValueError(f"{folder}: is no folder of results; `reproduce` and `run` write one")
    if kind not in wanted:
        raise ValueError(f"{folder}: {describe_origin(folder)}")
    return kind


def describe_origin(folder: Path) -> str:
    """Name the command that made a folder."""
    return f"has results of `expectant {COMMANDS[kind_of(folder)]}`"


def rerun_command(command: str, folder: Path) -> str:
    """Return the command that makes the results of a folder again, in the same folder."""
    return f"expectant {command} {quote(str(folder / CONFIG))} --out {quote(str(folder))}"


def folder_note(folder: Path) -> str:
    """Say where a command with a relative folder has to be run."""
    return "" if folder.is_absolute() else "in the working directory in which this page was written"


def _read_mark(folder: Path) -> dict[str, Any]:
    try:
        mark = json.loads((folder / KIND).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


# -------------------------------------------------------------------------------------------- locks


@contextmanager
def lock_folder(
    folder: Path, text: str, data: Mapping[str, Any], shard: Shard | None = None, kind: str = ""
) -> Iterator[None]:
    """Lock a folder while the trials of a config are computed, and mark it as one of a ``kind``.

    A whole sweep has the folder for itself. Shards share it, each with its own lock; only one that
    is alone may change the config.
    """
    check_layout(folder)
    make_folder(folder)
    with _lock(folder / LOCK, f"{folder} is in use", PATIENCE if shard else 0.0):
        alone = not any(map(_is_locked, folder.glob(f"{LOCK}-*")))
        if not alone and shard is None:
            raise StoreError(f"{folder} is in use by shards; wait for them, or use --out")
        if not _has_config(folder, data):
            if not alone:
                raise StoreError(f"{folder} is in use by shards of another config; use --out")
            write_text(folder / CONFIG, text)
        mark_folder(folder, kind)
        if alone:
            remove_scratch(folder / RUNS)
        if shard is None:
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
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


def _has_config(folder: Path, data: Mapping[str, Any]) -> bool:
    """True if the folder's config file has the same content."""
    try:
        text = read_whole(folder / CONFIG).decode()
        return config_hash(parse_toml(text, CONFIG)) == config_hash(data)
    except (FileNotFoundError, UnicodeDecodeError, ConfigError):
        return False
