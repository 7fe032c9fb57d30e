"""The engine for many machines: batches as tasks of a Ray cluster.

Only the process that was started writes results. A worker or a node that dies costs the batches it
was computing, which Ray gives to others.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

from expectant.core.errors import EnvError, require_extra
from expectant.engine.driver import new_control
from expectant.experiments.results_folder import versions
from expectant.experiments.tasks import (
    Engine,
    Kernels,
    OnProgress,
    Task,
    TaskResult,
    assemble_batch,
    run_one,
)
from expectant.experiments.trials import trial_hash

TASKS_PER_CORE = 2  # handed out at once
RETRIES = 3  # of a batch whose worker or node dies
POLL_SECONDS = 1.0
ANSWER_SECONDS = 5.0
LONGEST_LINE = 120

_kernels: dict[bool | None, Kernels] = {}
_same_code: set[str] = set()  # names of trials whose code is the same here and at the sender


def run_batch(
    task: Task, compiled: bool | None, sender: dict[str, str] | None = None
) -> TaskResult:
    """Compute a batch in this process, unless the code here differs from the sender's.

    ``sender`` are the versions there.
    """
    kernels = _kernels.setdefault(compiled, Kernels(compiled))
    try:
        _check_code(task, sender or {})
        numbers = range(task.first, task.first + task.size)
        runs = [run_one(task, number, kernels, new_control(), {}) for number in numbers]
    except EnvError as error:
        return TaskResult(task, None, error)
    except Exception as error:  # whatever it is, it concerns this trial only
        return TaskResult(task, None, RuntimeError(f"{type(error).__name__}: {error}"))
    return assemble_batch(task, [run for run in runs if run is not None])


def _check_code(task: Task, sender: dict[str, str]) -> None:
    """Refuse a batch if the code here is not that of the process that asks for it."""
    if task.name in _same_code:
        return
    if trial_hash(task.trial) != (task.code_name or task.name):
        raise RuntimeError(
            f"the worker on {socket.gethostname()} has other code for this trial ({versions()}) "
            f"than the command that was started ({sender}): install the same packages, and the "
            "same files of your own, on all machines and start the cluster again"
        )
    _same_code.add(task.name)


def ray_engine(address: str | None, kernels: Kernels) -> Engine:
    """Return an engine on the cluster at an address ("auto": the one of this machine).

    Without an address a cluster of this machine alone is started, and stopped at the end.
    """
    ray = _import_ray()
    _check_address(address)

    def engine(tasks: Iterator[Task], on_progress: OnProgress) -> Iterator[TaskResult]:
        leave = _connect(ray, address)
        compute = ray.remote(num_cpus=1, max_retries=RETRIES)(run_batch)
        pending: dict[Any, Task] = {}
        try:
            while True:
                most = TASKS_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1)))
                while len(pending) < most and (task := next(tasks, None)) is not None:
                    pending[compute.remote(task, kernels.compiled, versions())] = task
                if not pending:
                    return
                for reference in ray.wait(list(pending), timeout=POLL_SECONDS)[0]:
                    task = pending.pop(reference)
                    try:
                        yield ray.get(reference)
                    except ray.exceptions.RayError as error:
                        yield TaskResult(task, None, RuntimeError(_first_line(error)))
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)
            if leave:
                ray.shutdown()

    return engine


def _import_ray() -> Any:
    require_extra("--engine ray", "ray")
    import ray

    return ray


def _check_address(address: str | None) -> None:
    """Check in seconds that something listens at an address; Ray takes minutes to give up."""
    host, colon, port = (address or "").rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host.rpartition("/")[2], int(port)), ANSWER_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise ConnectionError(f"no Ray cluster at {address!r}: {error}") from None


def _connect(ray: Any, address: str | None) -> bool:
    """Join the cluster; True if this process has to leave it again."""
    if ray.is_initialized():
        return False
    try:
        dashboard = None if address else False
        ray.init(address=address or "local", include_dashboard=dashboard, log_to_driver=False)
    except Exception as error:  # Ray raises plain ones, too
        raise ConnectionError(f"no Ray cluster at {address!r}: {_first_line(error)}") from None
    return True


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:LONGEST_LINE].strip()
