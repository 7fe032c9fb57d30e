"""The memory of runs: the first of a setup is measured, and as many run at once as fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from expectant.core import tree
from expectant.core.memory import (
    ALWAYS_FREE,
    TooLargeError,
    budget,
    innermost_component,
    memory_limit,
    size_text,
    too_large_message,
)
from expectant.engine.loop import Run
from expectant.engine.progress import say

if TYPE_CHECKING:
    from expectant.engine.setup import Setup


class RunSize(NamedTuple):
    """Bytes of one run: the domain's tables, which runs share, the rest, and its records."""

    shared: int
    unshared: int
    records: int

    @classmethod
    def of(cls, run: Run) -> RunSize:
        total, shared = tree.total_bytes(run), tree.total_bytes(run.domain)
        records = tree.total_bytes((run.returns, run.lengths, run.rewards))
        return cls(shared, total - shared, records)


@contextmanager
def refuse_large(title: str, limit: float | None) -> Iterator[None]:
    """Turn a lack of memory while a run is built into one sentence."""
    try:
        with nullcontext() if limit is None else budget(limit):
            yield
    except TooLargeError as error:
        raise TooLargeError(f"{title}: {error}") from None
    except MemoryError as error:
        component = innermost_component(error)
        name = title if component is None else type(component).__name__
        advice = getattr(component, "memory_advice", "something smaller")
        reason = str(error) or "There is no memory left"
        raise TooLargeError(
            f"{name}: could not be built, {reason[0].lower()}{reason[1:]}: use {advice}"
        ) from None


def check_size(title: str, size: RunSize, limit: float) -> None:
    """Refuse a run whose parts have allocated too much without asking."""
    total = size.shared + size.unshared
    if total > limit:
        raise TooLargeError(f"{title}: {too_large_message(total, limit, 0, None)}")


def count_fitting_threads(setup: Setup, runs: int, threads: int, keep: bool = False) -> int:
    """Return the number of threads on which runs fit into memory; refuse what fits on none."""
    size, most = setup.size, min(threads, runs)

    def peak(at_once: int) -> int:
        left = size.unshared if keep else size.records
        gathered = runs * size.records if runs > 1 else 0
        return size.shared + at_once * size.unshared + (runs - at_once) * left + gathered

    free = memory_limit(peak(most))
    fitting = [count for count in range(1, most + 1) if peak(count) <= free]
    if not fitting:
        reason = ", because keep_agents=True keeps every run" if keep else ""
        advice = "keep_agents=False or fewer runs" if keep else "fewer runs, episodes or bins"
        raise TooLargeError(
            f"{setup.title}: {runs} runs need {size_text(peak(1))}{reason}; "
            f"{size_text(free)} are free: use {advice}"
        )
    if fitting[-1] < most:
        say(
            f"{setup.title}: {fitting[-1]} at once instead of {most}, because a run needs "
            f"{size_text(size.shared + size.unshared)} and {size_text(free)} are free"
        )
    return fitting[-1]


class MemoryPool:
    """Memory that runs of several setups share: a run waits until there is enough for it."""

    def __init__(self) -> None:
        self.free = memory_limit(ALWAYS_FREE + 1)
        self.taken = 0
        self.has_told = False
        self.returned = threading.Condition()

    @contextmanager
    def reserve(self, setup: Setup) -> Iterator[None]:
        """Wait for the memory of one run, and hold it."""
        size = setup.size.shared + setup.size.unshared
        with self.returned:
            if not self._fits(size) and not self.has_told:
                self.has_told = True
                say(
                    f"{setup.title}: waits for other runs to end, because a run needs "
                    f"{size_text(size)} and {size_text(self.free)} were free at the start"
                )
            self.returned.wait_for(lambda: self._fits(size))
            self.taken += size
        try:
            yield
        finally:
            with self.returned:
                self.taken -= size
                self.returned.notify_all()

    def _fits(self, size: int) -> bool:
        return self.taken == 0 or self.taken + size <= self.free
