"""Processes that have done a run and wait for the next one, whoever asks for it.

To start one takes more than a second, which every call of :func:`expectant.run` would pay again.
They end with the process that started them, after a while without anything to do, and when what
they were started with is no longer so.
"""

from __future__ import annotations

import atexit
import threading

from expectant.engine.away_process import Process, surroundings
from expectant.engine.job import cores

_idle: list[Process] = []
_lock = threading.Lock()


def kept() -> Process | None:
    """A process that has nothing to do; None if there is none."""
    now = surroundings()
    with _lock:
        while _idle:
            process = _idle.pop()
            if process.alive and process.surroundings == now:
                return process
            process.end()
    return None


def keep(process: Process) -> None:
    """Have a process wait for its next run, unless it is no more or enough of them wait.

    One that nobody waited for would answer whoever asks next with what came of another run.
    """
    with _lock:
        if process.alive and not process.at_work and len(_idle) < cores():
            _idle.append(process)
            return
    process.end()


@atexit.register
def end_idle() -> None:
    """End all processes that have nothing to do."""
    with _lock:
        while _idle:
            _idle.pop().end()
