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
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.descriptions import Description
from expectant.dispatch import watched
from expectant.domains.corridor import Corridor
from expectant.engine.course import drive, going_on
from expectant.engine.job import Job, loop_for
from expectant.engine.learner.saving import arrays_in
from expectant.engine.loop import EPISODE, STEPS, Run, simulate
from expectant.engine.trial.contracts import CHECKS, Contracts
from expectant.engine.trial.mistakes import PartError
from expectant.engine.trial.rehearsal import check_parts
from expectant.features.table import RandomBinary
from expectant.options.repertoire import Repertoire
from expectant.parts import Agent, Backups, Domain, Features, Model, Option
from expectant.progress import reporter
from expectant.rules import flag, whole
from expectant.seeds import SEED
from expectant.verbs import (
    Verb,
    act,
    backed_up_action_value,
    backed_up_value,
    encode,
    fit,
    learn,
    policy,
    policy_of,
    preference,
    remember,
    stop,
    stop_of,
)

# Arguments that a verb may look at and not change.
READ_ONLY: dict[Verb[object], tuple[int, ...]] = {
    act: (0,),
    preference: (0,),
    learn: (0,),
    fit: (0,),
    remember: (0,),
    encode: (0,),
    backed_up_value: (0, 2),
    backed_up_action_value: (0, 2),
    policy: (0,),
    policy_of: (1,),
    stop: (0,),
    stop_of: (1,),
}


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
    _must_be(features, Features, "check_features: features")
    job = _job("check_features", domain, features, QLearning(0.1), steps, seed)
    return _Check("check_features", features, job, compiled).done()


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
    _must_be(model, Model, "check_model: model")
    agent = Lookahead(0.05, model=model, planning_steps=2)
    job = _job("check_model", domain, features, agent, steps, seed)
    checked = _Check("check_model", model, job, compiled).done()
    part = type(job.prepare(0)[0].agent.planner.model)
    if part in backed_up_action_value.implementations:
        planner = QPlanning(0.05, model=model, planning_steps=2, invalid_update=True)
        job = _job("check_model", domain, features, planner, steps, seed)
        _Check("check_model", model, job, compiled).done()
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
    _must_be(backups, Backups, "check_backups: backups")
    fits = 1 if backups.stores_transitions else 0
    agent = Lookahead(0.05, backups=backups, planning_steps=2, replayed_fits=fits)
    job = _job("check_backups", domain, features, agent, steps, seed)
    return _Check("check_backups", backups, job, compiled).done()


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
    _must_be(agent, Agent, "check_agent: agent")
    job = _job("check_agent", domain, features, agent, steps, seed)
    return _Check("check_agent", agent, job, compiled).done()


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
    _must_be(option, Option, "check_option: option")
    if option.only_action >= 0:
        raise ValueError(
            f"check_option: option is just the action {option.only_action}, which agents have "
            "already; there is nothing to follow"
        )
    repertoire = Repertoire((option,), acting="committed")
    agent = Lookahead(0.05, options=repertoire, planning_steps=2, epsilon=0.3, discount=0.9)
    job = _job("check_option", domain, features, agent, steps, seed)
    return _Check("check_option", option, job, compiled).done()


def _must_be(given: Any, kind: type[Description], argument: str) -> None:
    if isinstance(given, type):
        raise ValueError(f"{argument} must be one, not the class: {given.__name__}(…)")
    if not isinstance(given, kind):
        raise ValueError(f"{argument} must be derived from ex.{kind.__name__}, got {given!r}")


def _job(
    owner: str,
    domain: Domain | None,
    features: Features | None,
    agent: Agent,
    steps: int,
    seed: int,
) -> Job:
    whole(1).check(owner, "steps", steps)
    SEED.check(owner, "seed", seed)
    domain = Corridor(cells=5, slip=0.1) if domain is None else domain
    if domain.outside:
        raise ValueError(f"{owner}: domain must run in compiled code, got {domain!r}")
    features = RandomBinary(8, 3) if features is None else features
    return Job(domain, features, agent, steps=steps, seed=seed, apart=False)


class _Check:
    """The checks of one part in one composition."""

    def __init__(self, owner: str, part: Description, job: Job, compiled: bool) -> None:
        flag().check(owner, "compiled", compiled)
        self.owner = f"{owner}: {type(part).__name__}"
        self.part, self.job, self.compiled = part, job, compiled

    def done(self) -> PartCheck:
        """Everything, in turn; the first thing that is wrong is an error."""
        try:
            first, calls = self._looked_at()
            self._repeats(first, "once more with the same seed", simulate)
            if self.compiled:
                kernel = loop_for(self.job, True, self.owner, reporter(True))
                self._repeats(first, "compiled", kernel)
        except PartError as error:
            raise PartError(f"{self.owner}: {error}") from error
        steps, episodes = int(first.clock[STEPS]), int(first.clock[EPISODE])
        return PartCheck(self.part, steps, episodes, dict(calls))

    def _looked_at(self) -> tuple[Run, Counter[str]]:
        """One run, every call checked, while a second part lies untouched beside it."""
        course = drive(self.job, 0, simulate, going_on(), (0, self.job.length))
        run = next(course).run
        check_parts(run)
        beside = self.job.prepare(1)[0]
        before = {name: array.copy() for name, array in arrays_in(beside)}
        calls: Counter[str] = Counter()
        contracts = Contracts(run, self.job.domain.bounds)
        with watched(_Careful(contracts, calls)), np.errstate(all="ignore"):
            run = next(course).run
        for name, array in arrays_in(beside):
            if not np.array_equal(array, before[name], equal_nan=array.dtype.kind == "f"):
                raise PartError(f"two runs share the array {name}: make new arrays in build")
        return run, calls

    def _repeats(self, first: Run, how: str, kernel: Callable[..., int]) -> None:
        """The same run again must leave the same bits in every array."""
        (end,) = drive(self.job, 0, kernel, going_on())
        again = dict(arrays_in(end.run))
        for name, array in arrays_in(first):
            other = again[name]
            if not np.array_equal(array, other, equal_nan=array.dtype.kind == "f"):
                raise PartError(
                    f"run {how}, the array {name} came out differently: draw from the rng that is "
                    "passed in and from nothing else, and keep all that changes in arrays"
                )


class _Careful:
    """Checks every call as the contracts do, and that nothing is changed that is not its own."""

    def __init__(self, contracts: Contracts, calls: Counter[str]) -> None:
        self.contracts, self.calls = contracts, calls

    def __call__(
        self,
        verb: Verb[object],
        implementation: Callable[..., Any],
        part: Any,
        args: tuple[Any, ...],
    ) -> Any:
        if verb in CHECKS:
            self.calls[verb.__name__] += 1
        kept = [
            (array, array.copy())
            for position in READ_ONLY.get(verb, ())
            for _, array in arrays_in(args[position])
        ]
        result = self.contracts(verb, implementation, part, args)
        for array, before in kept:
            if not np.array_equal(array, before, equal_nan=array.dtype.kind == "f"):
                raise PartError(
                    f"{verb.__name__} of {type(part).__name__} must not change what it is given, "
                    f"and changed {before} to {array}"
                )
        return result
