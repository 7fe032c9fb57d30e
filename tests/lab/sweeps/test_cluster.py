"""Handing out blocks to a cluster, with a cluster that is played: no Ray is started."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

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


def test_a_block_whose_node_dies_is_given_to_others_four_times(cluster, capsys):
    ray, engine = cluster()
    done = {one.task.name: one for one in engine(tasks("a", "late", "gone"), silent)}
    assert ray.asked.count("late") == 2 and done["late"].steps == 2
    assert ray.asked.count("gone") == 4
    assert repr(done["gone"].error) == "RuntimeError('the node has died')"
    again = f"{CELL.id}: the node has died; computing the block again"
    assert capsys.readouterr().err.count(again) == 1 + 3


def test_what_is_under_way_is_cancelled_when_nobody_waits_any_more(cluster):
    ray, engine = cluster(cores=2.0)
    course = engine(tasks("a", "b", "c", "d", "e"), silent)
    assert next(course).task.name == "a"
    course.close()
    assert ray.cancelled == ["b", "c", "d"] and ray.left


def test_an_environment_that_fails_is_told_as_elsewhere(monkeypatch):
    def fails(*arguments):
        raise ex.WorldError("it broke, in step of run 3")

    monkeypatch.setattr(on_ray, "_check_code", lambda task, sender: None)
    monkeypatch.setattr(on_ray, "run_one", fails)
    done = on_ray.run_block(Task(CELL, "any", 3, 2), False)
    assert done.error is not None and told(done.error) == "it broke, in step of run 3"
