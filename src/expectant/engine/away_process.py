"""One process that does runs for this one, and what it says of them."""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import numpy as np

from expectant.engine.away_work import Begun, Place
from expectant.whose import WorldCrashed, WorldHangs

HANG_SECONDS = 60.0  # without an answer of an environment
LOOK_SECONDS = 0.2
START = (
    "import signal\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"  # whoever started it is told, and ends it
    "import json, sys\n"
    "sys.path[:] = json.loads(sys.argv[1])\n"
    "from expectant.engine.away_work import work\n"
    "work()"
)


class AwayError(RuntimeError):
    """What an error in another process was there; the cause of the one that is raised here."""


def surroundings() -> tuple[Any, ...]:
    """All that a process takes over from this one when it is started."""
    return os.getpid(), os.getcwd(), dict(os.environ), list(sys.path), list(sys.warnoptions)


class Process:
    """One process, and what it says; ``alive`` until it ends, ``at_work`` until it answers."""

    def __init__(self) -> None:
        self.surroundings = surroundings()
        self.alive, self.at_work, self.asked = True, False, 0
        warnings = [f"-W{each}" for each in sys.warnoptions]
        command = [sys.executable, *warnings, "-c", START, json.dumps(sys.path)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self.heard: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as answers:
            try:
                while True:
                    self.heard.put(pickle.load(answers))
            except Exception as error:  # it is no more, or what it says cannot be read here
                self.alive = False
                self.heard.put(("gone", error))

    def ask(
        self, sent: bytes, number: int, control: np.ndarray, begun: Begun, name: str
    ) -> tuple[bool, Any]:
        """Whether it does such runs, and what came of one; None if that was stopped."""
        assert self.process.stdin is not None
        self.asked, self.at_work = self.asked + 1, True
        with suppress(OSError):  # it is no more, which is heard
            pickle.dump((sent, number), self.process.stdin)
            self.process.stdin.flush()
        place, clock, moved = None, np.zeros(0, np.int64), time.monotonic()
        while True:
            try:
                kind, what = self.heard.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                kind, what = "", None
            if control[0]:
                self.end()
                return True, None
            if kind == "at":
                if not what.asked or place is None or what[1:] != place[1:]:
                    moved = time.monotonic()
                place = what
                if not clock.size:
                    clock = np.array(place.clock, np.int64)
                    begun(clock)
                clock[:] = place.clock
            if place is not None and time.monotonic() - moved > HANG_SECONDS:
                self.end()
                raise WorldHangs(_hanging(name, number, place))
            self.at_work = kind not in ("done", "refused", "failed")
            if kind == "done":
                return True, what
            if kind == "refused":
                return False, what
            if kind == "failed":
                raise _error(*what)
            if kind == "gone":
                self.end()
                if place is None and self.asked > 1:  # it may have ended while it was idle
                    return False, what
                raise WorldCrashed(
                    f"{name}: its process has ended (exit status {self.process.returncode}) in "
                    f"{_where(number, place)}: a crash of the environment or too little memory; "
                    "threads=1 runs it without one"
                )

    def end(self) -> None:
        self.alive = False
        if self.surroundings[0] != os.getpid():  # a fork has it from whoever started it
            return
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()


def _where(number: int, place: Place | None) -> str:
    if place is None:
        return f"run {number}, before its first step"
    return f"run {number}, episode {place.episode}, step {place.step}"


def _hanging(name: str, number: int, place: Place) -> str:
    return (
        f"{name}: no answer for {HANG_SECONDS:.0f} s in {place.asked or 'step'} of "
        f"{_where(number, place)}; mend what it waits for"
    )


def _error(packed: bytes, sentence: str, where: str) -> BaseException:
    """The error of another process, with where it was raised there as its cause."""
    found: BaseException = RuntimeError(sentence)
    with suppress(Exception):  # a class that is not to be had here
        found = pickle.loads(packed)
    found.__cause__ = AwayError(f"\n{where}")
    return found
