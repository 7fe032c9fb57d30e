from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import expectant as ex


def test_shapes_and_types():
    result = ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=12, runs=3)
    assert result.returns.shape == result.lengths.shape == (3, 12)
    assert (result.returns.dtype, result.lengths.dtype) == (np.float64, np.int64)
    assert result.diverged.tolist() == [False] * 3
    # every step but the last costs 1, the last pays 20 or 0
    assert set(np.unique(result.returns + result.lengths - 1)) <= {0.0, 20.0}


def test_a_budget_of_steps():
    result = ex.run(
        ex.Corridor(), ex.OneHot(), ex.QLearning.paper(0.1), steps=1005, runs=2, bins=10
    )
    assert result.rewards.shape == (2, 10)
    assert result.returns.size == 0
    episodes = ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=500, runs=2)
    totals = result.rewards @ np.array([101] * 9 + [96])
    for run in range(2):
        ends = np.cumsum(episodes.lengths[run])
        finished = int(np.searchsorted(ends, 1005, side="right"))
        left = 1005 - ends[finished - 1]
        assert totals[run] == pytest.approx(episodes.returns[run, :finished].sum() - left)


INTERRUPTED = """
from contextlib import contextmanager
import expectant as ex
from expectant.engine.progress import Silent

class Tell(Silent):
    @contextmanager
    def progress(self, what):
        print("running", flush=True)
        yield lambda fraction: None

ex.run(ex.Corridor(slip=0.5), ex.RandomBinary(100, 20), ex.Lookahead(0.001, 0.001, planning_steps=50),
       steps=10**10, bins=10, runs=4, compiled={compiled}, progress=Tell())
"""


@pytest.mark.parametrize("compiled", [True, False])
def test_interrupt_stops_within_two_seconds(compiled):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(compiled=compiled)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ.copy(),
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stdout.readline() == "running\n"
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        _, errors = process.communicate(timeout=20)
        assert time.perf_counter() - start < 4.0  # two seconds, on a machine with other work to do
        assert "KeyboardInterrupt" in errors
    finally:
        process.kill()
