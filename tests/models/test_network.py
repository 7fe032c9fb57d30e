# mypy: disable-error-code="arg-type,call-arg"
# wrong types are what some of these tests are about
from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from building import Built, per_feature
from loading import module_at

import expectant as ex
from expectant.core.interfaces import BuildContext
from expectant.core.reductions import padded_size
from expectant.core.vectors import Transition, Weighted, dense
from expectant.core.verbs import backed_up_action_value, backed_up_value, fit
from expectant.models.network import NetworkExpectation, NetworkPart

CORRIDOR = ex.Corridor(slip=0.3, switch_every=5)
FEATURES = ex.RandomBinary(14, 5)


def example() -> Any:
    return module_at(Path(__file__).parents[2] / "examples" / "nonlinear_model.py")


# ------------------------------------------------------------------ the same network in NumPy


class Plain(NamedTuple):
    """All parameters in textbook form: W (H, d), b, V (A, d, H), c (A, d), u (A, H), e (A,)."""

    inner: np.ndarray
    inner_bias: np.ndarray
    heads: np.ndarray
    heads_bias: np.ndarray
    rewards: np.ndarray
    rewards_bias: np.ndarray

    def predict(self, s: np.ndarray, action: int) -> tuple[np.ndarray, float]:
        h = np.tanh(self.inner @ s + self.inner_bias)
        return self.heads[action] @ h + self.heads_bias[action], float(
            self.rewards[action] @ h + self.rewards_bias[action]
        )

    def loss(self, s: np.ndarray, action: int, reward: float, after: np.ndarray) -> float:
        expected, expected_reward = self.predict(s, action)
        return 0.5 * float(((after - expected) ** 2).sum()) + 0.5 * (reward - expected_reward) ** 2


def plain(model: NetworkPart) -> Plain:
    """A copy of a network's parameters in textbook form."""
    hidden, d = model.units.shape[0] - 1, model.inner.shape[1] - 1
    inner, heads, rewards = (model.inner[0].copy(), model.heads.copy(), model.rewards[0].copy())
    return Plain(
        inner[:d, :hidden].T,
        inner[d, :hidden],
        np.swapaxes(heads[:, :hidden, :d], 1, 2),
        heads[:, hidden, :d],
        rewards[:, :hidden],
        rewards[:, hidden],
    )


def gradients(network: Plain, *transition: Any) -> Plain:
    """Of the loss, by central differences."""
    found = [np.zeros_like(array) for array in network]
    for array, gradient in zip(network, found, strict=True):
        for place in np.ndindex(array.shape):
            kept = array[place]
            sides = []
            for change in (1e-5, -1e-5):
                array[place] = kept + change
                sides.append(network.loss(*transition))
            array[place] = kept
            gradient[place] = (sides[0] - sides[1]) / 2e-5
    return Plain(*found)


def disturbed(model: NetworkPart, seed: int = 1) -> NetworkPart:
    """Give a new network heads that are not zero; paddings stay as they are."""
    rng, hidden = np.random.default_rng(seed), model.units.shape[0]
    d = model.inner.shape[1] - 1
    actions = model.heads.shape[0]
    model.heads[:, :, :d] = rng.normal(size=(actions, hidden, d))
    model.rewards[0, :, :hidden] = rng.normal(size=(actions, hidden))
    return model


def weighted(active: list[int], values: list[float]) -> Weighted:
    return Weighted(np.array(active), np.array(values), np.full(1, -1))


# ----------------------------------------------------------------------------------- prediction


def test_predictions_agree_with_numpy():
    built = Built(CORRIDOR, FEATURES)
    model = disturbed(NetworkExpectation(hidden=11).build(built.setting))
    network, rng = plain(model), np.random.default_rng(2)
    weights = np.zeros((3, built.setting.width))
    weights[:, :14] = rng.normal(size=(3, 14))
    for number in range(9):
        state = built.state(number)
        for action in (0, 1):
            expected, reward = network.predict(dense(state, 14), action)
            values = weights[:, :14] @ expected
            assert backed_up_value(model, state, action, weights[0], 0.9) == pytest.approx(
                reward + 0.9 * values[0], abs=1e-12
            )
            assert backed_up_action_value(model, state, action, weights, 0.9) == pytest.approx(
                reward + 0.9 * values.max(), abs=1e-12
            )


def test_a_new_network_predicts_zero_and_leaves_the_random_numbers_of_the_run_alone():
    built = Built(CORRIDOR, FEATURES)
    before = built.rng.bit_generator.state
    model = NetworkExpectation().build(built.setting)
    other = NetworkExpectation().build(built.setting)
    assert built.rng.bit_generator.state == before
    weights = np.ones(built.setting.width)
    assert all(backed_up_value(model, built.state(n), 1, weights, 1.0) == 0.0 for n in range(9))
    drawn = model.inner[0, :, :32]
    assert drawn.std() == pytest.approx(6**-0.5, rel=0.1)  # five active features and the bias
    assert not np.array_equal(drawn, other.inner[0, :, :32])
    again = NetworkExpectation().build(Built(CORRIDOR, FEATURES).setting)
    np.testing.assert_array_equal(again.inner, model.inner)


# ------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("hidden", [1, 5, 8, 11])
@pytest.mark.parametrize("next_state", [5, None])
def test_a_fit_is_a_step_against_the_gradient_of_every_parameter(hidden, next_state):
    built = Built(CORRIDOR, FEATURES)
    model = disturbed(NetworkExpectation(hidden, step=per_feature(1.0)).build(built.setting))
    before = plain(model)
    transition = built.transition(4, 1, -1.0, next_state)
    after = dense(transition.next_state, 14) * transition.alive
    s = dense(transition.state, 14)
    expected, reward = before.predict(s, 1)
    error = fit(model, transition)
    assert error == pytest.approx(abs(-1.0 - reward) + ((after - expected) ** 2).sum())
    slopes = gradients(before, s, 1, -1.0, after)
    for name, old, new, slope in zip(Plain._fields, before, plain(model), slopes, strict=True):
        assert np.abs(slope).max() > 1e-3, name
        np.testing.assert_allclose(new - old, -slope, atol=1e-6, err_msg=name)
    assert not model.inner[0, :, hidden:].any()  # paddings stay zero
    assert not model.heads[:, :, 14:].any()
    assert not model.rewards[0, :, hidden + 1 :].any()


def test_features_with_values_and_entries_of_zero():
    rng = np.random.default_rng(0)
    shape = ex.extend.Shape(6, 3, weighted=True)
    setting = BuildContext(shape, padded_size(6), 2, None, None, None, rng, rng)
    model = disturbed(NetworkExpectation(4, per_feature(1.0)).build(setting))
    state = weighted([0, 2, 5], [0.5, -2.0, 0.0])
    after = weighted([1, 2, 3], [1.5, 0.0, -0.5])
    before = plain(model)
    fit(model, Transition(state, 0, 2.0, after, 1.0, -1))
    slopes = gradients(before, dense(state, 6), 0, 2.0, dense(after, 6))
    for old, new, slope in zip(before, plain(model), slopes, strict=True):
        np.testing.assert_allclose(new - old, -slope, atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # of NumPy, about overflows
def test_a_step_size_that_is_too_large_marks_the_run_as_diverged():
    model = NetworkExpectation(step=per_feature(10.0))
    agent = ex.Lookahead.paper(0.0, model=model, planning_steps=0)  # only the model overflows
    result = ex.run(CORRIDOR, FEATURES, agent, episodes=300, runs=1, compiled=False)
    assert result.diverged.all()
    assert np.isnan(result.returns[:, -1]).all()


# ----------------------------------------------------------- where a linear model cannot be right


def test_no_linear_model_is_right_about_the_doors_though_values_are_linear():
    doors, features = example().doors(), example().CellAndSignal()
    matrix = ex.exact.feature_matrix(doors, features)
    with pytest.raises(ValueError, match="no linear model is aligned with these features"):
        ex.exact.linear_model(doors, matrix)
    values = ex.exact.optimal_values(doors)
    fitted = matrix @ np.linalg.lstsq(matrix, values, rcond=None)[0]
    np.testing.assert_allclose(fitted, values, atol=1e-10)
