"""A hash of the package's own source that decides numbers, which no version says in a checkout.

What kernels are made of is read function by function. What builds parts, prepares runs and makes
curves of them is plain Python: of that, the files are read as a whole.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
DECIDING = (
    "agents", "backups", "domains", "engine", "exact", "features", "models", "options",
    "step_sizes", "descriptions.py", "dispatch.py", "lanes.py", "parts.py",
    "rules.py", "seeds.py", "updates.py", "verbs.py", "lab/cells.py",
    "lab/engines/tasks.py", "lab/episodes.py", "lab/looks.py", "lab/policy_worth.py",
    "lab/records.py",
)  # fmt: skip


@cache
def package_code(package: Path = PACKAGE) -> str:
    """The hash, the same for the same files wherever they are installed; read once a process."""
    total = hashlib.sha256()
    for name in DECIDING:
        place = package / name
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        for file in files:
            total.update(f"\n{file.relative_to(package).as_posix()}\n".encode())
            total.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return total.hexdigest()
