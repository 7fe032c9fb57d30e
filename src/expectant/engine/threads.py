"""The same work for many numbers on threads, stopped as one."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
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
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def take() -> None:
        """Take numbers until none is left; to hand out each alone would cost more than its work."""
        trouble = None
        try:
            while waiting:
                try:
                    number = waiting.popleft()
                except IndexError:  # another thread was faster
                    break
                found[number] = work(number)
        except BaseException as error:
            trouble = error
        ended.put(trouble)

    idle, start, patience = min(threads, len(numbers)) - 1, time.perf_counter(), HEAD_START
    crew, at_work = [_begun(take)], 1
    try:
        while at_work:
            with suppress(queue.Empty):
                trouble = ended.get(timeout=patience)
                at_work -= 1
                if trouble is not None:
                    raise trouble
            if time.perf_counter() - start > TINY_SECONDS * len(found):
                crew += [_begun(take) for _ in range(idle)]
                at_work, idle = at_work + idle, 0
            patience = LOOK_SECONDS
            look(len(found))
    except BaseException:
        control[0] = 1
        waiting.clear()
        raise
    finally:
        for thread in crew:
            thread.join()
    return [found[number] for number in numbers]


def _begun(work: Callable[[], None]) -> threading.Thread:
    """A thread at work, which Python does not wait for in the end: a world may stand still."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def heeding(work: Callable[[], Found], control: np.ndarray) -> Found:
    """What ``work`` returns, done where an interruption cannot reach it but sets ``control[0]``.

    Compiled code is deaf to Ctrl-C: whoever waits for it hears nothing before it ends. Only the
    main thread is ever interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    errors = np.geterr()  # every thread has its own

    def there(_: int) -> Found:
        with np.errstate(**errors):
            return work()

    return on_threads(there, [0], 1, control, lambda done: None)[0]


def heeded(steps: Iterable[Found], control: np.ndarray) -> Iterator[Found]:
    """All that something yields, each made as :func:`heeding` makes it."""
    course, nothing = iter(steps), object()
    while (found := heeding(lambda: next(course, nothing), control)) is not nothing:
        yield found  # type: ignore[misc]
