"""A check of a domain of one's own: does it keep the promises that the loop relies on?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from expectant.domains.finite import END, FiniteMDP, Outcomes
from expectant.parts import Domain
from expectant.rules import is_number, whole
from expectant.seeds import SEED
from expectant.verbs import cut, observation, phase, place, reset, step

LONGEST = 10_000  # steps of an episode, where the domain has no limit of its own
ENOUGH = 30  # steps from one state by one action, to compare frequencies
DEVIATIONS = 6.0  # standard deviations that are still taken for chance

Result = tuple[int, float]  # successor and reward
Tally = dict[tuple[int, int, int], Counter[Result]]  # what followed a phase, state and action


@dataclass(frozen=True)
class DomainCheck:
    """The outcome of a check of a domain; ``ended`` of the ``episodes`` terminated.

    ``mdp_pairs`` is how many states and actions were tried often enough to compare them with the
    domain's ``mdp()``; None where it has none.
    """

    domain: Domain
    episodes: int
    steps: int
    ended: int
    mean_return: float
    mdp_pairs: int | None

    def __str__(self) -> str:
        against = "" if self.mdp_pairs is None else f", {self.mdp_pairs} pairs agree with its mdp()"
        return (
            f"{type(self.domain).__name__}: {self.episodes} episodes of random actions, "
            f"{self.steps} steps, {self.ended} ended, mean return {self.mean_return:.4g}{against}"
        )


class Episode(NamedTuple):
    """What happened: ``observations`` (n + 1, …), ``rewards`` (n,), whether it came to an end."""

    observations: np.ndarray
    rewards: np.ndarray
    ended: bool


def check_domain(domain: Domain, *, episodes: int = 20, seed: int = 0) -> DomainCheck:
    """Run a domain with random actions, as plain Python, and check everything that is returned.

    Raises a ``ValueError`` that says what is wrong and what to do; otherwise returns an account of
    what was seen. A domain with an ``mdp()`` is also compared with it, by frequencies.
    """
    whole(1).check("check", "episodes", episodes)
    SEED.check("check", "seed", seed)
    owner = f"check: {type(domain).__name__}"
    try:
        _check_description(domain, owner)
        tally: Tally = {}
        first, again = (_play(domain, episodes, seed, tally if n else {}) for n in (1, 0))
        _check_repeatable(first, again)
        _check_alive(domain, first, seed)
        _check_ends(domain, first)
    except WrongDomain as error:
        raise ValueError(f"{owner}: {error}") from None
    mdp = domain.mdp()
    return DomainCheck(
        domain,
        episodes,
        sum(episode.rewards.size for episode in first),
        sum(episode.ended for episode in first),
        float(np.mean([episode.rewards.sum() for episode in first])),
        None if mdp is None else check_against_mdp(domain, mdp, tally, owner),
    )


class WrongDomain(Exception):
    """What a domain does wrong, without its name."""


def _check_description(domain: Domain, owner: str) -> None:
    """Check what can be told without running it."""
    try:
        whole(1).check(owner, "actions", domain.actions)
    except NotImplementedError:
        raise WrongDomain("needs `actions`, how many there are") from None
    if domain.outside:
        raise WrongDomain("runs outside compiled code: use Gymnasium's own check_env")
    if domain.states is None and domain.bounds is None:
        raise WrongDomain(
            "needs `states`, how many states it numbers, or `bounds`, the (low, high) of "
            "every component of its observations"
        )


def _build(domain: Domain, rng: np.random.Generator) -> Any:
    """A part, which must be a NamedTuple that shares nothing with the next one."""
    part, other = domain.build(rng), domain.build(rng)
    if not isinstance(part, tuple) or not hasattr(part, "_fields"):
        raise WrongDomain(f"build must return a NamedTuple, got {type(part).__name__}")
    for verb in (reset, step, observation):
        if type(part) not in verb.implementations:
            name = type(part).__name__
            raise WrongDomain(
                f"{name} does not implement the verb '{verb.__name__}': "
                f"write one with @{verb.__name__}.register({name})"
            )
    seen = observation(part)
    if not isinstance(seen, np.ndarray) or seen.ndim != 1:
        raise WrongDomain(f"observation must return an array of one axis, got {seen!r}")
    if np.shares_memory(seen, observation(other)):
        raise WrongDomain("two parts share their observation: make new arrays in build")
    return part


def _play(domain: Domain, episodes: int, seed: int, tally: Tally) -> list[Episode]:
    """Some episodes of random actions, every step of them checked."""
    rng, choices = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    part = _build(domain, rng)
    array, limit, found = observation(part), domain.step_limit or LONGEST, []
    for number in range(episodes):
        reset(part, number, rng)
        seen, alive = [_observed(domain, part, array)], 1.0
        rewards: list[float] = []
        while alive > 0.0 and len(rewards) < limit and not (rewards and cut(part)):
            action = int(choices.integers(domain.actions))
            origin = phase(part), _state(domain, part), action
            reward, alive = _checked_step(step(part, action, rng))
            rewards.append(reward)
            if alive > 0.0:
                seen.append(_observed(domain, part, array))
            result = (_state(domain, part) if alive > 0.0 else END, reward)
            tally.setdefault(origin, Counter())[result] += 1
        found.append(Episode(np.array(seen), np.array(rewards), alive == 0.0))
    return found


def _state(domain: Domain, part: Any) -> int:
    """The number of the present state: its place, or what is observed where it has none."""
    number = int(place(part))
    return int(observation(part)[0]) if number < 0 and domain.states else number


def _checked_step(answer: Any) -> tuple[float, float]:
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise WrongDomain(f"step must return (reward, alive), got {answer!r}")
    reward, alive = answer
    if not is_number(reward) or not math.isfinite(reward):
        raise WrongDomain(f"step must return a finite reward, got {reward!r}")
    if alive not in (0.0, 1.0) or isinstance(alive, bool | np.bool_):
        raise WrongDomain(
            f"step must return alive as 0.0 (the episode has ended) or 1.0, got {alive!r}"
        )
    return float(reward), float(alive)


def _observed(domain: Domain, part: Any, array: np.ndarray) -> np.ndarray:
    """A copy of the present observation, if it is what the description says."""
    seen = observation(part)
    if seen is not array:
        raise WrongDomain(
            "observation must return the same array every time: keep one in the part, and let "
            "reset and step write into it"
        )
    if domain.states is not None:
        if seen.dtype != np.int64:
            raise WrongDomain(f"observations are state numbers: use int64, got {seen.dtype}")
        if not 0 <= seen[0] < domain.states:
            raise WrongDomain(f"states is {domain.states}, but the observation was {seen[0]}")
        return seen[:1].copy()
    bounds = domain.bounds or ()
    if seen.dtype != np.float64:
        raise WrongDomain(f"observations are vectors: use float64, got {seen.dtype}")
    if seen.size != len(bounds):
        raise WrongDomain(f"bounds has {len(bounds)} components, the observation {seen.size}")
    for component, (low, high) in enumerate(bounds):
        if not low <= seen[component] <= high:
            raise WrongDomain(
                f"component {component} was {seen[component]!r}, outside its bounds "
                f"{low!r} to {high!r}"
            )
    return seen.copy()


def _check_repeatable(first: list[Episode], again: list[Episode]) -> None:
    """The same seed must give the same episodes."""
    for number, (one, other) in enumerate(zip(first, again, strict=True)):
        same = np.array_equal(one.observations, other.observations)
        if not (same and np.array_equal(one.rewards, other.rewards)):
            raise WrongDomain(
                f"episode {number} was another one with the same seed: draw from the rng that "
                "is passed in and from nothing else, and let reset forget the last episode"
            )


def _check_alive(domain: Domain, found: list[Episode], seed: int) -> None:
    """Detect *done* returned for *alive*: every episode ends at once, yet later steps go on."""
    if any(episode.rewards.size > 1 or not episode.ended for episode in found):
        return
    rng, choices = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    part = _build(domain, rng)
    reset(part, 0, rng)
    for _ in range(domain.step_limit or LONGEST):
        if _checked_step(step(part, int(choices.integers(domain.actions)), rng))[1] > 0.0:
            raise WrongDomain(
                "step returned alive = 0.0 at the first step of every episode and 1.0 later: it "
                "seems to return whether the episode is done; return 0.0 at its end, else 1.0"
            )


def _check_ends(domain: Domain, found: list[Episode]) -> None:
    """Some episode must end, unless it is said that they need not."""
    limited = domain.step_limit is not None or domain.endless
    if not limited and all(e.rewards.size == LONGEST and not e.ended for e in found):
        raise WrongDomain(
            f"no episode ended within {LONGEST:,} random steps: return alive = 0.0 at the end, "
            "or give the domain a step_limit"
        )


# ------------------------------------------------------------------------ against a finite MDP


def check_against_mdp(domain: Domain, mdp: FiniteMDP, tally: Tally, owner: str) -> int:
    """Compare all counts with the MDP's probabilities; returns how many pairs were compared."""
    table, compared = mdp.outcomes, 0
    phases, states = table.probabilities.shape[:2]
    if states != domain.states:
        raise ValueError(f"{owner}: states is {domain.states}, but its mdp() has {states}")
    for origin, found in tally.items():
        number, state, action = origin
        if not (0 <= number < phases and 0 <= state < states):
            raise ValueError(
                f"{owner}: was in phase {number}, state {state}, which its mdp() does not have: "
                "implement the verbs place and phase"
            )
        where = f"{owner}: state {state}, action {action}, phase {number}"
        check_frequencies(found, _expected(table, *origin), where)
        compared += found.total() >= ENOUGH
    return compared


def _expected(table: Outcomes, number: int, state: int, action: int) -> dict[Result, float]:
    """The probability of every successor and reward."""
    result: dict[Result, float] = {}
    probabilities, rewards = table.probabilities[number, state, action], table.rewards
    for o in np.flatnonzero(probabilities > 0.0):
        key = int(table.successors[state, action, o]), float(rewards[number, state, action, o])
        result[key] = result.get(key, 0.0) + float(probabilities[o])
    return result


def check_frequencies(found: Counter[Result], expected: dict[Result, float], where: str) -> None:
    """Nothing that is ruled out may follow, and the rest about as often as it should."""

    def said(result: Result) -> str:
        successor, reward = result
        return f"{'the end' if successor < 0 else f'state {successor}'} with reward {reward:g}"

    total = found.total()
    for result in found:
        if result not in expected:
            raise ValueError(f"{where}: led to {said(result)}, which its mdp() rules out")
    for result, probability in expected.items() if total >= ENOUGH else ():
        deviation = (total * probability * (1.0 - probability)) ** 0.5
        if abs(found[result] - total * probability) > DEVIATIONS * deviation + 1.0:
            raise ValueError(
                f"{where}: led to {said(result)} in {found[result]} of {total} steps, where its "
                f"mdp() has a probability of {probability:g}"
            )
