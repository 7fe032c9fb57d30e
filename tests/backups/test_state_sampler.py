from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backups.weighted import Values
from building import Built

import expectant as ex
from expectant.core.vectors import dense, empty_state
from expectant.core.verbs import draw, remember

VISITS = [0] * 5 + [1] * 30 + [2] * 10 + [5] * 15 + [8] * 40


def learned(built: Built, clusters: int, visits: list[int] = VISITS) -> Any:
    backups = ex.backups.StateSampler(clusters).build(built.setting)
    for number in built.rng.permutation(visits):
        remember(backups, built.transition(int(number), 0, -1.0, 3))
    return backups


def drawn(built: Built, backups: Any, draws: int) -> np.ndarray:
    """The drawn vectors (draws, d)."""
    state, vectors = empty_state(built.shape), np.zeros((draws, built.shape.size))
    for row in range(draws):
        assert draw(backups, state, built.rng) == -1
        assert state.state_index[0] == -1
        vectors[row] = dense(state, built.shape.size)
    return vectors


@pytest.mark.parametrize("clusters", [1, 50])
def test_one_hot_features_give_the_empirical_distribution(clusters):
    built = Built(ex.Corridor(), ex.OneHot())
    vectors = drawn(built, learned(built, clusters), 5_000)
    expected = np.bincount(VISITS, minlength=9) / len(VISITS)
    np.testing.assert_allclose(vectors.mean(axis=0), expected, atol=0.025)


def test_with_a_prototype_for_every_state_only_states_that_exist_are_drawn():
    built = Built(ex.Corridor(), ex.RandomBinary(14, 5))
    vectors = drawn(built, learned(built, 5), 4000)
    seen = np.zeros(9)
    for number in set(VISITS):
        seen[number] = (vectors == dense(built.state(number), 14)).all(axis=1).mean()
    expected = np.bincount(VISITS, minlength=9) / len(VISITS)
    np.testing.assert_allclose(seen, expected, atol=0.03)


@pytest.mark.parametrize("clusters", [1, 3])
def test_every_feature_is_active_as_often_as_in_experience(clusters):
    built = Built(ex.Corridor(), ex.RandomBinary(14, 5))
    vectors = drawn(built, learned(built, clusters), 5_000)
    expected = np.mean([dense(built.state(number), 14) for number in VISITS], axis=0)
    np.testing.assert_allclose(vectors.mean(axis=0), expected, atol=0.03)
    assert (vectors.sum(axis=1) == 5).all()  # five features are active at once
    assert vectors.max() == 1.0  # none of them twice


def test_a_state_that_is_known_takes_no_prototype_of_another():
    built = Built(ex.Corridor(), ex.RandomBinary(14, 5))
    backups = ex.backups.StateSampler(3).build(built.setting)
    for number in [4, 4, 2, 4, 2]:
        remember(backups, built.transition(number, 0, -1.0, 3))
    assert backups.uses.tolist() == [3, 2, 0] and backups.total[0] == 5


def test_values_are_the_means_of_what_was_active_and_zeros_stay_off():
    built = Built(ex.Corridor(), Values())
    backups = learned(built, 50)
    vectors = drawn(built, backups, 2000)
    known = np.array([dense(built.state(number), 7) for number in sorted(set(VISITS))])
    nearest = np.abs(vectors[:, None] - known).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-12
    np.testing.assert_allclose(
        drawn(built, learned(built, 1), 5_000).mean(axis=0),
        np.mean([dense(built.state(number), 7) for number in VISITS], axis=0),
        atol=0.03,
    )
