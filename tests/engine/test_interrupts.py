"""Ctrl-C is heeded while compiled code is deaf to it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from expectant.engine.loop import DONE
from expectant.engine.workers import gather

PATIENCE = 5.0  # seconds after which a deaf loop ends by itself


def deaf(control: np.ndarray, stops: list[float]) -> int:
    """As compiled code: goes on through interruptions until its control is set."""
    start = time.perf_counter()
    while control[0] == 0 and time.perf_counter() - start < PATIENCE:
        try:
            time.sleep(0.01)
        except KeyboardInterrupt:
            continue
    stops.append(time.perf_counter() - start)
    return DONE


@pytest.fixture
def interrupted() -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Interrupt some work a little after it has begun; it must raise soon."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread")
    timers = []

    def expect(work: Callable[[], Any]) -> None:
        timers.append(threading.Timer(0.4, signal.raise_signal, (signal.SIGINT,)))
        timers[0].start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            work()
        assert time.perf_counter() - start < PATIENCE - 1.0

    yield expect
    for timer in timers:
        timer.join()


def test_work_is_stopped_through_its_control(interrupted):
    control, stops = np.zeros(1, np.int64), list[float]()
    interrupted(lambda: gather(lambda _: deaf(control, stops), [0], 1, control))
    assert control[0] == 1 and stops[0] < PATIENCE - 1.0
