"""Files that tell themselves whether they are whole: every one holds a hash of all its bytes.

In a table the hash is a piece of metadata of fixed length. It is taken with zeros in its place, and
then written over them, so that a single changed bit anywhere in the file is noticed, and without
decoding any of it.
"""

from __future__ import annotations

import hashlib
import io
from typing import Any

SEAL = b"expectant-seal"  # the key in a table's metadata
DIGITS = 32
_NAME = b"blake2b of the whole file: "  # nothing else in a file is likely to say so
_BLANK = _NAME + b"0" * DIGITS


def hash_of_bytes(content: bytes) -> str:
    """A hash of some bytes."""
    return hashlib.blake2b(content, digest_size=DIGITS // 2).hexdigest()


def sealed_table(table: Any) -> bytes:
    """A table as a Parquet file, with its seal."""
    from pyarrow import parquet

    file = io.BytesIO()
    metadata = {**(table.schema.metadata or {}), SEAL: _BLANK}
    parquet.write_table(table.replace_schema_metadata(metadata), file, write_page_checksum=True)
    content = file.getvalue()
    place = content.rindex(_BLANK) + len(_BLANK)
    return content[: place - DIGITS] + hash_of_bytes(content).encode() + content[place:]


def is_whole(content: bytes) -> bool:
    """Whether the bytes of a file are those that were once sealed; False also if it has no seal."""
    start = content.rfind(_NAME)
    end = start + len(_BLANK)
    blank = b"".join((content[:start], _BLANK, content[end:]))
    return start >= 0 and content[end - DIGITS : end] == hash_of_bytes(blank).encode()


def opened_table(content: bytes, columns: list[str] | None = None) -> Any:
    """The table in the bytes of a file, or some of its columns."""
    import pyarrow as arrow
    from pyarrow import parquet

    source = arrow.BufferReader(content)
    with parquet.ParquetFile(source, page_checksum_verification=True) as file:
        return file.read(columns=columns, use_threads=False)
