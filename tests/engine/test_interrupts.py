"""Ctrl-C is heeded while compiled code is deaf to it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.engine.loop import DONE, OVER
from expectant.engine.workers import run_interruptibly

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
    interrupted(lambda: run_interruptibly(lambda: deaf(control, stops), control))
    assert control[0] == 1 and stops[0] < PATIENCE - 1.0


@pytest.mark.parametrize("where", ["made", "loaded"])
def test_a_step_of_very_many_backups(tmp_path, interrupted, where):
    """And the next step plans again."""
    learner = ex.Learner(ex.Lookahead.paper(0.1), ex.OneHot(), 2, states=3, compiled=False)
    learner.start(0)
    if where == "loaded":
        learner.save(tmp_path / "l.npz")
        learner = ex.Learner.load(tmp_path / "l.npz", compiled=False)
    learner._is_long = True
    respond, stops = learner._respond, list[float]()

    def planning(run: Any, *_: Any) -> int:
        deaf(run.agent.planner.control, stops)
        return OVER

    learner._respond = planning
    interrupted(lambda: learner.step(0.0, 1, False))
    assert learner._run is not None
    learner._respond = respond
    assert learner.step(0.0, 1, False) in (0, 1)
    assert learner._run.agent.planner.control[0] == 0
