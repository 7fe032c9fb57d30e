"""``ex.quick_check``: does anything learn in an environment, and does planning pay there?

Every agent has an Optuna study over its step sizes and discount, planners one for each kind of
model. Trials report their mean return after each batch of runs to a median pruner. The best planner
and the best model-free agent are compared on fresh seeds. Agents are compiled in another process
while those that are ready run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.agents.q_learning import QLearning
from expectant.agents.sarsa import Sarsa
from expectant.analysis.curves import interval, learning_curve
from expectant.analysis.panel import Level, Panel
from expectant.analysis.verdicts import paired_difference
from expectant.core import formatting as tables
from expectant.core.errors import EnvError, require_extra
from expectant.core.files import write_text
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.memory import TooLargeError
from expectant.core.rng import SEED
from expectant.core.rules import at_least, flag, or_none, whole
from expectant.domains.external import GymSource
from expectant.domains.gym import Gym
from expectant.engine.progress import ShowFraction, Silent, say
from expectant.engine.result import Result
from expectant.engine.run import hint_unknown_arguments, run
from expectant.engine.setup import Setup, core_count
from expectant.engine.workers import compile_in_background
from expectant.experiments.results_folder import TRY, mark_folder, versions
from expectant.experiments.search import create_study
from expectant.experiments.toml_tables import to_toml
from expectant.features.basis import Identity
from expectant.features.bounds import RandomPlay, is_bounded, play_at_random, widen_bounds
from expectant.features.discrete import Categorical, OneHot
from expectant.features.tiles import Tiles
from expectant.features.wrappers import Joined
from expectant.jit.compile import use_compiled
from expectant.step_sizes import StepSize

# Where each stage ends, as a share of the budget; the search goes on until LATEST while
# a planner or a model-free agent has had fewer trials than EACH. The rest is for the page.
PLAYED, SEARCHED, LATEST, CONFIRMED = 0.08, 0.6, 0.85, 0.95
PLAY_EPISODES, FEWEST_PLAYED = 100, 3
FIRST_EPISODES, MOST_EPISODES = 4, 2_000  # of a run
FEWEST_EPISODES, FEWEST_RUNS = 30, 5  # that a verdict may rest on
ROUNDS, FEWEST_ROUNDS = 100, 6  # batches of runs for which the search has time; if runs are short
BATCHES, EACH = 3, 4  # batches in a trial; trials of every agent before the best one has the others
MOST_RUNS = 200  # of each agent on fresh seeds
MANY_FEATURES = 500  # from here on the expectation model is sparse
STEPS = ("value_step", "action_step", "policy_step", "model_step")
SETTINGS = (*STEPS, "discount", "model", "trace", "planning_steps", "epsilon")
DISCOUNTS = (0.9, 0.97, 0.99, 1.0)
FACTORS = ("step_factor", 0.1, 3.0), ("model_factor", 0.1, 1.0)  # of the default step sizes
MINUTES = at_least(0.01)
TELL_SECONDS = 10.0
POINTS = 40  # of a curve on the page
HEADS = ("agent", "mean return (95 % interval)", "runs", "trials", "settings")
# Limits of proposed features: states with one feature each, categories, tiled components.
MOST_STATES, MOST_CATEGORIES, MOST_TILED = 5_000, 100_000, 8


class OutOfTime(Exception):
    """Work was stopped at its deadline."""


class Budget(Silent):
    """Time from now on, or a ``share`` of it: a silent progress reporter that stops runs."""

    def __init__(self, seconds: float, share: float = 1.0, start: float | None = None) -> None:
        self.seconds, self.share = seconds, share
        self.start = time.monotonic() if start is None else start

    def until(self, share: float) -> Budget:
        return Budget(self.seconds, share, self.start)

    @property
    def left(self) -> float:
        return self.start + self.share * self.seconds - time.monotonic()

    def check(self, fraction: float = 0.0) -> None:
        if self.left <= 0.0:
            raise OutOfTime

    def note(self, text: str) -> None:
        """Say nothing."""

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowFraction]:
        yield self.check


@dataclass(frozen=True)
class Bench:
    """What agents are tried on, and for how long; ``batch`` runs are done at once."""

    domain: Domain
    features: Features
    compiled: bool | None
    threads: int
    seed: int
    batch: int
    episodes: int = FIRST_EPISODES

    def run(self, agent: Agent, budget: Budget, first: int = 0) -> Result:
        """Do a batch of runs; raise OutOfTime at the deadline."""
        budget.check()
        return run(
            self.domain, self.features, agent, episodes=self.episodes, runs=self.batch,
            first_run=first, seed=self.seed, threads=self.threads, compiled=self.compiled,
            progress=budget,
        )  # fmt: skip


@dataclass(eq=False)
class Candidate:
    """An agent with one kind of model: its best setting in so many ``trials``, and fresh runs.

    ``score`` is the mean return of the best setting in the search, ``seconds`` the time spent, and
    ``returns`` (runs, episodes) those of fresh runs. ``evicted`` is how many entries the model
    dropped because it was full.
    """

    default: Agent
    study: Any = None
    compiling: Future[None] | None = None
    best: Agent | None = None
    score: float = -math.inf
    trials: int = 0
    seconds: float = 0.0
    failed: str = ""
    returns: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    evicted: int = 0

    @property
    def agent(self) -> Agent:
        return self.best or self.default

    @property
    def name(self) -> str:
        return self.default.title()

    @property
    def plans(self) -> bool:
        return hasattr(self.default, "model")

    @property
    def is_ready(self) -> bool:
        return not self.failed and (self.compiling is None or self.compiling.done())

    @property
    def means(self) -> np.ndarray:
        return np.asarray(self.returns.mean(axis=1))

    @property
    def estimate(self) -> list[float]:
        """Mean return of fresh runs and its 95 % interval."""
        return [float(each) for each in interval(self.means)]

    @property
    def settings(self) -> dict[str, Any]:
        data = self.agent.to_dict()
        return {name: data[name] for name in SETTINGS if name in data}

    def run_trial(self, bench: Bench, budget: Budget) -> None:
        """Run one setting batch by batch, unless it is pruned; the first one is the default."""
        from optuna.trial import TrialState

        start, optuna_trial = time.monotonic(), self.study.ask()
        agent, means, score = (
            suggest_agent(self.default, optuna_trial),
            list[np.ndarray](),
            -math.inf,
        )
        self.trials += 1
        try:
            for batch in range(BATCHES):
                means.append(bench.run(agent, budget, batch * bench.batch).means)
                score = mean_score(np.concatenate(means))
                optuna_trial.report(score, batch)
                if optuna_trial.should_prune():
                    self.study.tell(optuna_trial, state=TrialState.PRUNED)
                    return
            self.study.tell(optuna_trial, score)
        except (EnvError, TooLargeError) as error:
            self.failed = str(error)
        finally:
            self.seconds += time.monotonic() - start
            if score > self.score and (len(means) == BATCHES or self.best is None):
                self.best, self.score = agent, score


def suggest_agent(agent: Agent, optuna_trial: Any) -> Agent:
    """The agent with the discount and the step sizes of a trial.

    Those of values and caches are multiplied by one factor, that of the model by another.
    """
    changes: dict[str, Any] = {"discount": optuna_trial.suggest_categorical("discount", DISCOUNTS)}
    for name in filter(partial(hasattr, agent), STEPS):
        step, (factor, *ends) = getattr(agent, name), FACTORS[name == "model_step"]
        by = float(f"{optuna_trial.suggest_float(factor, *ends, log=True):.2g}")
        largest = math.inf if name == "policy_step" else 1.0
        scaled = step.scaled(by) if isinstance(step, StepSize) else min(step * by, largest)
        changes[name] = float(f"{scaled:.3g}") if isinstance(scaled, float) else scaled
    return agent.replace(**changes)


def mean_score(means: np.ndarray) -> float:
    """The mean return of an episode; −∞ if a run diverged."""
    mean = float(means.mean())
    return mean if math.isfinite(mean) else -math.inf


@hint_unknown_arguments
def quick_check(
    environment: Domain | GymSource,
    minutes: float = 5.0,
    *,
    folder: str | Path | None = None,
    seed: int = 0,
    threads: int | None = None,
    compiled: bool | None = None,
    quiet: bool = False,
) -> QuickCheck:
    """Compare the best planner with the best model-free agent, in about so many ``minutes``.

    ``environment`` is a domain, or whatever ``ex.Gym`` takes. Random play decides which features
    are used and is the baseline. Optuna searches step sizes, discounts and kinds of models of
    Q-learning, Sarsa(λ) and Algorithms 1 to 3; the best of either kind is run on fresh seeds.
    ``folder`` gets a page and a spec to go on from.
    """
    minutes = MINUTES.check("quick_check", "minutes", minutes)
    SEED.check("quick_check", "seed", seed)
    or_none(whole(1)).check("quick_check", "threads", threads)
    or_none(flag()).check("quick_check", "compiled", compiled)
    flag().check("quick_check", "quiet", quiet)
    require_extra("quick_check", *(["optuna"] if folder is None else ["optuna", "report"]))
    domain = environment if isinstance(environment, Domain) else Gym(environment)
    tell = (lambda text: None) if quiet else say
    tell(f"{domain!r}, {domain.actions} actions: random play")
    budget = Budget(60.0 * minutes)  # importing an environment does not count
    play = play_until(domain, budget.until(PLAYED), seed)
    features = propose_features(domain, play)
    shape = features.shape(domain)
    tell(f"{shape.size:,} features, {shape.active} active: {describe_features(features)}")
    many = threads or core_count()
    bench = Bench(domain, features, compiled, many, seed, max(2, many))
    candidates = [
        Candidate(agent, _study(seed + number))
        for number, agent in enumerate(default_agents(shape.size > MANY_FEATURES))
    ]
    setups = {
        str(number): Setup(domain, features, each.default, episodes=1, seed=seed)
        for number, each in enumerate(candidates)
        if number > 0 and use_compiled(compiled)  # the first is compiled here meanwhile
    }
    with compile_in_background(setups) as compiling:
        for number, future in compiling.items():
            candidates[int(number)].compiling = future
        bench = choose_length(bench, candidates[0].default, budget)
        tell(f"searching settings in runs of {bench.episodes:,} episodes")
        search(replace(bench, seed=seed + 1), candidates, budget, tell)
    best = best_of_each_kind(candidates)
    names = " and ".join(each.name for each in best)
    tell(f"fresh runs of {names or 'nothing'}, {budget.until(1.0).left:.0f} s left")
    bench = lengthen(bench, best, budget.until(CONFIRMED))
    confirm(replace(bench, seed=seed + 2), best, budget.until(CONFIRMED))
    confirmed = tuple(each for each in best if each.returns.size)
    outcome = QuickCheck(
        domain, features, np.array(play.returns), confirmed, bench.episodes, seed, minutes,
        threads, None if folder is None else Path(folder),
        {each.name: each.failed for each in candidates if each.failed},
    )  # fmt: skip
    if outcome.folder is not None:
        outcome.write(outcome.folder)
    return outcome


def default_agents(many_features: bool) -> list[Agent]:
    """The agents at their defaults, in the order in which they are compiled."""
    model = "sparse" if many_features else "expectation"
    first, *others = [cls().replace(model=model) for cls in (Lookahead, CachedValues, CachedPolicy)]
    sampled = Lookahead().replace(model="distribution", planning_update="levi")
    return [QLearning(), first, Sarsa(), sampled, *others]


def _study(seed: int) -> Any:
    from optuna.pruners import MedianPruner

    study = create_study(seed, pruner=MedianPruner(n_startup_trials=3))
    study.enqueue_trial({"step_factor": 1.0, "model_factor": 1.0, "discount": 0.99})
    return study


def play_until(domain: Domain, budget: Budget, seed: int) -> RandomPlay:
    """Act at random until the deadline; refuse too little of it."""
    play, given = RandomPlay(), budget.left
    with suppress(OutOfTime):
        play_at_random(domain, PLAY_EPISODES, seed, play, budget.check)
    if len(play.returns) < FEWEST_PLAYED:
        raise ValueError(
            f"quick_check: {FEWEST_PLAYED} episodes of random play take longer than "
            f"{100 * PLAYED:.0f} % of the time ({given:.2g} s), after {len(play.returns)} of "
            "them: give more minutes, or limit episodes (max_episode_steps=)"
        )
    return play


def propose_features(domain: Domain, play: RandomPlay) -> Features:
    """A table for numbered states, tiles for a few numbers, the numbers themselves for many."""
    if domain.states is not None:
        several = domain.states > MOST_STATES and len(domain.counts) > 1
        return Categorical() if several else OneHot()
    if _count_categories(domain, play) <= MOST_CATEGORIES:
        return Categorical()
    bounds = widen_bounds(domain, play)
    components = len(bounds)
    if components > MOST_TILED:
        return Identity(bounds)
    if components < 4:
        return Tiles(8, {1: 10, 2: 8, 3: 5}[components], bounds)
    features: Features  # coarse tiles of all components and fine ones of pairs of neighbours
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


def choose_length(bench: Bench, agent: Agent, budget: Budget) -> Bench:
    """Double the episodes of a run while the search has time for enough batches of them."""
    budget = budget.until(LATEST)  # SEARCHED may be over once an agent is compiled
    with suppress(OutOfTime, EnvError):
        bench.run(agent, budget)  # loads compiled code and starts workers
        while 2 * bench.episodes <= MOST_EPISODES:
            seconds = bench.run(agent, budget).seconds
            rounds = ROUNDS if bench.episodes >= FEWEST_EPISODES else FEWEST_ROUNDS
            if 2 * rounds * seconds > budget.left:
                break
            bench = replace(bench, episodes=2 * bench.episodes)
    return bench


def search(
    bench: Bench, candidates: Sequence[Candidate], budget: Budget, tell: Callable[[str], None]
) -> None:
    """Run trials of the agents that are compiled until the time for it is over."""
    told = time.monotonic()
    while any(not each.failed for each in candidates):
        best = best_of_each_kind(candidates)
        tuned = len(best) == 2 and all(each.trials >= EACH for each in best)
        deadline = budget.until(SEARCHED if tuned else LATEST)
        if deadline.left <= 0.0:
            return
        ready = [each for each in candidates if each.is_ready]
        if len(best) < 2 and all(each.trials >= 2 * EACH for each in ready):
            time.sleep(0.1)  # leave the cores to the compiler
            continue
        compiling = len(ready) < len(candidates)  # which takes a core
        threads = max(1, bench.threads - compiling)
        with suppress(OutOfTime):
            choose_candidate(ready).run_trial(replace(bench, threads=threads), deadline)
        if time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            count = sum(each.trials for each in candidates)
            tell(f"{count} trials, {budget.until(1.0).left:.0f} s left")


def choose_candidate(ready: Sequence[Candidate]) -> Candidate:
    """Planners and others get the same time; within either, each some trials, then the best."""

    def spent(plans: bool) -> float:
        return sum(each.seconds for each in ready if each.plans == plans)

    kind = min({each.plans for each in ready}, key=spent)
    own = [each for each in ready if each.plans == kind]
    least = min(own, key=lambda each: each.trials)
    return least if least.trials < EACH else max(own, key=lambda each: each.score)


def best_of_each_kind(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best planner and the best model-free agent by the trials so far, as far as there are."""
    found = []
    for plans in (True, False):
        own = [each for each in candidates if each.plans == plans and math.isfinite(each.score)]
        found += [max(own, key=lambda each: each.score)] if own else []
    return found


def lengthen(bench: Bench, candidates: Sequence[Candidate], budget: Budget) -> Bench:
    """Let fresh runs have as many episodes as a verdict needs, if there is time for it."""
    trial = sum(each.seconds / each.trials for each in candidates)  # of one batch at least
    batches = math.ceil(FEWEST_RUNS / bench.batch)
    fits = batches * trial * FEWEST_EPISODES / bench.episodes < budget.left
    return replace(bench, episodes=max(bench.episodes, FEWEST_EPISODES)) if fits else bench


def confirm(bench: Bench, candidates: Sequence[Candidate], budget: Budget) -> None:
    """Run the best settings on fresh seeds, the same for both, until the deadline."""
    with suppress(OutOfTime, EnvError):
        for first in range(0, MOST_RUNS, bench.batch):
            for each in candidates:
                result = bench.run(each.agent, budget, first)
                known = [each.returns] if each.returns.size else []
                each.returns = np.concatenate([*known, result.returns])
                each.evicted += int(result.evicted.sum())


@dataclass(frozen=True, eq=False)
class QuickCheck:
    """The outcome of ``ex.quick_check``: printing it shows a table and the findings.

    ``agents`` are the best planner and the best model-free agent, ``random`` (episodes,) the
    returns of random play. ``failed`` has the errors of agents that could not be run.
    """

    domain: Domain
    features: Features
    random: np.ndarray
    agents: tuple[Candidate, ...]
    episodes: int
    seed: int
    minutes: float
    threads: int | None = None
    folder: Path | None = None
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> str:
        """The id or "module:Class" of the environment, or the name of its class."""
        given = getattr(self.domain, "environment", None)
        return given if isinstance(given, str) else self.domain.display_name

    @property
    def best(self) -> Candidate | None:
        """The agent with the highest mean return; None if none was confirmed."""
        known = [each for each in self.agents if math.isfinite(each.estimate[0])]
        return max(known, key=lambda each: each.estimate[0], default=None)

    def as_data(self) -> dict[str, object]:
        """The documented shape of ``expectant try --json``."""
        rows = []
        for each in self.agents:
            ends = (x if math.isfinite(x) else None for x in each.estimate)
            numbers = dict(zip(("mean", "low", "high"), ends, strict=True))
            rows.append({"agent": each.name, "settings": each.settings, **numbers})
        return {
            "environment": self.environment,
            "random": float(self.random.mean()),
            "agents": rows,
            "best": None if self.best is None else self.best.name,
        }

    def findings(self) -> list[str]:
        """Does anything learn, and does planning pay: a sentence each, and what went wrong."""
        full = [each.name for each in self.agents if each.evicted]
        return [
            *self._verdicts(),
            *(f"{name} failed: {error}." for name, error in self.failed.items()),
            *(f"{name}: its sparse model was full; raise capacity." for name in full),
        ]

    def _verdicts(self) -> list[str]:
        if self.best is None or len(self.agents) < 2:
            why = "a run diverged" if self.agents and not self.best else "not both kinds finished"
            return [f"No verdict: {why}; about {math.ceil(self.minutes)} more minutes may do."]
        planner, other = self.agents
        runs = min(len(planner.returns), len(other.returns))
        extent = f"{runs} fresh runs of {self.episodes:,} episodes"
        if runs < FEWEST_RUNS or self.episodes < FEWEST_EPISODES:
            share = max(FEWEST_RUNS / runs, FEWEST_EPISODES / self.episodes)
            return [
                f"No verdict: {extent} are too few, it takes {FEWEST_RUNS} of {FEWEST_EPISODES}; "
                f"about {math.ceil(self.minutes * (share - 1.0))} more minutes would do."
            ]
        mean, low, high = self.best.estimate
        random = float(self.random.mean())
        difference = paired_difference(planner.means[:runs], other.means[:runs])
        pays = "yes" if difference.low > 0.0 else "no" if difference.high < 0.0 else "unclear"
        return [
            f"{self.best.name} {'learns' if low > random else 'is not shown to learn'}: "
            f"{_interval(mean, low, high)} an episode in {extent}; random play earns "
            f"{_brief(random)}.",
            f"Does planning pay here: {pays}; {planner.name} minus {other.name}, tuned in "
            f"{planner.trials} and {other.trials} trials: {_interval(*difference[:3])} an episode "
            f"in {runs} paired runs.",
        ]

    @property
    def command(self) -> str:
        """The command that makes this again, with all its options."""
        words = ["expectant try", quote(self.environment), f"--minutes {self.minutes:g}"]
        words += [f"--seed {self.seed}", f"--threads {self.threads}" if self.threads else ""]
        words += [f"--out {quote(str(self.folder))}" if self.folder else ""]
        return " ".join(filter(None, words))

    def spec(self) -> str | None:
        """A spec to go on from; None without agents or if the environment cannot be written."""
        try:
            domain = self.domain.to_dict()
        except ValueError:
            return None
        data: dict[str, Any] = {
            "name": folder_name(self.environment),
            "title": f"Going on with {self.environment}",
            "episodes": self.episodes,
            "runs": 30,
            "bin": max(1, self.episodes // 20),
            "seed": self.seed + 3,
            "domain": domain,
            "features": self.features.to_dict(),
            "agents": {
                each.agent.kind: {"label": each.name, **each.agent.to_dict()}
                for each in self.agents
            },
        }
        return to_toml(data) if self.agents else None

    def rows(self) -> list[list[str]]:
        """The table of the agents that were confirmed."""
        return [
            [
                each.name,
                _interval(*each.estimate),
                str(len(each.returns)),
                str(each.trials),
                ", ".join(f"{name} {_describe(value)}" for name, value in each.settings.items()),
            ]
            for each in self.agents
        ]

    def write(self, folder: Path) -> None:
        """Write ``report.html``, and ``config.toml`` where the environment can be written down."""
        from expectant.report import Curves, Environment, Header, Table, chart_of, palette_of
        from expectant.report import write_page as write

        mark_folder(folder, TRY)
        notes, spec, panel = self.findings(), self.spec(), self._panel()
        if spec is not None:
            write_text(folder / "config.toml", spec)
            notes.append(f"To go on: expectant run {quote(str(folder / 'config.toml'))}")
        facts = {"features": repr(self.features), "seed": self.seed, "command": self.command}
        sections = [
            Header(f"What can be learned in {self.environment}", "", notes),
            *([Curves("1", "Fresh runs", chart_of([panel]))] if self.agents else []),
            Table("The best of each kind", HEADS, self.rows()),
            Environment([*facts.items(), *versions().items()]),
        ]
        write(folder / "report.html", sections, palette_of([panel]))

    def _panel(self) -> Panel:
        """Learning curves, with random play as a line."""
        bin_size = max(1, self.episodes // POINTS)
        end = self.episodes // bin_size * bin_size
        return Panel(
            figure="1", panel="", interpretation="", bin=bin_size, switch_every=None,
            optimum=math.nan,
            curves={
                each.agent.kind: learning_curve(each.returns[:, :end], bin_size)
                for each in self.agents
            },
            labels={each.agent.kind: each.name for each in self.agents},
            levels=(Level(0.0, float(end), float(np.mean(self.random)), "random play"),),
        )  # fmt: skip

    def __repr__(self) -> str:
        best = f"best {self.best.name}" if self.best else "nothing confirmed"
        return f"QuickCheck({self.environment}: {best}; print it for more)"

    def __str__(self) -> str:
        lines = [f"{self.environment}, {describe_features(self.features)}"]
        if self.agents:
            lines.append(tables.text_table(HEADS, self.rows(), left=(0, 1, 4)))
        lines += self.findings()
        if self.folder is not None:
            lines += [f"report: {self.folder / 'report.html'}", f"again: {self.command}"]
        return "\n".join(lines)


def folder_name(environment: str) -> str:
    return environment.replace(":", "-").replace("/", "-")


def describe_features(features: Features) -> str:
    """The kinds of features, joined ones side by side."""
    if isinstance(features, Joined):
        return f"{describe_features(features.first)} + {describe_features(features.second)}"
    return type(features).__name__


def _describe(value: Any) -> str:
    """A setting; of a step size its kind and where it begins."""
    if isinstance(value, dict):
        return " from ".join(map(_describe, list(value.values())[:2]))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _brief(number: float) -> str:
    return f"{number:.4g}".replace("-", "−", 1)


def _interval(mean: float, low: float, high: float) -> str:
    return f"{_brief(mean)} ({_brief(low)} to {_brief(high)})"
