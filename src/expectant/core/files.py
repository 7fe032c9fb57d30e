"""Atomic reading and writing of files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO


class StoreError(OSError):
    """Results cannot be written or read."""


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, unless they exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write results to {folder}: {error.strerror}") from None


def write_text(path: Path, text: str) -> Path:
    """Write a text file atomically."""
    return write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> Path:
    """Write a file atomically."""
    return write_whole(path, lambda file: file.write(content))


def write_whole(path: Path, write: Callable[[BinaryIO], Any]) -> Path:
    """Let ``write`` fill a temporary file, then rename it."""
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
    """Return all bytes of a file; raise ``StoreError`` if it exists and cannot be read.

    An unreadable file is not a damaged one, so nobody may replace it.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"cannot read {path}: {reason_of(error)}; it is left as it is") from None


def remove_scratch(folder: Path) -> None:
    """Remove temporary files of killed processes, while nobody writes there."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def reason_of(error: OSError) -> str:
    """Return why a file could not be read or written, with advice if the disk is full."""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{reason}; free some space, then the same command resumes where it stopped"
    return reason
