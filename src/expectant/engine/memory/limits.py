"""Refusing what does not fit into memory, and running fewer at once where one fits."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from expectant.engine.memory.available import free_memory, given_memory
from expectant.engine.memory.demand import Also, Demand, demand_of, nothing
from expectant.engine.memory.refusal import TooLargeError, failure, owner, sentence, size_in_words
from expectant.progress import say

if TYPE_CHECKING:
    from expectant.engine.job import Job

ALWAYS_THERE = 32 * 2**20  # bytes; for less nobody is asked what is free

Built = TypeVar("Built")


def free_for(size: int) -> float:
    """How much is free; without limit where nobody knows, or where it is little that is needed."""
    given = given_memory()
    if given is not None:
        return given
    free = free_memory() if size > ALWAYS_THERE else None
    return math.inf if free is None else free


def require_room(job: Job, *, copies: int = 1, also: Also = nothing) -> None:
    """Refuse a job of which one run, held in so many copies, does not fit."""

    def peak(demand: Demand) -> int:
        return demand.alone + (copies - 1) * demand.each

    demand = demand_of(job, also)
    free = free_for(peak(demand))
    if peak(demand) > free:
        raise TooLargeError(sentence(job, demand, peak, free, also=also))


def threads_that_fit(job: Job, runs: int, threads: int, keep: bool = False) -> int:
    """On how many threads runs fit; says so if they are fewer, and refuses what fits on none."""

    def peak(demand: Demand, at_once: int = 1) -> int:
        return demand.peak(at_once, runs, keep)

    demand, most = demand_of(job), min(threads, runs)
    free = free_for(peak(demand, most))
    fitting = [count for count in range(1, most + 1) if peak(demand, count) <= free]
    if not fitting:
        raise TooLargeError(sentence(job, demand, peak, free, runs=runs, keep=keep))
    if fitting[-1] < most:
        say(
            f"{owner(job)}: {fitting[-1]} at once instead of {most}, because a run needs "
            f"{size_in_words(demand.alone)} and {size_in_words(free)} are free"
        )
    return fitting[-1]


def within_memory(prepare: Callable[..., Built]) -> Callable[..., Built]:
    """Let a job prepare its runs only if one fits, which is asked once for every job."""

    @functools.wraps(prepare)
    def checked(job: Any, *given: Any) -> Built:
        if "fits" not in vars(job):
            require_room(job)
            vars(job)["fits"] = True
        try:
            return prepare(job, *given)
        except MemoryError as error:  # of a part that did not say what it needs
            raise TooLargeError(failure(job, error)) from None

    return checked


class Room:
    """Memory that runs of several jobs share: a run waits until there is enough for it."""

    def __init__(self) -> None:
        self.free = free_for(ALWAYS_THERE + 1)
        self.taken = 0
        self.said = False
        self.left = threading.Condition()

    @contextmanager
    def taken_by(self, job: Job, also: Also = nothing) -> Iterator[None]:
        """Wait for the memory of one run and of what is held beside it, and have it."""
        size = demand_of(job, also).alone
        with self.left:
            if not self._fits(size) and not self.said:
                self.said = True
                say(
                    f"{owner(job)}: waits for other runs to end, because a run needs "
                    f"{size_in_words(size)} and {size_in_words(self.free)} were free at the start"
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
        """Whether there is room; a run that has all to itself need not ask."""
        return self.taken == 0 or self.taken + size <= self.free
