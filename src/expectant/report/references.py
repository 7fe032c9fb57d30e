"""What curves are held against: a domain's switches, and what acting ε-greedily on q* earns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from expectant.exact.dynamic_programming import (
    epsilon_greedy_policy,
    optimal_policy,
    policy_values,
    start_return,
)

if TYPE_CHECKING:
    from expectant.engine.result import Result

MOST_STATES = 2_000  # of an MDP that is solved only to draw a line
SAME = 1e-9


class Optimum(NamedTuple):
    """The exact ``value`` of acting ε-greedily on optimal values; NaN where there is none."""

    value: float
    epsilon: float

    @property
    def known(self) -> bool:
        return math.isfinite(self.value)


UNKNOWN = Optimum(math.nan, math.nan)


def common_switch(results: Sequence[Result]) -> int | None:
    """After how many episodes the domain of all these results switches; None if not in all alike.

    Over steps nobody knows when that is.
    """
    found = {result.domain.switch_every for result in results}
    return found.pop() if len(found) == 1 and _over_episodes(results) else None


def common_optimum(results: Sequence[Result]) -> Optimum:
    """The one optimum of all these results, if there is one number.

    There is none where domains differ or are not finite MDPs, where phases are worth different
    amounts, where agents discount differently, and over steps. ε is the largest of the agents'.
    """
    domain, agents = results[0].domain, [result.agent for result in results]
    alike = all(result.domain == domain for result in results)
    mdp = domain.mdp() if alike and _over_episodes(results) else None
    if mdp is None or mdp.endless or mdp.states > MOST_STATES:
        return UNKNOWN
    discounts = {float(getattr(agent, "discount", math.nan)) for agent in agents}
    discount = discounts.pop()
    epsilon = max(float(getattr(agent, "epsilon", math.nan)) for agent in agents)
    if discounts or math.isnan(discount) or math.isnan(epsilon):
        return UNKNOWN
    try:
        values = [_undiscounted(mdp, epsilon, discount, phase) for phase in range(mdp.phases)]
    except ValueError:  # a policy that never ends
        return UNKNOWN
    return Optimum(values[0], epsilon) if max(values) - min(values) < SAME else UNKNOWN


def _over_episodes(results: Sequence[Result]) -> bool:
    return all(result.steps is None for result in results)


def _undiscounted(mdp: Any, epsilon: float, discount: float, phase: int) -> float:
    """What is recorded is the sum of rewards, whatever an agent's discount."""
    policy = epsilon_greedy_policy(optimal_policy(mdp, discount=discount, phase=phase), epsilon)
    return start_return(mdp, policy_values(mdp, policy, phase=phase))
