"""The same work for many numbers on threads, stopped as one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

LOOK_SECONDS = 0.2
HEAD_START = 0.001  # seconds that the first thread has to show how long a piece of work takes
TINY_SECONDS = 0.0001  # for less, threads would wait for each other longer than they work

Found = TypeVar("Found")


def on_threads(
    work: Callable[[int], Found],
    numbers: Sequence[int],
    threads: int,
    control: np.ndarray,
    look: Callable[[int], None],
) -> list[Found]:
    """What ``work`` makes of every number, in order.

    ``look`` is told now and then how many are done. The first error, or an interruption, sets
    ``control[0]``, which work under way must heed, and the rest is left undone. One thread begins;
    the others join unless the pieces of work turn out to be tiny.
    """
    waiting, found = deque(numbers), dict[int, Found]()

    def take() -> None:
        """Take numbers until none is left; to hand out each alone would cost more than its work."""
        while waiting:
            try:
                number = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            found[number] = work(number)

    idle, start, patience = min(threads, len(numbers)) - 1, time.perf_counter(), HEAD_START
    with ThreadPoolExecutor(idle + 1) as pool:
        try:
            pending = {pool.submit(take)}
            while pending:
                ended, pending = wait(pending, timeout=patience, return_when=FIRST_EXCEPTION)
                for future in ended:
                    future.result()
                if time.perf_counter() - start > TINY_SECONDS * len(found):
                    pending |= {pool.submit(take) for _ in range(idle)}
                    idle = 0
                patience = LOOK_SECONDS
                look(len(found))
        except BaseException:
            control[0] = 1
            waiting.clear()
            raise
    return [found[number] for number in numbers]
