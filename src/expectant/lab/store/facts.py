"""Where results come from: versions, and the commit of the project they were made in."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata


@cache
def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    names = ("expectant", "numpy", "numba")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


@cache
def commit() -> str | None:
    """The commit of the git repository around the present folder, if there is one."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
