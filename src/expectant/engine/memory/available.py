"""How much memory this process may still take, as far as the system says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

VARIABLE = "EXPECTANT_MEMORY"
PROC = Path("/proc")
UNITS = {"": 1, "B": 1}
UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)}


def free_memory(proc: Path = PROC) -> int | None:
    """How many bytes are free; None where nobody knows.

    On Linux that is what the machine has available, or what is left in a control group (a
    container, a job of a cluster) that has less; elsewhere what the machine has in all.
    """
    known = [*_machine(proc), *_groups(proc)]
    return min(known) if known else _physical()


def given_memory() -> int | None:
    """What $EXPECTANT_MEMORY says is free, where the system is wrong about it; None if unset."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    found = re.fullmatch(r"([0-9.]+) ?([A-Za-z]*)", text)
    try:
        assert found is not None
        return int(float(found[1]) * UNITS[found[2]])
    except (AssertionError, KeyError, ValueError):
        raise ValueError(
            f"{VARIABLE}: must be a number of bytes or one with a unit, such as 8GiB, got {text!r}"
        ) from None


def _machine(proc: Path) -> Iterator[int]:
    """What could be given out without swapping."""
    available = _fields(proc / "meminfo").get("MemAvailable")
    if available is not None:
        yield 1024 * available


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


# -------------------------------------------------------------------------- control groups


class _Version(NamedTuple):
    """What a version of control groups calls things."""

    limit: str
    usage: str
    prefix: str  # of the counts in memory.stat that include groups within the group


_FIRST = _Version("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
_SECOND = _Version("memory.max", "memory.current", "")


def _groups(proc: Path) -> Iterator[int]:
    """What is left in every control group that this process is in."""
    for version, innermost, top in _folders(proc):
        for folder in (innermost, *innermost.parents):
            left = _left(folder, version)
            if left is not None:
                yield left
            if folder == top:
                break


def _left(folder: Path, version: _Version) -> int | None:
    """A group's limit less what it uses; files that are only cached can be dropped."""
    limit, usage = _number(folder / version.limit), _number(folder / version.usage)
    if limit is None or usage is None:
        return None
    counts = _fields(folder / "memory.stat")
    cached = sum(counts.get(f"{version.prefix}{kind}_file", 0) for kind in ("active", "inactive"))
    return max(0, limit - max(0, usage - cached))


def _folders(proc: Path) -> Iterator[tuple[_Version, Path, Path]]:
    """Where the groups of this process are: its own folder, and the outermost one we can see."""
    places = {}
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            places[_FIRST if controllers else _SECOND] = path
    for line in _lines(proc / "self" / "mountinfo"):
        before, _, after = line.partition(" - ")
        root, top = (field.replace("\\040", " ") for field in before.split()[3:5])
        kind, _, options = after.split()[:3]
        version = {"cgroup": _FIRST, "cgroup2": _SECOND}.get(kind)
        if version is None or (version is _FIRST and "memory" not in options.split(",")):
            continue
        inside = Path(places.get(version, root))
        within = inside.relative_to(root) if inside.is_relative_to(root) else Path()
        yield version, Path(top) / within, Path(top)


# ---------------------------------------------------------------------------------- files


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    """The number in a file; None where there is none, such as "max"."""
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdigit() else None


def _fields(path: Path) -> dict[str, int]:
    """A file of lines with a name and a number."""
    pairs = (line.replace(":", " ").split() for line in _lines(path))
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) > 1 and pair[1].isdigit()}
