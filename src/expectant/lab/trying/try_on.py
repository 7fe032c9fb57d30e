"""``ex.try_on``: does anything learn here, does planning pay, and with which step sizes?

Every agent has an Optuna study over its step sizes. Trials report their mean return after each
block of runs to a median pruner. The best trial of each agent is confirmed on fresh seeds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.agents.q_learning import QLearning
from expectant.agents.sarsa import Sarsa
from expectant.core.memory import TooLargeError
from expectant.domains.gym import Gym
from expectant.domains.spaces import GymSource
from expectant.engine.arguments import hinting
from expectant.engine.job import cores
from expectant.engine.result import Result
from expectant.engine.run import run
from expectant.extras import need
from expectant.features.basis import Identity
from expectant.features.bounds import RandomPlay, is_bounded, play_at_random, widen_bounds
from expectant.features.table import Categorical, OneHot
from expectant.features.tiles import Tiles
from expectant.features.wrappers import Joined
from expectant.lab.search import create_study
from expectant.lab.trying.tried import NAMES, PLANNERS, STEPS, Confirmed, Tried, describe_features
from expectant.parts import Agent, Domain, Features
from expectant.progress import Silent, Tell, say
from expectant.rules import Rule, flag, or_none, whole
from expectant.seeds import SEED
from expectant.step_sizes import StepSize
from expectant.whose import WorldError

# Where each stage ends, as a share of the budget; the rest is for the page.
PLAYED, COMPILED, LATEST, SEARCHED, CONFIRMED = 0.08, 0.5, 0.75, 0.75, 0.95
PLAY_EPISODES, FEWEST_PLAYED = 100, 3
FEWEST_EPISODES, MOST_EPISODES, GROWTH = 5, 2_000, 3
ROUNDS = 6  # of default runs that the search should have time for
BLOCKS = 3  # of runs in a complete trial
MOST_TRIALS = 40  # for each agent
FRESH_RUNS = 12  # at most
MANY_FEATURES = 500  # from here on planners use a sparse model
FACTORS = {"step_factor": (0.1, 3.0), "model_factor": (0.1, 1.0)}  # ranges, of the default steps
TELL_SECONDS = 10.0
# Limits of proposed features: states with one feature each, categories, tiled components.
MOST_STATES, MOST_CATEGORIES, MOST_TILED = 5_000, 100_000, 8


def _minutes(value: Any) -> float:
    number = float(value)
    if not 0.0 < number < math.inf:
        raise ValueError
    return number


MINUTES = Rule("a finite number above 0", _minutes)


class OutOfTime(Exception):
    """Work that was stopped at its deadline, or because its environment failed."""


class Deadline(Silent):
    """A silent progress reporter that stops runs at a point in time; compiling does not count."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def left(self) -> float:
        return self.end - time.monotonic()

    def check(self, fraction: float = 0.0) -> None:
        if self.left() <= 0.0:
            raise OutOfTime

    def note(self, text: str) -> None:
        """Say nothing."""

    @contextmanager
    def compiling(self, what: str, cached: bool) -> Iterator[None]:
        start, end, self.end = time.monotonic(), self.end, math.inf
        try:
            yield
        finally:
            self.end = end + time.monotonic() - start

    @contextmanager
    def running(self, what: str) -> Iterator[Tell]:
        yield self.check


class Clock:
    """The time budget; its shares are counted from its beginning."""

    def __init__(self, seconds: float) -> None:
        self.start, self.seconds = time.monotonic(), seconds

    def left(self, share: float) -> float:
        return self.start + share * self.seconds - time.monotonic()

    def deadline(self, share: float, parts: int = 1) -> Deadline:
        """The end of the first of some equal parts of the time left until a share is over."""
        return Deadline(max(self.left(share), 0.0) / parts)


@dataclass
class Bench:
    """What agents are tried on; ``failed`` has the errors of the environment, by kind of agent."""

    domain: Domain
    features: Features
    compiled: bool | None
    threads: int | None
    seed: int
    episodes: int = FEWEST_EPISODES
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def block(self) -> int:
        """How many runs are done at once."""
        return max(2, min(self.threads or cores(), FRESH_RUNS))

    def run(self, agent: Agent, deadline: Deadline, first: int = 0) -> Result:
        """A block of runs; raises OutOfTime at the deadline and where the environment fails."""
        deadline.check()
        try:
            return run(
                self.domain, self.features, agent, episodes=self.episodes, runs=self.block,
                first_run=first, seed=self.seed, threads=self.threads, compiled=self.compiled,
                progress=deadline,
            )  # fmt: skip
        except WorldError as error:
            self.failed.setdefault(agent.kind, str(error))
            raise OutOfTime from error


@dataclass
class Candidate:
    """An agent at its defaults, and the best setting so far with its mean return."""

    default: Agent
    best: Agent
    score: float = -math.inf


@hinting
def try_on(
    environment: Domain | GymSource,
    minutes: float = 5.0,
    *,
    folder: str | Path | None = None,
    seed: int = 0,
    threads: int | None = None,
    compiled: bool | None = None,
    quiet: bool = False,
) -> Tried:
    """Try agents on an environment, for about so many ``minutes``, compiling included.

    ``environment`` is a domain, or whatever ``ex.Gym`` takes. Random play decides which features
    are used and is the baseline. Optuna searches the step sizes of Q-learning, Sarsa(λ) and
    Algorithms 1 to 3; the best setting of each is confirmed on fresh seeds. ``folder`` gets a page
    and a spec to go on from.
    """
    minutes = MINUTES.check("try_on", "minutes", minutes)
    SEED.check("try_on", "seed", seed)
    or_none(whole(1)).check("try_on", "threads", threads)
    or_none(flag()).check("try_on", "compiled", compiled)
    flag().check("try_on", "quiet", quiet)
    need("try_on", *(["optuna"] if folder is None else ["optuna", "show"]))
    domain = environment if isinstance(environment, Domain) else Gym(environment)
    tell = (lambda text: None) if quiet else say
    tell(f"{domain!r}, {domain.actions} actions: random play")
    clock = Clock(60.0 * minutes)  # importing an environment does not count
    play = play_until(domain, clock.deadline(PLAYED), seed)
    features = propose(domain, play)
    shape = features.shape(domain)
    tell(f"{shape.size:,} features, {shape.active} active: {describe_features(features)}")
    bench = Bench(domain, features, compiled, threads, seed)
    agents = default_agents(shape.size > MANY_FEATURES)
    candidates = run_defaults(bench, agents, clock, tell)
    search_steps(replace(bench, seed=seed + 1), candidates, clock, tell)
    tell(f"confirming on up to {FRESH_RUNS} fresh runs of {bench.episodes:,} episodes")
    pair = best_of_each_kind(candidates)
    confirmed = confirm(replace(bench, seed=seed + 2), candidates, pair, clock)
    tried = Tried(
        domain, features, np.array(play.returns), confirmed,
        tuple(key for key in agents if key not in confirmed), bench.episodes, seed, minutes, pair,
        None if folder is None else Path(folder),
        {NAMES[key]: error for key, error in bench.failed.items()},
    )  # fmt: skip
    if tried.folder is not None:
        tried.write(tried.folder)
    return tried


def default_agents(many_features: bool) -> dict[str, Agent]:
    """The agents by kind, at their defaults; planners use a sparse model with many features."""
    model: dict[str, Any] = {"model": "sparse"} if many_features else {}
    return {
        "q_learning": QLearning(),
        "lookahead": Lookahead(**model),
        "cached_values": CachedValues(**model),
        "sarsa": Sarsa(),
        "cached_policy": CachedPolicy(**model),
    }


def play_until(domain: Domain, deadline: Deadline, seed: int) -> RandomPlay:
    """Random play until the deadline; refuse too little of it."""
    play, given = RandomPlay(), deadline.left()
    with suppress(OutOfTime):
        play_at_random(domain, PLAY_EPISODES, seed, play, deadline.check)
    if len(play.returns) < FEWEST_PLAYED:
        raise ValueError(
            f"try_on: {FEWEST_PLAYED} episodes of random play take longer than "
            f"{100 * PLAYED:.0f} % of the time ({given:.2g} s), after {len(play.returns)} of "
            "them: give more minutes, or limit episodes (max_episode_steps=)"
        )
    return play


def propose(domain: Domain, play: RandomPlay) -> Features:
    """A table for numbered states, tiles for a few numbers, the numbers themselves for many."""
    if domain.states is not None:
        several = domain.states > MOST_STATES and len(domain.counts) > 1
        return Categorical() if several else OneHot()
    if _count_categories(domain, play) <= MOST_CATEGORIES:
        return Categorical()
    bounds = widen_bounds(domain, play)
    if len(bounds) > MOST_TILED:
        return Identity(bounds)
    if len(bounds) < 4:
        return Tiles(8, {1: 10, 2: 8, 3: 5}[len(bounds)], bounds)
    return _join_tilings(bounds)


def _join_tilings(bounds: list[tuple[float, float]]) -> Features:
    """Coarse tiles of all components and fine ones of pairs of neighbours."""
    components = len(bounds)
    features: Features
    features = Tiles(8, 3, bounds) if components == 4 else Tiles(8, 2, bounds, hash_size=8_192)
    for first in range(0, components, 2):
        pair = tuple(range(first, min(first + 2, components)))
        features = Joined(features, Tiles(4, 6, bounds, dimensions=pair))
    return features


def _count_categories(domain: Domain, play: RandomPlay) -> float:
    """One feature for every value of every component; infinite unless all are whole numbers."""
    total = 0.0
    for low, high in domain.bounds or ():
        if not play.integral or not is_bounded(low, high) or low % 1 or high % 1:
            return math.inf
        total += high - low + 1
    return total


def run_defaults(
    bench: Bench, agents: Mapping[str, Agent], clock: Clock, tell: Callable[[str], None]
) -> dict[str, Candidate]:
    """Run all agents at their defaults, in longer and longer runs as long as time permits.

    Leaves the chosen number of episodes in ``bench``. Agents that cannot be compiled in time, or
    do not fit into memory, are left out.
    """
    candidates: dict[str, Candidate] = {}
    for key, agent in agents.items():
        kinds = {other in PLANNERS for other in candidates}
        if clock.left(COMPILED if len(kinds) == 2 else LATEST) <= 0.0:
            break
        tell(f"{NAMES[key]}: compiling and first runs")
        with suppress(OutOfTime, TooLargeError):
            result = bench.run(agent, clock.deadline(SEARCHED, 2))
            candidates[key] = Candidate(agent, agent, mean_score(result.means))
    while candidates and bench.episodes < MOST_EPISODES:
        start, deadline = time.monotonic(), clock.deadline(SEARCHED, 2)
        longer = replace(bench, episodes=min(GROWTH * bench.episodes, MOST_EPISODES))
        scores = {}
        with suppress(OutOfTime):
            for key, each in candidates.items():
                scores[key] = mean_score(longer.run(each.default, deadline).means)
        if len(scores) < len(candidates):
            break
        bench.episodes = longer.episodes
        for key, score in scores.items():
            candidates[key].score = score
        if GROWTH * ROUNDS * (time.monotonic() - start) > clock.left(SEARCHED):
            break
    return candidates


def search_steps(
    bench: Bench, candidates: Mapping[str, Candidate], clock: Clock, tell: Callable[[str], None]
) -> None:
    """Search better step sizes of every agent, one trial of each in turn, until time is over."""
    from optuna.pruners import MedianPruner

    studies = {
        key: create_study(bench.seed + number, pruner=MedianPruner(n_startup_trials=3))
        for number, key in enumerate(candidates)
    }
    for study in studies.values():
        study.enqueue_trial(dict.fromkeys(FACTORS, 1.0))
    told = time.monotonic()
    tell(f"searching step sizes: runs of {bench.episodes:,} episodes")
    with suppress(OutOfTime):
        for number in range(1, MOST_TRIALS + 1):
            for key, study in studies.items():
                run_trial(study, bench, candidates[key], clock.deadline(SEARCHED))
            if time.monotonic() - told > TELL_SECONDS:
                told = time.monotonic()
                tell(f"{number} trials of each agent, {clock.left(1.0):.0f} s left")


def run_trial(study: Any, bench: Bench, candidate: Candidate, deadline: Deadline) -> None:
    """Run one setting block by block, unless it is pruned; the best complete one is kept."""
    from optuna.trial import TrialState

    trial = study.ask()
    factors = {
        name: float(f"{trial.suggest_float(name, low, high, log=True):.2g}")
        for name, (low, high) in FACTORS.items()
    }
    agent = scale_steps(candidate.default, **factors)
    means: list[np.ndarray] = []
    for block in range(BLOCKS):
        means.append(bench.run(agent, deadline, block * bench.block).means)
        score = mean_score(np.concatenate(means))
        trial.report(score, block)
        if trial.should_prune():
            study.tell(trial, state=TrialState.PRUNED)
            return
    study.tell(trial, score)
    if trial.number == 0 or score > candidate.score:
        candidate.best, candidate.score = agent, score


def scale_steps(agent: Agent, step_factor: float, model_factor: float) -> Agent:
    """The agent with its step sizes multiplied; those of values and caches together."""
    changes: dict[str, Any] = {}
    for name in STEPS:
        step = getattr(agent, name, None)
        factor = model_factor if name == "model_step" else step_factor
        if isinstance(step, StepSize):
            changes[name] = step.scaled(factor)
        elif isinstance(step, float):
            largest = math.inf if name == "policy_step" else 1.0
            changes[name] = min(float(f"{step * factor:.3g}"), largest)
    return agent.replace(**changes)


def mean_score(means: np.ndarray) -> float:
    """The mean return of an episode; −∞ if a run diverged."""
    mean = float(means.mean())
    return mean if math.isfinite(mean) else -math.inf


def best_of_each_kind(candidates: Mapping[str, Candidate]) -> tuple[str | None, str | None]:
    """The best planner and the best model-free agent by the runs so far."""
    scores = {key: each.score for key, each in candidates.items() if math.isfinite(each.score)}
    planners = [key for key in scores if key in PLANNERS]
    others = [key for key in scores if key not in PLANNERS]
    planner, other = (
        max(keys, key=scores.__getitem__, default=None) for keys in (planners, others)
    )
    return planner, other


def confirm(
    bench: Bench,
    candidates: Mapping[str, Candidate],
    pair: tuple[str | None, str | None],
    clock: Clock,
) -> dict[str, Confirmed]:
    """Fresh runs of the best setting of every agent, the same seeds for all.

    The two that are compared go first, and all have one block before any has a second.
    """
    first = [key for key in pair if key is not None]
    running = [*first, *(key for key in candidates if key not in first)]
    results: dict[str, list[Result]] = {key: [] for key in running}
    for start in range(0, FRESH_RUNS, bench.block):
        for key in list(running):
            deadline = clock.deadline(CONFIRMED, min(len(running), 2))
            try:
                results[key].append(bench.run(candidates[key].best, deadline, start))
            except OutOfTime:
                running.remove(key)
    return {
        key: Confirmed(
            each.best,
            each.best == each.default,
            np.concatenate([result.returns for result in results[key]]),
            sum(int(result.lengths.sum()) for result in results[key]),
            sum(int(result.evicted.sum()) for result in results[key]),
        )
        for key, each in candidates.items()
        if results[key]
    }
