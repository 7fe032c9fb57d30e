"""Many runs of an agent in a domain, on threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from expectant.descriptions import Description
from expectant.engine.arguments import hinting
from expectant.engine.away import Processes
from expectant.engine.away_work import Begun, Work
from expectant.engine.compile.kernels import Kernel
from expectant.engine.course import drive, going_on, share_done
from expectant.engine.divergence import explained
from expectant.engine.failing import Failures
from expectant.engine.job import Job, closed, cores, loop_for, tell_of_evictions
from expectant.engine.loop import DIVERGED, Run
from expectant.engine.memory import threads_that_fit
from expectant.engine.result import Result
from expectant.engine.threads import on_threads
from expectant.parts import Agent, Domain, Features
from expectant.progress import Reporter, Silent, reporter, say
from expectant.rules import flag, or_none, whole
from expectant.seeds import SEED, Streams
from expectant.verbs import evicted


@hinting
def run(
    domain: Domain,
    features: Features,
    agent: Agent,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    runs: int = 30,
    seed: int = 0,
    threads: int | None = None,
    bins: int = 100,
    step_limit: int | None = None,
    first_run: int = 0,
    compiled: bool | None = None,
    checked: bool = False,
    keep_agents: bool = False,
    progress: bool | Reporter = True,
) -> Result:
    """Run an agent in a domain ``runs`` times, each for so many ``episodes`` or ``steps``.

    Run r draws everything from streams of its own (:mod:`expectant.seeds`), one each for the world,
    for acting, for planning and for building: the same for every setting, and the same bits for
    any number of threads (None: one per core; fewer where not all would fit into memory). An
    episode longer than ``step_limit`` (None: the domain's own, or 10,000; no limit for ``steps`` in
    a domain without an end) is cut off, which is not a termination.
    ``first_run`` numbers the runs from there on, to add to earlier ones. ``compiled=False`` runs
    the same code as plain Python, with the same numbers, for debugging. ``checked=True`` compiles
    with a check of every index, which is slower: for parts of one's own that end in a crash.
    ``keep_agents=True`` keeps what every run has learned, for ``Learner.from_result``. If an
    environment fails in some runs, the others finish before that is raised, as ``ex.WorldError``.
    """
    if (episodes is None) == (steps is None):
        raise ValueError(f"run: give episodes or steps, got episodes={episodes!r}, steps={steps!r}")
    for argument, value, rule in (
        ("episodes", episodes, or_none(whole(1))),
        ("steps", steps, or_none(whole(1))),
        ("runs", runs, whole(1)),
        ("seed", seed, SEED),
        ("threads", threads, or_none(whole(1))),
        ("bins", bins, whole(1)),
        ("step_limit", step_limit, or_none(whole(1))),
        ("first_run", first_run, whole(0)),
        ("compiled", compiled, or_none(flag())),
        ("checked", checked, flag()),
        ("keep_agents", keep_agents, flag()),
    ):
        rule.check("run", argument, value)
    _check_parts(domain, features, agent)
    job = Job(
        domain,
        features,
        agent,
        episodes=episodes or 0,
        steps=steps or 0,
        bins=bins,
        step_limit=step_limit,
        seed=seed,
    )
    name = f"{type(agent).__name__} in {domain.called}"
    start = time.perf_counter()
    show = reporter(progress)
    kernel = loop_for(job, compiled, name, show, checked)
    threads = threads_that_fit(job, runs, threads or cores(), keep_agents)
    ready = time.perf_counter()
    numbers = range(first_run, first_run + runs)
    errand, failures = Runs(job, compiled, checked, keep_agents), Failures()
    finished = _run_all(errand, kernel, numbers, threads, name, show, failures)
    took = ready - start, time.perf_counter() - ready
    result = _gathered(job, finished, first_run, failures.missing, took) if finished else None
    failures.check(runs, result)
    assert result is not None
    if result.divergence and progress is True:
        others = f" (and {len(result.divergence) - 1} more, see result.divergence)"
        say(result.divergence[0] + (others if len(result.divergence) > 1 else ""))
    return result


def _gathered(
    job: Job,
    finished: Sequence[Finished],
    first_run: int,
    missing: tuple[int, ...],
    took: tuple[float, float],
) -> Result:
    """What came of all runs that have finished; ``took`` is compiling and running, in seconds."""
    return Result(
        returns=np.stack([done.records.returns for done in finished]),
        lengths=np.stack([done.records.lengths for done in finished]),
        rewards=np.stack([done.records.rewards for done in finished]),
        diverged=np.array([done.diverged for done in finished]),
        divergence=tuple(done.divergence for done in finished if done.divergence),
        domain=job.domain,
        features=job.features,
        agent=job.agent,
        seed=job.seed,
        compile_seconds=took[0],
        seconds=took[1],
        kept=tuple(done.kept for done in finished if done.kept is not None),
        steps=job.steps or None,
        first_run=first_run,
        evicted=np.array([done.evicted for done in finished]),
        missing=missing,
    )


def _check_parts(domain: Any, features: Any, agent: Any) -> None:
    """An error where one of them is not what it should be."""
    for argument, part, what, kind in (
        ("domain", domain, "a domain", Domain),
        ("features", features, "a feature map", Features),
        ("agent", agent, "an agent", Agent),
    ):
        if not isinstance(part, kind):
            raise ValueError(f"run: {argument} must be {what}, got {part!r}{_hint(part, kind)}")


def _hint(part: Any, kind: type[Description]) -> str:
    """What somebody may have meant."""
    if isinstance(part, type) and hasattr(part, "build"):
        return f"; give one, {part.__name__}(...), not the class"
    if isinstance(part, str) or hasattr(part, "reset"):
        return "; for an environment of Gymnasium, ex.Gym(...)"
    if hasattr(part, "build") and not isinstance(part, Description):
        return f"; derive its class from ex.{kind.__name__}"
    return ""


class Finished(NamedTuple):
    """One run that has ended: its records, and all of it if that was asked for."""

    records: Run
    diverged: bool
    divergence: str
    evicted: int
    kept: tuple[Run, Streams] | None


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a job, done here with a loop that there is, or in a process that prepares one."""

    job: Job
    compiled: bool | None
    checked: bool
    keep: bool

    def prepare(self) -> Work:
        return partial(self.one, loop_for(self.job, self.compiled, "", Silent(), self.checked))

    def one(self, kernel: Kernel, number: int, control: np.ndarray, begun: Begun) -> Finished:
        """A run from its first step to its last."""
        job = self.job
        for stop in drive(job, number, kernel, control, (0, job.length)):
            begun(stop.run.clock)
        kept = (stop.run, stop.streams) if self.keep else None
        why = explained(stop.run, stop.status, job.agent, job.domain.called)
        given_up = evicted(stop.run.agent)
        records = closed(job, stop.run, stop.status)
        return Finished(records, stop.status == DIVERGED, why, given_up, kept)


def _run_all(
    errand: Runs,
    kernel: Kernel,
    numbers: range,
    threads: int,
    name: str,
    show: Reporter,
    failures: Failures,
) -> list[Finished]:
    """The runs that have finished, in order."""
    job, control = errand.job, going_on()
    clocks: dict[int, np.ndarray] = {}
    local = partial(errand.one, kernel)
    several = job.domain.outside and min(threads, len(numbers)) > 1

    def one(number: int) -> Finished:
        if control[0]:
            raise KeyboardInterrupt
        begun = partial(clocks.__setitem__, number)
        try:
            if several:
                found: Finished | None = away.run(errand, number, control, begun, local)
            else:
                found = local(number, control, begun)
        finally:
            clocks.pop(number, None)
        if found is None:
            raise KeyboardInterrupt
        tell_of_evictions(job, number, found.evicted, show.note)
        return found

    def report(done: int) -> None:
        under_way = sum(share_done(job, clock) for clock in list(clocks.values()))
        tell((done + under_way) / len(numbers))

    away = Processes()
    with show.running(name) as tell:
        found = on_threads(partial(failures.past, one), numbers, threads, control, report)
    return [done for done in found if done is not None]
