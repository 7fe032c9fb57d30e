"""A results folder that belongs to one spec, and to one process (or its shards) at a time."""

from __future__ import annotations

import errno
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import IO, Any

from expectant.lab.engines.compute import Shard
from expectant.lab.specs.spec import SpecError, parse_toml, spec_hash
from expectant.lab.store.folder_layout import SPEC, check_layout, mark
from expectant.lab.store.sealed_tables import (
    StoreError,
    make_folder,
    read_whole,
    remove_scratch,
    write_text,
)
from expectant.progress import say

LOCK = ".lock"
PATIENCE = 10.0  # seconds that a shard waits for another one that is just opening the folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def again(command: str, folder: Path) -> str:
    """How ``run`` or ``sweep`` makes the results of a folder again, in the same folder."""
    return f"expectant {command} {quote(str(folder / SPEC))} --out {quote(str(folder))}"


def place_of(folder: Path) -> str:
    """Where a command that names a folder works; nothing to say where it does so anywhere."""
    return "" if folder.is_absolute() else "in the working directory in which this page was written"


@contextmanager
def opened(
    folder: Path, text: str, data: Mapping[str, Any], shard: Shard | None = None, kind: str = ""
) -> Iterator[None]:
    """Hold a folder for a spec while its cells are computed, and mark it as one of a ``kind``.

    A whole sweep has the folder for itself. Shards share it, each with a lock of its own; only one
    that is alone may change the spec.
    """
    check_layout(folder)
    make_folder(folder)
    with _file(folder / LOCK) as lock:
        alone = _locked(lock, exclusive=True)
        if not alone and (shard is None or not _shared(lock)):
            raise StoreError(f"{folder} is in use by {_owner(lock)}; wait for it, or use --out")
        if not _same(folder, data):
            if not alone:
                raise StoreError(f"{folder} is in use by shards of another spec; use --out")
            write_text(folder / SPEC, text)
        if alone:
            remove_scratch(folder / "blocks")
        if kind:
            mark(folder, kind)
        _sign(lock)
        if shard is None:
            yield
            return
        _shared(lock)
        with _file(folder / f"{LOCK}{shard.suffix}") as own:
            if not _locked(own, exclusive=True):
                raise StoreError(
                    f"shard {shard.number}/{shard.of} of {folder} is in use by {_owner(own)}"
                )
            _sign(own)
            yield


def _file(path: Path) -> IO[str]:
    try:
        return open(path, "a+")
    except OSError as error:
        raise StoreError(f"cannot write results to {path.parent}: {error.strerror}") from None


def _locked(file: IO[str], exclusive: bool) -> bool:
    """Try to lock a file; the lock is gone when the process is, however it ends."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        say(f"{file.name} cannot be locked ({error.strerror}): make sure nobody else writes there")
    return True


def _shared(lock: IO[str]) -> bool:
    until = time.monotonic() + PATIENCE
    while not _locked(lock, exclusive=False):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _same(folder: Path, data: Mapping[str, Any]) -> bool:
    """Whether the folder's spec says the same as ours."""
    try:
        text = read_whole(folder / SPEC).decode()
        return spec_hash(parse_toml(text, SPEC)) == spec_hash(data)
    except (FileNotFoundError, UnicodeDecodeError, SpecError):
        return False


def _sign(lock: IO[str]) -> None:
    """Write down who has the lock, for the message that others get."""
    try:
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {platform.node()}")
        lock.flush()
    except OSError as error:
        raise StoreError(f"cannot write {lock.name}: {error.strerror}") from None


def _owner(lock: IO[str]) -> str:
    lock.seek(0)
    return lock.read() or "another process"
