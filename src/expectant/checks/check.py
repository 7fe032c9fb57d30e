"""``ex.check``: test a user's component before using it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from expectant.agents.lookahead import Lookahead
from expectant.agents.paper import Interpretation
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.checks.contracts import CHECKS, Contracts, same_bits
from expectant.checks.domain import check_domain
from expectant.checks.dry_run import check_parts
from expectant.core import tree
from expectant.core.dispatch import intercept_calls
from expectant.core.errors import PartError
from expectant.core.interfaces import Agent, Backups, Buildable, Domain, Features, Model, Option
from expectant.core.rng import SEED
from expectant.core.rules import flag, instance_of, or_none, whole
from expectant.core.verbs import Verb, backed_up_action_value
from expectant.domains.corridor import Corridor
from expectant.engine.driver import drive, new_control
from expectant.engine.loop import EPISODE, STEPS, Run, simulate
from expectant.engine.progress import make_reporter
from expectant.engine.setup import Setup, load_loop
from expectant.features.discrete import RandomBinary
from expectant.options.option_set import OptionSet


@dataclass(frozen=True)
class PartCheck:
    """The outcome of a check: steps, episodes that ended, and calls of verbs."""

    part: Buildable
    steps: int
    episodes: int
    calls: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        calls = ", ".join(f"{verb} {count:,}" for verb, count in sorted(self.calls.items()))
        return (
            f"{type(self.part).__name__}: {self.steps} steps, {self.episodes} episodes ended; "
            f"calls: {calls}"
        )


def check(
    component: Buildable,
    domain: Domain | None = None,
    features: Features | None = None,
    *,
    steps: int = 300,
    episodes: int = 20,
    seed: int = 0,
    compiled: bool = True,
) -> Any:
    """Check a user's component; the first mistake is raised.

    A domain is run for ``episodes`` with random actions. Another component is run for ``steps``
    with parts of the package, by default in a corridor with random binary features: as plain
    Python, where every call of every verb is checked, once more, and compiled, which must give the
    same bits.
    """
    if isinstance(component, type):
        raise ValueError(f"check: give a component, not its class: {component.__name__}(…)")
    if isinstance(component, Domain):
        return check_domain(component, episodes=episodes, seed=seed)
    whole(1).check("check", "steps", steps)
    SEED.check("check", "seed", seed)
    flag().check("check", "compiled", compiled)
    or_none(instance_of(Domain, "a domain")).check("check", "domain", domain)
    or_none(instance_of(Features, "features")).check("check", "features", features)
    if domain is not None and domain.external:
        raise ValueError(f"check: domain must run in compiled code, got {domain!r}")
    if isinstance(component, Features):
        features = component
    checks = _Check(component, domain, features, steps, seed, compiled)
    outcomes = [checks.under(agent) for agent in _agents_for(component, checks)]
    return outcomes[0]


def _agents_for(component: Buildable, checks: _Check) -> Iterator[Agent]:
    """Yield the agents that a component is checked under."""
    if isinstance(component, Agent):
        yield component
    elif isinstance(component, Features):
        yield QLearning()
    elif isinstance(component, Model):
        agent = Lookahead.paper(0.05, model=component, planning_steps=2)
        yield agent
        part = type(checks.setup(agent).build(0)[0].agent.planner.model)
        if part in backed_up_action_value.implementations:
            yield QPlanning.paper(0.05, model=component, planning_steps=2)
    elif isinstance(component, Backups):
        stored = Interpretation(replayed_fits=1, stored_termination=component.stores_transitions)
        yield Lookahead.paper(0.05, backups=component, planning_steps=2, interpretation=stored)
    elif isinstance(component, Option):
        options = OptionSet((component,), acting="committed")
        yield Lookahead.paper(0.05, options=options, planning_steps=2, epsilon=0.3, discount=0.9)
    else:
        raise ValueError(
            "check: component must be a domain, features, a model, a backup distribution, an "
            f"agent, or an option, got {component!r}"
        )


@dataclass(frozen=True)
class _Check:
    """A component to check, and what it is put together with."""

    part: Buildable
    domain: Domain | None
    features: Features | None
    steps: int
    seed: int
    compiled: bool

    def setup(self, agent: Agent) -> Setup:
        """Return a setup in which the component is used."""
        domain = Corridor(cells=5, slip=0.1) if self.domain is None else self.domain
        features = RandomBinary(8, 3) if self.features is None else self.features
        return Setup(domain, features, agent, steps=self.steps, seed=self.seed, aligned=False)

    def under(self, agent: Agent) -> PartCheck:
        """Check everything under one agent, in turn."""
        name, setup = f"check: {type(self.part).__name__}", self.setup(agent)
        calls: Counter[str] = Counter()
        try:
            first = _run_checked(setup, calls)
            _repeat(setup, first, "once more with the same seed", simulate)
            if self.compiled:
                _repeat(setup, first, "compiled", load_loop(setup, True, name, make_reporter(True)))
        except PartError as error:
            raise PartError(f"{name}: {error}") from error
        steps, episodes = int(first.clock[STEPS]), int(first.clock[EPISODE])
        return PartCheck(self.part, steps, episodes, dict(calls))


def _run_checked(setup: Setup, calls: Counter[str]) -> Run:
    """Check and count every call of one run; a second run must stay untouched."""
    driver = drive(setup, 0, simulate, new_control(), (0, setup.length))
    run = next(driver).run
    check_parts(run)
    beside = setup.build(1)[0]
    before = {name: array.copy() for name, array in tree.arrays(beside)}
    contracts = Contracts(run, setup.domain.bounds)

    def watch(
        verb: Verb[object], implementation: Callable[..., Any], part: Any, args: tuple[Any, ...]
    ) -> Any:
        calls.update([verb.__name__] if verb in CHECKS else ())
        return contracts(verb, implementation, part, args)

    with intercept_calls(watch), np.errstate(all="ignore"):
        run = next(driver).run
    for name, array in tree.arrays(beside):
        if not same_bits(array, before[name]):
            raise PartError(f"two runs share the array {name}: make new arrays in build")
    return run


def _repeat(setup: Setup, first: Run, how: str, kernel: Callable[..., int]) -> None:
    """Run again and compare the bits of every array."""
    (end,) = drive(setup, 0, kernel, new_control())
    again = dict(tree.arrays(end.run))
    for name, array in tree.arrays(first):
        if not same_bits(array, again[name]):
            raise PartError(
                f"run {how}, the array {name} came out differently: draw from the rng that is "
                "passed in and from nothing else, and keep all that changes in arrays"
            )
