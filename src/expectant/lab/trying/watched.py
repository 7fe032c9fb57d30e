"""Work in an environment that may stand still for ever, and its deadline all the same."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from expectant.engine.course import under_way
from expectant.lab.trying.promise import Deadline, OutOfTime
from expectant.parts import Domain
from expectant.whose import WorldHangs

GRACE = 2.0  # seconds after the deadline that a step may take to its end
LOOK_SECONDS = 0.2

Found = TypeVar("Found")


def watched(work: Callable[[], Found], domain: Domain, deadline: Deadline) -> Found:
    """What comes of work that heeds a deadline between the steps of an environment.

    It is done on a thread of its own, which is left behind if a step does not end.
    """
    if not domain.outside:
        return work()
    answers: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

    def attempt() -> None:
        try:
            answers.put((True, work()))
        except BaseException as error:
            answers.put((False, error))

    patience = _Patience()
    threading.Thread(target=attempt, daemon=True).start()
    try:
        while True:
            with suppress(queue.Empty):
                fine, came = answers.get(timeout=LOOK_SECONDS)
                if fine:
                    return came
                raise came
            patience.look()
            if deadline.left() < -GRACE:
                raise patience.at_its_end(domain)
    except BaseException:
        deadline.bring_on()  # for what may still be at work
        raise


class _Patience:
    """Since when each environment has been asked what it has not answered yet."""

    def __init__(self) -> None:
        self.others = set(under_way)
        self.asked: dict[int, tuple[Any, float]] = {}

    def look(self) -> None:
        now = time.monotonic()
        for key, world in list(under_way.items()):
            place = tuple(getattr(world, name, "") for name in ("asked", "run", "episode", "taken"))
            if key not in self.others and self.asked.get(key, (None, 0.0))[0] != place:
                self.asked[key] = place, now

    def at_its_end(self, domain: Domain) -> Exception:
        """The error for the environment that has been asked longest; time is over without any."""
        waiting = [each for key, each in self.asked.items() if key in under_way and each[0][0]]
        if not waiting:
            return OutOfTime()
        (asked, run, episode, step), since = min(waiting, key=lambda each: each[1])
        return WorldHangs(
            f"{domain!r}: no answer for {time.monotonic() - since:.0f} s in {asked} of run "
            f"{run}, episode {episode}, step {step}: it hangs, or needs more minutes"
        )
