"""Progress of compilation and runs, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from expectant.core.errors import missing_packages

LINE_SECONDS = 10.0
BAR_WIDTH = 20
RELIABLE_FROM = 0.02  # the estimate of the time left is unreliable below 2 %

ShowFraction = Callable[..., None]  # takes the fraction done and, in our own, details


class Reporter:
    """Shows compilation (loading, if ``cached``), the progress of runs, and notes.

    ``progress`` yields a function that takes the fraction done.
    """

    def compilation(self, what: str, cached: bool) -> AbstractContextManager[None]:
        return nullcontext()

    def progress(self, what: str) -> AbstractContextManager[ShowFraction]:
        return nullcontext(lambda fraction: None)

    def note(self, text: str) -> None:
        say(text)


class Silent(Reporter):
    """Shows nothing but notes."""


class Lines(Reporter):
    """Prints a line every ten seconds, for logs and pipes."""

    def compilation(self, what: str, cached: bool) -> AbstractContextManager[None]:
        if not cached:
            say(f"{_stage(what, cached)} ...")
        return nullcontext()

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowFraction]:
        due = time.perf_counter() + 2.0

        def tell(fraction: float, details: str = "") -> None:
            nonlocal due
            if time.perf_counter() >= due:
                due = time.perf_counter() + LINE_SECONDS
                say(f"{what}: {100 * fraction:.0f} %{details}")

        yield tell


class Bars(Reporter):
    """Shows a progress bar for every stage, with an estimate of the time left if ``left``."""

    def __init__(self, left: bool = True) -> None:
        self.left = left

    @contextmanager
    def compilation(self, what: str, cached: bool) -> Iterator[None]:
        with self.make_bar() as bar:
            bar.add_task(_stage(what, cached), total=None)
            yield

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowFraction]:
        with self.make_bar() as bar:
            task = bar.add_task(what, total=1.0)
            yield lambda fraction, details="": bar.update(
                task, completed=fraction, description=what + details
            )

    def make_bar(self) -> Any:
        """Return a bar whose text is cut to the width that the numbers leave."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.table import Column

        wide = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        return Progress(
            TextColumn("{task.description}", table_column=wide),
            BarColumn(BAR_WIDTH),
            TaskProgressColumn(),
            *([TimeRemainingColumn()] if self.left else []),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            expand=True,
        )


def _stage(what: str, cached: bool) -> str:
    return f"loading {what}" if cached else f"compiling {what} (once, then cached)"


class OverallProgress(Silent):
    """Shows the progress of many tasks with weights, and the time left without compilation.

    ``later`` is the weight of what may follow at most; the time left includes it.
    """

    def __init__(self, title: str, total: float, later: float = 0.0) -> None:
        self.total, self.done, self.start = total + later, 0.0, time.perf_counter()
        self.estimate = "at most" if later else "about"
        self.reporter = Bars(left=False) if is_interactive() else Lines()
        self.shown = self.reporter.progress(title)

    def __enter__(self) -> OverallProgress:
        self.show_fraction = self.shown.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.shown.__exit__(*error)

    @contextmanager
    def exclude_time(self) -> Iterator[None]:
        """Do not count the time spent within this context, nor twice that in a nested one."""
        start, began = self.start, time.perf_counter()
        try:
            yield
        finally:
            self.start = start + time.perf_counter() - began

    @contextmanager
    def compilation(self, what: str, cached: bool) -> Iterator[None]:
        self.show(_stage(what, cached), self.done)
        if isinstance(self.reporter, Lines):
            self.reporter.compilation(what, cached)
        with self.exclude_time():
            yield

    def time_left(self, done: float) -> str:
        """Return the estimated time left in words, empty below 2 %."""
        if done < RELIABLE_FROM * self.total:
            return ""
        seconds = (time.perf_counter() - self.start) * (self.total - done) / done
        return f", {self.estimate} {duration_text(seconds)} left"

    def show(self, what: str, done: float) -> None:
        """Show the present task and the weight of all finished ones."""
        self.show_fraction(done / max(self.total, 1e-12), f"{self.time_left(done)}, now {what}")


def make_reporter(progress: bool | Reporter) -> Reporter:
    """Return the reporter for an argument ``progress``."""
    if not isinstance(progress, bool):
        return progress
    if not progress:
        return Silent()
    return Bars() if is_interactive() else Lines()


def is_interactive() -> bool:
    """Return True if bars can be drawn on a terminal."""
    return sys.stderr.isatty() and "rich" not in missing_packages("cli")


def say(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr, flush=True)


def duration_text(seconds: float) -> str:
    """Format a duration."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
