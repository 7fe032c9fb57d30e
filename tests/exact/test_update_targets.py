"""The paper's theorems as properties of random models, features and weights.

Hundreds of examples each, to 1e-10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from building import Built
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.core.updates import levi_target
from expectant.core.verbs import backed_up_action_value

EXAMPLES = settings(max_examples=300, deadline=None)
seeds = st.integers(0, 2**32 - 1)
discounts = st.floats(0.0, 1.0)


def avi(rewards, probabilities, features, weights, discount):
    """Approximate value iteration: max_a [r + γ Σ p(s' | s, a) wᵀs']."""
    return (rewards + discount * probabilities @ (features @ weights)).max()


def evi(rewards, survivors, endings, weights, discount):
    """Expectation value iteration: max_a [r + γ (1 − β) wᵀŝ]."""
    return (rewards + discount * (1.0 - endings) * (survivors @ weights)).max()


def levi(rewards, expected, weights, discount):
    """Linear expectation value iteration: max_a [r + γ wᵀs̄]."""
    return (rewards + discount * expected @ weights).max()


def aavi(rewards, probabilities, features, weights, discount):
    """Approximate action-value iteration, all actions: r + γ Σ p(s' | s, a) max_a' w_a'ᵀs'."""
    return rewards + discount * probabilities @ (features @ weights.T).max(axis=1)


def invalid(rewards, expected, weights, discount):
    """Action values with an expectation model (Sorg & Singh 2010): r + γ max_a' w_a'ᵀs̄."""
    return rewards + discount * (expected @ weights.T).max(axis=1)


class OneState(NamedTuple):
    """A distribution model of one state and the expectation models aligned with it."""

    rewards: np.ndarray
    probabilities: np.ndarray
    features: np.ndarray
    expected: np.ndarray
    survivors: np.ndarray
    endings: np.ndarray
    weights: np.ndarray
    action_weights: np.ndarray


def one_state(seed: int) -> OneState:
    rng = np.random.default_rng(seed)
    actions, successors, size = (int(rng.integers(1, top)) for top in (5, 6, 8))
    mass = rng.dirichlet(np.full(successors + 1, 0.5), size=actions)
    if rng.random() < 0.2:
        mass[rng.integers(actions)] = np.eye(successors + 1)[-1]  # an action that surely ends
    probabilities, endings = mass[:, :-1], mass[:, -1]
    features = rng.normal(size=(successors, size)) * 10.0 ** rng.integers(-1, 2)
    expected = probabilities @ features
    alive = 1.0 - endings
    survivors = expected / np.where(alive > 1e-12, alive, 1.0)[:, None]
    return OneState(
        rng.normal(size=actions), probabilities, features, expected, survivors,
        np.where(alive > 1e-12, endings, 1.0), rng.normal(size=size),
        rng.normal(size=(actions, size)),
    )  # fmt: skip


@EXAMPLES
@given(seed=seeds, discount=discounts)
def test_theorems_1_and_2_levi_is_evi_and_avi_for_aligned_models(seed, discount):
    w = one_state(seed)
    linear = levi(w.rewards, w.expected, w.weights, discount)
    episodic = evi(w.rewards, w.survivors, w.endings, w.weights, discount)
    approximate = avi(w.rewards, w.probabilities, w.features, w.weights, discount)
    assert linear == pytest.approx(episodic, abs=1e-10, rel=1e-10)
    assert linear == pytest.approx(approximate, abs=1e-10, rel=1e-10)


@EXAMPLES
@given(seed=seeds, discount=discounts)
def test_the_planning_gap_is_never_negative(seed, discount):
    w = one_state(seed)
    valid = aavi(w.rewards, w.probabilities, w.features, w.action_weights, discount)
    wrong = invalid(w.rewards, w.expected, w.action_weights, discount)
    assert (valid - wrong >= -1e-10).all()


@EXAMPLES
@given(seed=seeds, discount=discounts)
def test_the_gap_is_zero_if_one_action_is_greedy_in_all_successors(seed, discount):
    w = one_state(seed)
    values = w.features @ w.action_weights.T
    # lift one action above all others in every successor: where features allow it, exactly zero
    lifted = np.vstack([w.action_weights, np.linalg.pinv(w.features) @ (values.max(axis=1) + 1.0)])
    if not ((w.features @ lifted.T).argmax(axis=1) == len(lifted) - 1).all():
        return
    valid = aavi(w.rewards, w.probabilities, w.features, lifted, discount)
    wrong = invalid(w.rewards, w.expected, lifted, discount)
    size = np.abs(values).max() + 1.0
    np.testing.assert_allclose(valid, wrong, atol=1e-9 * size)


def random_mdp(seed: int) -> ex.FiniteMDP:
    rng = np.random.default_rng(seed)
    states, actions = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    probabilities = rng.dirichlet(np.full(states + 1, 0.7), size=(states, actions))
    probabilities[..., -1] += 0.05
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    return ex.FiniteMDP(probabilities, rng.normal(size=(states, actions)))


@settings(max_examples=100, deadline=None)
@given(seed=seeds, discount=discounts)
def test_the_models_of_a_finite_mdp_back_up_the_references(seed, discount):
    """The parts that agents use give the reference targets, with aliased features or not."""
    rng = np.random.default_rng(seed)
    domain = random_mdp(seed)
    size = int(rng.integers(2, 7))
    features = ex.RandomBinary(size, int(rng.integers(1, size + 1)))
    built = Built(domain, features, seed=seed)
    weights = np.zeros(built.setting.width)
    weights[:size] = rng.normal(size=size)
    action_weights = np.zeros((domain.actions, built.setting.width))
    action_weights[:, :size] = rng.normal(size=(domain.actions, size))
    models = [
        m.build(built.setting)
        for m in (ex.models.TrueModel(), ex.models.ExactExpectation(), ex.models.ExactEpisodic())
    ]
    number = int(rng.integers(domain.states))
    state, table = built.state(number), domain.mdp().outcomes
    matrix = np.zeros((domain.states + 1, size))
    for s in range(domain.states):
        np.add.at(matrix[s], built.state(s).active, 1.0)
    successors = matrix[table.successors[number]]
    rewards = (table.probabilities[0, number] * table.rewards[0, number]).sum(axis=-1)
    expected = np.einsum("ao,aod->ad", table.probabilities[0, number], successors)
    reference = levi(rewards, expected, weights[:size], discount)
    for model in models:
        target = levi_target(model, state, domain.actions, weights, discount)
        assert target == pytest.approx(reference, abs=1e-10)
    wrong = invalid(rewards, expected, action_weights[:, :size], discount)
    right = rewards + discount * np.einsum(
        "ao,ao->a",
        table.probabilities[0, number],
        (successors @ action_weights[:, :size].T).max(axis=2),
    )
    for action in range(domain.actions):
        values = [
            backed_up_action_value(m, state, action, action_weights, discount) for m in models
        ]
        expected_values = [right[action], wrong[action], wrong[action]]
        assert values == pytest.approx(expected_values, abs=1e-10)


MAPS = {"one-hot": ex.OneHot(), "tiles": ex.Tiles(3, 4, bounds=[(0.0, 8.0)])}


@pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
def test_theorem_2_over_a_whole_run(features):
    """Look-ahead with the exact expectation model learns what it learns with the true model."""
    domain = ex.Corridor(slip=0.1, switch_every=20)
    exact, true = (
        ex.run(
            domain, features, ex.Lookahead.paper(0.05, model=model, planning_steps=3), episodes=40,
            runs=1, compiled=False, keep_agents=True, progress=False,
        )
        for model in ("exact", "true")
    )  # fmt: skip
    np.testing.assert_allclose(exact.returns, true.returns, atol=1e-9)
    for one, other in zip(exact.kept, true.kept, strict=True):
        weights = one[0].agent.weights
        assert np.abs(weights).max() > 1.0
        np.testing.assert_allclose(weights, other[0].agent.weights, rtol=0.0, atol=1e-9)
