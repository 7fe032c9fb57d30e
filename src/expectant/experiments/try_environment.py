"""``ex.quick_check``: does anything learn in an environment, and does planning pay there?

Every agent has an Optuna study over its step sizes and discount, planners one for each kind of
model. Trials report their mean return after each batch of runs to a median pruner. The best planner
and the best model-free agent are compared on fresh seeds. Agents are compiled in another process
while those that are ready run.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from expectant.agents import CachedPolicy, CachedValues, Lookahead, QLearning, Sarsa
from expectant.analysis.curves import interval, learning_curve
from expectant.analysis.panel import Level, Panel
from expectant.analysis.verdicts import paired_difference
from expectant.core.errors import EnvError, require_extra
from expectant.core.files import write_text
from expectant.core.formatting import text_table
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.memory import TooLargeError
from expectant.core.rng import SEED, to_32_bits
from expectant.core.rules import at_least, or_none, whole
from expectant.domains.external import GymSource
from expectant.domains.gym import Gym
from expectant.engine.progress import ShowFraction, Silent, say
from expectant.engine.result import Result
from expectant.engine.run import check_arguments, run
from expectant.engine.setup import Setup, core_count
from expectant.engine.workers import compile_in_background
from expectant.experiments.store import CONFIG, TRY, mark_folder, versions
from expectant.experiments.toml_tables import to_toml
from expectant.features import Categorical, Identity, Joined, OneHot, Tiles
from expectant.features.bounds import RandomPlay, is_bounded, play_at_random, widen_bounds
from expectant.jit.compile import use_compiled
from expectant.models.kalman import is_affordable
from expectant.report import Curves, Environment, Header, Table, write_page
from expectant.report.chart_data import chart_of, palette_of
from expectant.report.formatting import format_interval, format_number
from expectant.step_sizes import StepSize

# End of each stage as a share of the budget. The search goes on until LATEST while a planner or a
# model-free agent has had fewer trials than MIN_TRIALS. The rest is for the report.
PLAYED, SEARCHED, LATEST, CONFIRMED = 0.08, 0.6, 0.85, 0.95
PLAY_EPISODES, MIN_PLAYED = 100, 3
FIRST_EPISODES, MAX_EPISODES = 4, 2_000  # of a run
MIN_EPISODES, MIN_RUNS = 30, 5  # that a verdict needs
ROUNDS, MIN_ROUNDS = 100, 6  # batches of runs that the search must have time for; if runs are short
PATIENCE = 0.3  # share of the time left for the search that a trial may take: some never end
BATCHES, MIN_TRIALS = 3, 4  # batches in a trial; trials of every agent before the best gets more
MAX_STATES, MAX_CATEGORIES, MAX_TILED = 5_000, 100_000, 8  # limits of proposed features
STEPS = ("value_step", "action_step", "policy_step", "model_step")
DISCOUNTS = (0.9, 0.95, 0.98, 1.0)
FACTORS = ("step_factor", 0.1, 3.0), ("model_factor", 0.1, 1.0)  # of the default step sizes
HEADS = ("agent", "mean return (95 % interval)", "runs", "trials", "settings")


class OutOfTime(Exception):
    """Work was stopped at its deadline."""


@dataclass
class Deadline(Silent):
    """A silent progress reporter that stops runs at a ``moment`` of the monotonic clock."""

    moment: float

    @property
    def left(self) -> float:
        return self.moment - time.monotonic()

    def check(self, fraction: float = 0.0) -> None:
        if self.left <= 0.0:
            raise OutOfTime

    def note(self, text: str) -> None:
        pass

    @contextmanager
    def progress(self, what: str) -> Iterator[ShowFraction]:
        yield self.check


Until = Callable[[float], Deadline]  # the end of a share of the budget
Tell = Callable[[str], None]


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

    def run(self, agent: Agent, deadline: Deadline, first: int = 0) -> Result:
        """Do a batch of runs; raise OutOfTime at the deadline."""
        deadline.check()
        return run(
            self.domain, self.features, agent, episodes=self.episodes, runs=self.batch,
            first_run=first, seed=self.seed, threads=self.threads, compiled=self.compiled,
            progress=deadline,
        )  # fmt: skip


@dataclass(eq=False)
class Candidate:
    """An agent with one kind of model, its best setting so far, and its fresh runs.

    ``score`` is the mean return of the best setting in the search. ``seconds`` were spent on
    batches of ``episodes`` in all. ``returns`` (runs, episodes) are those of fresh runs.
    """

    default: Agent
    seed: int
    compiling: Future[None] | None = None
    best: Agent | None = None
    score: float = -math.inf
    trials: int = 0
    seconds: float = 0.0
    episodes: int = 0
    failed: str = ""
    returns: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def __post_init__(self) -> None:
        """Create the Optuna study, which begins with the defaults."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study: Any = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=to_32_bits(self.seed)),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=3),
        )
        self.study.enqueue_trial({"step_factor": 1.0, "model_factor": 1.0, "discount": 0.98})

    def restart(self) -> Candidate:
        """Return the candidate without its trials."""
        return Candidate(self.default, self.seed, self.compiling, failed=self.failed)

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
        return self.compiling is None or self.compiling.done()

    @property
    def means(self) -> np.ndarray:
        return np.asarray(self.returns.mean(axis=1))

    @property
    def estimate(self) -> list[float]:
        """Mean return of fresh runs and its 95 % interval."""
        return [float(bound) for bound in interval(self.means)]

    def run_trial(self, bench: Bench, deadline: Deadline) -> None:
        """Run one setting batch by batch, unless it is pruned; the first one is the default."""
        from optuna.trial import TrialState

        start, trial = time.monotonic(), self.study.ask()
        self.trials += 1
        agent, means, score = suggest_agent(self.default, trial), list[np.ndarray](), -math.inf
        try:
            for batch in range(BATCHES):
                means.append(bench.run(agent, deadline, batch * bench.batch).means)
                self.episodes += bench.episodes
                mean = float(np.concatenate(means).mean())
                score = mean if math.isfinite(mean) else -math.inf  # a run diverged
                trial.report(score, batch)
                if trial.should_prune():
                    self.study.tell(trial, state=TrialState.PRUNED)
                    return
            self.study.tell(trial, score)
        except OutOfTime:
            self.study.tell(trial, -math.inf)
            raise
        finally:
            self.seconds += time.monotonic() - start
            if score > self.score and (len(means) == BATCHES or self.best is None):
                self.best, self.score = agent, score


def suggest_agent(agent: Agent, trial: Any) -> Agent:
    """Return the agent with the discount and the step sizes of a trial.

    Those of values and caches are multiplied by one factor, that of the model by another.
    """
    changes: dict[str, Any] = {"discount": trial.suggest_categorical("discount", DISCOUNTS)}
    for name in STEPS:
        if getattr(agent, name, "auto") != "auto":
            step, (factor, *ends) = getattr(agent, name), FACTORS[name == "model_step"]
            by = float(f"{trial.suggest_float(factor, *ends, log=True):.2g}")
            largest = math.inf if name == "policy_step" else 1.0
            scaled = step.scale(by) if isinstance(step, StepSize) else min(step * by, largest)
            changes[name] = float(f"{scaled:.3g}") if isinstance(scaled, float) else scaled
    return agent.replace(**changes)


@check_arguments()
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
    minutes = at_least(0.01).check("quick_check", "minutes", minutes)
    SEED.check("quick_check", "seed", seed)
    or_none(whole(1)).check("quick_check", "threads", threads)
    require_extra("quick_check", *(["optuna"] if folder is None else ["optuna", "report"]))
    domain = environment if isinstance(environment, Domain) else Gym(environment)
    tell = (lambda text: None) if quiet else say
    tell(f"{domain!r}, {domain.actions} actions: random play")
    start = time.monotonic()  # importing an environment does not count

    def until(share: float) -> Deadline:
        return Deadline(start + 60.0 * minutes * share)

    play = play_until(domain, until(PLAYED), seed)
    features = propose_features(domain, play)
    shape = features.shape(domain)
    tell(f"{type(features).__name__}: {shape.size:,} features, {shape.active} active")
    agents = default_agents(is_affordable(shape))
    candidates = [Candidate(agent, seed + number) for number, agent in enumerate(agents)]
    setups = {
        str(number): Setup(domain, features, agent, episodes=1, seed=seed)
        for number, agent in enumerate(agents)
        if number > 0 and use_compiled(compiled)  # the first is compiled here meanwhile
    }
    cores = threads or core_count()
    bench = Bench(domain, features, compiled, cores, seed + 1, max(2, cores))
    with compile_in_background(setups) as compiling:
        for number, future in compiling.items():
            candidates[int(number)].compiling = future
        bench = search(bench, candidates, until, tell)
    best = best_of_each_kind(candidates)
    episodes = fit_length(bench, best, until(CONFIRMED))
    bench = replace(bench, seed=seed + 2, episodes=episodes)
    names = " and ".join(candidate.name for candidate in best)
    tell(f"fresh runs of {names or 'nothing'}, {bench.episodes:,} episodes each")
    confirm(bench, best, until(CONFIRMED))
    outcome = QuickCheck(
        domain, features, np.array(play.returns), tuple(c for c in best if c.returns.size),
        bench.episodes, seed, minutes, threads, None if folder is None else Path(folder),
        {candidate.name: candidate.failed for candidate in candidates if candidate.failed},
    )  # fmt: skip
    if outcome.folder is not None:
        outcome.write(outcome.folder)
    return outcome


def default_agents(fits_least_squares: bool) -> list[Agent]:
    """Return the agents at their defaults, in the order in which they are compiled."""
    first, *others = [  # the step size of a sparse model is searched, least squares have none
        cls() if fits_least_squares else cls(model="sparse", model_step=cls.gradient_step)
        for cls in (Lookahead, CachedValues, CachedPolicy)
    ]
    sampled = Lookahead(model="distribution", planning_update="levi")
    return [QLearning(), first, Sarsa(), sampled, *others]


def play_until(domain: Domain, deadline: Deadline, seed: int) -> RandomPlay:
    """Act at random until the deadline; refuse an environment that is too slow for it."""
    play, seconds = RandomPlay(), deadline.left
    with suppress(OutOfTime):
        play_at_random(domain, PLAY_EPISODES, seed, play, deadline.check)
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
    known = play.integral and all(
        is_bounded(low, high) and low % 1 == high % 1 == 0 for low, high in domain.bounds or ()
    )
    if known and sum(high - low + 1 for low, high in domain.bounds or ()) <= MAX_CATEGORIES:
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


def choose_length(bench: Bench, agent: Agent, deadline: Deadline) -> int:
    """Double the episodes of a run while there is time for enough batches of them."""
    bench = replace(bench, episodes=FIRST_EPISODES)
    bench.run(agent, deadline)  # loads compiled code and starts workers
    while 2 * bench.episodes <= MAX_EPISODES:
        seconds = bench.run(agent, deadline).seconds
        rounds = ROUNDS if bench.episodes >= MIN_EPISODES else MIN_ROUNDS
        if 2 * rounds * seconds > deadline.left:
            break
        bench = replace(bench, episodes=2 * bench.episodes)
    return bench.episodes


def search(bench: Bench, candidates: list[Candidate], until: Until, tell: Tell) -> Bench:
    """Run trials of the agents that are compiled; return the bench with the length of their runs.

    If the first planner is too slow for the runs so far, they get shorter and the search of the
    other agents begins again.
    """
    measured: set[bool] = set()
    while running := [candidate for candidate in candidates if not candidate.failed]:
        best = best_of_each_kind(candidates)
        tuned = len(best) == 2 and all(candidate.trials >= MIN_TRIALS for candidate in best)
        deadline = until(SEARCHED if tuned else LATEST)
        if deadline.left <= 0.0:
            break
        ready = [candidate for candidate in running if candidate.is_ready]
        enough = all(candidate.trials >= 2 * MIN_TRIALS for candidate in ready)
        if enough and len(ready) < len(running) and not any(each.plans for each in ready):
            time.sleep(0.1)  # leave the cores to the compiler
            continue
        candidate = choose_candidate(ready)
        score = candidate.score
        try:
            if candidate.plans not in measured:
                episodes = choose_length(bench, candidate.default, deadline)
                if not measured or episodes < bench.episodes:
                    bench = replace(bench, episodes=episodes)
                    tell(f"searching settings in runs of {episodes:,} episodes")
                    candidates[:] = [each.restart() for each in candidates]
                measured.add(candidate.plans)
            else:
                patience = Deadline(time.monotonic() + PATIENCE * deadline.left)
                candidate.run_trial(bench, patience)
        except OutOfTime:
            pass
        except (EnvError, TooLargeError) as error:
            candidate.failed = str(error)
        if candidate.score > score:
            left = f"{until(1.0).left:.0f} s left"
            tell(f"{candidate.name}: {format_number(candidate.score)}, {candidate.best}; {left}")
    return bench


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


def fit_length(bench: Bench, candidates: Sequence[Candidate], deadline: Deadline) -> int:
    """Return the length of fresh runs such that those of a verdict take half of the time.

    If that is too short for a verdict and there is hope, take MIN_EPISODES: the cost of an episode,
    which includes that of loading code, is rather too high.
    """
    cost = sum(each.seconds / each.episodes for each in candidates)  # of an episode of a batch
    batches = math.ceil(MIN_RUNS / bench.batch)
    fits = int(max(deadline.left, 0.0) / (batches * cost)) if cost else bench.episodes
    longest = max(bench.episodes, MIN_EPISODES)
    least = MIN_EPISODES if 2 * fits >= MIN_EPISODES else fits
    return max(FIRST_EPISODES, min(longest, max(fits // 2, least)))


def confirm(bench: Bench, candidates: Sequence[Candidate], deadline: Deadline) -> None:
    """Run the best settings on fresh seeds, the same for both, until the deadline."""
    with suppress(OutOfTime):
        for first in itertools.count(0, bench.batch) if candidates else ():
            for candidate in candidates:
                try:
                    returns = bench.run(candidate.agent, deadline, first).returns
                except EnvError as error:
                    candidate.failed = str(error)
                    return
                earlier = [candidate.returns] if candidate.returns.size else []
                candidate.returns = np.concatenate([*earlier, returns])


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
        for each in self.agents:
            mean, low, high = (x if math.isfinite(x) else None for x in each.estimate)
            numbers = {"mean": mean, "low": low, "high": high}
            rows.append({"agent": each.name, "settings": each.agent.to_dict(), **numbers})
        return {
            "environment": self.environment,
            "random": float(self.random.mean()),
            "agents": rows,
            "best": None if self.best is None else self.best.name,
        }

    def findings(self) -> list[str]:
        """Return the verdicts, the failures and how to go on, a sentence each."""
        failures = [f"{name} failed: {error}." for name, error in self.failed.items()]
        next_command = f"expectant run {quote(str(self.folder / CONFIG))}" if self.folder else ""
        go_on = [f"To go on: {next_command}"] if next_command and self.config_text() else []
        return [*self._verdicts(), *failures, *go_on]

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
        random = float(self.random.mean())
        difference = paired_difference(planner.means[:runs], other.means[:runs])
        pays = "yes" if difference.low > 0.0 else "no" if difference.high < 0.0 else "unclear"
        learns = "learns" if self.best.estimate[1] > random else "is not shown to learn"
        return [
            f"{self.best.name} {learns}: {_estimate_text(self.best.estimate)} an episode in "
            f"{extent}; random play earns {format_number(random)}.",
            f"Does planning pay here: {pays}; {planner.name} minus {other.name}, tuned in "
            f"{planner.trials} and {other.trials} trials: {_estimate_text(difference[:3])} an "
            f"episode in {runs} paired runs.",
        ]

    @property
    def command(self) -> str:
        """The command that makes it again; empty if the environment has no name."""
        if not isinstance(getattr(self.domain, "environment", None), str):
            return ""
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
            [each.name, _estimate_text(each.estimate), str(len(each.returns)), str(each.trials),
             repr(each.agent)]
            for each in self.agents
        ]  # fmt: skip

    def write(self, folder: Path) -> None:
        """Write ``report.html``, and ``config.toml`` where the environment can be written down."""
        mark_folder(folder, TRY)
        width = max(1, self.episodes // 40)
        end = self.episodes // width * width
        panel = Panel(
            figure="1", panel="", interpretation="", bin=width, switch_every=None, optimum=math.nan,
            curves={a.agent.kind: learning_curve(a.returns[:, :end], width) for a in self.agents},
            labels={each.agent.kind: each.name for each in self.agents},
            levels=(Level(0.0, float(end), float(np.mean(self.random)), "random play"),),
        )  # fmt: skip
        config = self.config_text()
        if config is not None:
            write_text(folder / CONFIG, config)
        settings = {"features": repr(self.features), "seed": self.seed}
        facts = ["mean and 95 % bootstrap interval"]
        sections = [
            Header(f"What can be learned in {self.environment}", "", self.findings()),
            *([Curves("fresh runs", "", chart_of([panel]), facts=facts)] if self.agents else []),
            Table("The best of each kind", HEADS, self.rows()),
            Environment({**settings, **versions()}, self.command),
        ]
        write_page(folder / "report.html", sections, palette_of([panel]))

    def __repr__(self) -> str:
        lines = [self.environment, text_table(HEADS, self.rows(), left=(0, 1, 4))]
        lines += self.findings()
        if self.folder is not None:
            lines.append(f"Report: {self.folder / 'report.html'}")
            lines += [f"Make it again: {self.command}"] if self.command else []
        return "\n".join(lines)


def folder_name(environment: str) -> str:
    return environment.replace(":", "-").replace("/", "-")


def _estimate_text(estimate: Sequence[float]) -> str:
    mean, low, high = estimate
    return f"{format_number(mean)} ({format_interval(low, high)})"
