"""``ex.run``: validate, set up, load the loop, do the runs, gather the result."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from expectant.core.config import Config, suggest_parameter
from expectant.core.errors import EnvError
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.rng import SEED, Streams
from expectant.core.rules import flag, or_none, whole
from expectant.core.verbs import count_evicted
from expectant.domains.external import GymSource
from expectant.domains.gym import as_domain
from expectant.engine.divergence import explain_divergence
from expectant.engine.driver import drive, fraction_done, new_control
from expectant.engine.loop import DIVERGED, Run
from expectant.engine.memory import count_fitting_threads
from expectant.engine.progress import Reporter, Silent, make_reporter, say
from expectant.engine.result import Result
from expectant.engine.setup import Setup, core_count, finish_records, load_loop, report_evictions
from expectant.engine.workers import (
    CompileOrder,
    OnStart,
    Processes,
    RunOne,
    compile_ahead,
    compile_loop,
    run_on_threads,
)
from expectant.jit.compile import Kernel, use_compiled

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
MOST_FAILURES = 5  # in a row, after which no further run is started


def hint_unknown_arguments(
    function: Callable[Parameters, Returned],
) -> Callable[Parameters, Returned]:
    """Make a function suggest a known argument where it is called with an unknown one."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        for name, value in kwargs.items():
            if name not in known:
                text = f"{function.__name__}: unknown argument {name}={value!r}"
                raise TypeError(text + suggest_parameter(name, known))
        return function(*args, **kwargs)

    return call


@hint_unknown_arguments
def run(
    domain: Domain | GymSource,
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
    keep_agents: bool = False,
    progress: bool | Reporter = True,
) -> Result:
    """Run an agent in a domain ``runs`` times, each for ``episodes`` or for ``steps``.

    ``domain`` may be a Gymnasium id or environment, which stands for ``ex.Gym`` of it. Run r
    draws from its own random streams (:mod:`expectant.core.rng`), so results are the same bits for
    any number of ``threads`` (None: one per core, fewer if memory is short). An episode longer than
    ``step_limit`` (None: the domain's, or 10,000; unlimited for ``steps`` in an endless domain) is
    truncated, which is not a termination. ``first_run`` is the number of the first run, to add to
    earlier results. ``compiled=False`` runs the same code as plain Python, with the same numbers,
    for debugging. ``keep_agents=True`` keeps what every run has learned, for
    ``Learner.from_result``. If an environment fails in some runs, the others finish before
    ``ex.EnvError`` is raised.
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
        ("keep_agents", keep_agents, flag()),
    ):
        rule.check("run", argument, value)
    domain = as_domain(domain)
    _check_parts(domain, features, agent)
    setup = Setup(
        domain,
        features,
        agent,
        episodes=episodes or 0,
        steps=steps or 0,
        bins=bins,
        step_limit=step_limit,
        seed=seed,
    )
    start = time.perf_counter()
    show, at_once = make_reporter(progress), min(threads or core_count(), runs)
    source, failures = Runs(setup, compiled, keep_agents), Failures()
    with Processes() as processes:
        if domain.external and at_once > 1:
            processes.start(source, at_once)
        kernel = load_loop(setup, compiled, setup.title, show)
        at_once = count_fitting_threads(setup, runs, at_once, keep_agents)
        ready = time.perf_counter()
        numbers = range(first_run, first_run + runs)
        finished = _run_all(source, kernel, numbers, at_once, processes, show, failures)
    if not finished:
        failures.check(runs, None)
    records = [done.records for done in finished]
    result = Result(
        returns=np.stack([record.returns for record in records]),
        lengths=np.stack([record.lengths for record in records]),
        rewards=np.stack([record.rewards for record in records]),
        diverged=np.array([done.diverged for done in finished]),
        divergence=tuple(done.divergence for done in finished if done.divergence),
        domain=domain,
        features=features,
        agent=agent,
        seed=seed,
        compile_seconds=ready - start,
        seconds=time.perf_counter() - ready,
        kept=tuple(done.kept for done in finished if done.kept is not None),
        steps=steps,
        first_run=first_run,
        evicted=np.array([done.evicted for done in finished]),
        missing=failures.missing,
    )
    failures.check(runs, result)
    if result.divergence and progress is True:
        others = f" (and {len(result.divergence) - 1} more, see result.divergence)"
        say(result.divergence[0] + (others if len(result.divergence) > 1 else ""))
    return result


def compile_agents(
    domain: Domain,
    features: Features,
    agents: Mapping[str, Agent],
    compiled: bool | None,
    progress: bool | Reporter,
) -> None:
    """Compile the loops of several agents at once; their errors are left to ``run``."""
    orders: list[CompileOrder] = []
    with suppress(Exception):
        if use_compiled(compiled):
            for name, agent in agents.items():
                setup = Setup(domain, features, agent, episodes=1)
                orders.append(CompileOrder(compile_loop, setup, name=name))
    compile_ahead(orders, make_reporter(progress))


def _check_parts(domain: Any, features: Any, agent: Any) -> None:
    for argument, part, text, kind in (
        ("domain", domain, "a domain", Domain),
        ("features", features, "a feature map", Features),
        ("agent", agent, "an agent", Agent),
    ):
        if isinstance(part, kind):
            continue
        hint = ""
        if isinstance(part, type) and hasattr(part, "build"):
            hint = f"; give one, {part.__name__}(...), not the class"
        elif isinstance(part, str) or hasattr(part, "reset"):
            hint = "; for an environment of Gymnasium, ex.Gym(...)"
        elif hasattr(part, "build") and not isinstance(part, Config):
            hint = f"; derive its class from ex.{kind.__name__}"
        raise ValueError(f"run: {argument} must be {text}, got {part!r}{hint}")


class Finished(NamedTuple):
    """A finished run: its records, and all of it if ``keep_agents`` is set."""

    records: Run
    diverged: bool
    divergence: str
    evicted: int
    kept: tuple[Run, Streams] | None


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a setup, in this process or in a worker that loads its own loop."""

    setup: Setup
    compiled: bool | None
    keep: bool

    def prepare(self) -> RunOne:
        return partial(self.run, load_loop(self.setup, self.compiled, "", Silent()))

    def run(self, kernel: Kernel, number: int, control: np.ndarray, on_start: OnStart) -> Finished:
        setup = self.setup
        for stop in drive(setup, number, kernel, control, (0, setup.length)):
            on_start(stop.run.clock)
        return Finished(
            records=finish_records(setup, stop.run, stop.status),
            diverged=stop.status == DIVERGED,
            divergence=explain_divergence(
                stop.run, stop.status, setup.agent, setup.domain.display_name
            ),
            evicted=count_evicted(stop.run.agent),
            kept=(stop.run, stop.streams) if self.keep else None,
        )


class Failures:
    """Runs whose environment failed; the others finish nevertheless."""

    def __init__(self) -> None:
        self.errors: dict[int, EnvError] = {}
        self.not_started: list[int] = []
        self.in_a_row = 0

    def attempt(self, run_one: Callable[[int], Finished], number: int) -> Finished | None:
        """Do a run; None if its environment fails, or too many in a row have failed before."""
        if self.in_a_row >= MOST_FAILURES:
            self.not_started.append(number)
            return None
        try:
            finished = run_one(number)
        except EnvError as error:
            self.errors[number] = error
            self.in_a_row += 1
            return None
        self.in_a_row = 0
        return finished

    @property
    def missing(self) -> tuple[int, ...]:
        return tuple(sorted([*self.errors, *self.not_started]))

    def check(self, runs: int, finished: Result | None) -> None:
        """Raise one error for all failures, with the result of the other runs."""
        if not self.errors:
            return
        failed, rest = sorted(self.errors), runs - len(self.missing)
        first = self.errors[failed[0]]
        text = str(first)
        if len(failed) > 1:
            text += f"; {len(failed)} of {runs} runs failed ({', '.join(map(str, failed))})"
        if self.not_started:
            text += (
                f", {len(self.not_started)} were not started after {MOST_FAILURES} failures in a "
                "row"
            )
        if rest:
            text += f"; {rest} of {runs} runs have finished, see the error's finished"
        error = type(first)(text)
        error.finished = finished
        raise error from first


def _run_all(
    source: Runs,
    kernel: Kernel,
    numbers: range,
    threads: int,
    processes: Processes,
    show: Reporter,
    failures: Failures,
) -> list[Finished]:
    """Do all runs; return those that have finished, in order."""
    setup, control, local = source.setup, new_control(), partial(source.run, kernel)
    clocks: dict[int, np.ndarray] = {}
    in_workers = setup.domain.external and threads > 1

    def run_one(number: int) -> Finished:
        on_start = partial(clocks.__setitem__, number)
        try:
            if in_workers:
                ran = processes.run(source, number, control, on_start, local)
            else:
                ran = local(number, control, on_start)
        finally:
            clocks.pop(number, None)
        if ran is None or control[0]:
            raise KeyboardInterrupt
        report_evictions(setup, number, ran.evicted, show.note)
        return ran

    finished: dict[int, Finished] = {}
    work = partial(failures.attempt, run_one)
    with show.progress(setup.title) as show_fraction:
        for batch in run_on_threads(work, numbers, threads, control):
            for ended in batch:
                ran = ended.result()
                if ran is not None:
                    finished[ended.item] = ran
            under_way = sum(fraction_done(setup, clock) for clock in list(clocks.values()))
            show_fraction((len(finished) + under_way) / len(numbers))
    return [finished[number] for number in sorted(finished)]
