"""A results folder: its kind and layout, its spec, and the processes that may write to it."""

from __future__ import annotations

import json
import platform
import subprocess
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

KIND, CONFIG, LOCK = "folder.json", "config.toml", ".lock"
LAYOUT = 2  # of the files in a folder; folders of another one are left alone
RESULTS = (KIND, "runs", "trials.parquet", "curves.parquet", "rows")
RUN, SWEEP, STUDY, TRY = "run", "sweep", "study", "try"
COMMANDS = {RUN: "run", SWEEP: "run", STUDY: "reproduce", TRY: "try"}
PATIENCE = 10.0  # seconds that a shard waits for another one that is just opening the folder


@cache
def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    names = ("expectant", "numpy", "numba")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


@cache
def git_commit() -> str | None:
    """The commit of the git repository around the working directory, if there is one."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


# ---------------------------------------------------------------------------------- kind and layout


def mark_folder(folder: Path, kind: str = "") -> None:
    """Write what kind of results a folder has; without a kind, leave one that is there."""
    marked = _read_mark(folder)
    if not marked or (kind and marked.get("kind") != kind):
        write_text(folder / KIND, json.dumps({"kind": kind, "layout": LAYOUT}) + "\n")


def check_layout(folder: Path) -> None:
    """Refuse a folder of an earlier version, before anything in it is changed."""
    has_results = any((folder / name).exists() for name in RESULTS)
    if has_results and _read_mark(folder).get("layout") != LAYOUT:
        raise ValueError(
            f"{folder}: was written by another version of expectant; nothing in it was changed: "
            "move it away, or give another folder with --out"
        )


def kind_of(folder: Path) -> str:
    """The kind of results in a folder, "" if none; those of an earlier layout are an error."""
    check_layout(folder)
    kind = _read_mark(folder).get("kind")
    return kind if isinstance(kind, str) and kind in COMMANDS else ""


def require_kind(folder: Path, *wanted: str) -> str:
    """The kind of results in a folder, or an error that it has none of those ``wanted``."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; `reproduce` and `run` write one")
    kind = kind_of(folder)
    if not kind:
        raise ValueError(f"{folder}: is no folder of results; `reproduce` and `run` write one")
    if kind not in wanted:
        raise ValueError(f"{folder}: {describe_origin(folder)}")
    return kind


def describe_origin(folder: Path) -> str:
    """Which command made a folder that was given for something else."""
    return f"has results of `expectant {COMMANDS[kind_of(folder)]}`"


def rerun_command(command: str, folder: Path) -> str:
    """The command that makes the results of a folder again, in the same folder."""
    return f"expectant {command} {quote(str(folder / CONFIG))} --out {quote(str(folder))}"


def folder_note(folder: Path) -> str:
    """Where a command that names a folder works; nothing to say where it does so anywhere."""
    return "" if folder.is_absolute() else "in the working directory in which this page was written"


def _read_mark(folder: Path) -> dict[str, Any]:
    try:
        marked = json.loads((folder / KIND).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return marked if isinstance(marked, dict) else {}


# -------------------------------------------------------------------------------------------- locks


@contextmanager
def lock_folder(
    folder: Path, text: str, data: Mapping[str, Any], shard: Shard | None = None, kind: str = ""
) -> Iterator[None]:
    """Hold a folder for a spec while its trials are computed, and mark it as one of a ``kind``.

    A whole sweep has the folder for itself. Shards share it, each with a lock of its own; only one
    that is alone may change the spec.
    """
    check_layout(folder)
    make_folder(folder)
    with _locked(folder / LOCK, f"{folder} is in use", PATIENCE if shard else 0.0):
        alone = not any(map(_is_held, folder.glob(f"{LOCK}-*")))
        if not alone and shard is None:
            raise StoreError(f"{folder} is in use by shards; wait for them, or use --out")
        if not _has_config(folder, data):
            if not alone:
                raise StoreError(f"{folder} is in use by shards of another spec; use --out")
            write_text(folder / CONFIG, text)
        mark_folder(folder, kind)
        if alone:
            remove_scratch(folder / "runs")
        if shard is None:
            yield
            return
        used = f"shard {shard.number}/{shard.of} of {folder} is in use"
        own = _locked(folder / f"{LOCK}{shard.suffix}", used)
    with own:
        yield


def _locked(path: Path, used: str, patience: float = 0.0) -> AbstractContextManager[Any]:
    """Lock a file; the lock ends with the process, however that ends."""
    require_extra("a folder of results", "experiments")
    from filelock import FileLock, Timeout

    try:
        return FileLock(path).acquire(timeout=patience)
    except Timeout:
        raise StoreError(f"{used} by another process; wait for it, or use --out") from None
    except OSError as error:
        raise StoreError(f"cannot write results to {path.parent}: {error.strerror}") from None


def _is_held(path: Path) -> bool:
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


def _has_config(folder: Path, data: Mapping[str, Any]) -> bool:
    """True if the folder's spec says the same as ours."""
    try:
        text = read_whole(folder / CONFIG).decode()
        return config_hash(parse_toml(text, CONFIG)) == config_hash(data)
    except (FileNotFoundError, UnicodeDecodeError, ConfigError):
        return False
