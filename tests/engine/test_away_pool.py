"""Processes that wait for their next run: which are kept, and when they end."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from expectant.engine import away_pool, away_process, away_work


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(away_pool, "_idle", [])
    monkeypatch.setattr(away_pool, "cores", lambda: 2)
    return away_pool


def imagined(**traits):
    """What the pool knows of a process."""
    known = {"alive": True, "at_work": False, "surroundings": away_process.surroundings(), **traits}
    found = SimpleNamespace(**known, ended=False)
    found.end = lambda: setattr(found, "ended", True)
    return found


def test_a_process_is_kept_as_long_as_it_would_be_started_so_again(pool, monkeypatch):
    first, second, third = imagined(), imagined(), imagined()
    for process in (first, second, third):
        pool.keep(process)
    assert third.ended and not second.ended
    assert pool.kept() is second
    monkeypatch.setenv("AWAY_TEST", "another")
    assert pool.kept() is None and first.ended
    dead = imagined(alive=False)
    pool.keep(dead)
    assert pool.kept() is None and dead.ended
    busy = imagined(at_work=True)
    pool.keep(busy)
    assert pool.kept() is None and busy.ended
    last = imagined()
    pool.keep(last)
    last.alive = False
    assert pool.kept() is None


class Ended(BaseException):
    pass


class NoListener(io.BytesIO):
    def flush(self):
        raise BrokenPipeError


@pytest.mark.parametrize(("idle", "status"), [(0.0, 0), (1e9, 1)])
def test_a_process_ends_without_errands_and_without_listeners(monkeypatch, idle, status):
    def end(status):
        raise Ended(status)

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(away_work, "TELL_SECONDS", 0.001)
    monkeypatch.setattr(away_work, "IDLE_SECONDS", idle)
    desk = away_work.Desk(NoListener())
    if status:
        desk.begin(np.zeros(3, np.int64))
    with pytest.raises(Ended) as ended:
        desk.tell()
    assert ended.value.args == (status,)


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", ""], ids=["dies", "ends"])
def test_processes_end_with_whoever_started_them(end):
    script = (
        "import os, signal\n"
        "from expectant.engine import away_pool, away_process\n"
        "process = away_process.Process()\n"
        "away_pool.keep(process)\n"
        "print(process.process.pid, flush=True)\n"
    ) + end
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    number, give_up = int(ran.stdout), time.monotonic() + 60.0
    while is_there(number) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not is_there(number)
    assert not ran.stderr


def is_there(number):
    """Whether a process runs; one that has ended may wait for somebody to take note of it."""
    try:
        with open(f"/proc/{number}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_is_at_work_until_it_answers():
    """A wait that is broken off leaves it at work, and its answer is not taken for another's."""

    def heard(*answers):
        process: Any = object.__new__(away_process.Process)
        process.alive, process.at_work, process.asked = True, False, 0
        process.process = SimpleNamespace(stdin=io.BytesIO())
        left = iter(answers)
        process.heard = SimpleNamespace(get=lambda timeout: next(left))
        return process

    def ask(process, begun=lambda clock: None):
        return process.ask(b"", 0, np.zeros(1, np.int64), begun, "it")

    at = ("at", away_work.Place([0, 0], "", 0, 0))

    def broken_off(clock):
        raise Ended

    process = heard(at, ("done", 1))
    with pytest.raises(Ended):
        ask(process, broken_off)
    assert process.at_work
    process = heard(at, ("done", 1))
    assert ask(process) == (True, 1) and not process.at_work
