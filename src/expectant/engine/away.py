"""Runs in processes of their own, where their worlds hold Python's lock.

An environment of Gymnasium is Python, so threads only take turns in it. Such runs go to processes
that are started anew (forks do not survive threads) and do not run the user's script again. What
another process cannot import or would import differently, such as what is defined in the script
or in a notebook, stays on threads; so does what is over within a moment. The numbers are the same.
"""

from __future__ import annotations

import json
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from expectant.engine.away_work import Begun, Errand, Parcel, Place, look_of
from expectant.engine.memory.available import free_memory, given_memory

MOMENT = 1.0  # seconds of work that are not worth a process
HANG_SECONDS = 60.0  # without an answer of an environment
LOOK_SECONDS = 0.2
BYTES = 2**29  # that a process takes before it holds anything
START = (
    "import signal\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"  # whoever started it is told, and ends it
    "import json, sys\n"
    "sys.path[:] = json.loads(sys.argv[1])\n"
    "from expectant.engine.away_work import work\n"
    "work()"
)

Local = Callable[[int, np.ndarray, Begun], Any]  # does a run here, until a control is set


class AwayError(RuntimeError):
    """What an error in another process was there; the cause of the one that is raised here."""


class Processes:
    """As many processes as are asked at once, each for one run at a time."""

    def __init__(self) -> None:
        self.idle: list[_Process] = []
        self.all: list[_Process] = []
        self.parcels: dict[int, tuple[Any, bytes | None]] = {}
        self.lock = threading.Lock()
        self.worth_it = False
        free = given_memory() or free_memory()
        self.most = sys.maxsize if free is None else free // BYTES

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *what: object) -> None:
        self.end()

    def end(self) -> None:
        """End all processes."""
        for process in self.all:
            process.end()

    def run(
        self, errand: Errand, number: int, control: np.ndarray, begun: Begun, local: Local
    ) -> Any:
        """What comes of a run, there or here; None if it was stopped through ``control``."""
        sent = self._parcel(errand)
        if sent is not None and not self.worth_it:
            done, came = _briefly(local, number, control, begun)
            if done:
                return came
            self.worth_it = True
        process = None if sent is None else self._take()
        if process is None or sent is None:
            return local(number, control, begun)
        try:
            answered, came = process.ask(sent, number, control, begun, repr(errand.domain))
        finally:
            if process.process.returncode is None:
                self.idle.append(process)
        if answered:
            return came
        self.parcels[id(errand)] = errand, None  # refused: it is done here from now on
        return local(number, control, begun)

    def _parcel(self, errand: Errand) -> bytes | None:
        """What is sent of an errand; None where another process could not do it."""
        with self.lock:
            if id(errand) not in self.parcels:
                self.parcels[id(errand)] = errand, _packed(errand)
            return self.parcels[id(errand)][1]

    def _take(self) -> _Process | None:
        """A process that has nothing to do; None where there is no memory for another one."""
        with self.lock:
            if self.idle:
                return self.idle.pop()
            if len(self.all) >= self.most:
                return None
            self.all.append(_Process())
            return self.all[-1]


def _packed(errand: Errand) -> bytes | None:
    if _importing():
        return None
    try:
        found = Parcel(errand, look_of(errand.domain), _spec_of(errand.domain))
        sent = pickle.dumps(found)
    except Exception:  # whatever the parts of an environment raise
        return None
    return None if b"__main__" in sent else sent


def _importing() -> bool:
    """Whether a module is being imported that runs this: another process would run it once more,
    and to pickle what it defines would wait for its end."""
    specs = [getattr(module, "__spec__", None) for module in list(sys.modules.values())]
    return any(getattr(spec, "_initializing", False) for spec in specs)


def _spec_of(domain: Any) -> Any:
    """What Gymnasium knows of an id that a script has registered."""
    name = getattr(domain, "environment", None)
    if not isinstance(name, str) or ":" in name:
        return None
    import gymnasium

    return gymnasium.spec(name)


def _briefly(local: Local, number: int, control: np.ndarray, begun: Begun) -> tuple[bool, Any]:
    """Do a run here if it takes but a moment: whether it is done, and what came of it.

    One that takes longer is stopped at its next step; nobody waits for a world that hangs.
    """
    own, answers = np.zeros(1, np.int64), queue.SimpleQueue[tuple[bool, Any]]()

    def note(clock: np.ndarray) -> None:
        if not own[0]:
            begun(clock)

    def attempt() -> None:
        try:
            answers.put((True, local(number, own, note)))
        except BaseException as error:
            answers.put((False, error))

    threading.Thread(target=attempt, daemon=True).start()
    end = time.monotonic() + MOMENT
    try:
        while True:
            with suppress(queue.Empty):
                fine, came = answers.get(timeout=min(LOOK_SECONDS, MOMENT))
                if not fine:
                    raise came
                return True, came
            if control[0]:
                return True, None
            if time.monotonic() > end:
                return False, None
    finally:
        own[0] = 1


class _Process:
    """One process, and what it says."""

    def __init__(self) -> None:
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
                self.heard.put(("gone", error))

    def ask(
        self, sent: bytes, number: int, control: np.ndarray, begun: Begun, name: str
    ) -> tuple[bool, Any]:
        """Whether it does such runs, and what came of one; None if that was stopped."""
        assert self.process.stdin is not None
        with suppress(OSError):  # it is no more, which is heard
            pickle.dump((sent, number), self.process.stdin)
            self.process.stdin.flush()
        place, clock, heard_at = None, np.zeros(0, np.int64), time.monotonic()
        while True:
            try:
                kind, what = self.heard.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                kind, what = "", None
            else:
                heard_at = time.monotonic()
            if control[0]:
                self.end()
                return True, None
            if kind == "at":
                place = what
                if not clock.size:
                    clock = np.array(place.clock, np.int64)
                    begun(clock)
                clock[:] = place.clock
            silent = time.monotonic() - heard_at if place is not None else 0.0
            if place is not None and max(silent, place.seconds) > HANG_SECONDS:
                self.end()
                raise TimeoutError(_hanging(name, number, place))
            if kind == "done":
                return True, what
            if kind == "refused":
                return False, what
            if kind == "failed":
                raise _error(*what)
            if kind == "gone":
                self.end()
                raise ChildProcessError(
                    f"{name}: its process has ended (exit status {self.process.returncode}) in "
                    f"{_where(number, place)}: a crash of the environment or too little memory; "
                    "threads=1 runs it without one"
                )

    def end(self) -> None:
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
