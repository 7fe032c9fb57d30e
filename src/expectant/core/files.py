"""Files that are written in one piece, with errors that say what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO


class StoreError(OSError):
    """Results cannot be written or read; says what to do."""


def make_folder(folder: Path) -> None:
    """Make a folder with all that lead to it; one that is there is left as it is."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write results to {folder}: {error.strerror}") from None


def write_text(path: Path, text: str) -> Path:
    """Write a text file in one piece."""
    return write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> Path:
    """Write a file in one piece."""
    return write_whole(path, lambda file: file.write(content))


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> Path:
    """Let ``write`` fill a file under another name, then rename it."""
    make_folder(path.parent)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(scratch, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {reason_of(error)}") from None
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
    return path


def read_whole(path: Path) -> bytes:
    """All bytes of a file; a ``StoreError`` if it is there and cannot be read.

    A file that cannot be read is not a damaged one: it may be whole, so nobody may replace it.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"cannot read {path}: {reason_of(error)}; it is left as it is") from None


def remove_scratch(folder: Path) -> None:
    """Remove what killed processes left half-written; only while nobody writes there."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def reason_of(error: OSError) -> str:
    """Why a file could not be read or written, and what to do about it."""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{reason}; make room, then the same command goes on where it stopped"
    return reason
