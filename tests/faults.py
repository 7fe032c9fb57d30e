"""Faults of a disk, for tests that see what becomes of them."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def unreadable(monkeypatch: pytest.MonkeyPatch, path: Path, number: int) -> Iterator[None]:
    """Let a file be there and refuse to be read, with an error of the system's by its number."""
    plain = open

    def refuse(file: Any, *rest: Any, **options: Any) -> Any:
        if isinstance(file, str | Path) and Path(file) == path:
            raise OSError(number, os.strerror(number), str(file))
        return plain(file, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", refuse)
        patch.setattr(io, "open", refuse)  # of pathlib
        yield
