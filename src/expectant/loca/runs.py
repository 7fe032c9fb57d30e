"""The whole test: every case through all phases, some runs each, what is finished kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from expectant.domains.loca_grid import LocaGrid
from expectant.engine.course import going_on
from expectant.engine.job import Job, cores, loop_for
from expectant.engine.look import all_states, look_for, set_aside
from expectant.engine.memory.limits import threads_that_fit
from expectant.engine.threads import on_threads
from expectant.loca.cases import Case
from expectant.loca.protocol import (
    Course,
    Kernels,
    course,
    job_of,
    measured_run,
)
from expectant.loca.rows import Row, load_row, row_path, save_row
from expectant.progress import Overall, Reporter, Silent, say


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
    show, name = show or Silent(), f"{case.agent} with {case.backups}"
    job, when = job_of(request.domain, case.description, request.seed), course(request.domain)
    fitting = threads_that_fit(job, request.runs, threads or cores())
    kernels = compiled_kernels(job, name, show)
    with show.running(name) as tell:
        measures = _runs(job, kernels, when, request.runs, fitting, tell)
    return Row(case, measures)


def compiled_kernels(job: Job, name: str, show: Reporter) -> Kernels:
    """The loop and what looks at the agent, compiled for one job."""
    subject, states = set_aside(job.prepare(0)[0]), all_states(job.domain.states or 0)
    return Kernels(loop_for(job, True, name, show), look_for(subject, states, True, name, show))


def _runs(
    job: Job, kernels: Kernels, when: Course, runs: int, threads: int, tell: Any
) -> np.ndarray:
    control = going_on()

    def one(number: int) -> np.ndarray:
        return measured_run(job, kernels, number, when, control)

    found = on_threads(one, range(runs), threads, control, lambda done: tell(done / runs))
    return np.stack(found)
