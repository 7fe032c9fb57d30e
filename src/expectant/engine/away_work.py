"""What a process does that runs worlds outside compiled code for another one.

It is given errands, each with the number of a run, and says what came of them; in between it tells
where a run is and how long its world has not answered. See :mod:`expectant.engine.away`.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields
from types import FunctionType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from expectant.descriptions import Description
from expectant.engine.code_hash import digest, is_known_by_name, walk
from expectant.engine.course import going_on

if TYPE_CHECKING:
    from expectant.engine.job import Job

TELL_SECONDS = 0.2
IDLE_SECONDS = 120.0  # without an errand, after which a process gives its memory back
KEPT = 4  # errands whose loops are held ready

Begun = Callable[[np.ndarray], None]  # told the clock of a run before it starts
Work = Callable[[int, np.ndarray, Begun], object]


class Errand(Protocol):
    """Runs that another process can do: it is pickled, and prepared there once."""

    @property
    def job(self) -> Job:
        """What all its runs are runs of."""

    def prepare(self) -> Work:
        """What does a run, given its number, a control, and whom to tell of its clock."""


class Parcel(NamedTuple):
    """An errand, what its parts look like to whoever sends it, and what Gymnasium must know."""

    errand: Any
    look: str
    spec: Any


class Place(NamedTuple):
    """Where a run is: its clock, and what its world is being asked, if anything."""

    clock: list[int]
    asked: str
    episode: int
    step: int


def look_of(job: Job) -> str:
    """A name for all code and all values that decide what a job does, as far as can be seen.

    A script may have changed them since they were imported, or a process may have been started
    before that, and would run something else.
    """
    return digest(walk(_code_of((job.domain, job.features, job.agent))))


def _code_of(part: Any) -> Iterator[Any]:
    """The classes and functions that parts are made of, but for those of this package."""
    if isinstance(part, type | FunctionType):
        if not is_known_by_name(part):
            yield part
    elif isinstance(part, tuple | list):
        for each in part:
            yield from _code_of(each)
    elif isinstance(part, dict):
        yield from _code_of(list(part.values()))
    elif isinstance(part, Description):
        if not is_known_by_name(type(part)):
            yield type(part)
        for field in fields(part):  # type: ignore[arg-type]
            yield from _code_of(getattr(part, field.name))
        if hasattr(part, "make"):
            yield from _layers(part.make())


def _layers(environment: Any) -> Iterator[type]:
    """The classes of an environment and of all that it is wrapped around."""
    layer = environment
    while layer is not None:
        yield type(layer)
        layer = getattr(layer, "env", None)
    environment.close()


class Desk:
    """Where answers are written, by the run and by whoever tells of it meanwhile."""

    def __init__(self, answers: BinaryIO) -> None:
        self.answers = answers
        self.lock = threading.Lock()
        self.world: Any = None
        self.clock: np.ndarray | None = None
        self.free_since: float | None = time.monotonic()

    def answer(self, kind: str, what: Any) -> None:
        """Say what came of an errand, which is over by that."""
        with self.lock:
            self.clock = self.world = None
            self._write(kind, what)
            self.free_since = time.monotonic()

    def _write(self, kind: str, what: Any) -> None:
        sent = pickle.dumps((kind, what), pickle.HIGHEST_PROTOCOL)
        self.answers.write(sent)
        self.answers.flush()

    def tell(self) -> None:
        """Say now and then where the run is; end where nobody listens, or asks for anything."""
        try:
            while True:
                time.sleep(TELL_SECONDS)
                with self.lock:
                    if self.clock is not None:
                        self._write("at", _place(self.clock, self.world))
                    free = self.free_since
                if free is not None and time.monotonic() - free > IDLE_SECONDS:
                    os._exit(0)
        except OSError:
            os._exit(1)

    def begin(self, clock: np.ndarray) -> None:
        self.clock = clock

    def watch(self, domain: Any) -> None:
        """Take note of every world that a domain makes from now on."""
        make = type(domain).world

        def world(seed: int, run: int) -> Any:
            self.world = make(domain, seed, run)
            return self.world

        vars(domain)["world"] = world


def work() -> None:
    """Do errands until there are none."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that an environment prints is taken for an answer
    desk, ready = Desk(answers), dict[bytes, Work]()
    threading.Thread(target=desk.tell, daemon=True).start()
    while True:
        try:
            sent, number = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        desk.free_since = None
        try:
            if sent not in ready:
                if len(ready) >= KEPT:
                    ready.pop(next(iter(ready)))
                ready[sent] = _prepared(sent, desk)
        except Exception as error:  # whoever asks will do it, and is told what is wrong
            desk.answer("refused", f"{type(error).__name__}: {error}")
            continue
        try:
            desk.answer("done", ready[sent](number, going_on(), desk.begin))
        except Exception as error:
            desk.answer("failed", _packed(error))


def _place(clock: np.ndarray, world: Any) -> Place:
    if world is None:
        return Place(clock.tolist(), "", -1, 0)
    return Place(clock.tolist(), world.asked, world.episode, world.taken)


def _prepared(sent: bytes, desk: Desk) -> Work:
    parcel: Parcel = pickle.loads(sent)
    if parcel.spec is not None:
        import gymnasium

        gymnasium.registry[parcel.spec.id] = parcel.spec  # another one may have been sent before
    job = parcel.errand.job
    if look_of(job) != parcel.look:
        raise ValueError("its parts are others in this process")
    prepared: Work = parcel.errand.prepare()
    desk.watch(job.domain)
    return prepared


def _packed(error: Exception) -> tuple[bytes, str, str]:
    """An error as it is, if it can be sent; its sentence; and where it was raised."""
    where = "".join(traceback.format_exception(error))
    try:
        packed = pickle.dumps(error)
        pickle.loads(packed)
    except Exception:  # whatever its class makes of that
        packed = b""
    return packed, f"{type(error).__name__}: {error}", where
