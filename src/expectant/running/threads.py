"""The same work for many numbers on threads, stopped as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

LOOK_SECONDS = 0.2

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
    ``control[0]``, which work under way must heed, and cancels the rest.
    """
    with ThreadPoolExecutor(min(threads, len(numbers))) as pool:
        futures = [pool.submit(work, number) for number in numbers]
        try:
            pending = set(futures)
            while pending:
                ended, pending = wait(pending, timeout=LOOK_SECONDS)
                look(len(futures) - len(pending))
                for future in ended:
                    future.result()
        except BaseException:
            control[0] = 1
            for future in futures:
                future.cancel()
            raise
    return [future.result() for future in futures]
