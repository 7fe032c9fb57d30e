from __future__ import annotations

import numpy as np
import pytest
from backups.weighted import Values
from building import Built, per_feature

import expectant as ex
from expectant.core.updates import levi_target
from expectant.core.vectors import dense
from expectant.core.verbs import backed_up_action_value, backed_up_value, fit, on_value_update

CORRIDOR = ex.Corridor(cells=3, slip=0.25)


def test_one_hot_fits_are_running_averages_worked_by_hand():
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.LinearExpectation(step=per_feature(0.5)).build(built.setting)
    error = fit(model, built.transition(1, 0, -1.0, 0))
    assert error == 1.0 + 1.0  # |−1 − 0| + ‖(1, 0, 0)‖²
    assert model.rewards[0, 1] == -0.5
    assert model.rows[0, 1, :3].tolist() == [0.5, 0.0, 0.0]
    fit(model, built.transition(1, 0, -1.0, 2))
    assert model.rewards[0, 1] == -0.75
    assert model.rows[0, 1, :3].tolist() == [0.25, 0.0, 0.5]
    fit(model, built.transition(1, 0, 20.0, None))  # the end is the zero vector
    assert model.rewards[0, 1] == -0.75 + 0.5 * 20.75
    assert model.rows[0, 1, :3].tolist() == [0.125, 0.0, 0.25]
    assert not model.rows[1].any() and not model.rewards[1].any()
    weights = np.zeros(8)
    weights[:3] = [4.0, 9.0, -8.0]
    value = backed_up_value(model, built.state(1), 0, weights, 0.5)
    assert value == 9.625 + 0.5 * (0.125 * 4.0 - 0.25 * 8.0)


def test_a_fit_is_a_gradient_step_on_half_the_squared_errors():
    built = Built(ex.Corridor(), ex.RandomBinary(14, 5))
    model = ex.models.LinearExpectation(step=per_feature(0.1)).build(built.setting)
    rng = np.random.default_rng(0)
    model.rows[:, :, :14] = rng.normal(size=(2, 14, 14))
    model.rewards[:, :14] = rng.normal(size=(2, 14))
    rows, rewards = model.rows.copy(), model.rewards.copy()
    features = ex.exact.feature_matrix(ex.Corridor(), ex.RandomBinary(14, 5))
    features = np.zeros((9, 14))
    for number in range(9):
        features[number, built.state(number).active] = 1.0
    s, s_next = features[4], features[5]
    fit(model, built.transition(4, 1, -1.0, 5))
    error = s_next - rows[1, :, :14].T @ s
    np.testing.assert_allclose(model.rows[1, :, :14], rows[1, :, :14] + 0.1 * np.outer(s, error))
    surprise = -1.0 - rewards[1, :14] @ s
    np.testing.assert_allclose(model.rewards[1, :14], rewards[1, :14] + 0.1 * surprise * s)
    np.testing.assert_array_equal(model.rows[0], rows[0])


def test_a_fit_weighs_every_feature_by_its_value():
    built = Built(ex.Corridor(), Values())
    model = ex.models.LinearExpectation(step=per_feature(0.1)).build(built.setting)
    s, s_next = (dense(built.state(number), 7) for number in (4, 5))
    assert not np.isin(s, (0.0, 1.0)).all()
    fit(model, built.transition(4, 1, -3.0, 5))
    np.testing.assert_allclose(model.rows[1, :, :7], 0.1 * np.outer(s, s_next))
    np.testing.assert_allclose(model.rewards[1, :7], 0.1 * -3.0 * s)
    weights = np.arange(8.0)
    value = backed_up_value(model, built.state(4), 1, weights, 0.5)
    assert value == pytest.approx(0.1 * (s @ s) * (-3.0 + 0.5 * (s_next @ weights[:7])))


@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(14, 5)], ids=repr)
def test_at_first_a_model_promises_its_initial_reward_everywhere(features):
    built = Built(ex.Corridor(), features)
    model = ex.models.LinearExpectation(per_feature(0.1), initial_reward=6.0).build(built.setting)
    for number in range(9):
        for action in (0, 1):
            value = backed_up_value(model, built.state(number), action, np.ones(16), 0.5)
            assert value == pytest.approx(6.0)


@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(14, 5), ex.RandomBinary(6, 2)])
def test_exact_and_true_models_back_up_the_same_state_values(features):
    """Theorem 2: LEVI with the aligned expectation model equals AVI, aliased features or not."""
    domain = ex.Corridor(slip=0.3, switch_every=10)
    built = Built(domain, features)
    true = ex.models.TrueModel().build(built.setting)
    exact = ex.models.ExactExpectation().build(built.setting)
    weights = np.zeros(built.setting.width)
    weights[: built.shape.size] = np.random.default_rng(1).normal(size=built.shape.size) * 10
    for phase in (0, 1):
        built.domain.now[1] = phase
        for number in range(9):
            state = built.state(number)
            for model in (true, exact):
                assert backed_up_value(model, state, 0, weights, 0.9) == pytest.approx(
                    backed_up_value(exact, state, 0, weights, 0.9), abs=1e-10
                )
            expected = levi_target(true, state, 2, weights, 0.9)
            assert levi_target(exact, state, 2, weights, 0.9) == pytest.approx(expected, abs=1e-10)


def test_action_values_lose_the_planning_gap_with_an_expectation_model():
    domain = ex.Counterexample()
    built = Built(domain, ex.OneHot())
    weights = np.zeros((2, 8))
    weights[:, :3] = ex.exact.optimal_action_values(domain).T
    true = ex.models.TrueModel().build(built.setting)
    exact = ex.models.ExactExpectation().build(built.setting)
    state = built.state(0)
    assert backed_up_action_value(true, state, 0, weights, 1.0) == 0.0  # mean of the maxima
    assert backed_up_action_value(exact, state, 0, weights, 1.0) == -2.5  # maximum of the mean
    assert ex.exact.planning_gap(domain)[0, 0] == 2.5


@pytest.mark.parametrize("features", [ex.RandomBinary(14, 5), Values()])
def test_cached_lookahead_weights_follow_model_and_values(features):
    built = Built(ex.Corridor(), features)
    size = built.shape.size
    weights, rng = np.zeros(built.setting.width), np.random.default_rng(0)
    weights[:size] = rng.normal(size=size)  # both the values and the model may be there already
    described = ex.models.CachedLookahead(per_feature(0.1))
    plain, other = (described.build(built.setting) for _ in range(2))
    plain.rows[:, :, :size] = other.rows[:, :, :size] = rng.normal(size=(2, size, size))
    kept = described.bind(other, weights, 0.9)
    state = built.state(3)
    assert backed_up_value(kept, state, 0, weights, 0.9) == pytest.approx(
        backed_up_value(plain, state, 0, weights, 0.9)
    )
    for _ in range(300):
        state, action = int(rng.integers(9)), int(rng.integers(2))
        transition = built.transition(state, action, -1.0, int(rng.integers(9)))
        fit(plain, transition)
        fit(kept, transition)
        change = rng.normal()
        weights[:size] += change * dense(built.state(state), size)
        on_value_update(kept, built.state(state), change, 0.9)
    for number in range(9):
        for action in (0, 1):
            assert backed_up_value(
                kept, built.state(number), action, weights, 0.9
            ) == pytest.approx(
                backed_up_value(plain, built.state(number), action, weights, 0.9), abs=1e-9
            )
