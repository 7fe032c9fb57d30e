"""Results in files: sealed tables, and reading whatever was written.

A file that cannot be read is not a damaged one: it may be whole, so nobody
may remove or replace it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from expectant.extras import need
from expectant.files import (
    StoreError,
    make_folder,
    reason_of,
    remove_scratch,
    write_bytes,
    write_text,
)
from expectant.lab.store.sealing import SEAL, is_whole, opened_table, sealed_table

__all__ = [
    "StoreError",
    "make_folder",
    "read_table",
    "read_whole",
    "remove_scratch",
    "write_table",
    "write_text",
]


def read_whole(path: Path) -> bytes:
    """All bytes of a file; a ``StoreError`` if it is there and cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"cannot read {path}: {reason_of(error)}; it is left as it is") from None


def read_table(path: Path, remedy: str) -> Any:
    """The table in a file; ``remedy`` says how to get a new one if it is damaged.

    One without a seal, which somebody else has written, is as good as its pages.
    """
    need("a folder of results", "lab")
    import pyarrow as arrow

    content = read_whole(path)
    try:
        if SEAL in content and not is_whole(content):
            raise ValueError
        return opened_table(content)
    except (ValueError, OSError, arrow.ArrowException):
        raise ValueError(f"{path}: is damaged; {remedy}") from None


def write_table(table: Any, path: Path) -> None:
    """Write a Parquet file in one piece, sealed."""
    write_bytes(path, sealed_table(table))
