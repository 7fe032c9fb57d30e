"""``ex.check``: test a user's component before using it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.agents.lookahead import Lookahead
from expectant.agents.paper import Interpretation
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.checks.contracts import Contracts, same_bits
from expectant.checks.dry_run import check_parts
from expectant.core import tree
from expectant.core.dispatch import intercept_calls
from expectant.core.errors import PartError, describe_error
from expectant.core.interfaces import Agent, Backups, Buildable, Domain, Features, Model, Option
from expectant.core.rng import SEED
from expectant.core.rules import flag, instance_of, or_none, whole
from expectant.core.verbs import backed_up_action_value, reset, step
from expectant.domains.corridor import Corridor
from expectant.engine.driver import drive, new_control
from expectant.engine.loop import EPISODE, STEPS, Run, simulate
from expectant.engine.progress import make_reporter
from expectant.engine.setup import STEP_LIMIT, Setup, load_loop
from expectant.features.discrete import OneHot, RandomBinary
from expectant.features.tiles import Tiles
from expectant.options.option_set import OptionSet


@dataclass(frozen=True)
class CheckOutcome:
    """Steps, finished episodes and calls of verbs of a check."""

    component: Buildable
    steps: int
    episodes: int
    calls: dict[str, int]

    def __str__(self) -> str:
        calls = ", ".join(f"{verb} {count:,}" for verb, count in sorted(self.calls.items()))
        name = type(self.component).__name__
        return f"{name}: {self.steps} steps, {self.episodes} episodes ended; calls: {calls}"


def check(
    component: Buildable,
    domain: Domain | None = None,
    features: Features | None = None,
    *,
    steps: int = 300,
    episodes: int = 20,
    seed: int = 0,
    compiled: bool = True,
) -> CheckOutcome:
    """Check a user's component; the first mistake is raised.

    A domain is run for ``episodes`` (an endless one for ``steps``) with random actions.
    Another component is run for ``steps`` with parts of
    the package, by default in a corridor with random binary features. Each runs as plain Python,
    where every call of every verb is checked, once more, and compiled, which must give the same
    bits.
    """
    if isinstance(component, type):
        raise ValueError(f"check: give a component, not its class: {component.__name__}(…)")
    whole(1).check("check", "steps", steps)
    whole(1).check("check", "episodes", episodes)
    SEED.check("check", "seed", seed)
    flag().check("check", "compiled", compiled)
    or_none(instance_of(Domain, "a domain")).check("check", "domain", domain)
    or_none(instance_of(Features, "features")).check("check", "features", features)
    if isinstance(component, Domain):
        domain, features = component, _features_for(component)
    elif isinstance(component, Features):
        features = component
    domain, features = domain or Corridor(cells=5, slip=0.1), features or RandomBinary(8, 3)
    if domain.external:
        raise ValueError(f"check: domain must run in compiled code, got {domain!r}")
    if component is domain and not domain.endless:
        steps = 0

    def make_setup(agent: Agent) -> Setup:
        length: Any = {"steps": steps} if steps else {"episodes": episodes}
        return Setup(domain, features, agent, **length, seed=seed, aligned=False)

    name = f"check: {type(component).__name__}"
    try:
        agents = _agents_for(component, make_setup)
        outcomes = [_check_setup(component, make_setup(agent), compiled, name) for agent in agents]
    except Exception as error:
        text = str(error) if isinstance(error, PartError) else describe_error(error)
        raise PartError(f"{name}: {text}") from error
    return outcomes[0]


def _features_for(domain: Domain) -> Features:
    """Return features of a domain whose bounds may be infinite."""
    if domain.states is None and domain.bounds is None:
        raise PartError(
            f"check: {type(domain).__name__}: needs `states`, how many states it numbers, or "
            "`bounds`, the (low, high) of every component of its observations"
        )
    return OneHot() if domain.bounds is None else Tiles(1, 1, bounds=((0, 1),) * len(domain.bounds))


def _agents_for(component: Buildable, make_setup: Callable[[Agent], Setup]) -> Iterator[Agent]:
    """Yield the agents that a component is checked under."""
    if isinstance(component, Agent):
        yield component
    elif isinstance(component, Domain):
        yield QLearning(0.0, epsilon=1.0)
    elif isinstance(component, Features):
        yield QLearning()
    elif isinstance(component, Model):
        agent = Lookahead.paper(0.05, model=component, planning_steps=2)
        yield agent
        part = type(make_setup(agent).build(0)[0].agent.planner.model)
        if part in backed_up_action_value.implementations:
            yield QPlanning.paper(0.05, model=component, planning_steps=2)
    elif isinstance(component, Backups):
        stored = Interpretation(replayed_fits=1, stored_termination=component.stores_transitions)
        yield Lookahead.paper(0.05, backups=component, planning_steps=2, interpretation=stored)
    elif isinstance(component, Option):
        options = OptionSet((component,), acting="committed")
        yield Lookahead.paper(0.05, options=options, planning_steps=2, epsilon=0.3, discount=0.9)
    else:
        raise PartError(
            "must be a domain, features, a model, a backup distribution, an agent, or an option"
        )


def _check_setup(component: Buildable, setup: Setup, compiled: bool, name: str) -> CheckOutcome:
    """Run a setup with all calls checked, once more, and compiled."""
    run, calls = _run_checked(setup)
    _repeat(setup, run, "once more with the same seed", simulate)
    if compiled:
        _repeat(setup, run, "compiled", load_loop(setup, True, name, make_reporter(True)))
    if isinstance(component, Domain):
        _check_ends(component, run)
    return CheckOutcome(component, int(run.clock[STEPS]), int(run.clock[EPISODE]), calls)


def _run_checked(setup: Setup) -> tuple[Run, dict[str, int]]:
    """Check every call of one run; a second run must stay untouched."""
    driver = drive(setup, 0, simulate, new_control(), (0, setup.length))
    run = next(driver).run
    check_parts(run)
    other_run = setup.build(1)[0]
    before = {path: array.copy() for path, array in tree.arrays(other_run)}
    contracts = Contracts(run, setup.domain.bounds)
    with intercept_calls(contracts), np.errstate(all="ignore"):
        run = next(driver).run
    for path, array in tree.arrays(other_run):
        if not same_bits(array, before[path]):
            raise PartError(f"two runs share the array {path}: make new arrays in build")
    return run, dict(contracts.calls)


def _repeat(setup: Setup, first: Run, how: str, kernel: Callable[..., int]) -> None:
    """Run again and compare the bits of every array."""
    (end,) = drive(setup, 0, kernel, new_control())
    again = dict(tree.arrays(end.run))
    for path, array in tree.arrays(first):
        if not same_bits(array, again[path]):
            raise PartError(
                f"run {how}, the array {path} came out differently: draw from the rng that is "
                "passed in and from nothing else, and keep all that changes in arrays"
            )


def _check_ends(domain: Domain, run: Run) -> None:
    """Refuse episodes that never end, and *done* returned for *alive*."""
    limit = domain.step_limit or STEP_LIMIT
    if domain.endless:
        return
    if domain.step_limit is None and (run.lengths == limit).all():
        raise PartError(
            f"no episode ended within {limit:,} random steps: return alive = 0.0 at the end, or "
            "give the domain a step_limit"
        )
    if (run.lengths == 1).all():
        rng = np.random.default_rng(0)
        reset(run.domain, 0, rng)
        if any(step(run.domain, int(rng.integers(domain.actions)), rng)[1] for _ in range(limit)):
            raise PartError(
                "step returned alive = 0.0 at the first step of every episode and 1.0 later: it "
                "seems to return whether the episode is done; return 0.0 at its end, else 1.0"
            )
