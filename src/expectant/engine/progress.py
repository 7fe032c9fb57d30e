"""Telling people what is going on, on standard error, when it takes more than a moment."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from expectant.core.errors import missing_packages

QUIET_SECONDS = 1.0
LINE_SECONDS = 10.0
TOLD_FROM = 0.02  # the estimate of the time left is unreliable below

ShowFraction = Callable[[float], None]


class Reporter(Protocol):
    """Shows compiling (or loading what was compiled before, ``cached``) and running.

    ``running`` yields a function that takes the fraction done. ``note`` is told what people have to
    know in the meantime; those who derive from this class say it, unless they do otherwise.
    """

    def compilation(self, what: str, cached: bool) -> AbstractContextManager[None]: ...
    def progress(self, what: str) -> AbstractContextManager[ShowFraction]: ...
    def note(self, text: str) -> None:
        say(text)


class Silent(Reporter):
    """Says nothing."""

    @contextmanager
    def compilation(self, what: str, cached: bool) -> Iterator[None]:
        yield

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowFraction]:
        yield lambda fraction: None


class Lines(Reporter):
    """A line now and then, for logs and pipes."""

    @contextmanager
    def compilation(self, what: str, cached: bool) -> Iterator[None]:
        """Say so if it takes more than a moment."""
        notice = threading.Timer(QUIET_SECONDS, say, [f"{_stage(what, cached)} ..."])
        notice.daemon = True
        notice.start()
        try:
            yield
        finally:
            notice.cancel()

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowFraction]:
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
    def compilation(self, what: str, cached: bool) -> Iterator[None]:
        with make_bar() as bar:
            bar.add_task(_stage(what, cached), total=None)
            yield

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowFraction]:
        with make_bar() as bar:
            task = bar.add_task(what, total=1.0)
            yield lambda fraction: bar.update(task, completed=fraction)


def _stage(what: str, cached: bool) -> str:
    return f"loading {what}" if cached else f"compiling {what} (once, then cached)"


class OverallProgress(Silent):
    """Shows a long piece of work as a whole: the weight of what is done, and the time left.

    The time left is judged by the time that the work took without compiling.
    """

    def __init__(self, title: str, total: float) -> None:
        self.title, self.total, self.done = title, total, 0.0
        self.start = time.perf_counter()
        self.due = self.start + 2.0
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> OverallProgress:
        if is_interactive():
            self.bar = make_bar(left=False)
            self.bar.start()
            self.task = self.bar.add_task(self.title, total=self.total)
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    @contextmanager
    def exclude_time(self) -> Iterator[None]:
        """Leave the time that is spent inside out of the account."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.start += time.perf_counter() - start

    @contextmanager
    def compilation(self, what: str, cached: bool) -> Iterator[None]:
        self.show(_stage(what, cached), self.done)
        lines = nullcontext() if self.bar or cached else Lines().compilation(what, cached)
        with self.exclude_time(), lines:
            yield

    def time_left(self, done: float) -> str:
        """About how long the rest will take, in words; nothing where that is not known yet."""
        if done < TOLD_FROM * self.total:
            return ""
        seconds = (time.perf_counter() - self.start) * (self.total - done) / done
        return f", about {duration_text(seconds)} left"

    def show(self, what: str, done: float) -> None:
        """Show what is done at present, and how much is."""
        if self.bar is not None:
            description = f"{self.title}: {what}{self.time_left(done)}"
            self.bar.update(self.task, completed=done, description=description)
        elif time.perf_counter() >= self.due:
            self.due = time.perf_counter() + LINE_SECONDS
            percent = 100 * done / max(self.total, 1e-12)
            say(f"{self.title}: {percent:.0f} %{self.time_left(done)}, now {what}")


def make_reporter(wanted: bool | Reporter) -> Reporter:
    """What ``run(progress=…)`` means: a reporter, or yes, or no."""
    if not isinstance(wanted, bool):
        return wanted
    if not wanted:
        return Silent()
    return Bars() if is_interactive() else Lines()


def is_interactive() -> bool:
    """Whether somebody is watching the terminal, and bars can be drawn there."""
    return sys.stderr.isatty() and "rich" not in missing_packages("cli")


def say(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr, flush=True)


def duration_text(seconds: float) -> str:
    """A length of time in words."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def make_bar(left: bool = True) -> Any:
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
