"""Jensen's gap: zero for linear values, a number by hand, and what AVI and LEVI differ by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from building import Built
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.core.verbs import backed_up_value


def random_mdp(seed: int) -> tuple[ex.FiniteMDP, np.ndarray, np.ndarray]:
    """An MDP in which chance may end an episode, feature vectors, and weights."""
    rng = np.random.default_rng(seed)
    states, actions, size = (int(rng.integers(1, top)) for top in (7, 4, 6))
    probabilities = rng.dirichlet(np.full(states + 1, 0.5), size=(states, actions))
    probabilities[..., -1] += 0.05  # every state can end
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    domain = ex.FiniteMDP(
        probabilities, np.zeros((states, actions)), start=np.full(states, 1 / states)
    )
    return domain, rng.normal(size=(states, size)), rng.normal(size=size)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_linear_values_have_no_gap(seed):
    domain, features, weights = random_mdp(seed)
    gap = ex.exact.jensen_gap(domain, lambda rows: rows @ weights, features=features)
    assert gap.shape == (domain.states, domain.actions)
    np.testing.assert_allclose(gap, 0.0, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_concave_values_are_never_above_those_of_their_mean(seed):
    domain, features, _ = random_mdp(seed)
    gap = ex.exact.jensen_gap(domain, lambda rows: -(rows**2).sum(axis=1), features=features)
    assert gap.max() <= 1e-12


def test_a_tanh_by_hand():
    """To state 1 or 2 with ½ each: s̄ = ½ (x₁ + x₂); or to 1 and the end: s̄ = ½ x₁."""
    probabilities = np.zeros((3, 2, 4))
    probabilities[1:, :, 3] = 1.0
    probabilities[0, 0, 1:3] = probabilities[0, 1, [1, 3]] = 0.5
    domain = ex.FiniteMDP(probabilities, np.zeros((3, 2)), start=[1.0, 0.0, 0.0])
    features = np.array([[9.0], [1.0], [3.0]])
    gap = ex.exact.jensen_gap(domain, lambda rows: np.tanh(rows[:, 0]), features=features)
    both = (math.tanh(1.0) + math.tanh(3.0)) / 2 - math.tanh(2.0)
    ending = math.tanh(1.0) / 2 - math.tanh(0.5)
    assert gap[0] == pytest.approx([both, ending])
    assert gap[0] == pytest.approx([-0.085703, -0.081320], abs=1e-6)
    assert not gap[1:].any()


@pytest.mark.parametrize("phase", [0, 1])
def test_the_gap_is_the_difference_of_avi_and_levi_targets(phase):
    domain, features = ex.Corridor(slip=0.3, switch_every=5), ex.RandomBinary(14, 5)
    agents = {
        model: Built(
            domain, features, ex.Lookahead.paper(0.1, model=model, values=ex.agents.NetworkValues())
        )
        for model in ("true", "exact")
    }
    part: Any = agents["true"].agent.weights
    part.outer[0, :16] = np.random.default_rng(2).normal(size=16)
    ahead = {}
    for model, built in agents.items():
        built.domain.now[1] = phase
        ahead[model] = np.array([
            [
                backed_up_value(built.agent.planner.model, built.state(n), a, part, 0.9)
                for a in range(2)
            ]
            for n in range(9)
        ])  # fmt: skip
    rows = np.zeros((9, 14))
    for n in range(9):
        rows[n, agents["true"].state(n).active] = 1.0

    def value(vectors: np.ndarray) -> np.ndarray:
        return np.tanh(vectors @ part.inner) @ part.outer[0]

    gap = ex.exact.jensen_gap(domain, value, features=rows, phase=phase)
    assert np.abs(gap).max() > 0.01
    np.testing.assert_allclose(ahead["true"] - ahead["exact"], 0.9 * gap, atol=1e-12)
