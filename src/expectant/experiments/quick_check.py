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
from expectant.core.errors import EnvError, require_extra
from expectant.core.files import write_text
from expectant.core.formatting import text_table
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
from expectant.experiments.search import create_study
from expectant.experiments.store import TRY, mark_folder, versions
from expectant.experiments.toml_tables import to_toml
from expectant.features.basis import Identity
from expectant.features.bounds import RandomPlay, is_bounded, play_at_random, widen_bounds
from expectant.features.discrete import Categorical, OneHot
from expectant.features.tiles import Tiles
from expectant.features.wrappers import Joined
from expectant.jit.compile import use_compiled
from expectant.step_sizes import StepSize

# End of each stage as a share of the budget. The search goes on until LATEST while a planner or a
# model-free agent has had fewer trials than MIN_TRIALS. The rest is for the report.
PLAYED, SEARCHED, LATEST, CONFIRMED = 0.08, 0.6, 0.85, 0.95
PLAY_EPISODES, MIN_PLAYED = 100, 3
FIRST_EPISODES, MAX_EPISODES = 4, 2_000  # of a run
MIN_EPISODES, MIN_RUNS = 30, 5  # that a verdict needs
ROUNDS, MIN_ROUNDS = 100, 6  # batches of runs that the search must have time for; if runs are short
BATCHES, MIN_TRIALS = 3, 4  # batches in a trial; trials of every agent before the best gets more
MAX_RUNS = 200  # of each agent on fresh seeds
MANY_FEATURES = 500  # from here on the expectation model is sparse
MAX_STATES, MAX_CATEGORIES, MAX_TILED = 5_000, 100_000, 8  # limits of proposed features
STEPS = ("value_step", "action_step", "policy_step", "model_step")
SETTINGS = (*STEPS, "discount", "model", "trace", "planning_steps", "epsilon")
DISCOUNTS = (0.9, 0.97, 0.99, 1.0)
FACTORS = ("step_factor", 0.1, 3.0), ("model_factor", 0.1, 1.0)  # of the default step sizes
MINUTES = at_least(0.01)
PROGRESS_SECONDS = 10.0
POINTS = 40  # of a curve in the report
HEADS = ("agent", "mean return (95 % interval)", "runs", "trials", "settings")


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
        pass

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowFraction]:
        yield self.check


@dataclass(frozen=True)
class Bench:
    """The problem and the length of runs; ``batch`` runs are done at once."""

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
    """An agent with one kind of model, its best setting so far, and its fresh runs.

    ``score`` is the mean return of the best setting in the search, ``seconds`` the time spent, and
    ``returns`` (runs, episodes) those of fresh runs. ``evicted`` counts the entries that a full
    model dropped.
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
        return [float(bound) for bound in interval(self.means)]

    @property
    def settings(self) -> dict[str, Any]:
        data = self.agent.to_dict()
        return {name: data[name] for name in SETTINGS if name in data}

    def run_trial(self, bench: Bench, budget: Budget) -> None:
        """Run one setting batch by batch, unless it is pruned; the first one is the default."""
        from optuna.trial import TrialState

        start, trial = time.monotonic(), self.study.ask()
        agent, means, score = suggest_agent(self.default, trial), list[np.ndarray](), -math.inf
        self.trials += 1
        try:
            for batch in range(BATCHES):
                means.append(bench.run(agent, budget, batch * bench.batch).means)
                mean = float(np.concatenate(means).mean())
                score = mean if math.isfinite(mean) else -math.inf  # a run diverged
                trial.report(score, batch)
                if trial.should_prune():
                    self.study.tell(trial, state=TrialState.PRUNED)
                    return
            self.study.tell(trial, score)
        except (EnvError, TooLargeError) as error:
            self.failed = str(error)
        finally:
            self.seconds += time.monotonic() - start
            if score > self.score and (len(means) == BATCHES or self.best is None):
                self.best, self.score = agent, score


def suggest_agent(agent: Agent, trial: Any) -> Agent:
    """Return the agent with the discount and the step sizes of a trial.

    Those of values and caches are multiplied by one factor, that of the model by another.
    """
    changes: dict[str, Any] = {"discount": trial.suggest_categorical("discount", DISCOUNTS)}
    for name in filter(partial(hasattr, agent), STEPS):
        step, (factor, *ends) = getattr(agent, name), FACTORS[name == "model_step"]
        by = float(f"{trial.suggest_float(factor, *ends, log=True):.2g}")
        largest = math.inf if name == "policy_step" else 1.0
        scaled = step.scale(by) if isinstance(step, StepSize) else min(step * by, largest)
        changes[name] = float(f"{scaled:.3g}") if isinstance(scaled, float) else scaled
    return agent.replace(**changes)


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
    """Compare the best planner with the best model-free agent, in about ``minutes`` minutes.

    ``environment`` is a domain, or whatever ``ex.Gym`` takes. Random play decides which features
    are used and is the baseline. Optuna searches step sizes, discounts and kinds of models of
    Q-learning, Sarsa(λ) and Algorithms 1 to 3; the best of either kind is run on fresh seeds.
    ``folder`` gets a report and a config file to go on from.
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
    cores = threads or core_count()
    bench = Bench(domain, features, compiled, cores, seed, max(2, cores))
    agents = default_agents(shape.size > MANY_FEATURES)
    candidates = [Candidate(a, start_study(seed + number)) for number, a in enumerate(agents)]
    setups = {
        str(number): Setup(domain, features, agent, episodes=1, seed=seed)
        for number, agent in enumerate(agents)
        if number > 0 and use_compiled(compiled)  # the first is compiled here meanwhile
    }
    with compile_in_background(setups) as compiling:
        for number, future in compiling.items():
            candidates[int(number)].compiling = future
        bench = choose_length(bench, agents[0], budget)
        tell(f"searching settings in runs of {bench.episodes:,} episodes")
        search(replace(bench, seed=seed + 1), candidates, budget, tell)
    best = best_of_each_kind(candidates)
    names = " and ".join(candidate.name for candidate in best)
    tell(f"fresh runs of {names or 'nothing'}, {budget.until(1.0).left:.0f} s left")
    bench = lengthen(bench, best, budget.until(CONFIRMED))
    confirm(replace(bench, seed=seed + 2), best, budget.until(CONFIRMED))
    outcome = QuickCheck(
        domain, features, np.array(play.returns), tuple(c for c in best if c.returns.size),
        bench.episodes, seed, minutes, threads, None if folder is None else Path(folder),
        {candidate.name: candidate.failed for candidate in candidates if candidate.failed},
    )  # fmt: skip
    if outcome.folder is not None:
        outcome.write(outcome.folder)
    return outcome


def default_agents(many_features: bool) -> list[Agent]:
    """Return the agents at their defaults, in the order in which they are compiled."""
    model = "sparse" if many_features else "expectation"
    first, *others = [cls().replace(model=model) for cls in (Lookahead, CachedValues, CachedPolicy)]
    sampled = Lookahead().replace(model="distribution", planning_update="levi")
    return [QLearning(), first, Sarsa(), sampled, *others]


def start_study(seed: int) -> Any:
    """Create the Optuna study of one agent, which begins with the defaults."""
    from optuna.pruners import MedianPruner

    study = create_study(seed, pruner=MedianPruner(n_startup_trials=3))
    study.enqueue_trial({"step_factor": 1.0, "model_factor": 1.0, "discount": 0.99})
    return study


def play_until(domain: Domain, budget: Budget, seed: int) -> RandomPlay:
    """Act at random until the deadline; refuse an environment that is too slow for it."""
    play, seconds = RandomPlay(), budget.left
    with suppress(OutOfTime):
        play_at_random(domain, PLAY_EPISODES, seed, play, budget.check)
    if len(play.returns) < MIN_PLAYED:
        raise ValueError(
            f"quick_check: {MIN_PLAYED} episodes of random play take longer than "
            f"{100 * PLAYED:.0f} % of the time ({seconds:.2g} s): give more minutes, or limit "
            "episodes (max_episode_steps=)"
        )
    return play


def propose_features(domain: Domain, play: RandomPlay) -> Features:
    """Choose a table for numbered states, tiles for a few numbers, the numbers for many."""
    if domain.states is not None:
        several = domain.states > MAX_STATES and len(domain.counts) > 1
        return Categorical() if several else OneHot()
    if _count_categories(domain, play) <= MAX_CATEGORIES:
        return Categorical()
    bounds = widen_bounds(domain, play)
    components = len(bounds)
    if components > MAX_TILED:
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
    """Count the values of all components; infinite unless all are whole numbers."""
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
        while 2 * bench.episodes <= MAX_EPISODES:
            seconds = bench.run(agent, budget).seconds
            rounds = ROUNDS if bench.episodes >= MIN_EPISODES else MIN_ROUNDS
            if 2 * rounds * seconds > budget.left:
                break
            bench = replace(bench, episodes=2 * bench.episodes)
    return bench


def search(
    bench: Bench, candidates: Sequence[Candidate], budget: Budget, tell: Callable[[str], None]
) -> None:
    """Run trials of the agents that are compiled until the time for it is over."""
    last_message = time.monotonic()
    while any(not candidate.failed for candidate in candidates):
        best = best_of_each_kind(candidates)
        tuned = len(best) == 2 and all(candidate.trials >= MIN_TRIALS for candidate in best)
        deadline = budget.until(SEARCHED if tuned else LATEST)
        if deadline.left <= 0.0:
            return
        ready = [candidate for candidate in candidates if candidate.is_ready]
        if len(best) < 2 and all(candidate.trials >= 2 * MIN_TRIALS for candidate in ready):
            time.sleep(0.1)  # leave the cores to the compiler
            continue
        compiling = len(ready) < len(candidates)  # which takes a core
        threads = max(1, bench.threads - compiling)
        with suppress(OutOfTime):
            choose_candidate(ready).run_trial(replace(bench, threads=threads), deadline)
        if time.monotonic() - last_message > PROGRESS_SECONDS:
            last_message = time.monotonic()
            count = sum(candidate.trials for candidate in candidates)
            tell(f"{count} trials, {budget.until(1.0).left:.0f} s left")


def choose_candidate(ready: Sequence[Candidate]) -> Candidate:
    """Give planners and others the same time; within either, each some trials, then the best."""

    def seconds(plans: bool) -> float:
        return sum(candidate.seconds for candidate in ready if candidate.plans == plans)

    kind = min({candidate.plans for candidate in ready}, key=seconds)
    rivals = [candidate for candidate in ready if candidate.plans == kind]
    least = min(rivals, key=lambda candidate: candidate.trials)
    return least if least.trials < MIN_TRIALS else max(rivals, key=lambda rival: rival.score)


def best_of_each_kind(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the best planner and the best model-free agent of the trials so far, if any."""
    best = []
    for plans in (True, False):
        scored = [c for c in candidates if c.plans == plans and math.isfinite(c.score)]
        best += [max(scored, key=lambda candidate: candidate.score)] if scored else []
    return best


def lengthen(bench: Bench, candidates: Sequence[Candidate], budget: Budget) -> Bench:
    """Let fresh runs have as many episodes as a verdict needs, if there is time for it."""
    trial = sum(each.seconds / each.trials for each in candidates)  # of one batch at least
    batches = math.ceil(MIN_RUNS / bench.batch)
    fits = batches * trial * MIN_EPISODES / bench.episodes < budget.left
    return replace(bench, episodes=max(bench.episodes, MIN_EPISODES)) if fits else bench


def confirm(bench: Bench, candidates: Sequence[Candidate], budget: Budget) -> None:
    """Run the best settings on fresh seeds, the same for both, until the deadline."""
    with suppress(OutOfTime, EnvError):
        for first in range(0, MAX_RUNS, bench.batch):
            for candidate in candidates:
                result = bench.run(candidate.agent, budget, first)
                earlier = [candidate.returns] if candidate.returns.size else []
                candidate.returns = np.concatenate([*earlier, result.returns])
                candidate.evicted += int(result.evicted.sum())


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
        source = getattr(self.domain, "environment", None)
        return source if isinstance(source, str) else self.domain.display_name

    @property
    def best(self) -> Candidate | None:
        """The agent with the highest mean return; None if none was confirmed."""
        confirmed = [agent for agent in self.agents if math.isfinite(agent.estimate[0])]
        return max(confirmed, key=lambda agent: agent.estimate[0], default=None)

    def as_data(self) -> dict[str, object]:
        """Return the documented shape of ``expectant try --json``."""
        rows = []
        for agent in self.agents:
            bounds = (x if math.isfinite(x) else None for x in agent.estimate)
            numbers = dict(zip(("mean", "low", "high"), bounds, strict=True))
            rows.append({"agent": agent.name, "settings": agent.settings, **numbers})
        return {
            "environment": self.environment,
            "random": float(self.random.mean()),
            "agents": rows,
            "best": None if self.best is None else self.best.name,
        }

    def findings(self) -> list[str]:
        """Return the verdicts and the failures, a sentence each."""
        full = [agent.name for agent in self.agents if agent.evicted]
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
        if runs < MIN_RUNS or self.episodes < MIN_EPISODES:
            share = max(MIN_RUNS / runs, MIN_EPISODES / self.episodes)
            return [
                f"No verdict: {extent} are too few, it takes {MIN_RUNS} of {MIN_EPISODES}; "
                f"about {math.ceil(self.minutes * (share - 1.0))} more minutes would do."
            ]
        mean, low, high = self.best.estimate
        random = float(self.random.mean())
        difference = paired_difference(planner.means[:runs], other.means[:runs])
        pays = "yes" if difference.low > 0.0 else "no" if difference.high < 0.0 else "unclear"
        return [
            f"{self.best.name} {'learns' if low > random else 'is not shown to learn'}: "
            f"{_format_interval(mean, low, high)} an episode in {extent}; random play earns "
            f"{_format_number(random)}.",
            f"Does planning pay here: {pays}; {planner.name} minus {other.name}, tuned in "
            f"{planner.trials} and {other.trials} trials: {_format_interval(*difference[:3])} an "
            f"episode in {runs} paired runs.",
        ]

    @property
    def command(self) -> str:
        words = ["expectant try", quote(self.environment), f"--minutes {self.minutes:g}"]
        words += [f"--seed {self.seed}", f"--threads {self.threads}" if self.threads else ""]
        words += [f"--out {quote(str(self.folder))}" if self.folder else ""]
        return " ".join(filter(None, words))

    def config_text(self) -> str | None:
        """Return a config file to go on from; None if the environment cannot be written."""
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
            "agents": {a.agent.kind: {"label": a.name, **a.agent.to_dict()} for a in self.agents},
        }
        return to_toml(data) if self.agents else None

    def rows(self) -> list[list[str]]:
        """Return the table of the confirmed agents, with the columns of HEADS."""
        return [
            [
                agent.name,
                _format_interval(*agent.estimate),
                str(len(agent.returns)),
                str(agent.trials),
                ", ".join(f"{name} {_format_setting(x)}" for name, x in agent.settings.items()),
            ]
            for agent in self.agents
        ]

    def write(self, folder: Path) -> None:
        """Write ``report.html``, and ``config.toml`` where the environment can be written down."""
        from expectant.report import Curves, Environment, Header, Table, chart_of, palette_of
        from expectant.report import write_page as write

        mark_folder(folder, TRY)
        notes, config, panel = self.findings(), self.config_text(), self._panel()
        if config is not None:
            write_text(folder / "config.toml", config)
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
        """Return the learning curves, with random play as a line."""
        width = max(1, self.episodes // POINTS)
        end = self.episodes // width * width
        curves = {a.agent.kind: learning_curve(a.returns[:, :end], width) for a in self.agents}
        return Panel(
            figure="1", panel="", interpretation="", bin=width, switch_every=None,
            optimum=math.nan, curves=curves, labels={a.agent.kind: a.name for a in self.agents},
            levels=(Level(0.0, float(end), float(np.mean(self.random)), "random play"),),
        )  # fmt: skip

    def __repr__(self) -> str:
        best = f"best {self.best.name}" if self.best else "nothing confirmed"
        return f"QuickCheck({self.environment}: {best}; print it for more)"

    def __str__(self) -> str:
        lines = [f"{self.environment}, {describe_features(self.features)}"]
        if self.agents:
            lines.append(text_table(HEADS, self.rows(), left=(0, 1, 4)))
        lines += self.findings()
        if self.folder is not None:
            lines += [f"report: {self.folder / 'report.html'}", f"again: {self.command}"]
        return "\n".join(lines)


def folder_name(environment: str) -> str:
    return environment.replace(":", "-").replace("/", "-")


def describe_features(features: Features) -> str:
    """Name the kinds of features, joined ones side by side."""
    if isinstance(features, Joined):
        return f"{describe_features(features.first)} + {describe_features(features.second)}"
    return type(features).__name__


def _format_setting(value: Any) -> str:
    """Format a setting; of a step size its kind and its initial value."""
    if isinstance(value, dict):
        return " from ".join(map(_format_setting, list(value.values())[:2]))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _format_number(number: float) -> str:
    return f"{number:.4g}".replace("-", "−", 1)


def _format_interval(mean: float, low: float, high: float) -> str:
    return f"{_format_number(mean)} ({_format_number(low)} to {_format_number(high)})"
