"""Seconds and steps of cells: measurements, kept apart from results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from expectant.files import StoreError, write_text


@dataclass
class Session:
    """One start of a sweep: ``seconds`` passed, of which ``compiling`` before the first block."""

    threads: int
    seconds: float = 0.0
    compiling: float = 0.0
    runs: int = 0


class Timings:
    """Processor seconds and steps of every cell computed so far."""

    def __init__(self, folder: Path, shard: str = "") -> None:
        self.path = folder / f"timings{shard}.json"
        self.cells = _read(self.path)

    def add(self, name: str, seconds: float, steps: int) -> None:
        before = self.cells.get(name, [0.0, 0])
        self.cells[name] = [before[0] + seconds, before[1] + steps]

    def write(self) -> None:
        """Write all cells; a measurement that cannot be written is not worth an error."""
        if self.cells:
            with suppress(StoreError):
                write_text(self.path, json.dumps(self.cells, indent=1, sort_keys=True))


def step_nanoseconds(names: Sequence[str], folder: Path) -> list[float]:
    """The time a step of each cell took on one thread, where measured; NaN where it was not."""
    cells: dict[str, list[float]] = {}
    for path in sorted(folder.glob("timings*.json")):
        cells.update(_read(path))
    pairs = [cells.get(name, [0.0, 0]) for name in names]
    return [seconds / steps * 1e9 if steps else float("nan") for seconds, steps in pairs]


def _read(path: Path) -> dict[str, list[float]]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return {}
