"""Telling people what is going on, on standard error, when it takes more than a moment."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

QUIET_SECONDS = 1.0
LINE_SECONDS = 10.0


class Report(Protocol):
    """Called with what is done so far and what there is to do."""

    def __call__(self, done: float, total: float) -> None: ...


@contextmanager
def compiling(what: str, enabled: bool) -> Iterator[None]:
    """Show that something is being compiled, for how long, and that it happens only once."""
    if not enabled:
        yield
        return
    if _interactive():
        bar, task = _bar(f"compiling {what} (once, then cached)", total=None)
        with bar:
            yield
            bar.update(task, total=1, completed=1)
        return
    start = time.perf_counter()
    notice = threading.Timer(QUIET_SECONDS, _say, [f"compiling {what} (once, then cached) ..."])
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()
    took = time.perf_counter() - start
    if took > QUIET_SECONDS:
        _say(f"compiled {what} in {took:.1f} s")


@contextmanager
def running(what: str, enabled: bool) -> Iterator[Report]:
    """Show how far a long computation is; the yielded function is told."""
    if not enabled:
        yield lambda done, total: None
    elif _interactive():
        bar, task = _bar(what, total=1.0)
        with bar:
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield _Lines(what)


class _Lines:
    """A line now and then, for logs and pipes."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.next = time.perf_counter() + 2.0

    def __call__(self, done: float, total: float) -> None:
        if time.perf_counter() >= self.next:
            self.next = time.perf_counter() + LINE_SECONDS
            _say(f"{self.what}: {100 * done / max(total, 1):.0f} %")


def _interactive() -> bool:
    return sys.stderr.isatty()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _bar(what: str, total: float | None) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %" if total else ""),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    return bar, bar.add_task(what, total=total)
