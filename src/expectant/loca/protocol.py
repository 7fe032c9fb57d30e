"""One run of the test: learn through the three phases, measured now and then without learning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from expectant.domains.loca_grid import LocaGrid
from expectant.engine.compile.kernels import Kernel
from expectant.engine.course import drive
from expectant.engine.job import Job
from expectant.engine.look import all_states, look, set_aside
from expectant.engine.loop import DONE
from expectant.features.table import OneHot
from expectant.loca.measures import policies_of, returns_within

EVERY = 500  # steps between two measures


class Kernels(NamedTuple):
    """The loop and what looks at the agent, compiled or plain."""

    loop: Kernel
    look: Kernel


class Course(NamedTuple):
    """The measures of a test: ``steps`` (M,) before each, and the ``phases`` (M,) they belong to.

    A measure at the border of two phases belongs to the one that begins.
    """

    steps: np.ndarray
    phases: np.ndarray


def course(domain: LocaGrid, every: int = EVERY) -> Course:
    """When to measure: at the first step of each phase, then every so many steps, and at the end.

    The measure at the end of a phase comes before the rewards change, the one at the start of the
    next after it: both are of the same policy.
    """
    steps, phases, first = [], [], 0
    for phase, length in enumerate(domain.phase_steps):
        found = [*range(0, length, every), length]
        steps += [first + step for step in found]
        phases += [phase] * len(found)
        first += length
    return Course(np.array(steps), np.array(phases))


def job_of(domain: LocaGrid, agent: Any, seed: int) -> Job:
    """The experiment that a test runs: one feature per state, as long as the phases are."""
    return Job(domain, OneHot(), agent, steps=sum(domain.phase_steps), seed=seed)


def measured_run(
    job: Job, kernels: Kernels, number: int, when: Course, control: np.ndarray
) -> np.ndarray:
    """The measures (M,) of one run; NaN from a divergence on."""
    domain: Any = job.domain
    states = all_states(domain.states)
    table = np.full((when.steps.size, domain.states, domain.actions), np.nan)
    for row, stop in enumerate(drive(job, number, kernels.loop, control, when.steps)):
        if stop.status == DONE:
            seen = look(kernels.look, set_aside(stop.run), states, ("preferences",))
            table[row] = seen.preferences
    return scored(domain, table, when)


def scored(domain: LocaGrid, table: np.ndarray, when: Course) -> np.ndarray:
    """The returns (M,) of the greedy policies of preferences (M, S, A); NaN where they are NaN."""
    known = np.isfinite(table).all(axis=(1, 2))
    result = np.full(table.shape[0], np.nan)
    for phase in range(len(domain.phase_steps)):
        rows = known & (when.phases == phase)
        if rows.any():
            result[rows] = returns_within(domain, policies_of(table[rows]), phase)
    return result
