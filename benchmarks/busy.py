"""How busy a machine is with other things while something is measured on it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

STAT = Path("/proc/stat")
IDLE, WAITING, COUNTED = 3, 4, 8  # places in the line of all cores; what follows is counted twice


class Used(NamedTuple):
    """Seconds of all cores so far: in all, idle, and those of this process."""

    total: float
    idle: float
    own: float


def used(stat: Path = STAT) -> Used | None:
    """What the cores have done so far; None where nobody says."""
    try:
        ticks = [int(field) for field in stat.read_text().split("\n", 1)[0].split()[1:]][:COUNTED]
    except OSError:
        return None
    second = os.sysconf("SC_CLK_TCK")
    idle = ticks[IDLE] + ticks[WAITING]
    return Used(sum(ticks) / second, idle / second, time.process_time())


def share_of_others(before: Used | None, after: Used | None) -> float | None:
    """Which share of the machine others used between two moments."""
    if before is None or after is None or after.total <= before.total:
        return None
    total, idle, own = (late - early for late, early in zip(after, before, strict=True))
    return min(1.0, max(0.0, (total - idle - own) / total))


@contextmanager
def watched() -> Iterator[dict[str, float | None]]:
    """A dict that has ``others`` and ``load`` (of the last minute) once the measuring is over."""
    found: dict[str, float | None] = {}
    before = used()
    yield found
    found["others"] = share_of_others(before, used())
    found["load"] = os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def in_words(found: dict[str, float | None]) -> str:
    """What to add to a number that was measured meanwhile."""
    others, load = found["others"], found["load"]
    if others is None:
        return "how busy the machine was is not known"
    return f"others used {others:.0%} of the machine meanwhile, load average {load or 0.0:.1f}"
