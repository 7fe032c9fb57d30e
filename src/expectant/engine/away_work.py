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
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from expectant.engine.course import going_on
from expectant.engine.identity.accounts import accounts, digest

TELL_SECONDS = 0.2
KEPT = 4  # errands whose loops are held ready

Begun = Callable[[np.ndarray], None]  # told the clock of a run before it starts
Work = Callable[[int, np.ndarray, Begun], Any]


class Errand(Protocol):
    """Runs that another process can do: it is pickled, and prepared there once."""

    @property
    def domain(self) -> Any:
        """The domain of all its runs."""

    def prepare(self) -> Work:
        """What does a run, given its number, a control, and whom to tell of its clock."""


class Parcel(NamedTuple):
    """An errand, what the world looks like to whoever sends it, and what Gymnasium must know."""

    errand: Any
    look: str
    spec: Any


class Place(NamedTuple):
    """Where a run is: its clock, and what its world has been asked, for so many seconds."""

    clock: list[int]
    asked: str
    episode: int
    step: int
    seconds: float


def look_of(domain: Any) -> str:
    """A name for all code and all values that decide what a world does, as far as can be seen.

    A script may have changed them since they were imported, and then another process would run
    another world.
    """
    roots: list[Any] = [type(domain)]
    if hasattr(domain, "make"):
        layer = made = domain.make()
        while layer is not None:
            roots.append(type(layer))
            layer = getattr(layer, "env", None)
        made.close()
    return digest(accounts(roots))


class WatchedWorld:
    """A world that notes what it is asked, and when."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.asked, self.since = "", 0.0
        self.episode, self.taken = -1, 0

    def reset(self, received: np.ndarray) -> None:
        self.episode, self.taken = self.episode + 1, 0
        self.asked, self.since = "reset", time.monotonic()
        self.world.reset(received)
        self.asked = ""

    def step(self, action: int, received: np.ndarray) -> Any:
        self.taken += 1
        self.asked, self.since = "step", time.monotonic()
        answer = self.world.step(action, received)
        self.asked = ""
        return answer

    def close(self) -> None:
        self.world.close()


class Desk:
    """Where answers are written, by the run and by whoever tells of it meanwhile."""

    def __init__(self, answers: BinaryIO) -> None:
        self.answers = answers
        self.lock = threading.Lock()
        self.world: WatchedWorld | None = None
        self.clock: np.ndarray | None = None

    def write(self, kind: str, what: Any) -> None:
        sent = pickle.dumps((kind, what), pickle.HIGHEST_PROTOCOL)
        with self.lock:
            self.answers.write(sent)
            self.answers.flush()

    def tell(self) -> None:
        """Say now and then where the run is; without anybody to listen there is nothing to do."""
        try:
            while True:
                time.sleep(TELL_SECONDS)
                if self.clock is not None:
                    self.write("at", self.place())
        except OSError:
            os._exit(1)

    def place(self) -> Place:
        clock, world = self.clock, self.world
        passed = time.monotonic() - world.since if world is not None and world.asked else 0.0
        return Place(
            [] if clock is None else clock.tolist(),
            "" if world is None else world.asked,
            -1 if world is None else world.episode,
            0 if world is None else world.taken,
            passed,
        )

    def begin(self, clock: np.ndarray) -> None:
        self.clock = clock

    def watch(self, domain: Any) -> None:
        """Have every world that a domain makes watched from now on."""
        make = type(domain).world

        def world(seed: int, run: int) -> WatchedWorld:
            self.world = WatchedWorld(make(domain, seed, run))
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
        try:
            if sent not in ready:
                if len(ready) >= KEPT:
                    ready.pop(next(iter(ready)))
                ready[sent] = _prepared(sent, desk)
        except Exception as error:  # whoever asks will do it, and is told what is wrong
            desk.write("refused", f"{type(error).__name__}: {error}")
            continue
        try:
            desk.write("done", ready[sent](number, going_on(), desk.begin))
        except Exception as error:
            desk.write("failed", _packed(error))
        desk.clock = desk.world = None


def _prepared(sent: bytes, desk: Desk) -> Work:
    parcel: Parcel = pickle.loads(sent)
    if parcel.spec is not None:
        import gymnasium

        gymnasium.registry.setdefault(parcel.spec.id, parcel.spec)
    if look_of(parcel.errand.domain) != parcel.look:
        raise ValueError("the environment is another one in this process")
    prepared: Work = parcel.errand.prepare()
    desk.watch(parcel.errand.domain)
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
