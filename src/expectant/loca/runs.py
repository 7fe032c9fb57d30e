"""The whole test: every case through all phases, some runs each, what is finished kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from expectant.domains.loca_grid import LocaGrid
from expectant.loca.cases import Case
from expectant.loca.protocol import (
    Course,
    Kernels,
    course,
    job_of,
    measured_run,
    preferences,
    states_of,
)
from expectant.loca.rows import Row, load_row, row_path, save_row
from expectant.running.job import Job, cores
from expectant.running.loop import Budget, simulate
from expectant.running.memory import threads_that_fit
from expectant.running.progress import Overall, Reporter, Silent, say
from expectant.running.threads import on_threads


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    cases: Sequence[Case]
    runs: int = 10
    seed: int = 0
    domain: LocaGrid = field(default_factory=LocaGrid)


def adaptation_test(request: Request, folder: Path, threads: int | None = None) -> list[Row]:
    """Run what is not there yet; the rows come in the order of the cases."""
    paths = [
        row_path(folder, case, request.domain, request.seed, request.runs) for case in request.cases
    ]
    kept = [
        load_row(path, case, request.domain, request.seed, request.runs)
        for case, path in zip(request.cases, paths, strict=True)
    ]
    spoilt = sum(row is None and path.exists() for row, path in zip(kept, paths, strict=True))
    if spoilt:
        say(
            f"{spoilt} rows in {folder} are damaged, or of an earlier version; "
            "they are computed again"
        )
    rows = []
    with Overall("adaptation test", len(paths)) as overall:
        for case, path, row in zip(request.cases, paths, kept, strict=True):
            if row is not None:
                overall.advance(1.0)
            else:
                show = overall.part(f"{case.agent}, {case.backups}", 1.0)
                row = run_case(request, case, threads, show)  # noqa: PLW2901
                save_row(path, row, request.domain, request.seed)
            rows.append(row)
    return rows


def run_case(
    request: Request, case: Case, threads: int | None = None, show: Reporter | None = None
) -> Row:
    """All runs of one case."""
    show = show or Silent()
    job, when = job_of(request.domain, case.description, request.seed), course(request.domain)
    fitting = threads_that_fit(job, request.runs, threads or cores())
    with show.compiling(f"{case.agent} with {case.backups}"):
        kernels = compiled_kernels(job)
    with show.running(f"{case.agent} with {case.backups}") as tell:
        measures = _runs(job, kernels, when, request.runs, fitting, tell)
    return Row(case, measures)


def compiled_kernels(job: Job) -> Kernels:
    """The loop and the reading of preferences, compiled for one job."""
    from expectant.running.compiling import kernel_for

    prepared, rng = job.prepare(0)
    kernels = Kernels(kernel_for(prepared, simulate), kernel_for(prepared, preferences))
    kernels.loop(prepared, Budget(0, 0, 1), rng, np.zeros(1, np.int64))
    table = np.zeros((job.domain.states, job.domain.actions))
    kernels.preferences(prepared, states_of(job, prepared, rng), table)
    return kernels


def _runs(
    job: Job, kernels: Kernels, when: Course, runs: int, threads: int, tell: Any
) -> np.ndarray:
    control = np.zeros(1, np.int64)

    def one(number: int) -> np.ndarray:
        return measured_run(job, kernels, number, when, control)

    found = on_threads(one, range(runs), threads, control, lambda done: tell(done / runs))
    return np.stack(found)
