"""Many runs of an agent in a domain, on threads."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from expectant.descriptions import Setting
from expectant.features.vector import empty_state
from expectant.lanes import padded
from expectant.rules import flag, or_none, whole
from expectant.running.kernels import Kernel, compiled_for, use_compiled
from expectant.running.loop import (
    DIVERGED,
    DONE,
    EPISODE,
    FULL,
    NOT_FINITE,
    STEPS,
    Budget,
    Run,
    not_finite,
    simulate,
)
from expectant.running.outside import play, responder
from expectant.running.progress import Reporter, reporter
from expectant.verbs import grown

UNLIMITED = 2**62
STEP_LIMIT = 10_000  # of an episode, where neither the user nor the domain says otherwise


@dataclass(frozen=True, eq=False)
class Result:
    """What came out of :func:`run`.

    ``returns`` and ``lengths`` are (runs, episodes): total reward and number of steps. With a
    budget of steps they are empty and ``rewards`` is (runs, bins): the mean reward of a step in
    each bin. ``diverged`` (runs,) marks runs whose weights overflowed: NaN (and length 0) from
    that episode or bin on.
    """

    returns: np.ndarray
    lengths: np.ndarray
    rewards: np.ndarray
    diverged: np.ndarray
    domain: Any
    features: Any
    agent: Any
    seed: int
    compile_seconds: float
    seconds: float
    kept: tuple[tuple[Run, np.random.Generator], ...] = ()

    def __repr__(self) -> str:
        kind, table = ("episodes", self.returns) if self.returns.size else ("bins", self.rewards)
        return (
            f"Result({type(self.agent).__name__}: {table.shape[0]} runs × {table.shape[1]} {kind}, "
            f"{int(self.diverged.sum())} diverged, {self.seconds:.2f} s)"
        )


def run(
    domain: Any,
    features: Any,
    agent: Any,
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
    keep_agents: bool = False,
    progress: bool | Reporter = True,
) -> Result:
    """Run an agent in a domain ``runs`` times, each for so many ``episodes`` or ``steps``.

    Run r draws everything from ``numpy.random.SeedSequence((seed, r))``: the same for every
    setting, and the same bits for any number of threads (None: one per core). An episode longer
    than ``step_limit`` (None: the domain's own, or 10,000) is cut off, which is not a termination.
    ``first_run`` numbers the runs from there on, to add to earlier ones. ``compiled=False`` runs
    the same code as plain Python, with the same numbers, for debugging.
    ``keep_agents=True`` keeps what every run has learned, for ``Learner.from_result``.
    """
    if (episodes is None) == (steps is None):
        raise ValueError(f"run: give episodes or steps, got episodes={episodes!r}, steps={steps!r}")
    for argument, value, rule in (
        ("episodes", episodes, or_none(whole(1))),
        ("steps", steps, or_none(whole(1))),
        ("runs", runs, whole(1)),
        ("seed", seed, whole(0)),
        ("threads", threads, or_none(whole(1))),
        ("bins", bins, whole(1)),
        ("step_limit", step_limit, or_none(whole(1))),
        ("first_run", first_run, whole(0)),
        ("compiled", compiled, or_none(flag())),
        ("keep_agents", keep_agents, flag()),
    ):
        rule.check("run", argument, value)
    for argument, part, kind, needs in (
        ("domain", domain, "a domain", "actions"),
        ("features", features, "a feature map", "shape"),
        ("agent", agent, "an agent", "discount"),
    ):
        if not (hasattr(part, "build") and hasattr(part, needs)) or isinstance(part, type):
            raise ValueError(f"run: {argument} must be {kind}, got {part!r}")

    job = Job(domain, features, agent, episodes or 0, steps or 0, bins, step_limit, seed)
    name = f"{type(agent).__name__} in {type(domain).__name__}"
    start = time.perf_counter()
    show = reporter(progress)
    kernel = loop_for(job, compiled, name, show)
    ready = time.perf_counter()
    numbers = range(first_run, first_run + runs)
    finished = _run_all(job, kernel, numbers, threads or cores(), keep_agents, name, show)
    end = time.perf_counter()
    return Result(
        returns=np.stack([done.records.returns for done in finished]),
        lengths=np.stack([done.records.lengths for done in finished]),
        rewards=np.stack([done.records.rewards for done in finished]),
        diverged=np.array([done.diverged for done in finished]),
        domain=domain,
        features=features,
        agent=agent,
        seed=seed,
        compile_seconds=ready - start,
        seconds=end - ready,
        kept=tuple(done.kept for done in finished if done.kept is not None),
    )


class Finished(NamedTuple):
    """One run that has ended: its records, and all of it if that was asked for."""

    records: Run
    diverged: bool
    kept: tuple[Run, np.random.Generator] | None


@dataclass(frozen=True)
class Job:
    """One experiment: what is run, for how long, from which seed."""

    domain: Any
    features: Any
    agent: Any
    episodes: int
    steps: int
    bins: int
    step_limit: int | None
    seed: int

    @property
    def bin(self) -> int:
        return max(1, -(-self.steps // self.bins))

    def budget(self) -> Budget:
        limit = self.step_limit or getattr(self.domain, "step_limit", None) or STEP_LIMIT
        return Budget(self.episodes or UNLIMITED, self.steps or UNLIMITED, limit)

    def setting(self, domain_part: Any, features_part: Any, rng: Any) -> Setting:
        """What the agent's parts are built for."""
        shape = self.features.shape(self.domain)
        return Setting(
            shape=shape,
            width=padded(shape.size),
            actions=self.domain.actions,
            domain=self.domain,
            domain_part=domain_part,
            features_part=features_part,
            rng=rng,
        )

    def prepare(self, number: int) -> tuple[Run, np.random.Generator]:
        """All the arrays of one run, from its own seed."""
        rng = generator(self.seed, number)
        features_part = self.features.build(self.domain, rng)
        domain_part = self.domain.build(rng)
        setting = self.setting(domain_part, features_part, rng)
        prepared = Run(
            domain=domain_part,
            features=features_part,
            agent=self.agent.build(setting),
            state=empty_state(setting.shape),
            next_state=empty_state(setting.shape),
            clock=np.zeros(4, np.int64),
            total=np.zeros(1),
            returns=np.full(self.episodes, np.nan),
            lengths=np.zeros(self.episodes, np.int64),
            rewards=np.zeros(-(-self.steps // self.bin)),
            bin=self.bin,
        )
        return prepared, rng


def generator(seed: int, run: int, *stream: int) -> np.random.Generator:
    """The random numbers of one run, or another stream that goes with it."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, run, *stream))))


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def loop_for(job: Job, compiled: bool | None, name: str, show: Reporter) -> Kernel:
    """The loop to call, compiled unless asked not to."""
    prepared, rng = job.prepare(0)
    if hasattr(job.domain, "world"):
        return responder(prepared, rng, use_compiled(compiled), name, show)
    if not use_compiled(compiled):
        return simulate
    return compiled_for(simulate, (prepared, Budget(0, 0, 1), rng, _running()), name, show)


def _run_all(
    job: Job, kernel: Kernel, numbers: range, threads: int, keep: bool, name: str, show: Reporter
) -> list[Finished]:
    control = _running()
    clocks: dict[int, np.ndarray] = {}

    def one(number: int) -> Finished:
        if control[0]:
            raise KeyboardInterrupt
        prepared, rng = job.prepare(number)
        clocks[number] = prepared.clock
        prepared, status = whole_run(job, kernel, prepared, number, rng, control)
        clocks.pop(number)
        kept = (prepared, rng) if keep else None
        return Finished(closed(job, prepared, status), status == DIVERGED, kept)

    def report(futures: list[Future[Any]], tell: Any) -> None:
        done = sum(future.done() for future in futures)
        counter, goal = (EPISODE, job.episodes) if job.episodes else (STEPS, job.steps)
        under_way = sum(float(clock[counter]) for clock in list(clocks.values()))
        tell((done + under_way / goal) / len(numbers))

    with ThreadPoolExecutor(min(threads, len(numbers))) as pool, show.running(name) as tell:
        futures = [pool.submit(one, number) for number in numbers]
        try:
            pending = set(futures)
            while pending:
                ended, pending = wait(pending, timeout=0.2)
                report(futures, tell)
                for future in ended:
                    future.result()
        except BaseException:
            control[0] = 1
            for future in futures:
                future.cancel()
            raise
    return [future.result() for future in futures]


def whole_run(
    job: Job, kernel: Kernel, prepared: Run, number: int, rng: Any, control: np.ndarray
) -> tuple[Run, int]:
    """One whole run, in compiled code or through a world outside it."""
    if not hasattr(job.domain, "world"):
        return advanced(kernel, prepared, job.budget(), rng, control)
    world = job.domain.world(job.seed, number)
    try:
        return play(kernel, world, prepared, job.budget(), rng, control)
    finally:
        world.close()


def _running() -> np.ndarray:
    """A control that lets loops go on."""
    return np.zeros(1, np.int64)


def advanced(
    kernel: Kernel, prepared: Run, budget: Budget, rng: np.random.Generator, control: np.ndarray
) -> tuple[Run, int]:
    """Call the loop until it is done, making room where a part asks; a bad observation raises."""
    status = kernel(prepared, budget, rng, control)
    while status == FULL:
        prepared = prepared._replace(agent=grown(prepared.agent))
        status = kernel(prepared, budget, rng, control)
    if status == NOT_FINITE:
        raise not_finite(prepared)
    return prepared, status


def closed(job: Job, prepared: Run, status: int) -> Run:
    """The records of a finished run: sums to means, and NaN from a divergence on."""
    rewards = prepared.rewards
    if rewards.size:
        sizes = np.full(rewards.size, job.bin)
        sizes[-1] = job.steps - job.bin * (rewards.size - 1)
        rewards = rewards / sizes
        if status != DONE:
            rewards[(prepared.clock[STEPS] - 1) // job.bin :] = np.nan
    # the parts themselves are not kept: thousands of runs would hold all their weights
    return prepared._replace(rewards=rewards, agent=None, domain=None, features=None)
