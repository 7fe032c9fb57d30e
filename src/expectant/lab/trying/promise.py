"""Time that was promised, and what keeps work within it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from expectant.progress import Silent, Tell

WORK = 0.1  # seconds by which it is judged how busy a machine is


def slowness() -> float:
    """How many times as long as it should work takes now, because others use the machine."""
    start, worked = time.monotonic(), time.thread_time()
    while time.thread_time() - worked < WORK:
        pass
    return max((time.monotonic() - start) / WORK, 1.0)


class OutOfTime(Exception):
    """Work that was broken off because its time was over, or because its environment failed."""


class Promise:
    """A stretch of time; its shares are counted from its beginning, 1.0 being its end."""

    def __init__(self, seconds: float) -> None:
        self.start, self.seconds = time.monotonic(), seconds

    def spent(self) -> float:
        """How much of it is over, as a share."""
        return (time.monotonic() - self.start) / max(self.seconds, 1e-9)

    def shorten(self, seconds: float) -> None:
        """Keep so much of it for something else."""
        self.seconds = max(self.seconds - seconds, 0.0)

    def go_on_from(self, share: float) -> None:
        """Let what is left be what comes after a share, whose end it is too late for."""
        if self.spent() > share:
            now, end = time.monotonic(), self.start + self.seconds
            self.seconds = max(end - now, 0.0) / (1.0 - share)
            self.start = end - self.seconds

    def until(self, share: float) -> Deadline:
        """What breaks work off at a share of it."""
        return Deadline(self.start + share * self.seconds)

    def part(self, share: float, others: int) -> Deadline:
        """The next deadline if what is left until a share is divided among so many."""
        now = time.monotonic()
        return Deadline(now + max(self.start + share * self.seconds - now, 0.0) / max(others, 1))


class Deadline(Silent):
    """A reporter of progress that shows none, and breaks runs and compiling off at its time.

    What its runs would say is left to whoever gave it: there are many of them.
    """

    done = 0.0  # as an account of long work has it

    def __init__(self, end: float) -> None:
        self.end = end

    def left(self) -> float:
        return self.end - time.monotonic()

    def bring_on(self) -> None:
        """Have work broken off at once."""
        self.end = -math.inf

    def check(self, fraction: float = 0.0) -> None:
        if self.left() <= 0.0:
            raise OutOfTime

    def note(self, text: str) -> None:
        """Say nothing."""

    def show(self, what: str, done: float) -> None:
        self.check()

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        yield self.check


class PutOff(Deadline):
    """A deadline that is put off, once, if nothing is ``there`` at its end."""

    def __init__(self, end: Deadline, later: Deadline, there: Callable[[], bool]) -> None:
        super().__init__(end.end)
        self.later, self.there = later.end, there

    def left(self) -> float:
        if super().left() <= 0.0 and self.end < self.later and not self.there():
            self.end = self.later
        return super().left()

    def bring_on(self) -> None:
        self.later = -math.inf
        super().bring_on()
