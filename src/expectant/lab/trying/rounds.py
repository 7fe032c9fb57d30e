"""Runs of agents within a deadline, and the search for better steps by successive halving."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.agents.q_learning import QLearning
from expectant.agents.sarsa import Sarsa
from expectant.engine.ahead import Order, compile_ahead, compile_loop
from expectant.engine.job import Job, loop_is_compiled
from expectant.engine.memory.refusal import TooLargeError
from expectant.engine.result import Result
from expectant.engine.run import run
from expectant.lab.trying.promise import Deadline, OutOfTime, Promise, PutOff
from expectant.lab.trying.watched import watched
from expectant.parts import Agent, Domain, Features
from expectant.step_sizes import StepSize
from expectant.whose import WorldError

NAMES = {
    "q_learning": "Q-learning",
    "lookahead": "Algorithm 1",
    "cached_values": "Algorithm 2",
    "sarsa": "Sarsa(λ)",
    "cached_policy": "Algorithm 3",
}
PLANNERS = ("lookahead", "cached_values", "cached_policy")
STEPS = ("value_step", "action_step", "policy_step", "model_step")
FACTORS = (0.1, 0.3, 3.0)  # of the steps that agents have by default
COMPILED = 0.55  # of the promised time is over when no more is compiled,
LATEST = 0.75  # unless no planner is, or nobody to compare it with
PROBE_EPISODES, PROBE_SECONDS = 2, 0.3
DEFAULT_RUNS = 4
MOST_EPISODES = 2_000
FEWEST_EPISODES = 5


@dataclass
class Trial:
    """What agents are tried on, and how; ``failed`` says with what it failed them, by kind."""

    domain: Domain
    features: Features
    compiled: bool | None
    threads: int | None
    seed: int
    episodes: int = PROBE_EPISODES
    failed: dict[str, str] = field(default_factory=dict)

    def run(
        self, agent: Agent, runs: int, deadline: Deadline, *, first: int = 0, episodes: int = 0
    ) -> Result:
        """Some runs; raises OutOfTime at the deadline, and where the environment fails."""
        deadline.check()
        work = partial(
            run, self.domain, self.features, agent, episodes=episodes or self.episodes, runs=runs,
            first_run=first, seed=self.seed, threads=self.threads, compiled=self.compiled,
            progress=deadline,
        )  # fmt: skip
        try:
            return watched(work, self.domain, deadline)
        except WorldError as error:
            self.failed.setdefault(agent.kind, str(error))
            raise OutOfTime from error


def agents_for(many: bool) -> dict[str, Agent]:
    """The agents by their kind, at their defaults; with a sparse model for many features."""
    model: dict[str, Any] = {"model": "sparse"} if many else {}
    return {
        "q_learning": QLearning(),
        "lookahead": Lookahead(**model),
        "cached_values": CachedValues(**model),
        "sarsa": Sarsa(),
        "cached_policy": CachedPolicy(**model),
    }


def compile_in_time(trial: Trial, agents: Mapping[str, Agent], promise: Promise) -> list[str]:
    """Which agents can be run, after having compiled what there was time for.

    There is more of it where else no planner could be run, or nobody to compare it with.
    """
    jobs = {
        key: Job(trial.domain, trial.features, agent, episodes=1, seed=trial.seed)
        for key, agent in agents.items()
    }
    if trial.compiled is False:
        return list(jobs)
    wanted = set(map(_plans, jobs))
    deadline = PutOff(
        promise.until(COMPILED), promise.until(LATEST),
        lambda: {_plans(key) for key, job in jobs.items() if _is_ready(job)} == wanted,
    )  # fmt: skip
    try:
        orders = [Order(compile_loop, job) for job in jobs.values()]
        compile_ahead(orders, deadline)  # type: ignore[arg-type]
    except OutOfTime:
        pass
    ready = []
    for key, job in jobs.items():
        try:
            if deadline.left() > 0.0 or loop_is_compiled(job):
                compile_loop(job)
                ready.append(key)
        except TooLargeError:
            continue
    promise.go_on_from(COMPILED)
    return ready


def _plans(key: str) -> bool:
    return key in PLANNERS


def _is_ready(job: Job) -> bool:
    try:
        return loop_is_compiled(job)
    except TooLargeError:
        return False


def seconds_a_step(trial: Trial, agent: Agent, deadline: Deadline) -> float:
    """How long a step takes, judged by more and more episodes; infinite if two take too long."""
    episodes, found = PROBE_EPISODES, math.inf
    with suppress(OutOfTime):
        while True:
            result = trial.run(agent, 1, deadline, episodes=episodes)
            found = result.seconds / max(int(result.lengths.sum()), 1)
            if result.seconds > PROBE_SECONDS or episodes >= MOST_EPISODES:
                break
            episodes *= 4
    return found


def mean_return(result: Result) -> float:
    """The mean return of an episode; the worst there is if a run diverged."""
    mean = float(result.means.mean())
    return mean if math.isfinite(mean) else -math.inf


@dataclass
class Standing:
    """An agent, how it was with its defaults, and the best that was found.

    ``earlier`` is what the best has earned in the runs by which it was found.
    """

    default: Agent
    best: Agent
    default_score: float = -math.inf
    earlier: float = -math.inf


def at_defaults(
    trial: Trial, agents: Mapping[str, Agent], promise: Promise, share: float
) -> dict[str, Standing]:
    """Every agent as it is made; one that does not end in time has no score."""
    found = {}
    for number, (key, agent) in enumerate(agents.items()):
        found[key] = Standing(agent, agent)
        with suppress(OutOfTime):
            result = trial.run(agent, DEFAULT_RUNS, promise.part(share, len(agents) - number))
            found[key].default_score = found[key].earlier = mean_return(result)
    return found


def best_of_both(standings: Mapping[str, Standing]) -> tuple[str | None, str | None]:
    """The best planner and the best of the others by runs so far; None where none has ended."""
    ended = {key: each.earlier for key, each in standings.items() if math.isfinite(each.earlier)}
    planners = [key for key in ended if key in PLANNERS]
    others = [key for key in ended if key not in PLANNERS]
    planner, other = (max(keys, key=ended.__getitem__, default=None) for keys in (planners, others))
    return planner, other


def worth_searching(standings: Mapping[str, Standing], most: int) -> list[str]:
    """The best planner, the best of the others, and then the best of the rest."""
    ended = [key for key, each in standings.items() if math.isfinite(each.default_score)]
    ranked = sorted(ended, key=lambda key: -standings[key].default_score)
    first = [key for key in best_of_both(standings) if key is not None]
    return [*first, *(key for key in ranked if key not in first)][:most]


def step_variants(agent: Agent) -> list[Agent]:
    """The same agent with other steps, all values and caches alike, and its model's apart."""
    steps = {name: getattr(agent, name, None) for name in STEPS}
    own = [n for n, step in steps.items() if isinstance(step, float | StepSize)]
    values = [name for name in own if name != "model_step"]
    found = []
    for factor, model in itertools.product((1.0, *FACTORS), (1.0, 0.3)):
        if (factor, model) == (1.0, 1.0) or (model != 1.0 and "model_step" not in own):
            continue
        changes: dict[str, Any] = {name: _times(agent, name, factor) for name in values}
        if "model_step" in own:
            changes["model_step"] = _times(agent, "model_step", model)
        varied = agent.replace(**changes)
        if varied != agent and varied not in found:
            found.append(varied)
    return found


def _times(agent: Agent, name: str, factor: float) -> Any:
    """A step times a factor, at most what is no more; one that is not a number from its start."""
    step, most = getattr(agent, name), math.inf if name == "policy_step" else 1.0
    if isinstance(step, StepSize):
        return step.scaled(factor)
    return min(float(f"{step * factor:.3g}"), most)


def halve(trial: Trial, standings: Mapping[str, Standing], promise: Promise, share: float) -> None:
    """Successive halving over steps: runs double and settings halve, until one is left of each.

    All settings of a round have the same runs, and each round has runs of its own, on top of those
    of the earlier ones. The best found so far stays if time is over.
    """
    left = {key: [each.default, *step_variants(each.default)] for key, each in standings.items()}
    means: dict[tuple[str, str], list[np.ndarray]] = {}
    first, runs = 0, 1
    while any(len(agents) > 1 for agents in left.values()):
        for key, agents in left.items():
            for agent in agents if len(agents) > 1 else ():
                try:
                    found = trial.run(agent, runs, promise.until(share), first=first)
                except OutOfTime:
                    _note(standings, left, means)
                    return
                means.setdefault((key, repr(agent)), []).append(found.means)
            ranked = sorted(agents, key=lambda agent: -_mean(means, key, agent))
            left[key] = ranked[: -(-len(ranked) // 2)]
        first, runs = first + runs, 2 * runs
    _note(standings, left, means)


def _mean(means: Mapping[tuple[str, str], Sequence[np.ndarray]], key: str, agent: Agent) -> float:
    values = means.get((key, repr(agent)))
    mean = -math.inf if values is None else float(np.concatenate(values).mean())
    return mean if math.isfinite(mean) else -math.inf


def _note(
    standings: Mapping[str, Standing],
    left: Mapping[str, Sequence[Agent]],
    means: Mapping[tuple[str, str], Sequence[np.ndarray]],
) -> None:
    """Take the best of what is left, unless a round was broken off before all had their runs."""
    for key, standing in standings.items():
        rounds = {len(means.get((key, repr(agent)), ())) for agent in left[key]}
        if len(rounds) == 1 and rounds != {0}:
            standing.best = max(left[key], key=lambda agent: _mean(means, key, agent))
            standing.earlier = _mean(means, key, standing.best)
