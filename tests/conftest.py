"""Shared by all tests: one kernel cache for the whole session, kept apart from the user's."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

_CACHE = Path(tempfile.gettempdir()) / f"expectant-tests-{os.getuid()}"
os.environ.setdefault("EXPECTANT_CACHE_DIR", str(_CACHE))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the tests themselves take every core
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background setup ignores


@pytest.fixture
def kernel_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh kernel cache for one test."""
    monkeypatch.setenv("EXPECTANT_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"
