"""Seconds and steps of trials: measurements, kept apart from results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from expectant.core.files import StoreError, write_text

Times = dict[str, tuple[float, int]]  # processor seconds and steps, by the name of a trial


def add_times(folder: Path, times: Times, suffix: str = "") -> None:
    """Add to the times in a folder; measurements that cannot be written are not worth an error."""
    path = folder / f"timings{suffix}.json"
    known = _read(path)
    for name, (seconds, steps) in times.items():
        before = known.get(name, (0.0, 0))
        known[name] = before[0] + seconds, before[1] + steps
    if times:
        with suppress(StoreError):
            write_text(path, json.dumps(known, indent=1, sort_keys=True))


def step_nanoseconds(names: Sequence[str], folder: Path) -> list[float]:
    """The time a step of each trial took on one thread, where measured; NaN where it was not."""
    times: Times = {}
    for path in sorted(folder.glob("timings*.json")):
        times.update(_read(path))
    pairs = [times.get(name, (0.0, 0)) for name in names]
    return [seconds / steps * 1e9 if steps else float("nan") for seconds, steps in pairs]


def _read(path: Path) -> Times:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return {}
