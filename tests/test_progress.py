"""What people are told while they wait, by a clock that only the tests move."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from expectant import progress
from expectant.progress import Bars, Lines, Overall, Silent, reporter


@pytest.fixture
def clock(monkeypatch):
    """Time stands still unless it is moved, and nothing is said by timers."""
    found: Any = SimpleNamespace(now=100.0)
    monkeypatch.setattr("time.perf_counter", lambda: found.now)
    monkeypatch.setattr(threading.Timer, "start", lambda timer: None)
    return found


class Bar:
    """Stands in for a bar of rich: what it was told, in order."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def __enter__(self) -> Bar:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        self.told.append("start")

    def stop(self) -> None:
        self.told.append("stop")

    def add_task(self, what: str, total: float | None) -> int:
        self.told.append((what, total))
        return 7

    def update(self, task: int, **told: Any) -> None:
        assert task == 7
        self.told.append(told)


@pytest.fixture
def bar(monkeypatch):
    made = Bar()
    monkeypatch.setattr(progress, "live_bar", lambda left=True: made)
    return made


def test_a_line_after_two_seconds_and_then_every_ten(clock, capsys):
    with Lines().running("runs") as tell:
        for now, part in ((101.9, 0.1), (102.0, 0.25), (111.9, 0.5), (112.0, 0.755)):
            clock.now = now
            tell(part)
    assert capsys.readouterr().err.splitlines() == ["runs: 25 %", "runs: 76 %"]


def test_what_takes_more_than_a_moment_is_told_meanwhile(monkeypatch, capsys):
    timers: list[Any] = []

    class Timer:
        def __init__(self, seconds: float, call: Any, arguments: list[str]) -> None:
            timers.append((seconds, arguments))
            self.daemon = False

        def start(self) -> None:
            assert self.daemon  # nobody waits for it in the end
            timers.append("started")

        def cancel(self) -> None:
            timers.append("cancelled")

    monkeypatch.setattr(threading, "Timer", Timer)
    with pytest.raises(KeyError), Lines().compiling("it"):
        raise KeyError
    assert timers == [(1.0, ["compiling it (once, then cached) ..."]), "started", "cancelled"]


@pytest.mark.parametrize(
    ("terminal", "rich", "kind"),
    [(True, True, Bars), (True, False, Lines), (False, True, Lines), (False, False, Lines)],
)
def test_bars_are_for_terminals(terminal, rich, kind, monkeypatch):
    monkeypatch.setattr(
        progress, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: terminal))
    )
    monkeypatch.setattr(progress, "missing", lambda extra: [] if rich else ["rich"])
    assert type(reporter(True)) is kind
    assert type(reporter(False)) is Silent
    own = Silent()
    assert reporter(own) is own


# ------------------------------------------------------------------------------------- the whole


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(progress, "interactive", lambda: False)


def test_the_time_left_is_judged_by_work_done_here_without_compiling(clock, plain):
    """Of 100 parts 20 were there and 20 are done, in ten seconds, four of which say nothing."""
    with Overall("sweep", 100.0) as overall:
        overall.skip(20.0)
        with overall.counted_apart():
            clock.now += 4.0
        clock.now += 6.0
        overall.advance(20.0)
        assert (overall.done, overall.there, overall.apart) == (40.0, 20.0, 4.0)
        assert overall.left(40.0) == ", about 18 s left"
        assert overall.left(21.9) == ""  # less than a fiftieth
        assert overall.left(22.0) == ", about 4 min left"


def test_parts_of_the_whole(clock, plain, capsys):
    with Overall("sweep", 10.0) as overall:
        overall.advance(2.0)
        part = overall.part("cell", 4.0)
        clock.now += 5.0
        with part.loading("it"):
            clock.now += 3.0
        assert overall.apart == 3.0 and overall.done == 2.0
        with part.compiling("it"):
            clock.now += 2.0
        assert overall.apart == 5.0
        clock.now += 5.0
        with part.running("") as tell:
            tell(0.5)
            assert overall.done == 2.0
        assert overall.done == 6.0
    assert capsys.readouterr().err.splitlines() == [
        "sweep: 20 %, about 20 s left, now loading it",
        "compiled it in 2.0 s",
        "sweep: 40 %, about 15 s left, now cell",
    ]
