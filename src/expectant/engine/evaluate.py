"""How good what was learned is: acting greedily, without learning or exploring."""

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
    """What came out of ``ex.evaluate``.

    ``returns`` and ``lengths`` are (episodes,) of a learner, (runs, episodes) of a result.
    ``diverged`` (runs,) marks runs whose weights had overflowed: all NaN.
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
    """The action that the agent prefers where ``action`` has led, ties broken at random.

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
def decide_outside(run, action, rng):
    """:func:`decide_greedily`, called from outside compiled code."""
    return decide_greedily(unowned(run), action, unowned(rng))


@function
def perform(run, budget, streams, control):
    """Act greedily until the budget is used up; the loop without learning."""
    return go_through(unowned(run), budget, 1.0, unowned(streams), unowned(control))


@function
def perform_discounted(run, budget, discount, streams, control):
    """:func:`perform`, with returns that are discounted."""
    return go_through(unowned(run), budget, discount, unowned(streams), unowned(control))


@function
def go_through(run, budget, discount, streams, control):
    """Episodes in which nothing is learned, each from its beginning."""
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


def perform_outside(
    kernel: Any, world: Any, run: Run, budget: Budget, rng: Any, control: np.ndarray
) -> int:
    """:func:`perform` in a world outside compiled code."""
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


class Learned(NamedTuple):
    """What is evaluated: ``runs`` that have learned, of an agent with features (descriptions).

    ``domain`` is where they learned, None where nobody knows; ``numbers`` and ``diverged`` are
    those of the runs.
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
    """How well what was learned does by itself: greedily, without learning or exploring.

    ``learned`` is a learner, or a result of ``ex.run(..., keep_agents=True)``, of which every run
    is evaluated; neither is changed. ``domain`` is a domain, a Gymnasium environment or its id; it
    begins anew, in its first phase. Ties are broken at random. The random numbers come from
    ``seed``, and are not those of ``ex.run`` with the same seed. ``step_limit``, ``threads`` and
    ``compiled`` are as there.
    """
    for argument, value, rule in (
        ("episodes", episodes, whole(1)),
        ("seed", seed, SEED),
        ("step_limit", step_limit, or_none(whole(1))),
        ("threads", threads, or_none(whole(1))),
        ("compiled", compiled, or_none(flag())),
    ):
        rule.check("evaluate", argument, value)
    what = _learned(learned)
    where = _domain(domain, what.runs[0])
    setup = Setup(
        where, what.features, what.agent, episodes=episodes, step_limit=step_limit, seed=seed
    )
    show, start = make_reporter(progress), time.perf_counter()
    if compiled is None and isinstance(learned, Learner):
        compiled = learned._compiled
    returns, lengths = _evaluated(
        setup, what, threads or core_count(), use_compiled(compiled), show
    )
    return Evaluation(
        returns=returns if isinstance(learned, Result) else returns[0],
        lengths=lengths if isinstance(learned, Result) else lengths[0],
        diverged=np.isnan(returns).any(axis=1),
        seconds=time.perf_counter() - start,
    )


def _evaluated(
    setup: Setup, what: Learned, threads: int, compiled: bool, show: Reporter
) -> tuple[np.ndarray, np.ndarray]:
    """Returns and lengths, (runs, episodes) each; NaN and 0 in the row of a diverged run."""
    name = f"{type(setup.agent).__name__} in {setup.domain.display_name}, greedily"
    kernel, control = _kernel(setup, what, compiled, name, show), new_control()

    def one(place: int) -> tuple[np.ndarray, np.ndarray]:
        number = what.numbers[place]
        run = _prepared(setup, what, place)
        streams = evaluation_streams(setup.seed, number)
        status = DIVERGED
        if not what.diverged[place]:
            status = _performed(setup, kernel, run, number, streams, control)
        if status == DIVERGED:
            return np.full(setup.episodes, np.nan), np.zeros(setup.episodes, np.int64)
        return run.returns, run.lengths

    count, found = len(what.runs), dict[int, tuple[np.ndarray, np.ndarray]]()
    with show.progress(name) as tell:
        for batch in run_on_threads(one, range(count), min(threads, count), control):
            found.update({ended.item: ended.result() for ended in batch})
            tell(len(found) / count)
    returns, lengths = zip(*(found[place] for place in range(count)), strict=True)
    return np.stack(returns), np.stack(lengths)


def _performed(
    setup: Setup, kernel: Kernel, run: Run, number: int, streams: Streams, control: np.ndarray
) -> int:
    """All episodes of one run, in compiled code or through a world outside it; the status."""
    if not setup.domain.external:
        return advance(kernel, run, setup.budget(), streams, control)[1]
    # an environment is seeded with one number: not the one that it was trained with
    words = seed_sequence(setup.seed, EVALUATION).generate_state(1)
    world = setup.domain.make_env(int(words[0]), number)
    try:
        status = perform_outside(kernel, world, run, setup.budget(), streams.acting, control)
    finally:
        world.close()
    if status >= NOT_FINITE:
        raise contract_error(run, status)
    return status


def _kernel(setup: Setup, what: Learned, compiled: bool, name: str, show: Reporter) -> Kernel:
    """What acts greedily, compiled for runs like these unless asked not to."""
    outside = setup.domain.external
    if not compiled:
        return decide_outside if outside else perform
    run, streams = _prepared(setup, what, 0), evaluation_streams(setup.seed, 0)
    dry_run(setup, run, streams, perform)
    if not outside:
        return compile_for(perform, (run, Budget(0, 0, 1), streams, new_control()), name, show)
    kernel = compile_for(decide_outside, (run, -1, streams.acting), name, show)
    return entry_point(kernel, run, -1, streams.acting)


def _prepared(setup: Setup, what: Learned, place: int) -> Run:
    """A run in the domain of the evaluation, with copies of what one run has learned.

    Agents and features are copied as a whole: looking at an agent may write into scratch arrays,
    number tiles that were not met before, or draw from a generator. In the domain that it learned
    in, an exact model looks at the phase of the new domain part instead of the old one.
    """
    learned, (fresh, _) = what.runs[place], setup.build(what.numbers[place])
    links: dict[int, np.ndarray] = {}
    if what.domain == setup.domain:
        pairs = zip(tree.arrays(learned.domain), tree.arrays(fresh.domain), strict=True)
        links = {id(old): new for (_, old), (_, new) in pairs}
    agent, features = copy.deepcopy((learned.agent, learned.features), links)
    return fresh._replace(agent=agent, features=features)


def _learned(learned: Learner | Result) -> Learned:
    if isinstance(learned, Result):
        if not learned.kept:
            raise ValueError(
                "evaluate: learned must have kept its agents, got a result without them; "
                "ex.run keeps what it learned with keep_agents=True"
            )
        runs = [run for run, _ in learned.kept]
        return Learned(
            learned.agent, learned.features, learned.domain, runs, learned.numbers, learned.diverged
        )
    if not isinstance(learned, Learner):
        raise ValueError(f"evaluate: learned must be a Learner or a Result, got {learned!r}")
    if learned._run is None:
        raise ValueError("evaluate: learned must have started, got a learner that has not")
    return Learned(
        learned.agent, learned.features, None, [learned._run], range(1), np.zeros(1, bool)
    )


def _domain(given: object, run: Run) -> Domain:
    """What was given as a domain, with actions and observations like those of a run."""
    if isinstance(given, type) and issubclass(given, Domain):
        raise ValueError(
            f"evaluate: domain must be a domain, got {given!r}; give one, {given.__name__}(...), "
            "not the class"
        )
    domain = given
    if not isinstance(domain, Domain):
        if not (isinstance(given, str) or callable(given) or hasattr(given, "reset")):
            raise ValueError(
                "evaluate: domain must be a domain, an environment of Gymnasium or its id, "
                f"got {given!r}"
            )
        domain = Gym(cast(GymSource, given), numbered=None if run.ranges.states else False)
    known = _described(run.ranges.actions, run.ranges.states, run.domain)
    found = _described(domain.actions, domain.states or 0, domain.build(generator(0, 0)))
    if found != known:
        raise ValueError(f"evaluate: domain must have {known}, got {domain!r} with {found}")
    return domain


def _described(actions: int, states: int, part: object) -> str:
    """What an agent has to do with, in words."""
    seen = (
        f"{states} numbered states"
        if states
        else f"observations of {observation(part).size} numbers"
    )
    return f"{actions} actions and {seen}"
