"""Looks at how well an agent would do: returns of its greedy policy, and when it is the best."""

from __future__ import annotations

import numpy as np

from expectant.exact.car_values import judged_levels
from expectant.exact.solve import TIE, dynamics, optimal_policy
from expectant.lab.looking import Look, Seen, add_look, by_phase
from expectant.lab.policy_worth import (
    HORIZON,
    NEGLIGIBLE,
    dynamics_phases,
    is_best,
    phase_of,
    policies_of,
    returns_within,
    worth_of_policies,
)
from expectant.parts import Agent, Domain
from expectant.rules import whole

EPISODES = 20


def _greedy_return(domain: Domain, agent: Agent, seen: Seen, horizon: int) -> np.ndarray:
    table, discount = seen.preferences, agent.discount

    def of(rows: np.ndarray, phase: int) -> np.ndarray:
        policies = policies_of(table[rows])
        return returns_within(domain, policies, phase, discount=discount, horizon=horizon)

    return by_phase(domain, seen, np.isfinite(table).all(axis=(1, 2)), of)


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


def _solving_updates(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """log₁₀ of the backups so far; once the greedy way has been the best, of those until then."""
    if getattr(agent, "planning_steps", 0) > 0 and not seen.work.any():
        raise ValueError(
            f"record: solving_updates counts backups of pairs (SeenPairs, PrioritizedPairs), "
            f"and {type(agent).__name__} has counted none"
        )
    counted = np.maximum(seen.work, 1.0)
    for row in range(counted.size):  # one by one: after the first nothing need be found out
        if is_best(domain, seen.preferences[row], agent.discount, int(seen.phases[row])):
            counted[row:] = counted[row]
            break
    return np.log10(counted)


def _start_return(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """What following the greedy policy from the start is worth."""
    table = seen.preferences

    def of(rows: np.ndarray, phase: int) -> np.ndarray:
        return worth_of_policies(dynamics(domain, phase), policies_of(table[rows]), agent.discount)

    return by_phase(domain, seen, np.isfinite(table).all(axis=(1, 2)), of)


def _decided(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """In how many states one action is preferred to all others."""
    ranked = np.sort(seen.preferences, axis=-1)
    decided = (ranked[..., -1] > ranked[..., -2] + TIE).sum(axis=-1).astype(float)
    return np.where(np.isfinite(seen.preferences).all(axis=(1, 2)), decided, np.nan)


add_look(
    Look(
        "solving_updates",
        "log₁₀ of updates until solved",
        "the decimal logarithm of how many backups planning has drawn so far or, once the greedy "
        "policy from the start has been optimal, had drawn when it first was",
        ("preferences", "work"),
        _solving_updates,
        of_errors=True,
    )
)
add_look(
    Look(
        "start_return",
        "greedy return from the start",
        "the expected discounted return of the greedy policy from the start, computed by carrying "
        f"probabilities forward until less than {NEGLIGIBLE:g} of them is left",
        ("preferences",),
        _start_return,
    )
)
add_look(
    Look(
        "largest_value",
        "largest action value, without its sign",
        "the largest of all |q̂(s, a)|, or of what else the agent prefers actions by",
        ("preferences",),
        lambda domain, agent, seen: np.abs(seen.preferences).max(axis=(1, 2)),
        of_errors=True,
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
        "episode_return",
        "return of greedy episodes",
        "the mean discounted return of `episodes` episodes in which the agent acts greedily and "
        "does not learn, in the present phase; every look begins the same episodes",
        ("returns",),
        lambda domain, agent, seen, episodes: seen.returns.mean(axis=1),
        options={"episodes": (whole(1), EPISODES)},
        levels=lambda domain, agent, phases, episodes: judged_levels(domain, phases),
    )
)
