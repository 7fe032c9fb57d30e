"""Runs in processes of their own, where their worlds hold Python's lock.

An environment of Gymnasium is Python, so threads only take turns in it. One run at a time is done
here, and the others, where the wait is worth it, by processes that are started anew (forks do not
survive threads) and do not run the user's script again. What another process cannot import or
would import differently, such as what is defined in the script or in a notebook, stays on threads.
The numbers are the same.
"""

from __future__ import annotations

import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from expectant.core.memory import available_memory, given_memory
from expectant.engine import away_pool
from expectant.engine.away_process import Process
from expectant.engine.away_work import Begun, Errand, Parcel, look_of

MOMENT = 0.2  # seconds that a run waits for its turn here before it is worth a process
STILL_SECONDS = (
    1.0  # without a step after which a run here is left to a process, which can be ended
)
LOOK_SECONDS = 0.2
BYTES = 2**29  # that a process takes before it holds anything

Local = Callable[[int, np.ndarray, Begun], Any]  # does a run here, until a control is set


class Processes:
    """What runs that belong together know of each other: whose turn it is here, what is sent."""

    def __init__(self) -> None:
        self.here = threading.Lock()
        self.worth_it = False
        self.parcels: dict[int, tuple[Any, bytes | None]] = {}
        self.lock = threading.Lock()
        self.busy = 0
        free = given_memory() or available_memory()
        self.most = free // BYTES

    def run(
        self, errand: Errand, number: int, control: np.ndarray, begun: Begun, local: Local
    ) -> Any:
        """What comes of a run, there or here; None if it was stopped through ``control``."""
        sent = self._parcel(errand)
        if sent is None:
            return local(number, control, begun)
        if not self.worth_it and self.here.acquire(timeout=MOMENT):
            over = True
            try:
                over, came = _attempted(local, number, control, begun)
            finally:
                if over:  # a world that stands still may do so for ever, and keeps its place
                    self.here.release()
            if over:
                return came
        self.worth_it = True
        with self._room() as found:
            if not found:
                return local(number, control, begun)
            answered, came = _there(sent, number, control, begun, repr(errand.job.domain))
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

    @contextmanager
    def _room(self) -> Iterator[bool]:
        """Whether there is memory for one more process, which counts as taken meanwhile."""
        with self.lock:
            found = self.busy < self.most
            self.busy += found
        try:
            yield found
        finally:
            with self.lock:
                self.busy -= found


def _there(
    sent: bytes, number: int, control: np.ndarray, begun: Begun, name: str
) -> tuple[bool, Any]:
    """Whether there is a process that does such runs, and what came of one.

    A process that was kept may be of another time: what it refuses, a new one is asked.
    """
    kept = away_pool.kept()
    if kept is not None:
        answered, came = _asked(kept, sent, number, control, begun, name)
        if answered:
            return True, came
    return _asked(Process(), sent, number, control, begun, name)


def _asked(
    process: Process, sent: bytes, number: int, control: np.ndarray, begun: Begun, name: str
) -> tuple[bool, Any]:
    """What a process answers, which is kept unless it refuses."""
    answered = True
    try:
        answered, came = process.ask(sent, number, control, begun, name)
    finally:
        if answered:
            away_pool.keep(process)
        else:
            process.end()
    return answered, came


def _packed(errand: Errand) -> bytes | None:
    if _importing():
        return None
    try:
        found = Parcel(errand, look_of(errand.job), _spec_of(errand.job.domain))
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


def _attempted(local: Local, number: int, control: np.ndarray, begun: Begun) -> tuple[bool, Any]:
    """Do a run here: whether that is over, and what came of it.

    A run whose world stands still is told to stop at its next step, and nobody waits for that.
    """
    own, answers = np.zeros(1, np.int64), queue.SimpleQueue[tuple[bool, Any]]()
    clocks: list[np.ndarray] = []

    def note(clock: np.ndarray) -> None:
        if not own[0]:
            clocks[:] = [clock]
            begun(clock)

    def attempt() -> None:
        try:
            answers.put((True, local(number, own, note)))
        except BaseException as error:
            answers.put((False, error))

    threading.Thread(target=attempt, daemon=True).start()
    moved, place = time.monotonic(), list[list[int]]()
    try:
        while True:
            with suppress(queue.Empty):
                fine, came = answers.get(timeout=LOOK_SECONDS)
                if not fine:
                    raise came
                return True, came
            if control[0]:
                return True, None
            now = [clock.tolist() for clock in clocks]
            if not now or now != place:
                moved, place = time.monotonic(), now
            elif time.monotonic() - moved > STILL_SECONDS:
                return False, None
    finally:
        own[0] = 1
