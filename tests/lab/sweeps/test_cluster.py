"""Handing out blocks to a cluster, with a cluster that is played: no Ray is started."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.lab.engines import on_ray
from expectant.lab.engines.tasks import Done, Kernels, Task
from expectant.lab.store.facts import versions
from expectant.whose import told
from lab.sweeps.test_numbers import CELL


class Lost(Exception):
    """What Ray says of a node that has gone."""


class Cluster:
    """A cluster of so many cores that computes a block when it is waited for.

    A task of the name "gone" never comes back, one of the name "late" does so the second time.
    """

    exceptions = SimpleNamespace(RayError=Lost)

    def __init__(self, cores: float | None = 1.0, running: bool = False) -> None:
        self.cores, self.running = cores, running
        self.asked: list[str] = []
        self.most, self.waited, self.under_way = 0, 0.0, 0
        self.started: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}
        self.cancelled: list[Any] = []
        self.left = False

    def is_initialized(self) -> bool:
        return self.running

    def init(self, **settings: Any) -> None:
        self.started = settings

    def shutdown(self) -> None:
        self.left = True

    def cluster_resources(self) -> dict[str, float]:
        return {} if self.cores is None else {"CPU": self.cores}

    def remote(self, **settings: Any) -> Any:
        self.settings = settings

        def decorate(compute: Any) -> Any:
            assert compute is on_ray.run_block

            def ask(task: Task, compiled: bool | None, sender: dict[str, str]) -> Any:
                assert compiled is False and sender == versions()
                self.asked.append(task.name)
                self.under_way += 1
                self.most = max(self.most, self.under_way)
                return len(self.asked), task, self.asked.count(task.name)

            return SimpleNamespace(remote=ask)

        return decorate

    def wait(self, references: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        self.waited = timeout
        return references[:1], references[1:]

    def get(self, reference: Any) -> Done:
        _, task, attempt = reference
        self.under_way -= 1
        if task.name == "gone" or (task.name == "late" and attempt == 1):
            raise Lost("\n  the node has died  \nand so on")
        return Done(task, None, None, steps=attempt)

    def cancel(self, reference: Any, force: bool) -> None:
        assert force
        self.cancelled.append(reference[1].name)


@pytest.fixture
def cluster(monkeypatch):
    def made(**options: Any) -> tuple[Cluster, Any]:
        found = Cluster(**options)
        monkeypatch.setattr(on_ray, "_ray", lambda: found)
        return found, on_ray.on_ray(None, Kernels(compiled=False))

    return made


def tasks(*names: str) -> Any:
    return iter([Task(CELL, name, 0, 10) for name in names])


def silent(cell: Any, part: float) -> None:
    """Nobody is told."""


@pytest.mark.parametrize(("cores", "most"), [(1.0, 2), (3.0, 6), (0.5, 2), (None, 2)])
def test_two_blocks_are_handed_out_for_every_core(cores, most, cluster):
    ray, engine = cluster(cores=cores)
    names = [str(number) for number in range(20)]
    assert sorted(done.task.name for done in engine(tasks(*names), silent)) == sorted(names)
    assert ray.most == most and ray.asked == names
    assert ray.settings == {"num_cpus": 1, "max_retries": 0}
    assert ray.waited == 1.0 and ray.cancelled == []


def test_a_block_whose_node_dies_is_given_to_others_four_times(cluster, capsys):
    ray, engine = cluster()
    done = {one.task.name: one for one in engine(tasks("a", "late", "gone"), silent)}
    assert ray.asked.count("late") == 2 and done["late"].steps == 2
    assert ray.asked.count("gone") == 4
    assert repr(done["gone"].error) == "RuntimeError('the node has died')"
    again = f"{CELL.id}: the node has died; computing the block again"
    assert capsys.readouterr().err.count(again) == 1 + 3


def test_whoever_starts_a_cluster_leaves_it(cluster):
    ray, engine = cluster()
    list(engine(tasks("a"), silent))
    assert ray.left
    assert ray.started == {"address": None, "include_dashboard": False, "log_to_driver": False}
    ray, engine = cluster(running=True)
    list(engine(tasks("a"), silent))
    assert not ray.left and not ray.started


def test_a_cluster_elsewhere_has_the_dashboard_that_it_has():
    ray: Any = Cluster()
    assert on_ray._connect(ray, "ray://somewhere")
    assert ray.started["address"] == "ray://somewhere"
    assert ray.started["include_dashboard"] is None


def test_what_is_under_way_is_cancelled_when_nobody_waits_any_more(cluster):
    ray, engine = cluster(cores=2.0)
    course = engine(tasks("a", "b", "c", "d", "e"), silent)
    assert next(course).task.name == "a"
    course.close()
    assert ray.cancelled == ["b", "c", "d"] and ray.left


def test_an_address_is_asked_before_ray_is(monkeypatch):
    asked = []

    def connect(place: tuple[str, int], seconds: float) -> Any:
        asked.append((place, seconds))
        if place[1] == 2:
            raise OSError("nobody there")
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(socket, "create_connection", connect)
    for address in (None, "auto", "local", "host:name"):
        on_ray._check_address(address)
    assert asked == []
    on_ray._check_address("ray://host:10001")
    on_ray._check_address("10.0.0.1:1")
    assert asked == [(("host", 10001), 5.0), (("10.0.0.1", 1), 5.0)]
    with pytest.raises(ConnectionError, match="no Ray cluster at 'host:2': nobody there"):
        on_ray._check_address("host:2")


@pytest.mark.parametrize(
    ("text", "first"),
    [("\n\n  first \nsecond", "first"), ("", "ValueError"), ("x" * 200, "x" * 120)],
)
def test_long_errors_are_told_by_their_first_line(text, first):
    assert on_ray._first_line(ValueError(text)) == first


def test_a_block_is_computed_run_by_run(monkeypatch):
    monkeypatch.setattr(on_ray, "_check_code", lambda task, sender: None)
    task = Task(CELL, "any", 3, 2)
    done = on_ray.run_block(task, False)
    assert done.block is not None
    later = on_ray.run_block(Task(CELL, "any", 4, 1), False)
    assert later.block is not None
    np.testing.assert_array_equal(done.block.curves[1], later.block.curves[0])


def test_an_environment_that_fails_is_told_as_elsewhere(monkeypatch):
    def fails(*arguments):
        raise ex.WorldError("it broke, in step of run 3")

    monkeypatch.setattr(on_ray, "_check_code", lambda task, sender: None)
    monkeypatch.setattr(on_ray, "run_one", fails)
    done = on_ray.run_block(Task(CELL, "any", 3, 2), False)
    assert done.error is not None and told(done.error) == "it broke, in step of run 3"
