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
from expectant.core.rules import Rule, flag, or_none, whole
from expectant.domains.external import GymSource
from expectant.domains.gym import as_domain
from expectant.engine.divergence import explain_divergence
from expectant.engine.driver import Stop, drive, fraction_done, new_control
from expectant.engine.loop import DIVERGED, DONE, STEPS, Run
from expectant.engine.progress import Reporter, Silent, make_reporter, say
from expectant.engine.result import Result
from expectant.engine.setup import Setup, core_count, count_fitting_threads, load_loop
from expectant.engine.workers import (
    CompileOrder,
    OnStart,
    RunOne,
    RunSource,
    compile_ahead,
    compile_loop,
    gather,
    run_in_worker,
    start_worker,
)
from expectant.jit.compile import Kernel, use_compiled
from expectant.models.sparse import count_evicted

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
MOST_FAILURES = 5  # in a row, after which no further run is started
KINDS: dict[type, str] = {Domain: "a domain", Features: "a feature map", Agent: "an agent"}
RULES = {
    "episodes": or_none(whole(1)),
    "steps": or_none(whole(1)),
    "runs": whole(1),
    "seed": SEED,
    "threads": or_none(whole(1)),
    "bins": whole(1),
    "step_limit": or_none(whole(1)),
    "first_run": whole(0),
    "compiled": or_none(flag()),
    "keep_agents": flag(),
}


def check_arguments(
    **rules: Rule[Any],
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Make a function check its arguments by rules and suggest names for unknown ones."""

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        owner, known = function.__name__, list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
            for name, value in (*zip(known, args, strict=False), *kwargs.items()):
                if name not in known:
                    text = f"{owner}: unknown argument {name}={value!r}"
                    raise TypeError(text + suggest_parameter(name, known))
                if name in rules:
                    rules[name].check(owner, name, value)
            return function(*args, **kwargs)

        return call

    return decorate


def check_part(owner: str, argument: str, part: Any, kind: type) -> None:
    """Refuse what is not a domain, a feature map or an agent."""
    if isinstance(part, kind):
        return
    hint = ""
    if isinstance(part, type) and hasattr(part, "build"):
        hint = f"; give one, {part.__name__}(...), not the class"
    elif isinstance(part, str) or hasattr(part, "reset"):
        hint = "; for an environment of Gymnasium, ex.Gym(...)"
    elif hasattr(part, "build") and not isinstance(part, Config):
        hint = f"; derive its class from ex.{kind.__name__}"
    raise ValueError(f"{owner}: {argument} must be {KINDS[kind]}, got {part!r}{hint}")


@check_arguments(**RULES)
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
    domain = domain if isinstance(domain, Domain) else as_domain(domain)
    check_part("run", "domain", domain, Domain)
    check_part("run", "features", features, Features)
    check_part("run", "agent", agent, Agent)
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
    source, numbers = Runs(setup, compiled, keep_agents), range(first_run, first_run + runs)
    if domain.external and at_once > 1:
        start_worker(source)
    kernel = load_loop(setup, compiled, setup.title, show)
    at_once = count_fitting_threads(setup, runs, at_once, keep_agents)
    ready = time.perf_counter()
    outcomes = _run_all(source, kernel, numbers, at_once, show)
    finished = [ran for _, ran in sorted(outcomes.items()) if isinstance(ran, Finished)]
    if not finished:
        _raise_failures(outcomes, None)
    result = Result(
        returns=np.stack([done.returns for done in finished]),
        lengths=np.stack([done.lengths for done in finished]),
        rewards=np.stack([done.rewards for done in finished]),
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
        missing=tuple(n for n in numbers if not isinstance(outcomes[n], Finished)),
    )
    _raise_failures(outcomes, result)
    if result.evicted.any():
        show.note(
            f"{setup.title}: {result.evicted.sum():,} entries of models were evicted, whose "
            "columns were full: use a larger capacity, or a larger threshold"
        )
    if result.divergence and progress is True:
        others = f" (and {len(result.divergence) - 1} more, see result.divergence)"
        say(result.divergence[0] + (others if len(result.divergence) > 1 else ""))
    return result


def compile_agents(
    domain: Domain,
    features: Features,
    agents: Mapping[str, Agent],
    threads: int | None,
    compiled: bool | None,
    progress: bool | Reporter,
) -> None:
    """Compile the loops of several agents at once; ``run`` raises their errors.

    Meanwhile the worker that runs an environment on several ``threads`` starts.
    """
    orders: list[CompileOrder] = []
    with suppress(Exception):
        if use_compiled(compiled):
            for name, agent in agents.items():
                setup = Setup(domain, features, agent, episodes=1)
                orders.append(CompileOrder(compile_loop, setup, name=name))
            if domain.external and (threads or core_count()) > 1:
                start_worker(Runs(setup, compiled, False))
    compile_ahead(orders, make_reporter(progress))


class Finished(NamedTuple):
    """The records of a finished run, and the run itself if ``kept``."""

    returns: np.ndarray
    lengths: np.ndarray
    rewards: np.ndarray
    diverged: bool
    divergence: str
    evicted: int
    kept: tuple[Run, Streams] | None


def finish_run(setup: Setup, stop: Stop, keep: bool = False) -> Finished:
    """Return the records of a run at its last stop: mean rewards, NaN from a divergence on."""
    run, rewards = stop.run, stop.run.rewards
    if rewards.size:
        sizes = np.full(rewards.size, setup.bin)
        sizes[-1] = setup.steps - setup.bin * (rewards.size - 1)
        rewards = rewards / sizes
        if stop.status != DONE:
            rewards[(run.clock[STEPS] - 1) // setup.bin :] = np.nan
    return Finished(
        run.returns,
        run.lengths,
        rewards,
        diverged=stop.status == DIVERGED,
        divergence=explain_divergence(run, stop.status, setup.agent, setup.domain.display_name),
        evicted=count_evicted(run.agent),
        kept=(run, stop.streams) if keep else None,
    )


@dataclass(frozen=True, eq=False)
class Runs(RunSource):
    """The runs of a setup, in this process or in a worker that loads its own loop."""

    setup: Setup
    compiled: bool | None
    keep: bool

    def prepare(self) -> RunOne:
        return partial(self.run, load_loop(self.setup, self.compiled, "", Silent()))

    def run(self, kernel: Kernel, number: int, control: np.ndarray, on_start: OnStart) -> Finished:
        for stop in drive(self.setup, number, kernel, control, (0, self.setup.length)):
            on_start(stop.run.clock)
        return finish_run(self.setup, stop, self.keep)


Outcomes = dict[int, Finished | EnvError | None]  # by run; None: not started


def _run_all(
    source: Runs, kernel: Kernel, numbers: range, threads: int, show: Reporter
) -> Outcomes:
    """Do all runs; those whose environment fails do not stop the others."""
    setup, control, local = source.setup, new_control(), partial(source.run, kernel)
    clocks: dict[int, np.ndarray] = {}
    failures = 0  # in a row

    def run_one(number: int) -> Finished | EnvError | None:
        nonlocal failures
        if failures >= MOST_FAILURES:
            return None
        on_start = partial(clocks.__setitem__, number)
        try:
            if setup.domain.external and threads > 1:
                ran = run_in_worker(source, number, control, on_start, local)
            else:
                ran = local(number, control, on_start)
        except EnvError as error:
            failures += 1
            return error
        finally:
            clocks.pop(number, None)
        if ran is None or control[0]:
            raise KeyboardInterrupt
        failures = 0
        return ran

    def under_way() -> float:
        return sum(fraction_done(setup, clock) for clock in list(clocks.values()))

    with show.progress(setup.title) as show_fraction:
        return gather(run_one, numbers, threads, control, show_fraction, under_way)


def _raise_failures(outcomes: Outcomes, finished: Result | None) -> None:
    """Raise one error for all runs whose environment failed, with the result of the others."""
    errors = {n: error for n, error in sorted(outcomes.items()) if isinstance(error, EnvError)}
    if not errors:
        return
    runs, first = len(outcomes), next(iter(errors.values()))
    not_started = sum(outcome is None for outcome in outcomes.values())
    text = str(first)
    if len(errors) > 1:
        text += f"; {len(errors)} of {runs} runs failed ({', '.join(map(str, errors))})"
    if not_started:
        text += f", {not_started} were not started after {MOST_FAILURES} failures in a row"
    if finished is not None:
        text += f"; {finished.diverged.size} of {runs} runs have finished, see the error's finished"
    error = type(first)(text)
    error.finished = finished
    raise error from first
