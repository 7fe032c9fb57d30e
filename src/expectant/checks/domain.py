"""Check a user's domain by random play: contracts of its verbs, repeatability, its ``mdp()``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from expectant.checks.contracts import check_observation, check_step
from expectant.core.interfaces import Domain
from expectant.core.rng import SEED
from expectant.core.rules import whole
from expectant.core.verbs import observation, phase, reset, state_index, step, truncated
from expectant.domains.finite import END, FiniteMDP

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
    """``observations`` (n + 1, …) and ``rewards`` (n,) of an episode; ``ended``: it terminated."""

    observations: np.ndarray
    rewards: np.ndarray
    ended: bool


class WrongDomain(Exception):
    """A mistake of a domain, without its name."""


def _require(right: object, wrong: str) -> None:
    if not right:
        raise WrongDomain(wrong)


def check_domain(domain: Domain, *, episodes: int = 20, seed: int = 0) -> DomainCheck:
    """Run a domain with random actions, as plain Python, and check everything that is returned.

    Raises a ``ValueError`` that says what is wrong and what to do; otherwise returns an account of
    what was seen. A domain with an ``mdp()`` is also compared with it, by frequencies.
    """
    whole(1).check("check", "episodes", episodes)
    SEED.check("check", "seed", seed)
    tally: Tally = {}
    try:
        _check_settings(domain)
        played = _play(domain, episodes, seed, tally)
        again = _play(domain, episodes, seed, {})
        for number, (one, other) in enumerate(zip(played, again, strict=True)):
            same = np.array_equal(one.observations, other.observations)
            _require(
                same and np.array_equal(one.rewards, other.rewards),
                f"episode {number} was another one with the same seed: draw from the rng that is "
                "passed in and from nothing else, and let reset forget the last episode",
            )
        _check_alive(domain, played, seed)
        mdp = domain.mdp()
        pairs = None if mdp is None else _check_against_mdp(domain, mdp, tally)
    except WrongDomain as error:
        raise ValueError(f"check: {type(domain).__name__}: {error}") from None
    return DomainCheck(
        domain,
        episodes,
        sum(episode.rewards.size for episode in played),
        sum(episode.ended for episode in played),
        float(np.mean([episode.rewards.sum() for episode in played])),
        pairs,
    )


def _check_settings(domain: Domain) -> None:
    """Check the domain without running it."""
    try:
        actions = domain.actions
    except NotImplementedError:
        actions = 0
    count = isinstance(actions, int) and actions > 0
    _require(count, "needs `actions`, how many there are, 1 or more")
    _require(not domain.external, "runs outside compiled code: use Gymnasium's own check_env")
    _require(
        domain.states is not None or domain.bounds is not None,
        "needs `states`, how many states it numbers, or `bounds`, the (low, high) of every "
        "component of its observations",
    )


def _build(domain: Domain, rng: np.random.Generator) -> Any:
    """Build a part, which must be a NamedTuple that shares no array with the next one."""
    part, other = domain.build(rng), domain.build(rng)
    name = type(part).__name__
    _require(hasattr(part, "_fields"), f"build must return a NamedTuple, got {name}")
    for verb in (reset, step, observation):
        _require(
            type(part) in verb.implementations,
            f"{name} does not implement the verb '{verb.__name__}': write one with "
            f"@{verb.__name__}.register({name})",
        )
    seen = observation(part)
    array = isinstance(seen, np.ndarray) and seen.ndim == 1
    _require(array, f"observation must return an array of one axis, got {seen!r}")
    shared = np.shares_memory(seen, observation(other))
    _require(not shared, "two parts share their observation: make new arrays in build")
    return part


def _play(domain: Domain, episodes: int, seed: int, tally: Tally) -> list[Episode]:
    """Play episodes of random actions and check every step."""
    rng, choices = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    part = _build(domain, rng)
    array, limit, played = observation(part), domain.step_limit or LONGEST, []
    for number in range(episodes):
        reset(part, number, rng)
        seen, alive = [_observe(domain, part, array)], 1.0
        rewards: list[float] = []
        while alive > 0.0 and len(rewards) < limit and not (rewards and truncated(part)):
            action = int(choices.integers(domain.actions))
            origin = phase(part), _state(domain, part), action
            reward, alive = _step(part, action, rng)
            rewards.append(reward)
            if alive > 0.0:
                seen.append(_observe(domain, part, array))
            result = (_state(domain, part) if alive > 0.0 else END, reward)
            tally.setdefault(origin, Counter())[result] += 1
        played.append(Episode(np.array(seen), np.array(rewards), alive == 0.0))
    return played


def _state(domain: Domain, part: Any) -> int:
    """Return the present state's index, or what is observed if it has none."""
    number = int(state_index(part))
    return int(observation(part)[0]) if number < 0 and domain.states else number


def _step(part: Any, action: int, rng: np.random.Generator) -> tuple[float, float]:
    answer = step(part, action, rng)
    wrong = check_step(answer)
    _require(wrong is None, f"step {wrong}")
    reward, alive = answer
    return float(reward), float(alive)


def _observe(domain: Domain, part: Any, array: np.ndarray) -> np.ndarray:
    """Return a copy of the present observation, which is checked."""
    seen = observation(part)
    wrong = check_observation(seen, array, domain.states or 0, domain.bounds)
    _require(wrong is None, f"observation {wrong}")
    _require(np.isfinite(seen).all(), f"observation must be finite, got {seen}")
    return seen[:1].copy() if domain.states is not None else seen.copy()


def _check_alive(domain: Domain, played: list[Episode], seed: int) -> None:
    """Some episode must end, unless it is said that they need not; and *done* is not *alive*.

    Where *done* is returned, every episode ends at once, and later steps go on.
    """
    _require(
        domain.step_limit is not None
        or domain.endless
        or any(episode.ended or episode.rewards.size < LONGEST for episode in played),
        f"no episode ended within {LONGEST:,} random steps: return alive = 0.0 at the end, or give "
        "the domain a step_limit",
    )
    if any(episode.rewards.size > 1 or not episode.ended for episode in played):
        return
    rng, choices = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    part = _build(domain, rng)
    reset(part, 0, rng)
    for _ in range(domain.step_limit or LONGEST):
        _require(
            _step(part, int(choices.integers(domain.actions)), rng)[1] == 0.0,
            "step returned alive = 0.0 at the first step of every episode and 1.0 later: it seems "
            "to return whether the episode is done; return 0.0 at its end, else 1.0",
        )


def _check_against_mdp(domain: Domain, mdp: FiniteMDP, tally: Tally) -> int:
    """Compare all counts with the MDP's probabilities; return the number of pairs compared."""
    table, compared = mdp.outcomes, 0
    phases, states = table.probabilities.shape[:2]
    _require(states == domain.states, f"states is {domain.states}, but its mdp() has {states}")
    for (number, state, action), found in tally.items():
        where = f"state {state}, action {action}, phase {number}"
        known = 0 <= number < phases and 0 <= state < states
        _require(known, f"{where}: not in its mdp(): implement the verbs state_index and phase")
        expected: Counter[Result] = Counter()
        outcomes = zip(
            table.successors[state, action].tolist(),
            table.rewards[number, state, action].tolist(),
            table.probabilities[number, state, action].tolist(),
            strict=True,
        )
        for successor, reward, probability in outcomes:
            expected[successor, reward] += probability
        _check_frequencies(found, expected, where)
        compared += found.total() >= ENOUGH
    return compared


def _check_frequencies(found: Counter[Result], expected: Counter[Result], where: str) -> None:
    """Compare the frequencies of outcomes with their probabilities."""
    total = found.total()
    for result in found | expected:
        successor, reward = result
        end = "the end" if successor < 0 else f"state {successor}"
        said, probability = f"{where}: led to {end} with reward {reward:g}", expected[result]
        _require(probability > 0 or not found[result], f"{said}, which its mdp() rules out")
        deviation = (total * probability * (1.0 - probability)) ** 0.5
        _require(
            total < ENOUGH
            or abs(found[result] - total * probability) <= DEVIATIONS * deviation + 1.0,
            f"{said} in {found[result]} of {total} steps, where its mdp() has a probability of "
            f"{probability:g}",
        )
