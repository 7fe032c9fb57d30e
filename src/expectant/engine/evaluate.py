"""``ex.evaluate``: act greedily with what was learned, without learning or exploring."""

from __future__ import annotations

import copy
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from expectant.agents.action_selection import greedy
from expectant.analysis.curves import interval
from expectant.core import formatting as tables
from expectant.core import tree
from expectant.core.dispatch import delegate
from expectant.core.interfaces import Domain
from expectant.core.rng import EVALUATION, Streams, evaluation_streams, generator, seed_sequence
from expectant.core.rules import whole
from expectant.core.verbs import act, begin, learn, observation, preference
from expectant.domains.external import GymSource
from expectant.domains.gym import Gym
from expectant.engine.driver import advance, new_control, open_world
from expectant.engine.learner import Learner
from expectant.engine.loop import DIVERGED, NUMBER, Run
from expectant.engine.progress import Reporter, make_reporter
from expectant.engine.result import Result
from expectant.engine.run import RULES, check_arguments, check_part
from expectant.engine.setup import Setup, core_count, load_loop
from expectant.engine.workers import gather


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

    def __repr__(self) -> str:
        low, high = self.interval
        decimals = tables.decimals_for([self.mean, low, high])
        ends = tables.interval_text(low, high, decimals)
        facts = [f"mean return {tables.number_text(self.mean, decimals)} ({ends})"]
        facts.append(f"episodes {self.returns.shape[-1]:,}")
        if self.returns.ndim > 1:
            facts.append(f"runs {self.diverged.size:,}")
        if self.diverged.any():
            facts.append(f"diverged {int(self.diverged.sum())}")
        return f"Evaluation({', '.join(facts)})"


class GreedyPart(NamedTuple):
    """An ``agent`` that acts greedily, ties broken at random, and learns nothing.

    ``returns`` (episodes,) are discounted; ``episode`` (1,) and ``weight`` (1,) are the present
    one's number and the discount of its next reward.
    """

    agent: object
    actions: int
    discount: float
    episode: np.ndarray
    weight: np.ndarray
    returns: np.ndarray


delegate(GreedyPart, "agent", preference)


@begin.register(GreedyPart)
def _(part, state, rng):
    part.episode[0] += 1
    part.weight[0] = 1.0
    begin(part.agent, state, rng)


@act.register(GreedyPart)
def _(part, state, rng):
    return greedy(part.agent, state, part.actions, rng)


@learn.register(GreedyPart)
def _(part, transition, rng):
    if part.episode[0] < part.returns.shape[0]:
        part.returns[part.episode[0]] += part.weight[0] * transition.reward
    part.weight[0] *= part.discount
    chosen = preference(part.agent, transition.state, transition.action)
    return math.nan if math.isnan(chosen) else 0.0


def act_greedily(run: Run, episodes: int, discount: float = 1.0) -> Run:
    """Return a run at its beginning that acts greedily for some episodes, with the same parts."""
    part = GreedyPart(
        agent=run.agent,
        actions=run.ranges.actions,
        discount=discount,
        episode=np.full(1, -1),
        weight=np.ones(1),
        returns=np.zeros(episodes),
    )
    clock = np.zeros_like(run.clock)
    clock[NUMBER] = run.clock[NUMBER]
    return run._replace(
        agent=part,
        clock=clock,
        returns=np.full(episodes, np.nan),
        lengths=np.zeros(episodes, np.int64),
        rewards=np.empty(0),
    )


@check_arguments(**{**RULES, "episodes": whole(1)})
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
    start, show, control = time.perf_counter(), make_reporter(progress), new_control()
    runs = _learned_runs(learned)
    numbers, diverged, trained_in = [0], np.zeros(1, bool), None
    if isinstance(learned, Result):
        numbers, diverged, trained_in = learned.numbers, learned.diverged, learned.domain
    elif compiled is None:
        compiled = learned._compiled
    where, features, agent = _domain_for(domain, runs[0]), learned.features, learned.agent
    setup = Setup(where, features, agent, episodes=episodes, step_limit=step_limit, seed=seed)
    # an environment is seeded with one number: not the one that it was trained with
    env_seed = int(seed_sequence(seed, EVALUATION).generate_state(1)[0])

    def build(index: int) -> tuple[Run, Streams]:
        """Build a run in the domain of the evaluation, with copies of what one run has learned.

        Agents and features are copied as a whole: asking an agent may write into scratch arrays,
        number new tiles or draw from a generator. In the domain that it learned in, an exact model
        reads the phase of the new domain part instead of the old one.
        """
        trained, (fresh, _) = runs[index], setup.build(numbers[index])
        links: dict[int, np.ndarray] = {}
        if trained_in == where:
            pairs = zip(tree.arrays(trained.domain), tree.arrays(fresh.domain), strict=True)
            links = {id(old): new for (_, old), (_, new) in pairs}
        agent, features = copy.deepcopy((trained.agent, trained.features), links)
        run = act_greedily(fresh._replace(agent=agent, features=features), episodes)
        return run, evaluation_streams(seed, numbers[index])

    def evaluate_run(index: int) -> tuple[np.ndarray, np.ndarray]:
        run, streams = build(index)
        status = DIVERGED
        if not diverged[index]:
            with open_world(where, env_seed, numbers[index]) as world:
                _, status = advance(kernel, run, setup.budget(), streams, control, world)
        if status == DIVERGED:
            return np.full(episodes, np.nan), np.zeros(episodes, np.int64)
        return run.returns, run.lengths

    kernel = load_loop(setup, compiled, f"{setup.title}, greedily", show, build(0))
    at_once = min(threads or core_count(), len(runs))
    with show.progress(f"{setup.title}, greedily") as show_fraction:
        played = gather(evaluate_run, range(len(runs)), at_once, control, show_fraction)
    returns, lengths = (np.stack([played[n][k] for n in range(len(runs))]) for k in (0, 1))
    return Evaluation(
        returns=returns if isinstance(learned, Result) else returns[0],
        lengths=lengths if isinstance(learned, Result) else lengths[0],
        diverged=np.isnan(returns).any(axis=1),
        seconds=time.perf_counter() - start,
    )


def _learned_runs(learned: object) -> list[Run]:
    if isinstance(learned, Result):
        if not learned.kept:
            raise ValueError(
                "evaluate: learned must have kept its agents, got a result without them; "
                "ex.run keeps what it learned with keep_agents=True"
            )
        return [run for run, _ in learned.kept]
    if not isinstance(learned, Learner):
        raise ValueError(f"evaluate: learned must be a Learner or a Result, got {learned!r}")
    if learned._run is None:
        raise ValueError("evaluate: learned must have started, got a learner that has not")
    return [learned._run]


def _domain_for(domain: Any, run: Run) -> Domain:
    """Return a domain, or the domain of an environment, if it fits the agent of a run."""
    is_domain = isinstance(domain, Domain) or (
        isinstance(domain, type) and issubclass(domain, Domain)
    )
    if not is_domain and (isinstance(domain, str) or callable(domain) or hasattr(domain, "reset")):
        domain = Gym(domain, numbered=None if run.ranges.states else False)
    check_part("evaluate", "domain", domain, Domain)
    needed = _describe_spaces(run.ranges.actions, run.ranges.states, run.domain)
    part = domain.build(generator(0, 0))
    available = _describe_spaces(domain.actions, domain.states or 0, part)
    if available != needed:
        raise ValueError(f"evaluate: domain must have {needed}, got {domain!r} with {available}")
    return domain


def _describe_spaces(actions: int, states: int, part: object) -> str:
    vectors = f"observations of {observation(part).size} numbers"
    return f"{actions} actions and {f'{states} numbered states' if states else vectors}"
