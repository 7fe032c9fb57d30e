"""Writing files so that nobody ever sees half of one, and reading them again.

Errors say what to do. A file that cannot be read is not a damaged one: it may be whole, so nobody
may remove or replace it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from expectant.experiments.sealing import SEAL, is_whole, opened_table, sealed_table


class StoreError(OSError):
    """Results cannot be written or read; says what to do."""


def read_whole(path: Path) -> bytes:
    """All bytes of a file; a ``StoreError`` if it is there and cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"cannot read {path}: {_reason(error)}; it is left as it is") from None


def read_table(path: Path, remedy: str) -> Any:
    """The table in a file; ``remedy`` says how to get a new one if it is damaged.

    One without a seal, which somebody else has written, is as good as its pages.
    """
    import pyarrow as arrow

    content = read_whole(path)
    try:
        if SEAL in content and not is_whole(content):
            raise ValueError
        return opened_table(content)
    except (ValueError, OSError, arrow.ArrowException):
        raise ValueError(f"{path}: is damaged; {remedy}") from None


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write results to {folder}: {error.strerror}") from None


def write_table(table: Any, path: Path) -> None:
    """Write a Parquet file in one piece, sealed."""
    content = sealed_table(table)
    write_whole(path, lambda file: file.write(content))


def write_text(path: Path, text: str) -> None:
    """Write a text file in one piece."""
    make_folder(path.parent)
    write_whole(path, lambda file: file.write(text.encode()))


def write_whole(path: Path, write: Callable[[Any], Any]) -> None:
    """Let ``write`` fill a file under another name, then rename it."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(scratch, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {_reason(error)}") from None


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{reason}; make room, then the same command goes on where it stopped"
    return reason


def remove_scratch(folder: Path) -> None:
    """Remove what killed processes left half-written; only while nobody writes there."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)
