"""Telling people what is going on, on standard error, when it takes more than a moment."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from expectant.extras import missing

QUIET_SECONDS = 1.0
LINE_SECONDS = 10.0

Tell = Callable[[float], None]


class Reporter(Protocol):
    """Shows compiling and running; ``running`` yields a function that takes the fraction done."""

    def compiling(self, what: str) -> AbstractContextManager[None]: ...
    def running(self, what: str) -> AbstractContextManager[Tell]: ...


class Silent:
    """Says nothing."""

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        yield

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        yield lambda fraction: None


class Lines:
    """A line now and then, for logs and pipes."""

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        notice = threading.Timer(QUIET_SECONDS, say, [f"compiling {what} (once, then cached) ..."])
        notice.daemon = True
        notice.start()
        try:
            yield
        finally:
            notice.cancel()
        took = time.perf_counter() - start
        if took > QUIET_SECONDS:
            say(f"compiled {what} in {took:.1f} s")

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        due = time.perf_counter() + 2.0

        def tell(fraction: float) -> None:
            nonlocal due
            if time.perf_counter() >= due:
                due = time.perf_counter() + LINE_SECONDS
                say(f"{what}: {100 * fraction:.0f} %")

        yield tell


class Bars:
    """A bar of its own for every stage, gone when it is over."""

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        with live_bar() as bar:
            bar.add_task(f"compiling {what} (once, then cached)", total=None)
            yield

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        with live_bar() as bar:
            task = bar.add_task(what, total=1.0)
            yield lambda fraction: bar.update(task, completed=fraction)


class Overall:
    """One account of a long piece of work that consists of many weighted parts."""

    def __init__(self, title: str, total: float) -> None:
        self.title, self.total, self.done = title, total, 0.0
        self.start = self.due = time.perf_counter()
        self.due += 2.0
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Overall:
        if interactive():
            self.bar = live_bar()
            self.bar.start()
            self.task = self.bar.add_task(self.title, total=self.total)
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def part(self, what: str, weight: float) -> _Part:
        """The reporter of one part of the work."""
        return _Part(self, what, weight)

    def advance(self, weight: float) -> None:
        """Count work that did not have to be done."""
        self.done += weight

    def show(self, what: str, done: float) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=done, description=f"{self.title}: {what}")
        elif time.perf_counter() >= self.due:
            self.due = time.perf_counter() + LINE_SECONDS
            passed = time.perf_counter() - self.start
            left = f", about {passed * (self.total - done) / done:.0f} s left" if done > 0 else ""
            percent = 100 * done / max(self.total, 1e-12)
            say(f"{self.title}: {percent:.0f} %{left}, now {what}")


class _Part:
    """Reports one part to the account of the whole."""

    def __init__(self, overall: Overall, what: str, weight: float) -> None:
        self.overall, self.what, self.weight = overall, what, weight

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        self.overall.show(f"compiling {what}", self.overall.done)
        if self.overall.bar is not None:
            yield
        else:
            with Lines().compiling(what):
                yield

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        before = self.overall.done
        yield lambda fraction: self.overall.show(self.what, before + fraction * self.weight)
        self.overall.done = before + self.weight


def reporter(wanted: bool | Reporter) -> Reporter:
    """What ``run(progress=…)`` means: a reporter, or yes, or no."""
    if not isinstance(wanted, bool):
        return wanted
    if not wanted:
        return Silent()
    return Bars() if interactive() else Lines()


def interactive() -> bool:
    """Whether somebody is watching the terminal, and bars can be drawn there."""
    return sys.stderr.isatty() and "rich" not in missing("cli")


def say(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr, flush=True)


def live_bar() -> Any:
    """A progress bar with percentage, time passed and time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
