"""``ex.try_on``: does anything learn here, does planning pay, and with which settings?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from expectant.domains.gym import Gym
from expectant.domains.spaces import GymSource
from expectant.engine.arguments import hinting
from expectant.engine.job import cores
from expectant.engine.result import Result
from expectant.extras import need
from expectant.lab.trying.promise import OutOfTime, Promise, slowness
from expectant.lab.trying.proposal import LOOKED, MANY, RandomPlay, play_at_random, propose
from expectant.lab.trying.rounds import (
    DEFAULT_RUNS,
    FEWEST_EPISODES,
    MOST_EPISODES,
    NAMES,
    Standing,
    Trial,
    agents_for,
    at_defaults,
    best_of_both,
    compile_in_time,
    halve,
    seconds_a_step,
    worth_searching,
)
from expectant.lab.trying.tried import Confirmed, Tried
from expectant.lab.trying.try_page import write_folder
from expectant.lab.trying.words import features_in_brief
from expectant.parts import Agent, Domain
from expectant.progress import say
from expectant.rules import Rule, flag, or_none, whole
from expectant.seeds import SEED

# Where each further stage ends, as a share of the promised time; the rest is for the page.
PROBED, DEFAULTS, SEARCHED, CONFIRMED = 0.6, 0.72, 0.82, 0.95
PAGE_SECONDS = 6.0  # that the page and whatever cannot be broken off may take
PAGE_WORK = 4.0  # seconds of work in that, and in starting Python, on a machine that is not busy
MOST_FOR_PAGE = 0.2  # of the promised time
SEARCHED_AGENTS = 3
FRESH_RUNS = 12  # at most
BUSY = 1.5  # times as long as alone
START_SECONDS = 3.0  # that processes take to be there
FACTOR = 4  # by which runs become shorter or longer
CAUTION = 2.0  # times as long as it should take, on a busy machine
LONGER = 8.0  # how many times as long as at random an episode may become, where steps pay


def _minutes(value: Any) -> float:
    number = float(value)
    if not 0.0 < number < math.inf:
        raise ValueError
    return number


MINUTES = Rule("a finite number above 0", _minutes)


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
    """Try agents on an environment, for so many ``minutes``, compiling included.

    ``environment`` is a domain, or whatever ``ex.Gym`` takes. Random play tells where observations
    lie, which features to use and what there is to be beaten. Q-learning, Sarsa(λ) and Algorithms 1
    to 3 are run at their defaults; the best of them are searched for better steps by successive
    halving; all are confirmed on fresh runs. ``folder`` gets the page and a spec to go on from.
    """
    minutes = MINUTES.check("try_on", "minutes", minutes)
    SEED.check("try_on", "seed", seed)
    or_none(whole(1)).check("try_on", "threads", threads)
    or_none(flag()).check("try_on", "compiled", compiled)
    flag().check("try_on", "quiet", quiet)
    if folder is not None:
        need("a page", "show")
    domain = environment if isinstance(environment, Domain) else Gym(environment)
    tell = (lambda text: None) if quiet else say
    tell(f"trying {domain.actions} actions of {domain!r}: random play")
    seconds = 60.0 * minutes  # from now on: to import an environment may take longer than some
    promise = Promise(seconds - min(PAGE_SECONDS, MOST_FOR_PAGE * seconds))
    seen = play_at_random(domain, promise.until(LOOKED), seed)
    busy = slowness()
    if busy > BUSY:
        tell(f"the machine is busy: work takes {busy:.1f} times as long as alone")
    promise.shorten(_reserve(seconds, busy))
    features = propose(domain, seen)
    shape = features.shape(domain)
    tell(
        f"{shape.size:,} features, {shape.active} at once: {features_in_brief(features)}; compiling"
    )
    trial = Trial(domain, features, compiled, threads, seed)
    agents = agents_for(shape.size > MANY)
    ready = compile_in_time(trial, agents, promise)
    times = {
        key: seconds_a_step(trial, agents[key], promise.part(PROBED, len(ready) - number))
        for number, key in enumerate(ready)
    }
    usable = {key: agents[key] for key, took in times.items() if math.isfinite(took)}
    standings: dict[str, Standing] = {}
    if usable:
        slowest = max(times[key] for key in usable)
        seconds_each = promise.until(DEFAULTS).left() / len(usable)
        _pace(trial, seen, slowest, seconds_each, START_SECONDS * busy)
        standings = _at_defaults(trial, usable, promise, tell)
        best = worth_searching(standings, SEARCHED_AGENTS)
        tell(f"searching better steps of {', '.join(best) or 'none'}")
        searched = dataclasses.replace(trial, seed=seed + 1)
        halve(searched, {key: standings[key] for key in best}, promise, _searched(promise.spent()))
        tell("confirming on fresh runs")
    fresh = dataclasses.replace(trial, seed=seed + 2)
    confirmed = _confirmed(fresh, standings, promise)
    left_out = tuple(key for key in agents if key not in confirmed)
    found = Tried(
        domain, features, np.array(seen.returns), confirmed, left_out, fresh.episodes, seed,
        minutes, best_of_both(standings), None if folder is None else Path(folder),
        {key: each.earlier for key, each in standings.items() if math.isfinite(each.earlier)},
        _failed(seen, trial),
    )  # fmt: skip
    if found.folder is not None:
        write_folder(found, found.folder)
    return found


def _failed(seen: RandomPlay, trial: Trial) -> dict[str, str]:
    """What the environment failed with, by the name of who acted."""
    by_name = {NAMES[key]: said for key, said in trial.failed.items()}
    return {"random play": seen.failure, **by_name} if seen.failure else by_name


def _searched(spent: float) -> float:
    """Where searching ends: it may take as long as confirming will, and no longer than SEARCHED."""
    return min(SEARCHED, (spent + CONFIRMED) / 2)


def _reserve(seconds: float, times: float) -> float:
    """How much more time the page needs where work takes so many ``times`` as long as it should."""
    return max(min(PAGE_WORK * times, MOST_FOR_PAGE * seconds) - PAGE_SECONDS, 0.0)


def _pace(trial: Trial, seen: RandomPlay, slowest: float, seconds: float, start: float) -> None:
    """Decide how many episodes runs have, if the slowest agent is to end in so many seconds.

    Processes take a while to ``start``: where more can be done without, runs are one at a time.
    """
    length = float(np.mean(seen.lengths))
    if np.mean(seen.returns) > 0.0:  # whoever lives longer may earn more
        length *= LONGER
    at_once = min(trial.threads or cores(), DEFAULT_RUNS)
    together = max(seconds - start * trial.domain.outside, 0.0) * at_once
    if together <= seconds:
        trial.threads = 1
    found = max(together, seconds) / (CAUTION * DEFAULT_RUNS * length * max(slowest, 1e-9))
    trial.episodes = int(min(max(found, FEWEST_EPISODES), MOST_EPISODES))


def _at_defaults(
    trial: Trial, agents: Mapping[str, Agent], promise: Promise, tell: Callable[[str], None]
) -> dict[str, Standing]:
    """Every agent as it is made, in runs as long as there is time for.

    Where none ends in time, once more instead of the search, with shorter runs that need no
    process; where all end soon, once more with longer ones, as long as that goes well.
    """
    tell(f"{', '.join(agents)}: {DEFAULT_RUNS} runs of {trial.episodes:,} episodes each")
    begun = promise.spent()
    standings = at_defaults(trial, agents, promise, DEFAULTS)
    if not any(map(_has_ended, standings.values())):
        trial.episodes, trial.threads = max(trial.episodes // FACTOR, FEWEST_EPISODES), 1
        tell(f"no run has ended in time: {trial.episodes:,} episodes each")
        return at_defaults(trial, agents, promise, SEARCHED)
    while trial.episodes < MOST_EPISODES and _is_early(begun, promise.spent()):
        begun, before = promise.spent(), trial.episodes
        trial.episodes = min(before * FACTOR, MOST_EPISODES)
        tell(f"there is time for more: {trial.episodes:,} episodes each")
        longer = at_defaults(trial, agents, promise, DEFAULTS)
        if not all(_has_ended(longer[key]) for key in longer if _has_ended(standings[key])):
            trial.episodes = before
            break
        standings = longer
    return standings


def _has_ended(standing: Standing) -> bool:
    return math.isfinite(standing.default_score)


def _is_early(begun: float, ended: float) -> bool:
    """Whether what has just taken a while may take a few times as long, before a stage is over."""
    return CAUTION * FACTOR * (ended - begun) < DEFAULTS - ended


def _confirmed(
    trial: Trial, standings: Mapping[str, Standing], promise: Promise
) -> dict[str, Confirmed]:
    """Fresh runs of every agent, the same ones for all, as many as there is time for.

    All have some before any has more, those that are compared first; one that does not end in its
    share of the time has no more. Where none has ended in time so far, runs are shorter.
    """
    if not any(map(_has_ended, standings.values())):
        trial.episodes = max(trial.episodes // FACTOR, FEWEST_EPISODES)
    block = max(2, trial.threads or cores())
    first = [key for key in best_of_both(standings) if key is not None]
    running = [*first, *(key for key in standings if key not in first)]
    results: dict[str, list[Result]] = {key: [] for key in running}
    for begun in range(0, FRESH_RUNS, block):
        for others, key in zip(range(len(running), 0, -1), list(running), strict=True):
            deadline = promise.part(CONFIRMED, others)
            try:
                result = trial.run(standings[key].best, block, deadline, first=begun)
                results[key].append(result)
            except OutOfTime:
                running.remove(key)
    at_once = min(block, trial.threads or cores())
    return {
        key: _added_up(standing, results[key], at_once)
        for key, standing in standings.items()
        if results[key]
    }


def _added_up(standing: Standing, results: Sequence[Result], at_once: int) -> Confirmed:
    """All fresh runs of an agent, and the steps and seconds that they took on one core."""
    return Confirmed(
        standing.best,
        standing.best == standing.default,
        np.concatenate([result.returns for result in results]),
        sum(int(result.lengths.sum()) for result in results),
        sum(result.seconds * at_once for result in results),
        sum(int(result.evicted.sum()) for result in results),
    )
