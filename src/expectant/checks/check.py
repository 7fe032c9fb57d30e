"""``ex.check``: test a user's component before using it."""

from __future__ import annotations

from collections import Counter, defaultdict
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
from expectant.core.verbs import (
    Verb,
    backed_up_action_value,
    observation,
    phase,
    reset,
    state_index,
    step,
)
from expectant.domains.corridor import Corridor
from expectant.domains.finite import END, FiniteMDP
from expectant.engine.driver import drive, new_control
from expectant.engine.loop import EPISODE, STEPS, Run, simulate
from expectant.engine.progress import make_reporter
from expectant.engine.setup import STEP_LIMIT, Setup, load_loop
from expectant.features.discrete import OneHot, RandomBinary
from expectant.features.tiles import Tiles
from expectant.options.option_set import OptionSet

ENOUGH = 30  # steps from one state by one action, to compare frequencies
DEVIATIONS = 6.0  # standard deviations that are still taken for chance

Result = tuple[int, float]  # successor and reward
Tally = defaultdict[tuple[int, int, int], Counter[Result]]  # by phase, state and action


@dataclass(frozen=True)
class CheckOutcome:
    """Steps, finished episodes and calls of verbs of a check.

    ``mdp_pairs`` is the number of states and actions of a domain that were tried often enough to
    compare them with its ``mdp()``; None if it has none.
    """

    component: Buildable
    steps: int
    episodes: int
    calls: dict[str, int]
    mdp_pairs: int | None

    def __str__(self) -> str:
        calls = ", ".join(f"{verb} {count:,}" for verb, count in sorted(self.calls.items()))
        pairs = "" if self.mdp_pairs is None else f", {self.mdp_pairs} pairs agree with its mdp()"
        return (
            f"{type(self.component).__name__}: {self.steps} steps, {self.episodes} episodes ended"
            f"{pairs}; calls: {calls}"
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
) -> CheckOutcome:
    """Check a user's component; the first mistake is raised.

    A domain is run for ``episodes`` (an endless one for ``steps``) with random actions, and
    compared with its ``mdp()``, if it has one. Another component is run for ``steps`` with parts of
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
    tally: Tally = defaultdict(Counter)
    run, calls = _run_checked(setup, tally if isinstance(component, Domain) else None)
    _repeat(setup, run, "once more with the same seed", simulate)
    if compiled:
        _repeat(setup, run, "compiled", load_loop(setup, True, name, make_reporter(True)))
    pairs = None
    if isinstance(component, Domain):
        _check_ends(component, run)
        mdp = component.for_run(0).mdp()
        pairs = None if mdp is None else _count_agreeing_pairs(component, mdp, tally)
    return CheckOutcome(component, int(run.clock[STEPS]), int(run.clock[EPISODE]), calls, pairs)


def _run_checked(setup: Setup, tally: Tally | None) -> tuple[Run, dict[str, int]]:
    """Check every call of one run, and tally its steps; a second run must stay untouched."""
    driver = drive(setup, 0, simulate, new_control(), (0, setup.length))
    run = next(driver).run
    check_parts(run)
    other_run = setup.build(1)[0]
    before = {path: array.copy() for path, array in tree.arrays(other_run)}
    contracts = Contracts(run, setup.domain.bounds)
    numbered = setup.domain.states is not None

    def watch(
        verb: Verb[object], implementation: Callable[..., Any], part: Any, args: tuple[Any, ...]
    ) -> Any:
        if tally is None or verb is not step or contracts.depth > 0:
            return contracts(verb, implementation, part, args)
        origin = (*_phase_and_state(part, numbered), int(args[0]))
        reward, alive = contracts(verb, implementation, part, args)
        successor = _phase_and_state(part, numbered)[1] if alive > 0.0 else END
        tally[origin][successor, float(reward)] += 1
        return reward, alive

    with intercept_calls(watch), np.errstate(all="ignore"):
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


def _phase_and_state(domain: Any, numbered: bool) -> tuple[int, int]:
    """Return the present phase and state: its index, or what is observed if it has none."""
    state = int(state_index(domain))
    return int(phase(domain)), int(observation(domain)[0]) if state < 0 and numbered else state


def _count_agreeing_pairs(domain: Domain, mdp: FiniteMDP, tally: Tally) -> int:
    """Compare all counts with the MDP's probabilities; return the number of pairs compared."""
    table = mdp.outcomes
    phases, states = table.probabilities.shape[:2]
    if states != domain.states:
        raise PartError(f"states is {domain.states}, but its mdp() has {states}")
    for (number, state, action), counts in tally.items():
        place, total = f"state {state}, action {action}, phase {number}", counts.total()
        if not (0 <= number < phases and 0 <= state < states):
            raise PartError(f"{place}: not in its mdp(): implement the verbs state_index and phase")
        probabilities = Counter[Result]()
        for outcome, probability in enumerate(table.probabilities[number, state, action].tolist()):
            successor = int(table.successors[state, action, outcome])
            reward = float(table.rewards[number, state, action, outcome])
            probabilities[successor, reward] += probability
        for result in counts | probabilities:
            probability, count = probabilities[result], counts[result]
            chance = DEVIATIONS * (total * probability * (1.0 - probability)) ** 0.5 + 1.0
            differs = total >= ENOUGH and abs(count - total * probability) > chance
            if differs or (count and probability == 0.0):
                end = "the end" if result[0] == END else f"state {result[0]}"
                raise PartError(
                    f"{place}: led to {end} with reward {result[1]:g} in {count} of {total} steps, "
                    f"where its mdp() has a probability of {probability:g}"
                )
    return sum(counts.total() >= ENOUGH for counts in tally.values())
