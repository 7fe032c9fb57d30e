"""Looks by episodes: what a copy of an agent earns greedily, where states have no numbers.

Every look begins the same episodes, so what changes from one to the next is the agent.
"""

from __future__ import annotations

import copy

import numpy as np

from expectant.engine.compile.kernels import Kernel, compiled_for, is_compiled, use_compiled
from expectant.engine.course import going_on
from expectant.engine.evaluating import perform, perform_discounted
from expectant.engine.job import Job
from expectant.engine.loop import DONE, NOT_FINITE, Budget, Run
from expectant.engine.trial.mistakes import broken_promise
from expectant.engine.trial.rehearsal import rehearse
from expectant.progress import Reporter
from expectant.seeds import Streams, evaluation_streams


def performer(job: Job, compiled: bool | None, name: str, show: Reporter) -> Kernel:
    """What acts greedily for the agent of a job, compiled unless asked not to."""
    if job.domain.outside:
        raise ValueError(
            f"record: a look by episodes needs a domain in compiled code, got {job.domain!r}"
        )
    if not use_compiled(compiled):
        return perform_discounted
    arguments = _no_episodes(job)
    rehearse(job, arguments[0], arguments[3], perform)
    return compiled_for(perform_discounted, arguments, f"{name}, greedily", show)


def performer_is_compiled(job: Job) -> bool:
    """Whether what acts greedily is in memory or on disk, so that it need not be compiled."""
    return is_compiled(perform_discounted, _no_episodes(job))


def _no_episodes(job: Job) -> tuple[Run, Budget, float, Streams, np.ndarray]:
    """Arguments with which nothing is performed."""
    run = _set_aside(job, job.prepare(0)[0], 0, 0)
    return run, Budget(0, 0, 1), 1.0, evaluation_streams(job.seed, 0), going_on()


def earned(
    kernel: Kernel,
    job: Job,
    run: Run,
    number: int,
    phase: int,
    episodes: int,
    control: np.ndarray,
) -> np.ndarray:
    """Discounted returns (episodes,) of the agent of a run in one phase; NaN if it has diverged.

    Setting ``control[0]`` stops it.
    """
    aside, streams = _set_aside(job, run, phase, episodes), evaluation_streams(job.seed, number)
    budget = job.budget()._replace(episodes=episodes)
    status = kernel(aside, budget, float(job.agent.discount), streams, control)
    if status >= NOT_FINITE:
        raise broken_promise(aside, status)
    return aside.returns if status == DONE else np.full(episodes, np.nan)


def _set_aside(job: Job, run: Run, phase: int, episodes: int) -> Run:
    """A copy of all of a run at the beginning of an episode, where agents are judged."""
    aside = copy.deepcopy(run)._replace(
        clock=np.zeros_like(run.clock),
        returns=np.full(episodes, np.nan),
        lengths=np.zeros(episodes, np.int64),
    )
    job.domain.judge_in(aside.domain, phase)
    return aside
