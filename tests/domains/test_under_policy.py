"""A finite MDP under a given policy, against the exact values of the policy."""

from __future__ import annotations

import numpy as np

import expectant as ex


def test_its_values_are_those_of_the_policy():
    rng = np.random.default_rng(0)
    for domain in (ex.Corridor(slip=0.2), ex.LocaGrid(rows=3, columns=5), ex.Counterexample()):
        policy = rng.dirichlet(np.ones(domain.actions), size=domain.states)
        chain = ex.under_policy(domain, policy)
        assert chain.actions == 1 and chain.states == domain.states
        np.testing.assert_allclose(
            ex.exact.optimal_values(chain, discount=0.9),
            ex.exact.policy_values(domain, policy, discount=0.9),
        )


def test_without_a_policy_it_does_anything():
    even = np.full((9, 2), 0.5)
    ours, theirs = (ex.under_policy(ex.Corridor(), policy) for policy in (None, even))
    np.testing.assert_array_equal(ours.outcomes.probabilities, theirs.outcomes.probabilities)
