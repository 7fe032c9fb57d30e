from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import pytest

import expectant as ex
from expectant.verbs import observation, reset


def test_shapes_and_types():
    result = ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=12, runs=3)
    assert result.returns.shape == result.lengths.shape == (3, 12)
    assert (result.returns.dtype, result.lengths.dtype) == (np.float64, np.int64)
    assert result.diverged.tolist() == [False] * 3
    # every step but the last costs 1, the last pays 20 or 0
    assert set(np.unique(result.returns + result.lengths - 1)) <= {0.0, 20.0}


def test_a_budget_of_steps():
    result = ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), steps=1005, runs=2, bins=10)
    assert result.rewards.shape == (2, 10)
    assert result.returns.size == 0
    episodes = ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=500, runs=2)
    totals = result.rewards @ np.array([101] * 9 + [96])
    for run in range(2):
        ends = np.cumsum(episodes.lengths[run])
        finished = int(np.searchsorted(ends, 1005, side="right"))
        left = 1005 - ends[finished - 1]
        assert totals[run] == pytest.approx(episodes.returns[run, :finished].sum() - left)


def test_divergence_marks_the_run_and_ends_it_cleanly():
    agent = ex.Lookahead(value_step=50.0, model_step=5.0, planning_steps=5)
    result = ex.run(ex.Corridor(), ex.RandomBinary(14, 5), agent, episodes=300, runs=4)
    assert result.diverged.all()
    for returns, lengths in zip(result.returns, result.lengths, strict=True):
        first = int(np.isnan(returns).argmax())
        assert np.isnan(returns[first:]).all() and np.isfinite(returns[:first]).all()
        assert not lengths[first:].any()
    steps = ex.run(ex.Corridor(), ex.RandomBinary(14, 5), agent, steps=20_000, runs=2, bins=50)
    assert steps.diverged.all()
    assert np.isnan(steps.rewards[:, -1]).all()


def test_the_step_limit_cuts_episodes():
    result = ex.run(
        ex.Corridor(cells=50), ex.OneHot(), ex.QLearning(0.0), episodes=20, runs=2, step_limit=7
    )
    assert result.lengths.max() == 7
    assert result.returns.min() == -7.0


INTERRUPTED = """
from contextlib import contextmanager
import expectant as ex
from expectant.progress import Silent

class Tell(Silent):
    @contextmanager
    def running(self, what):
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


class Broken(NamedTuple):
    now: np.ndarray


@reset.register(Broken)
def _(domain, episode, rng):
    domain.now[0] = 0


@observation.register(Broken)
def _(domain):
    return domain.now


class BrokenDomain(ex.Domain):
    states = 1
    actions = 2

    def build(self, rng):
        return Broken(np.zeros(1, np.int64))


@pytest.mark.parametrize("compiled", [True, False])
def test_a_part_without_a_verb_is_named(compiled):
    with pytest.raises(
        TypeError, match="Broken does not implement the verb 'step': write one with"
    ):
        ex.run(
            BrokenDomain(), ex.OneHot(), ex.QLearning(0.1), episodes=1, runs=1, compiled=compiled
        )
