"""Writing files so that nobody ever sees half of one, with messages that say what to do."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


class StoreError(OSError):
    """Results cannot be written; says what to do."""


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write results to {folder}: {error.strerror}") from None


def write_table(table: Any, path: Path) -> None:
    """Write a Parquet file in one piece."""
    from pyarrow import parquet

    def write(file: Any) -> None:
        parquet.write_table(table, file, write_page_checksum=True)

    write_whole(path, write)


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
