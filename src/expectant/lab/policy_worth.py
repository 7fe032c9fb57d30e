"""What greedy policies are worth, and which actions are the best: computed exactly, for looks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from expectant.exact.solve import (
    TIE,
    Dynamics,
    dynamics,
    expected_next,
    greedy_policy,
    optimal_action_values,
)
from expectant.parts import Domain

HORIZON = 40
FOLLOWED, NEGLIGIBLE = 10_000, 1e-6  # steps that are followed, at most and while it matters


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


def is_best(domain: Domain, preferences: np.ndarray, discount: float, phase: int) -> bool:
    """Whether a greedy policy takes only optimal actions in all states that it comes to."""
    now = phase_of(domain, phase)
    world, best = dynamics(domain, now), best_actions(domain, discount, now)
    most = preferences.max(axis=1, keepdims=True)
    greedy = preferences >= most - TIE * np.abs(most)
    reached = np.zeros(best.shape[0], bool)
    following = np.flatnonzero(world.start)
    while following.size:
        if (greedy[following] & ~best[following]).any():
            return False
        reached[following] = True
        taken = greedy[following][..., None] & (world.probabilities[following] > 0.0)
        successors = np.unique(world.successors[following][taken])
        following = successors[(successors >= 0) & ~reached[successors]]
    return True


@lru_cache  # every run of a cell asks
def best_actions(domain: Domain, discount: float, phase: int) -> np.ndarray:
    """The optimal actions (S, A)."""
    values = optimal_action_values(domain, discount=discount, phase=phase)
    most = values.max(axis=1, keepdims=True)
    return values >= most - TIE * np.abs(most)


def worth_of_policies(world: Dynamics, policies: np.ndarray, discount: float) -> np.ndarray:
    """Expected discounted returns (M,) of policies (M, S, A) from the start.

    The probabilities of being in each state are carried forward, until next to nothing is left:
    those of all policies at once, along what they do, each in S rows of its own.
    """
    from scipy import sparse

    count, states, _ = policies.shape
    rewards = (policies * world.rewards).sum(axis=2)
    found = policies[..., None] * world.probabilities * (world.successors >= 0)
    policy, state, action, o = np.nonzero(found)
    target = policy * states + world.successors[state, action, o]
    entries = (discount * found[policy, state, action, o], (target, policy * states + state))
    onward = sparse.csr_matrix(entries, shape=(count * states, count * states))
    present = np.tile(world.start, count)
    visits = present.copy()
    for step in range(FOLLOWED):
        present = onward @ present
        visits += present
        if step % 10 == 0 and present.reshape(count, states).sum(axis=1).max() < NEGLIGIBLE:
            break
    return (visits.reshape(count, states) * rewards).sum(axis=1)
