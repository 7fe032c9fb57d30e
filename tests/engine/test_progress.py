"""What people are told while they wait, by a clock that only the tests move."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from expectant.engine import progress
from expectant.engine.progress import Bars, Lines, OverallProgress, Silent, make_reporter


@pytest.fixture
def clock(monkeypatch):
    """Time stands still unless it is moved."""
    found: Any = SimpleNamespace(now=100.0)
    monkeypatch.setattr("time.perf_counter", lambda: found.now)
    return found


def test_a_line_after_two_seconds_and_then_every_ten(clock, capsys):
    with Lines().progress("runs") as tell:
        for now, part in ((101.9, 0.1), (102.0, 0.25), (111.9, 0.5), (112.0, 0.755)):
            clock.now = now
            tell(part)
    assert capsys.readouterr().err.splitlines() == ["runs: 25 %", "runs: 76 %"]


@pytest.mark.parametrize(
    ("terminal", "rich", "kind"),
    [(True, True, Bars), (True, False, Lines), (False, True, Lines), (False, False, Lines)],
)
def test_bars_are_for_terminals(terminal, rich, kind, monkeypatch):
    monkeypatch.setattr(
        progress, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: terminal))
    )
    monkeypatch.setattr(progress, "missing_packages", lambda extra: [] if rich else ["rich"])
    assert type(make_reporter(True)) is kind
    assert type(make_reporter(False)) is Silent
    own = Silent()
    assert make_reporter(own) is own


# ------------------------------------------------------------------------------------- the whole


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.setattr(progress, "is_interactive", lambda: False)


def test_the_time_left_is_judged_without_compiling(clock, plain, capsys):
    """Of 100 parts 20 are done in five seconds, after seven of compiling and loading."""
    with OverallProgress("sweep", 100.0) as overall:
        clock.now += 3.0
        with overall.compilation("it", cached=True):
            clock.now += 3.0
        with overall.exclude_time():
            clock.now += 4.0
        clock.now += 2.0
        overall.done += 20.0
        overall.show("cell", overall.done)
        assert overall.time_left(20.0) == ", about 20 s left"
        assert overall.time_left(1.9) == ""  # less than a fiftieth
        assert overall.time_left(2.0) == ", about 4 min left"
        clock.now += 1.0
        overall.show("cell", 50.0)
    assert capsys.readouterr().err.splitlines() == [
        "sweep: 0 %, now loading it",
        "sweep: 50 %, about 6 s left, now cell",
    ]
