"""The memory of runs: one is measured when it is built, and as many are run at once as fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
    own: int
    records: int


def owner(setup: Setup) -> str:
    """Name a setup in a sentence."""
    return f"{type(setup.agent).__name__} in {setup.domain.display_name}"


@contextmanager
def refusing(setup: Setup) -> Iterator[None]:
    """Turn a lack of memory while a run is built into one sentence."""
    try:
        if "size" in vars(setup):
            yield
        else:
            vars(setup)["limit"] = memory_limit(ALWAYS_FREE + 1)
            with budget(vars(setup)["limit"]):
                yield
    except TooLargeError as error:
        raise TooLargeError(f"{owner(setup)}: {error}") from None
    except MemoryError as error:
        component = innermost_component(error)
        name = owner(setup) if component is None else type(component).__name__
        advice = getattr(component, "memory_advice", "something smaller")
        reason = str(error) or "There is no memory left"
        raise TooLargeError(
            f"{name}: could not be built, {reason[0].lower()}{reason[1:]}: use {advice}"
        ) from None


def measure(setup: Setup, run: Run) -> None:
    """Note the size of a setup's first run, and refuse one whose parts allocated too much."""
    if "size" in vars(setup):
        return
    total, shared = tree.total_bytes(run), tree.total_bytes(run.domain)
    limit = vars(setup).pop("limit")
    if total > limit:
        raise TooLargeError(f"{owner(setup)}: {too_large_message(total, limit, 0, None)}")
    records = tree.total_bytes((run.returns, run.lengths, run.rewards))
    vars(setup)["size"] = RunSize(shared, total - shared, records)


def size_of(setup: Setup) -> RunSize:
    """Return the size of a setup's runs; one is built if none has been."""
    if "size" not in vars(setup):
        setup.build(0)
    size: RunSize = vars(setup)["size"]
    return size


def count_fitting_threads(setup: Setup, runs: int, threads: int, keep: bool = False) -> int:
    """Return on how many threads runs fit; refuse what fits on none."""
    size, most = size_of(setup), min(threads, runs)

    def peak(at_once: int) -> int:
        left = size.own if keep else size.records
        gathered = runs * size.records if runs > 1 else 0
        return size.shared + at_once * size.own + (runs - at_once) * left + gathered

    free = memory_limit(peak(most))
    fitting = [count for count in range(1, most + 1) if peak(count) <= free]
    if not fitting:
        reason = ", because keep_agents=True keeps every run" if keep else ""
        advice = "keep_agents=False or fewer runs" if keep else "fewer runs, episodes or bins"
        raise TooLargeError(
            f"{owner(setup)}: {runs} runs need {size_text(peak(1))}{reason}; "
            f"{size_text(free)} are free: use {advice}"
        )
    if fitting[-1] < most:
        say(
            f"{owner(setup)}: {fitting[-1]} at once instead of {most}, because a run needs "
            f"{size_text(size.shared + size.own)} and {size_text(free)} are free"
        )
    return fitting[-1]


class MemoryPool:
    """Memory that runs of several setups share: a run waits until there is enough for it."""

    def __init__(self) -> None:
        self.free = memory_limit(ALWAYS_FREE + 1)
        self.taken = 0
        self.said = False
        self.left = threading.Condition()

    @contextmanager
    def reserve(self, setup: Setup, beside: int = 0) -> Iterator[None]:
        """Wait for the memory of one run and of ``beside`` bytes more, and hold it."""
        measured = size_of(setup)
        size = measured.shared + measured.own + beside
        with self.left:
            if not self._fits(size) and not self.said:
                self.said = True
                say(
                    f"{owner(setup)}: waits for other runs to end, because a run needs "
                    f"{size_text(size)} and {size_text(self.free)} were free at the start"
                )
            self.left.wait_for(lambda: self._fits(size))
            self.taken += size
        try:
            yield
        finally:
            with self.left:
                self.taken -= size
                self.left.notify_all()

    def _fits(self, size: int) -> bool:
        """True if there is room, or nothing else is running."""
        return self.taken == 0 or self.taken + size <= self.free
