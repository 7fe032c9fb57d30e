"""Looks at what an agent would do: actions that are out of date, and how sure it is."""

from __future__ import annotations

import numpy as np

from expectant.lab.looking import Look, Seen, add_look
from expectant.lab.policy_worth import best_actions, phase_of, policies_of
from expectant.parts import Agent, Domain


def _outdated_actions(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """In what share of states the greedy action was right before a change, and is wrong now."""
    found = np.full(seen.phases.size, np.nan)
    for row in np.flatnonzero(np.isfinite(seen.preferences).all(axis=(1, 2))):
        phase = int(seen.phases[row])
        outdated = np.zeros(seen.preferences.shape[1:], bool)
        if phase > 0:
            before, now = (
                best_actions(domain, agent.discount, phase_of(domain, number))
                for number in (phase - 1, phase)
            )
            outdated = before & ~now
        found[row] = (policies_of(seen.preferences[row][None])[0] * outdated).sum(axis=1).mean()
    return found


def _largest_probability(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """How sure a softmax is of its action, mean over states."""
    if not hasattr(agent, "policy_step"):
        raise ValueError(
            f"record: largest_probability is of agents that keep a policy, such as CachedPolicy, "
            f"got {type(agent).__name__}"
        )
    raised = seen.preferences - seen.preferences.max(axis=-1, keepdims=True)
    return np.asarray((1.0 / np.exp(raised).sum(axis=-1)).mean(axis=-1))


add_look(
    Look(
        "outdated_actions",
        "outdated greedy actions",
        "the share of states whose greedy action was optimal in the phase before and is not in "
        "the present one, ties counted by halves; none in the first phase",
        ("preferences",),
        _outdated_actions,
        of_errors=True,
    )
)
add_look(
    Look(
        "largest_probability",
        "largest action probability",
        "the largest probability that the softmax policy gives to an action, mean over states, "
        "without what ε adds",
        ("preferences",),
        _largest_probability,
    )
)
