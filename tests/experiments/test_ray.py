"""A played cluster, and a real one of two nodes that is skipped where Ray is not installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from experiments.sweeping import TRIAL, config_text, results, start

from expectant.experiments.executors import Kernels, Task, TaskResult, use_ray

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs the extra 'ray'"
)

CLUSTER = """
import logging, os, signal, sys, threading, time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from expectant.experiments.sweep import run_file

path, folder = Path(sys.argv[1]), Path(sys.argv[2])
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
node = cluster.add_node(num_cpus=1)
ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)

def computing():
    raylet = str(node.all_processes["raylet"][0].process.pid)
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "stat").read_text().rpartition(")")[2].split()
            if words[1] == raylet and b"run_batch" in (place / "cmdline").read_bytes():
                yield int(place.name)
        except OSError:
            pass

def saboteur():  # a machine that dies takes its workers with it, in the middle of a batch
    while len(list(folder.glob("runs/*.parquet"))) < 3 or not (workers := list(computing())):
        time.sleep(0.05)
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)
    print("killed at", len(list(folder.glob("runs/*.parquet"))))

threading.Thread(target=saboteur, daemon=True).start()
_, outcome = run_file(path, folder, engine="ray")
print("computed", outcome.computed, "failed", outcome.failed)
ray.shutdown()
cluster.shutdown()
"""


@needs_ray
def test_a_cluster_with_a_killed_node_gives_the_same_bytes(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(config_text([0.01, 0.02, 0.03, 0.04, 0.05], episodes=2500))
    threads = start(path, tmp_path / "threads")
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, path, tmp_path / "ray"], capture_output=True, text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "RAY_USAGE_STATS_ENABLED": "0"}, check=False, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "killed at" in done.stdout, done.stdout
    assert "computed 15 failed {}" in done.stdout, done.stdout
    _, errors = threads.communicate(timeout=120)
    assert threads.returncode == 0, errors
    assert results(tmp_path / "ray") == results(tmp_path / "threads")


@needs_ray
def test_an_address_where_nobody_listens(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(config_text([0.1]))
    process = start(path, tmp_path / "out", "--engine", "ray", "--address", "127.0.0.1:1")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "no Ray cluster at '127.0.0.1:1'" in errors and "Traceback" not in errors
    assert not (tmp_path / "out").exists()


class Lost(Exception):
    """What Ray says of a node that has gone."""


class Cluster:
    """A cluster of two cores that computes a batch when it is waited for; "gone" never returns."""

    exceptions = SimpleNamespace(RayError=Lost)

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.cancelled: list[str] = []
        self.is_initialized = lambda: False
        self.cluster_resources = lambda: {"CPU": 2.0}
        self.wait = lambda references, timeout: (references[:1], references[1:])
        self.cancel = lambda task, force: self.cancelled.append(task.name)
        self.shutdown = lambda: self.cancelled.append("all")

    def init(self, **settings: Any) -> None:
        pass

    def remote(self, **settings: Any) -> Any:
        self.settings = settings
        return lambda compute: SimpleNamespace(remote=lambda task, *rest: task)

    def get(self, task: Task) -> TaskResult:
        if task.name == "gone":
            raise Lost("\n  the node has died  \nand so on")
        return TaskResult(task, [])


def test_batches_are_handed_out_and_cancelled_when_nobody_waits_any_more():
    ray = Cluster()
    tasks = iter([Task(TRIAL, name, range(10)) for name in ("a", "gone", "c", "d", "e", "f")])
    course: Any = use_ray(ray, None, Kernels(False), tasks, lambda trial, part: None)
    assert next(course).task.name == "a" and ray.settings["max_retries"] > 0
    lost = next(course)
    assert lost.task.name == "gone" and repr(lost.error) == "RuntimeError('the node has died')"
    course.close()
    assert ray.cancelled == ["c", "d", "e", "all"]
