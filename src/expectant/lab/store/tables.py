"""Parquet files, written in one piece, with page checksums that are verified by reading."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from expectant.extras import need
from expectant.files import StoreError, reason_of, write_bytes


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


def write_table(table: Any, path: Path) -> None:
    """Write a table in one piece."""
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(table, file, write_page_checksum=True)
    write_bytes(path, file.getvalue())


def open_table(content: bytes) -> Any:
    """The table in the bytes of a file; a ``ValueError`` if they are damaged."""
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        source = arrow.BufferReader(content)
        with parquet.ParquetFile(source, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except (OSError, arrow.ArrowException) as error:
        raise ValueError(str(error)) from None


def read_table(path: Path, remedy: str) -> Any:
    """The table in a file; ``remedy`` says how to get a new one if it is damaged."""
    need("a folder of results", "lab")
    content = read_whole(path)
    try:
        return open_table(content)
    except ValueError:
        raise ValueError(f"{path}: is damaged; {remedy}") from None
