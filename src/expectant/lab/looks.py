"""Looks: what is said about an agent in one number each, known by name.

A look asks an agent about all states of its domain. Those that come with the package are computed
exactly, so that there is no noise in them; anybody can add one with :func:`look_as`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from expectant.descriptions import near_miss
from expectant.exact.solve import (
    TIE,
    Dynamics,
    dynamics,
    expected_next,
    greedy_policy,
    optimal_policy,
    optimal_values,
    start_return,
)
from expectant.parts import Agent, Domain
from expectant.rules import Rule, whole

HORIZON = 40
SCATTERED = 16


class Seen(NamedTuple):
    """The answers at M stops, one row each, NaN from a divergence on; ``phases`` (M,).

    ``values`` (M, S) and ``preferences`` (M, S, A); what a look does not ask for is empty.
    """

    values: np.ndarray
    preferences: np.ndarray
    phases: np.ndarray


Of = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Look:
    """A number of what an agent knows: ``of`` maps a domain, an agent's description and what was
    :class:`Seen` to (M,), with the ``options`` that a record may set.

    ``topics`` is what it asks for. ``levels`` gives lines to hold it against, phase by phase.
    """

    name: str
    title: str
    meaning: str
    topics: tuple[str, ...]
    of: Of
    options: Mapping[str, tuple[Rule, Any]] = field(default_factory=dict)
    levels: Callable[..., list[dict[str, float]]] | None = None


LOOKS: dict[str, Look] = {}


def add_look(found: Look) -> Look:
    """Let specs know a look by its name."""
    if found.name in LOOKS:
        raise ValueError(f"look: the name {found.name!r} is taken")
    LOOKS[found.name] = found
    return found


def look_as(
    name: str, meaning: str, *, topics: tuple[str, ...] = ("values",), title: str = ""
) -> Callable[[Of], Of]:
    """Make a function of a domain, an agent and what was seen, to (M,), a look of that name."""

    def register(of: Of) -> Of:
        add_look(Look(name, title or name, meaning, topics, of))
        return of

    return register


def look_named(name: str) -> Look:
    """A look by its name."""
    if name not in LOOKS:
        raise ValueError(f"look: unknown {name!r}" + near_miss(str(name), sorted(LOOKS)))
    return LOOKS[name]


def policies_of(preferences: np.ndarray) -> np.ndarray:
    """Greedy policies, ties split evenly, of preferences (M, S, A)."""
    flat = preferences.reshape(-1, preferences.shape[-1])
    return greedy_policy(flat).reshape(preferences.shape)


def returns_within(
    domain: Domain, policies: np.ndarray, phase: int, *, discount: float, horizon: int = HORIZON
) -> np.ndarray:
    """Expected discounted returns (M,) of policies (M, S, A) within so many steps.

    Mean over all states as starts, under the rewards of one phase, by backward sweeps.
    """
    world = dynamics(domain, phase)
    chosen = policies.transpose(1, 2, 0)  # (S, A, M)
    values = np.zeros((policies.shape[1], policies.shape[0]))
    for _ in range(horizon):
        targets = world.rewards[:, :, None] + discount * expected_next(world, values)
        values = (chosen * targets).sum(axis=1)
    return values.mean(axis=0)


def phase_of(domain: Domain, phase: int) -> int:
    """The phase of the MDP that a phase of a run is in; after the last comes the first."""
    return phase % dynamics_phases(domain)


def dynamics_phases(domain: Domain) -> int:
    """How many phases the MDP of a domain has."""
    mdp = domain.mdp()
    if mdp is None:
        raise ValueError(f"look: domain must be a finite MDP, got {domain!r}")
    return int(mdp.outcomes.probabilities.shape[0])


def _by_phase(domain: Domain, seen: Seen, known: np.ndarray, of: object) -> np.ndarray:
    result = np.full(known.size, np.nan)
    for phase in np.unique(seen.phases):
        rows = known & (seen.phases == phase)
        if rows.any():
            result[rows] = of(rows, phase_of(domain, int(phase)))  # type: ignore[operator]
    return result


def _greedy_return(domain: Domain, agent: Agent, seen: Seen, horizon: int) -> np.ndarray:
    table, discount = seen.preferences, agent.discount

    def of(rows: np.ndarray, phase: int) -> np.ndarray:
        policies = policies_of(table[rows])
        return returns_within(domain, policies, phase, discount=discount, horizon=horizon)

    return _by_phase(domain, seen, np.isfinite(table).all(axis=(1, 2)), of)


def _greedy_levels(
    domain: Domain, agent: Agent, phases: int, horizon: int
) -> list[dict[str, float]]:
    """The optimum of every phase, and what the policy that was best before is worth in it."""
    discount = agent.discount
    best = [
        optimal_policy(domain, discount=discount, phase=phase)[None]
        for phase in range(dynamics_phases(domain))
    ]

    def worth(policy: np.ndarray, phase: int) -> float:
        found = returns_within(domain, policy, phase, discount=discount, horizon=horizon)
        return float(found[0])

    found = []
    for phase in range(phases):
        now = phase_of(domain, phase)
        levels = {"optimum": worth(best[now], now)}
        if not np.array_equal(best[now], best[0]):
            levels["outdated policy"] = worth(best[0], now)
        found.append(levels)
    return found


def _value_error(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    def of(rows: np.ndarray, phase: int) -> np.ndarray:
        exact = optimal_values(domain, discount=agent.discount, phase=phase)
        return np.sqrt(((seen.values[rows] - exact) ** 2).mean(axis=1))

    return _by_phase(domain, seen, np.isfinite(seen.values).all(axis=1), of)


def _solved(domain: Domain, agent: Agent, seen: Seen, horizon: int) -> np.ndarray:
    """The greedy policy's return from the start, as a share of the optimal one."""
    discount, table = agent.discount, seen.preferences

    def of(rows: np.ndarray, phase: int) -> np.ndarray:
        world, best = dynamics(domain, phase), _best_from_start(domain, discount, phase)
        return np.array([_from_start(world, p, discount, horizon) for p in table[rows]]) / best

    return _by_phase(domain, seen, np.isfinite(table).all(axis=(1, 2)), of)


@lru_cache  # every run of a cell asks
def _best_from_start(domain: Domain, discount: float, phase: int) -> float:
    return start_return(domain, optimal_values(domain, discount=discount, phase=phase))


def _from_start(world: Dynamics, preferences: np.ndarray, discount: float, horizon: int) -> float:
    """The discounted return of a greedy policy within so many steps, followed from the start.

    Only states that it comes to are looked at, which are few where there is little chance.
    """
    weights, total = {int(s): float(world.start[s]) for s in np.flatnonzero(world.start)}, 0.0
    for step in range(horizon):
        following: dict[int, float] = {}
        for state, weight in weights.items():
            chosen = np.flatnonzero(preferences[state] >= preferences[state].max() - TIE)
            for action in chosen:
                share = weight / chosen.size
                total += share * discount**step * float(world.rewards[state, action])
                for o in np.flatnonzero(world.probabilities[state, action]):
                    successor = int(world.successors[state, action, o])
                    if successor >= 0:
                        more = share * float(world.probabilities[state, action, o])
                        following[successor] = following.get(successor, 0.0) + more
        weights = following
        if len(weights) > SCATTERED:  # not a policy that knows its way
            return 0.0
    return total


def _decided(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """In how many states one action is preferred to all others."""
    ranked = np.sort(seen.preferences, axis=-1)
    decided = (ranked[..., -1] > ranked[..., -2] + TIE).sum(axis=-1).astype(float)
    return np.where(np.isfinite(seen.preferences).all(axis=(1, 2)), decided, np.nan)


add_look(
    Look(
        "solved",
        "greedy return from the start, as a share of the optimum",
        "the discounted return of the greedy policy from the start within `horizon` steps, as a "
        "share of the optimal one; 0 for a policy that could be in more than "
        f"{SCATTERED} states at once",
        ("preferences",),
        _solved,
        options={"horizon": (whole(1), 1000)},
    )
)
add_look(
    Look(
        "largest_value",
        "largest action value, without its sign",
        "the largest of all |q̂(s, a)|, or of what else the agent prefers actions by",
        ("preferences",),
        lambda domain, agent, seen: np.abs(seen.preferences).max(axis=(1, 2)),
    )
)
add_look(
    Look(
        "decided_states",
        "states with a preferred action",
        "the number of states in which one action is preferred to all others",
        ("preferences",),
        _decided,
    )
)
add_look(
    Look(
        "greedy_return",
        "expected return of the greedy policy",
        "the expected discounted return of the greedy policy within `horizon` steps, mean over all "
        "states as starts, under the present rewards",
        ("preferences",),
        _greedy_return,
        options={"horizon": (whole(1), HORIZON)},
        levels=_greedy_levels,
    )
)
add_look(
    Look(
        "value_error",
        "error of the state values",
        "the root of the mean over states of (v̂(s) − v*(s))², v* being the optimal values of the "
        "present phase",
        ("values",),
        _value_error,
    )
)


def _start_value(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    def of(rows: np.ndarray, phase: int) -> np.ndarray:
        return np.asarray(seen.values[rows] @ dynamics(domain, phase).start)

    return _by_phase(domain, seen, np.isfinite(seen.values).all(axis=1), of)


def _start_levels(domain: Domain, agent: Agent, phases: int) -> list[dict[str, float]]:
    found = []
    for phase in range(phases):
        now = phase_of(domain, phase)
        best = optimal_values(domain, discount=agent.discount, phase=now)
        found.append({"optimum": float(dynamics(domain, now).start @ best)})
    return found


add_look(
    Look(
        "start_value",
        "value of the start",
        "the mean of the state values over the starts of episodes",
        ("values",),
        _start_value,
        levels=_start_levels,
    )
)
