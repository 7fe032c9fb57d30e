"""Allocation of large arrays that refuses what does not fit into memory.

Linux grants more memory than there is and kills the process when it is used, so :func:`zeros` and
:func:`full` compare with the available memory first.
"""

from __future__ import annotations

import math
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

VARIABLE = "EXPECTANT_MEMORY"
NEGLIGIBLE = 2**16  # bytes; smaller arrays are not counted
ALWAYS_FREE = 32 * 2**20  # bytes; smaller totals are always granted
UNITS = {"": 1, "B": 1}
UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)}

Size = int | tuple[int, ...]


class TooLargeError(ValueError):
    """More memory is needed than is available."""


@dataclass
class Claims:
    """Bytes claimed so far, and the limit of their sum, looked up as soon as it may be exceeded."""

    total: int = 0
    limit: float = math.inf


_claims: ContextVar[Claims | None] = ContextVar("claims", default=None)


def claim(size: int) -> None:
    """Refuse ``size`` bytes that do not fit, before they are allocated."""
    claims = _claims.get() or Claims()
    if claims.limit == math.inf:
        claims.limit = memory_limit(claims.total + size)
    if claims.total + size > claims.limit:
        owner, free = _component(sys._getframe()), claims.limit - claims.total
        needs = f"{type(owner).__name__} needs" if owner else "needs"
        raise TooLargeError(
            f"{needs} {size_text(size)}; {size_text(free)} are free: use {_advice(owner)}"
        )
    claims.total += size


@contextmanager
def refuse_large(title: str, limit: float = math.inf) -> Iterator[Claims]:
    """Turn a lack of memory into one sentence; ``limit`` the sum of all claims.

    The default is the memory available at the first large claim. An outer limit takes precedence.
    """
    token = _claims.set(_claims.get() or Claims(limit=limit))
    try:
        yield _claims.get()  # type: ignore[misc]
    except TooLargeError as error:
        raise TooLargeError(f"{title}: {error}") from None
    except MemoryError as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        reason = str(error) or "There is no memory left"
        raise TooLargeError(f"{title}: {reason}: use {_advice(_component(frame))}") from None
    finally:
        _claims.reset(token)


def zeros(shape: Size, dtype: DTypeLike = float) -> np.ndarray:
    """``np.zeros`` of an array that may be large."""
    size = np.dtype(dtype).itemsize * (math.prod(shape) if isinstance(shape, tuple) else shape)
    if size > NEGLIGIBLE:
        claim(size)
    return np.zeros(shape, dtype)


def full(shape: Size, value: float, dtype: DTypeLike = float) -> np.ndarray:
    """``np.full`` of an array that may be large."""
    array = zeros(shape, dtype)
    array[...] = value
    return array


def _component(frame: FrameType | None) -> Any:
    """Return the innermost component that was being built in a frame, or None."""
    while frame is not None:
        component = frame.f_locals.get("self")
        if hasattr(component, "memory_advice"):
            return component
        frame = frame.f_back
    return None


def _advice(component: Any) -> str:
    return getattr(component, "memory_advice", "something smaller")


def size_text(size: float) -> str:
    """Format a number of bytes with three digits and a unit."""
    units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.3g} {units[0]}" if size < 999.5 else f"{size:,.0f} {units[0]}"


def memory_limit(size: float = math.inf) -> float:
    """Return $EXPECTANT_MEMORY, or the available memory; unlimited if ``size`` is small."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return available_memory() if size > ALWAYS_FREE else math.inf
    number, unit = re.fullmatch(r"([0-9.]*) ?(.*)", text).groups()  # type: ignore[union-attr]
    try:
        return int(float(number) * UNITS[unit])
    except (KeyError, ValueError):
        raise ValueError(
            f"{VARIABLE}: must be a number of bytes or one with a unit, such as 8GiB, got {text!r}"
        ) from None


def available_memory() -> int:
    """Return how many bytes this process may still allocate without swapping."""
    import psutil

    free = [psutil.virtual_memory().available, *_free_in_control_groups()]
    if hasattr(psutil.Process, "rlimit"):
        process = psutil.Process()
        limit = process.rlimit(psutil.RLIMIT_AS)[0]
        if limit != psutil.RLIM_INFINITY:
            free.append(max(0, limit - process.memory_info().vms))
    return min(free)


def _free_in_control_groups(root: Path = Path("/")) -> Iterator[int]:
    """Yield the free memory of every Linux control group (container, job) of this process."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    inner = next((Path(line[4:]) for line in lines if line.startswith("0::/")), Path())
    for folder in (inner, *inner.parents):
        group = root / "sys/fs/cgroup" / folder
        try:
            free = int((group / "memory.max").read_text())
            free -= int((group / "memory.current").read_text())
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # not visible, or without a limit ("max")
            continue
        cached = int(stat.get("active_file", 0)) + int(stat.get("inactive_file", 0))
        yield max(0, free + cached)
