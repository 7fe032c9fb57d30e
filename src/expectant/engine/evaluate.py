"""``ex.evaluate``: act greedily with what was learned, without learning or exploring."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from expectant.agents.action_selection import greedy
from expectant.analysis.curves import interval
from expectant.checks.dry_run import dry_run
from expectant.checks.errors import contract_error
from expectant.core import formatting as tables
from expectant.core import tree
from expectant.core.dispatch import unowned
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.rng import (
    EVALUATION,
    SEED,
    Streams,
    evaluation_streams,
    generator,
    seed_sequence,
)
from expectant.core.rules import flag, or_none, whole
from expectant.core.verbs import begin, function, observation, preference, reset, step, truncated
from expectant.domains.external import GymSource
from expectant.domains.gym import Gym
from expectant.engine.driver import advance, new_control
from expectant.engine.learner import Learner
from expectant.engine.loop import (
    ACTION,
    DIVERGED,
    DONE,
    EPISODE,
    NOT_FINITE,
    STEP,
    STOPPED,
    Budget,
    Run,
    end_episode,
    judge,
    perceive,
)
from expectant.engine.progress import Reporter, make_reporter
from expectant.engine.result import Result
from expectant.engine.run import hint_unknown_arguments
from expectant.engine.setup import Setup, core_count
from expectant.engine.workers import run_on_threads
from expectant.jit.compile import Kernel, compile_for, entry_point, use_compiled


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of ``ex.evaluate``.

    ``returns`` and ``lengths`` are (episodes,) for a learner, (runs, episodes) for a result.
    ``diverged`` (runs,) marks runs whose weights had overflowed: their returns are NaN.
    """

    returns: np.ndarray
    lengths: np.ndarray
    diverged: np.ndarray
    seconds: float

    @property
    def mean(self) -> float:
        """The mean return of an episode; NaN with a diverged run."""
        return float(self.returns.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the mean: over runs, or over the episodes of only one."""
        several = self.diverged.size > 1
        samples = self.returns.mean(axis=1) if several else self.returns.ravel()
        if samples.size == 1:
            return math.nan, math.nan
        _, low, high = interval(samples)
        return float(low), float(high)

    @property
    def low(self) -> float:
        return self.interval[0]

    @property
    def high(self) -> float:
        return self.interval[1]

    def __repr__(self) -> str:
        return f"Evaluation({', '.join(f'{name} {text}' for name, text in self._facts())})"

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        names, texts = zip(*self._facts(), strict=True)
        return tables.html_table(names, [texts])

    def _facts(self) -> list[tuple[str, str]]:
        low, high = self.interval
        decimals = tables.decimals_for([self.mean, low, high])
        ends = tables.interval_text(low, high, decimals)
        shown = f"{tables.number_text(self.mean, decimals)} ({ends})"
        facts = [("mean return", shown), ("episodes", f"{self.returns.shape[-1]:,}")]
        if self.returns.ndim > 1:
            facts.append(("runs", f"{self.diverged.size:,}"))
        if self.diverged.any():
            facts.append(("diverged", str(int(self.diverged.sum()))))
        return facts


@function
def decide_greedily(run, action, rng):
    """Return the preferred action after ``action``, ties broken at random.

    A negative answer is −1 minus the status with which the loop would stop.
    """
    status = perceive(run, action, run.state)
    if status != DONE:
        return -1 - status
    if action < 0:
        begin(run.agent, run.state, rng)
    chosen = greedy(run.agent, run.state, run.ranges.actions, rng)
    if math.isnan(preference(run.agent, run.state, chosen)):
        return -1 - DIVERGED
    return chosen


@function
def decide_from_python(run, action, rng):
    """:func:`decide_greedily` for callers in Python."""
    return decide_greedily(unowned(run), action, unowned(rng))


@function
def perform(run, budget, streams, control):
    """Act greedily until the budget is used up; the loop without learning."""
    return perform_episodes(unowned(run), budget, 1.0, unowned(streams), unowned(control))


@function
def perform_discounted(run, budget, discount, streams, control):
    """:func:`perform` with discounted returns."""
    return perform_episodes(unowned(run), budget, discount, unowned(streams), unowned(control))


@function
def perform_episodes(run, budget, discount, streams, control):
    """:func:`perform_discounted` on unowned arrays."""
    domain, clock, weight = run.domain, run.clock, 1.0
    while clock[EPISODE] < budget.episodes:
        if control[0] != 0:
            return STOPPED
        if clock[STEP] == 0:
            reset(domain, clock[EPISODE], streams.world)
            run.total[0] = 0.0
            clock[ACTION] = -1
            weight = 1.0
        action = decide_greedily(run, clock[ACTION], streams.acting)
        if action < 0:
            return -1 - action
        clock[ACTION] = action
        reward, alive = step(domain, action, streams.world)
        status = judge(run, reward, alive)
        if status != DONE:
            return status
        run.total[0] += weight * reward
        weight *= discount
        clock[STEP] += 1
        if alive == 0.0 or clock[STEP] >= budget.step_limit or truncated(domain):
            end_episode(run)
    return DONE


def perform_externally(
    kernel: Any, world: Any, run: Run, budget: Budget, rng: Any, control: np.ndarray
) -> int:
    """:func:`perform` in a Python environment."""
    clock, received = run.clock, run.domain.received
    while clock[EPISODE] < budget.episodes:
        world.reset(received)
        run.total[0], action, over = 0.0, -1, False
        while not over:
            if control[0] != 0:
                return STOPPED
            action = kernel(run, action, rng)
            if action < 0:
                return -1 - action
            reward, terminated, truncated = world.step(action, received)
            run.total[0] += reward
            clock[STEP] += 1
            over = terminated or truncated or clock[STEP] >= budget.step_limit
        end_episode(run)
    return DONE


class TrainedRuns(NamedTuple):
    """The runs to evaluate, of an agent with features.

    ``domain`` is where they learned, None if unknown; ``numbers`` are those of the runs.
    """

    agent: Agent
    features: Features
    domain: Domain | None
    runs: Sequence[Run]
    numbers: Sequence[int]
    diverged: np.ndarray


@hint_unknown_arguments
def evaluate(
    learned: Learner | Result,
    domain: Domain | GymSource,
    episodes: int,
    *,
    seed: int = 0,
    step_limit: int | None = None,
    threads: int | None = None,
    compiled: bool | None = None,
    progress: bool | Reporter = True,
) -> Evaluation:
    """Evaluate the greedy policy of what was learned, without learning or exploring.

    ``learned`` is a learner, or a result of ``ex.run(..., keep_agents=True)``, of which every run
    is evaluated; neither is changed. ``domain`` is a domain, a Gymnasium environment or its id; it
    starts in its first phase. Ties are broken at random. Random numbers come from ``seed`` and
    differ from those of ``ex.run`` with the same seed. ``step_limit``, ``threads`` and ``compiled``
    are those of ``ex.run``.
    """
    for argument, value, rule in (
        ("episodes", episodes, whole(1)),
        ("seed", seed, SEED),
        ("step_limit", step_limit, or_none(whole(1))),
        ("threads", threads, or_none(whole(1))),
        ("compiled", compiled, or_none(flag())),
    ):
        rule.check("evaluate", argument, value)
    trained = _trained_runs(learned)
    where = _check_domain(domain, trained.runs[0])
    setup = Setup(
        where, trained.features, trained.agent, episodes=episodes, step_limit=step_limit, seed=seed
    )
    show, start = make_reporter(progress), time.perf_counter()
    if compiled is None and isinstance(learned, Learner):
        compiled = learned._compiled
    returns, lengths = _evaluate_runs(
        setup, trained, threads or core_count(), use_compiled(compiled), show
    )
    return Evaluation(
        returns=returns if isinstance(learned, Result) else returns[0],
        lengths=lengths if isinstance(learned, Result) else lengths[0],
        diverged=np.isnan(returns).any(axis=1),
        seconds=time.perf_counter() - start,
    )


def _evaluate_runs(
    setup: Setup, trained: TrainedRuns, threads: int, compiled: bool, show: Reporter
) -> tuple[np.ndarray, np.ndarray]:
    """Return returns and lengths, (runs, episodes) each; NaN and 0 for a diverged run."""
    name = f"{setup.title}, greedily"
    kernel, control = _load_kernel(setup, trained, compiled, name, show), new_control()

    def evaluate_run(index: int) -> tuple[np.ndarray, np.ndarray]:
        number = trained.numbers[index]
        run = _build_run(setup, trained, index)
        streams = evaluation_streams(setup.seed, number)
        status = DIVERGED
        if not trained.diverged[index]:
            status = _perform_run(setup, kernel, run, number, streams, control)
        if status == DIVERGED:
            return np.full(setup.episodes, np.nan), np.zeros(setup.episodes, np.int64)
        return run.returns, run.lengths

    count, finished = len(trained.runs), dict[int, tuple[np.ndarray, np.ndarray]]()
    with show.progress(name) as tell:
        for batch in run_on_threads(evaluate_run, range(count), min(threads, count), control):
            finished.update({ended.item: ended.result() for ended in batch})
            tell(len(finished) / count)
    returns, lengths = zip(*(finished[index] for index in range(count)), strict=True)
    return np.stack(returns), np.stack(lengths)


def _perform_run(
    setup: Setup, kernel: Kernel, run: Run, number: int, streams: Streams, control: np.ndarray
) -> int:
    """Perform all episodes of one run, compiled or in a Python environment; return the status."""
    if not setup.domain.external:
        return advance(kernel, run, setup.budget(), streams, control)[1]
    # an environment is seeded with one number: not the one that it was trained with
    words = seed_sequence(setup.seed, EVALUATION).generate_state(1)
    world = setup.domain.make_env(int(words[0]), number)
    try:
        status = perform_externally(kernel, world, run, setup.budget(), streams.acting, control)
    finally:
        world.close()
    if status >= NOT_FINITE:
        raise contract_error(run, status)
    return status


def _load_kernel(
    setup: Setup, trained: TrainedRuns, compiled: bool, name: str, show: Reporter
) -> Kernel:
    """Return the kernel that acts greedily, compiled unless asked not to."""
    outside = setup.domain.external
    if not compiled:
        return decide_from_python if outside else perform
    run, streams = _build_run(setup, trained, 0), evaluation_streams(setup.seed, 0)
    dry_run(setup, run, streams, perform)
    if not outside:
        return compile_for(perform, (run, Budget(0, 0, 1), streams, new_control()), name, show)
    kernel = compile_for(decide_from_python, (run, -1, streams.acting), name, show)
    return entry_point(kernel, run, -1, streams.acting)


def _build_run(setup: Setup, trained: TrainedRuns, index: int) -> Run:
    """Build a run in the domain of the evaluation, with copies of what one run has learned.

    Agents and features are copied as a whole: asking an agent may write into scratch arrays, number
    new tiles or draw from a generator. In the domain that it learned in, an exact model reads the
    phase of the new domain part instead of the old one.
    """
    learned, (fresh, _) = trained.runs[index], setup.build(trained.numbers[index])
    links: dict[int, np.ndarray] = {}
    if trained.domain == setup.domain:
        pairs = zip(tree.arrays(learned.domain), tree.arrays(fresh.domain), strict=True)
        links = {id(old): new for (_, old), (_, new) in pairs}
    agent, features = copy.deepcopy((learned.agent, learned.features), links)
    return fresh._replace(agent=agent, features=features)


def _trained_runs(learned: Learner | Result) -> TrainedRuns:
    if isinstance(learned, Result):
        if not learned.kept:
            raise ValueError(
                "evaluate: learned must have kept its agents, got a result without them; "
                "ex.run keeps what it learned with keep_agents=True"
            )
        runs = [run for run, _ in learned.kept]
        return TrainedRuns(
            learned.agent, learned.features, learned.domain, runs, learned.numbers, learned.diverged
        )
    if not isinstance(learned, Learner):
        raise ValueError(f"evaluate: learned must be a Learner or a Result, got {learned!r}")
    if learned._run is None:
        raise ValueError("evaluate: learned must have started, got a learner that has not")
    return TrainedRuns(
        learned.agent, learned.features, None, [learned._run], range(1), np.zeros(1, bool)
    )


def _check_domain(domain: object, run: Run) -> Domain:
    """Return a domain, or the domain of an environment, if it fits the agent of a run."""
    if isinstance(domain, type) and issubclass(domain, Domain):
        raise ValueError(
            f"evaluate: domain must be a domain, got {domain!r}; give one, {domain.__name__}(...), "
            "not the class"
        )
    if not isinstance(domain, Domain):
        if not (isinstance(domain, str) or callable(domain) or hasattr(domain, "reset")):
            raise ValueError(
                "evaluate: domain must be a domain, an environment of Gymnasium or its id, "
                f"got {domain!r}"
            )
        domain = Gym(cast(GymSource, domain), numbered=None if run.ranges.states else False)
    needed = _describe_spaces(run.ranges.actions, run.ranges.states, run.domain)
    part = domain.build(generator(0, 0))
    available = _describe_spaces(domain.actions, domain.states or 0, part)
    if available != needed:
        raise ValueError(f"evaluate: domain must have {needed}, got {domain!r} with {available}")
    return domain


def _describe_spaces(actions: int, states: int, part: object) -> str:
    vectors = f"observations of {observation(part).size} numbers"
    return f"{actions} actions and {f'{states} numbered states' if states else vectors}"
