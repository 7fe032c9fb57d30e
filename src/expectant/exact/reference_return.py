"""The exact return that several results can be compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from expectant.core.interfaces import Domain
from expectant.exact import dynamic_programming as dp

MOST_STATES = 2_000  # of an MDP that is solved for a comparison only
SAME = 1e-9


class Optimum(NamedTuple):
    """The exact return of acting ε-greedily on optimal values; NaN if unknown."""

    value: float
    epsilon: float

    @property
    def is_known(self) -> bool:
        return math.isfinite(self.value)


UNKNOWN = Optimum(math.nan, math.nan)


def common_optimum(results: Sequence[Any]) -> Optimum:
    """Return the optimum of all results, for the largest ε of the agents.

    Unknown if domains differ or are not finite MDPs, if the optimum differs between phases, if
    agents discount differently, and over steps.
    """
    domain = results[0].domain
    is_shared = all(result.domain == domain for result in results)
    over_episodes = all(result.steps is None for result in results)
    mdp = domain.mdp() if is_shared and over_episodes else None
    if mdp is None or mdp.endless or mdp.states > MOST_STATES:
        return UNKNOWN
    discount, *others = {result.agent.discount for result in results}
    if others:
        return UNKNOWN
    epsilon = max(result.agent.epsilon for result in results)
    value = common_return(partial(undiscounted_return, mdp, epsilon, discount), mdp.phases)
    return UNKNOWN if math.isnan(value) else Optimum(value, epsilon)


def common_return(of: Callable[[int], float], phases: int) -> float:
    """Return the return in all phases; NaN where they differ, or a policy never ends."""
    try:
        returns = [of(phase) for phase in range(phases)]
    except ValueError:  # no policy ends for certain
        return math.nan
    return returns[0] if max(returns) - min(returns) < SAME else math.nan


def undiscounted_return(domain: Domain, epsilon: float, discount: float, phase: int) -> float:
    """Return the sum of rewards, which runs record, of acting ε-greedily on discounted values."""
    policy = dp.epsilon_greedy_policy(
        dp.optimal_policy(domain, discount=discount, phase=phase), epsilon
    )
    return dp.start_return(domain, dp.policy_values(domain, policy, phase=phase))
