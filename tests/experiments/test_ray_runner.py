"""Handing out batches to a cluster, with a cluster that is played: no Ray is started."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from experiments.sweeping import TRIAL

from expectant.experiments import ray_runner
from expectant.experiments.tasks import Kernels, Task, TaskResult


class Lost(Exception):
    """What Ray says of a node that has gone."""


class Cluster:
    """A cluster of two cores that computes a batch when it is waited for; "gone" never returns."""

    exceptions = SimpleNamespace(RayError=Lost)

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.cancelled: list[str] = []
        self.left = False

    def is_initialized(self) -> bool:
        return False

    def init(self, **settings: Any) -> None:
        self.left = False

    def shutdown(self) -> None:
        self.left = True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **settings: Any) -> Any:
        self.settings = settings
        return lambda compute: SimpleNamespace(remote=lambda task, *rest: task)

    def wait(self, references: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return references[:1], references[1:]

    def get(self, task: Task) -> TaskResult:
        if task.name == "gone":
            raise Lost("\n  the node has died  \nand so on")
        return TaskResult(task, None, None)

    def cancel(self, task: Task, force: bool) -> None:
        self.cancelled.append(task.name)


def test_batches_are_handed_out_and_cancelled_when_nobody_waits_any_more(monkeypatch):
    ray = Cluster()
    monkeypatch.setattr(ray_runner, "_import_ray", lambda: ray)
    tasks = iter([Task(TRIAL, name, 0, 10) for name in ("a", "gone", "c", "d", "e", "f")])
    course: Any = ray_runner.ray_engine(None, Kernels(compiled=False))(
        tasks, lambda trial, part: None
    )
    assert next(course).task.name == "a" and ray.settings["max_retries"] > 0
    lost = next(course)
    assert lost.task.name == "gone" and repr(lost.error) == "RuntimeError('the node has died')"
    course.close()
    assert ray.cancelled == ["c", "d", "e"] and ray.left
