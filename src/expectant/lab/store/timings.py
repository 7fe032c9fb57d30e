"""How long things took: measurements, kept apart from results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from expectant.files import StoreError, write_text


@dataclass
class Session:
    """One start of a sweep: ``seconds`` passed, of which ``compiling`` before the first block.

    ``inside`` are the seconds that all runs together spent in the loop.
    """

    threads: int
    seconds: float = 0.0
    compiling: float = 0.0
    inside: float = 0.0
    runs: int = 0

    @property
    def at_once(self) -> float:
        """How many runs were in the loop at a time, on average, without compiling."""
        passed = self.seconds - self.compiling
        return self.inside / passed if passed > 0 else 0.0

    def as_data(self) -> dict[str, float]:
        return {**asdict(self), "at_once": self.at_once}

    def add(self, other: Session) -> None:
        """Count another session as part of this one."""
        for field in fields(self):
            if field.name != "threads":
                total = getattr(self, field.name) + getattr(other, field.name)
                setattr(self, field.name, total)


class Timings:
    """Seconds and steps of every cell computed so far, and the sessions that did it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found = _read(path)
        self.cells: dict[str, list[float]] = found["cells"]
        self.sessions: list[dict[str, Any]] = found["sessions"]

    def add(self, name: str, seconds: float, steps: int) -> None:
        before = self.cells.get(name, [0.0, 0])
        self.cells[name] = [before[0] + seconds, before[1] + steps]

    def write(self, session: Session) -> None:
        """Write what is known; a measurement that cannot be written is not worth an error."""
        if session.runs:
            self.sessions.append(session.as_data())
            data = {"cells": self.cells, "sessions": self.sessions}
            try:
                write_text(self.path, json.dumps(data, indent=1, sort_keys=True))
            except StoreError:
                return


def timings_file(folder: Path, shard: str = "") -> Path:
    """Where the timings of a folder are, those of each shard apart."""
    return folder / f"timings{shard}.json"


def step_nanoseconds(names: Sequence[str], folder: Path) -> list[float]:
    """The time a step of each cell took on one thread, where measured; NaN where it was not."""
    found: dict[str, list[float]] = {}
    for path in sorted(folder.glob("timings*.json")):
        found.update(_read(path)["cells"])
    pairs = [found.get(name, [0.0, 0]) for name in names]
    return [seconds / steps * 1e9 if steps else float("nan") for seconds, steps in pairs]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
        return {"cells": dict(found["cells"]), "sessions": list(found["sessions"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"cells": {}, "sessions": []}
