"""Checks of feature maps, models, backup distributions and agents of one's own.

Each is put together with parts of ours and run as plain Python, every call of every verb looked
at, then once more and compiled, which must give the same bits. ``check_domain`` does the like for
domains, by acting at random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from expectant.agents.lookahead import Lookahead
from expectant.agents.paper import Interpretation
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.core import tree
from expectant.descriptions import Description
from expectant.dispatch import watched_by
from expectant.domains.corridor import Corridor
from expectant.engine.course import drive, going_on
from expectant.engine.job import Job, loop_for
from expectant.engine.loop import EPISODE, STEPS, Run, simulate
from expectant.engine.trial.contracts import CHECKS, Contracts, same_bits
from expectant.engine.trial.mistakes import PartError
from expectant.engine.trial.rehearsal import check_parts
from expectant.features.table import RandomBinary
from expectant.options.repertoire import Repertoire
from expectant.parts import Agent, Backups, Domain, Features, Model, Option
from expectant.progress import reporter
from expectant.rules import flag, whole
from expectant.seeds import SEED
from expectant.verbs import Verb, backed_up_action_value


@dataclass(frozen=True)
class PartCheck:
    """What a check saw: how many steps of how many episodes, and how often verbs were called."""

    part: Description
    steps: int
    episodes: int
    calls: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        calls = ", ".join(f"{verb} {count:,}" for verb, count in sorted(self.calls.items()))
        return (
            f"{type(self.part).__name__}: {self.steps} steps, {self.episodes} episodes ended; "
            f"calls: {calls}"
        )


def check_features(
    features: Features,
    domain: Domain | None = None,
    *,
    steps: int = 300,
    seed: int = 0,
    compiled: bool = True,
) -> PartCheck:
    """Check a feature map on a domain (None: a corridor), under Q-learning."""
    return _Check(Features, features, domain, features, steps, seed, compiled).under(QLearning(0.1))


def check_model(
    model: Model,
    domain: Domain | None = None,
    features: Features | None = None,
    *,
    steps: int = 300,
    seed: int = 0,
    compiled: bool = True,
) -> PartCheck:
    """Check a model under Algorithm 1, and under Q-planning where it backs up action values."""
    check = _Check(Model, model, domain, features, steps, seed, compiled)
    agent = Lookahead.paper(0.05, model=model, planning_steps=2)
    checked = check.under(agent)
    part = type(check.job(agent).prepare(0)[0].agent.planner.model)
    if part in backed_up_action_value.implementations:
        check.under(QPlanning.paper(0.05, model=model, planning_steps=2))
    return checked


def check_backups(
    backups: Backups,
    domain: Domain | None = None,
    features: Features | None = None,
    *,
    steps: int = 300,
    seed: int = 0,
    compiled: bool = True,
) -> PartCheck:
    """Check a backup distribution under Algorithm 1, with replayed fits where it can."""
    check = _Check(Backups, backups, domain, features, steps, seed, compiled)
    return check.under(
        Lookahead.paper(
            0.05, backups=backups, planning_steps=2, interpretation=Interpretation(replayed_fits=1)
        )
    )


def check_agent(
    agent: Agent,
    domain: Domain | None = None,
    features: Features | None = None,
    *,
    steps: int = 300,
    seed: int = 0,
    compiled: bool = True,
) -> PartCheck:
    """Check an agent on a domain (None: a corridor) with features (None: random binary ones)."""
    return _Check(Agent, agent, domain, features, steps, seed, compiled).under(agent)


def check_option(
    option: Option,
    domain: Domain | None = None,
    features: Features | None = None,
    *,
    steps: int = 300,
    seed: int = 0,
    compiled: bool = True,
) -> PartCheck:
    """Check an option under Algorithm 1, which follows it until it stops and learns its model."""
    check = _Check(Option, option, domain, features, steps, seed, compiled)
    if option.only_action >= 0:
        raise ValueError(
            f"check_option: option is just the action {option.only_action}, which agents have "
            "already; there is nothing to follow"
        )
    repertoire = Repertoire((option,), acting="committed")
    return check.under(
        Lookahead(0.05, options=repertoire, planning_steps=2, epsilon=0.3, discount=0.9)
    )


@dataclass(frozen=True)
class _Check:
    """The checks of one part, and what it is put together with."""

    kind: type[Description]
    part: Description
    domain: Domain | None
    features: Features | None
    steps: int
    seed: int
    compiled: bool

    def __post_init__(self) -> None:
        part, name = self.part, self.kind.__name__
        if isinstance(part, type):
            raise ValueError(
                f"{self.owner}: {name.lower()} must be one, not the class: {part.__name__}(…)"
            )
        if not isinstance(part, self.kind):
            raise ValueError(
                f"{self.owner}: {name.lower()} must be derived from ex.{name}, got {part!r}"
            )
        whole(1).check(self.owner, "steps", self.steps)
        SEED.check(self.owner, "seed", self.seed)
        flag().check(self.owner, "compiled", self.compiled)
        if self.domain is not None and self.domain.outside:
            raise ValueError(f"{self.owner}: domain must run in compiled code, got {self.domain!r}")

    @property
    def owner(self) -> str:
        """The name of the function that checks parts of this kind."""
        return f"check_{self.kind.__name__.lower()}"

    def job(self, agent: Agent) -> Job:
        """A run in which the part has something to do."""
        domain = Corridor(cells=5, slip=0.1) if self.domain is None else self.domain
        features = RandomBinary(8, 3) if self.features is None else self.features
        return Job(domain, features, agent, steps=self.steps, seed=self.seed, apart=False)

    def under(self, agent: Agent) -> PartCheck:
        """Everything under one agent, in turn; the first thing that is wrong is an error."""
        name, job = f"{self.owner}: {type(self.part).__name__}", self.job(agent)
        calls: Counter[str] = Counter()
        try:
            first = _run_watched(job, calls)
            _repeat(job, first, "once more with the same seed", simulate)
            if self.compiled:
                _repeat(job, first, "compiled", loop_for(job, True, name, reporter(True)))
        except PartError as error:
            raise PartError(f"{name}: {error}") from error
        steps, episodes = int(first.clock[STEPS]), int(first.clock[EPISODE])
        return PartCheck(self.part, steps, episodes, dict(calls))


def _run_watched(job: Job, calls: Counter[str]) -> Run:
    """Check and count every call of one run, while a second part lies untouched beside it."""
    course = drive(job, 0, simulate, going_on(), (0, job.length))
    run = next(course).run
    check_parts(run)
    beside = job.prepare(1)[0]
    before = {name: array.copy() for name, array in tree.arrays(beside)}
    contracts = Contracts(run, job.domain.bounds)

    def watch(
        verb: Verb[object], implementation: Callable[..., Any], part: Any, args: tuple[Any, ...]
    ) -> Any:
        calls.update([verb.__name__] if verb in CHECKS else ())
        return contracts(verb, implementation, part, args)

    with watched_by(watch), np.errstate(all="ignore"):
        run = next(course).run
    for name, array in tree.arrays(beside):
        if not same_bits(array, before[name]):
            raise PartError(f"two runs share the array {name}: make new arrays in build")
    return run


def _repeat(job: Job, first: Run, how: str, kernel: Callable[..., int]) -> None:
    """Run again, which must leave the same bits in every array."""
    (end,) = drive(job, 0, kernel, going_on())
    again = dict(tree.arrays(end.run))
    for name, array in tree.arrays(first):
        if not same_bits(array, again[name]):
            raise PartError(
                f"run {how}, the array {name} came out differently: draw from the rng that is "
                "passed in and from nothing else, and keep all that changes in arrays"
            )
