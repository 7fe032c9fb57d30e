"""The same work on threads, and compiled code that is called without asking for types."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.core import tree
from expectant.engine.compile.compiling import kernel_for
from expectant.engine.compile.settled import has_settled_types
from expectant.engine.course import going_on
from expectant.engine.job import Job, cores, loop_for
from expectant.engine.threads import on_threads
from expectant.progress import Silent


@pytest.mark.parametrize("threads", [1, 3, 200])
def test_every_number_is_done_once_and_answers_come_in_order(threads):
    done: list[int] = []
    counts: list[int] = []

    def work(number):
        done.append(number)
        return number * number

    found = on_threads(work, range(5, 105), threads, going_on(), counts.append)
    assert found == [number * number for number in range(5, 105)]
    assert sorted(done) == list(range(5, 105))
    assert counts[-1] == 100


def test_work_is_shared_out():
    names = set()

    def work(number):
        names.add(threading.current_thread().name)
        time.sleep(0.01)

    on_threads(work, range(6), 3, going_on(), lambda done: None)
    assert len(names) == 3


def test_tiny_work_is_left_to_one_thread():
    def crew():
        names = set()
        on_threads(
            lambda number: names.add(threading.current_thread().name),
            range(50_000),
            3,
            going_on(),
            lambda done: None,
        )
        return len(names)

    assert 1 in [crew() for _ in range(10)]  # a busy machine may hold up the first thread


def test_the_first_error_stops_everything():
    control, begun = going_on(), []

    def work(number):
        begun.append(number)
        if number == 1:
            raise ZeroDivisionError("one")
        while not control[0]:  # as a loop does
            time.sleep(0.001)

    with pytest.raises(ZeroDivisionError, match="one"):
        on_threads(work, range(50), 2, control, lambda done: None)
    assert sorted(begun) == [0, 1]


def test_an_interruption_stops_everything():
    control, begun = going_on(), []

    def work(number):
        begun.append(number)
        while not control[0]:
            time.sleep(0.001)

    def look(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_threads(work, range(50), 2, control, look)
    assert len(begun) <= 2


# -------------------------------------------------------------------------- types that stay


@ex.description
class Mine(ex.LinearExpectation):
    """A model of somebody's own."""


def job_with(agent: Any, features: Any = None) -> Job:
    return Job(ex.Corridor(), features or ex.OneHot(), agent, episodes=20, step_limit=50, seed=3)


def test_only_the_packages_own_parts_are_known_to_stay_as_they_are():
    assert has_settled_types(job_with(ex.Lookahead(0.1, model=ex.Sample(), backups="seen")))
    assert has_settled_types(job_with(ex.QLearning(0.1), ex.History(ex.OneHot(), 2)))
    assert not has_settled_types(job_with(ex.Lookahead(0.1, model=Mine(0.1))))


def test_code_that_does_not_ask_for_types_gives_the_same_run():
    job = job_with(ex.QLearning(0.1))
    loop = loop_for(job, True, "test", Silent())
    assert not hasattr(loop, "overloads")  # the compiled code itself
    found = []
    for kernel in (loop, kernel_for(job.prepare(0)[0])):
        run, streams = job.prepare(7)
        kernel(run, job.budget(), streams, going_on())
        found.append(
            (run.returns, run.agent.weights, [rng.random() for rng in streams.named().values()])
        )
    for mine, other in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_compositions_differ_where_compiled_code_would():
    square = np.zeros((4, 4))
    frozen = square.copy()
    frozen.setflags(write=False)
    kinds = [square, square.T.copy(order="F"), square[:, ::2], frozen, square.astype(np.float32)]
    assert len({tree.structure((array,)) for array in kinds}) == len(kinds)
    assert tree.structure((square,)) == tree.structure((np.ones((2, 7)),))


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 6}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")  # as on a Mac
    assert cores() == 8
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def test_kernels_are_told_apart_by_what_arrays_are_like():
    table = np.zeros((3, 4))
    frozen = table.copy()
    frozen.flags.writeable = False
    arrays = (table, table.T, table[:, ::2], table.astype(np.float32), table[0], frozen)
    found = [tree.structure((array,)) for array in arrays]
    assert len(set(found)) == len(arrays)
    assert [kind[1][2] for kind in found] == ["C", "F", "A", "C", "C", "C"]
