"""Telling people what is going on, on standard error, when it takes more than a moment."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from expectant.extras import missing

QUIET_SECONDS = 1.0
LINE_SECONDS = 10.0
TOLD_FROM = 0.02  # before so much is done the time left is anybody's guess

Tell = Callable[[float], None]


class Reporter(Protocol):
    """Shows compiling, loading what was compiled before, and running.

    ``running`` yields a function that takes the fraction done. ``note`` is told what people have to
    know in the meantime; those who derive from this class say it, unless they do otherwise.
    """

    def compiling(self, what: str) -> AbstractContextManager[None]: ...
    def loading(self, what: str) -> AbstractContextManager[None]: ...
    def running(self, what: str) -> AbstractContextManager[Tell]: ...
    def note(self, text: str) -> None:
        say(text)


class Silent(Reporter):
    """Says nothing."""

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        yield

    @contextmanager
    def loading(self, what: str) -> Iterator[None]:
        yield

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        yield lambda fraction: None


class Lines(Reporter):
    """A line now and then, for logs and pipes."""

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        with _noticed(f"compiling {what} (once, then cached) ...", f"compiled {what}"):
            yield

    @contextmanager
    def loading(self, what: str) -> Iterator[None]:
        with _noticed(f"loading {what} ...", f"loaded {what}"):
            yield

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        due = time.perf_counter() + 2.0

        def tell(fraction: float) -> None:
            nonlocal due
            if time.perf_counter() >= due:
                due = time.perf_counter() + LINE_SECONDS
                say(f"{what}: {100 * fraction:.0f} %")

        yield tell


class Bars(Reporter):
    """A bar of its own for every stage, gone when it is over."""

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        with live_bar() as bar:
            bar.add_task(f"compiling {what} (once, then cached)", total=None)
            yield

    @contextmanager
    def loading(self, what: str) -> Iterator[None]:
        with live_bar() as bar:
            bar.add_task(f"loading {what}", total=None)
            yield

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        with live_bar() as bar:
            task = bar.add_task(what, total=1.0)
            yield lambda fraction: bar.update(task, completed=fraction)


@contextmanager
def _noticed(before: str, after: str) -> Iterator[None]:
    """A line if something takes more than a moment, and one when it is over."""
    start = time.perf_counter()
    notice = threading.Timer(QUIET_SECONDS, say, [before])
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()
    took = time.perf_counter() - start
    if took > QUIET_SECONDS:
        say(f"{after} in {took:.1f} s")


class Overall:
    """One account of a long piece of work that consists of many weighted parts.

    The time left is judged by the work that was done here, not by what was there already, and by
    the time it took without compiling.
    """

    def __init__(self, title: str, total: float) -> None:
        self.title, self.total, self.done, self.there = title, total, 0.0, 0.0
        self.start = self.due = time.perf_counter()
        self.due += 2.0
        self.apart = 0.0  # seconds
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Overall:
        if interactive():
            self.bar = live_bar(left=False)
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
        """Count work that has been done."""
        self.done += weight

    def skip(self, weight: float) -> None:
        """Count work that did not have to be done."""
        self.done += weight
        self.there += weight

    @contextmanager
    def counted_apart(self) -> Iterator[None]:
        """What is done meanwhile says nothing about the rest."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.apart += time.perf_counter() - start

    def left(self, done: float) -> str:
        """About how long the rest will take, in words; nothing where that is not known yet."""
        if done - self.there < TOLD_FROM * self.total:
            return ""
        passed = time.perf_counter() - self.start - self.apart
        seconds = passed * (self.total - done) / (done - self.there)
        return f", about {duration_in_words(seconds)} left"

    def show(self, what: str, done: float) -> None:
        if self.bar is not None:
            description = f"{self.title}: {what}{self.left(done)}"
            self.bar.update(self.task, completed=done, description=description)
        elif time.perf_counter() >= self.due:
            self.due = time.perf_counter() + LINE_SECONDS
            percent = 100 * done / max(self.total, 1e-12)
            say(f"{self.title}: {percent:.0f} %{self.left(done)}, now {what}")


class _Part(Reporter):
    """Reports one part to the account of the whole."""

    def __init__(self, overall: Overall, what: str, weight: float) -> None:
        self.overall, self.what, self.weight = overall, what, weight

    @contextmanager
    def compiling(self, what: str) -> Iterator[None]:
        with self._apart(f"compiling {what}", Lines().compiling(what)):
            yield

    @contextmanager
    def loading(self, what: str) -> Iterator[None]:
        with self._apart(f"loading {what}", Silent().loading(what)):
            yield

    @contextmanager
    def _apart(self, what: str, lines: AbstractContextManager[None]) -> Iterator[None]:
        self.overall.show(what, self.overall.done)
        with self.overall.counted_apart(), nullcontext() if self.overall.bar else lines:
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


def duration_in_words(seconds: float) -> str:
    """A length of time in words."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def live_bar(left: bool = True) -> Any:
    """A progress bar with percentage, time passed and, unless it is said otherwise, time left."""
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
        *([TimeRemainingColumn()] if left else []),
        console=Console(stderr=True),
        transient=True,
    )
