"""The Kalman-fitted model against ridge regression, sample averages, and a million steps."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest
from backups.weighted import Values
from building import Built

import expectant as ex
from expectant.core.dispatch import unowned
from expectant.core.updates import add_process_noise, estimation_variance, shrink_covariance
from expectant.core.vectors import Weighted, dense
from expectant.core.verbs import add_expected, backed_up_value, fit, function
from expectant.jit.compile import kernel_for
from expectant.models.change_detection import build_change_test, detect_change
from expectant.models.expectation import write_errors

CORRIDOR = ex.Corridor(slip=0.25)
FEATURES = [ex.OneHot(), ex.RandomBinary(30, 5), Values()]


def some_transitions(built, count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        state, action, following = (int(rng.integers(n)) for n in (9, 2, 11))
        inside = following if following < 9 else None
        yield built.transition(state, action, float(rng.normal()), inside)


@pytest.mark.parametrize("features", FEATURES, ids=lambda features: features.kind)
@pytest.mark.parametrize("prior", [0.5, 100.0])
def test_without_noise_it_is_ridge_regression(features, prior):
    built = Built(CORRIDOR, features)
    model = ex.models.KalmanExpectation(0.0, prior).build(built.setting)
    seen = list(some_transitions(built, 300))
    for transition in seen:
        fit(model, transition)
    width, size, ridge = built.setting.width, built.shape.size, built.shape.active / prior
    for action in range(2):
        rows = [t for t in seen if t.action == action]
        inputs = np.array([dense(t.state, width)[:size] for t in rows])
        outputs = np.array([t.alive * dense(t.next_state, width)[:size] for t in rows])
        rewards = np.array([t.reward for t in rows])
        penalised = np.vstack([inputs, np.eye(size) * np.sqrt(ridge)])
        targets = np.vstack([np.c_[outputs, rewards], np.zeros((size, size + 1))])
        expected = np.linalg.lstsq(penalised, targets, rcond=None)[0]
        np.testing.assert_allclose(model.linear.rows[action, :, :size], expected[:, :-1], atol=1e-8)
        np.testing.assert_allclose(model.linear.rewards[action, :size], expected[:, -1], atol=1e-8)
        inverse = np.linalg.inv(inputs.T @ inputs + np.eye(size) * ridge)
        np.testing.assert_allclose(model.covariance[action, :, :size], inverse, atol=1e-8)


def test_with_one_hot_features_it_is_the_sample_average():
    """Three outcomes of one action and prior 2, which counts as half an outcome of zero."""
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.KalmanExpectation(0.0, 2.0).build(built.setting)
    for reward, successor in ((1.0, 3), (2.0, 5), (3.0, None)):
        fit(model, built.transition(4, 1, reward, successor))
    assert model.linear.rewards[1, 4] == pytest.approx(6.0 / 3.5)
    assert model.linear.rows[1, 4, [3, 5]] == pytest.approx([1 / 3.5, 1 / 3.5])
    assert model.covariance[1, 4, 4] == pytest.approx(1 / 3.5)
    assert np.count_nonzero(model.linear.rows) == 2


def test_noise_by_hand_and_never_beyond_the_prior():
    """C = 1, then 1/2 + 1/4 → 3/7; a feature that is never seen stays at its prior."""
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.KalmanExpectation(0.25, 1.0).build(built.setting)
    fit(model, built.transition(4, 1, 1.0, 3))
    assert model.covariance[1, 4, 4] == pytest.approx(0.5) and model.linear.rewards[1, 4] == 0.5
    fit(model, built.transition(4, 1, 2.0, 3))
    assert model.covariance[1, 4, 4] == pytest.approx(3 / 7)
    assert model.linear.rewards[1, 4] == pytest.approx(0.5 + 1.5 * 3 / 7)
    assert model.covariance[0, 4, 4] == model.covariance[1, 3, 3] == 1.0


def test_noise_and_prior_are_variances_of_a_prediction():
    """h = 2, then 2/3 + 1/4 before the second fit, however many features are active."""
    for features in (ex.OneHot(), ex.RandomBinary(30, 5)):
        built = Built(CORRIDOR, features)
        model = ex.models.KalmanExpectation(0.25, 2.0).build(built.setting)
        state, gain = built.state(4), np.zeros((1, built.setting.width))
        assert estimation_variance(model.covariance, 1, state, gain) == pytest.approx(2.0)
        for before in (2.0, 2 / 3 + 1 / 4):
            fit(model, built.transition(4, 1, 1.0, 3))
            after = estimation_variance(model.covariance, 1, state, gain)
            assert after == pytest.approx(before / (1.0 + before))


def test_the_unknown_is_worth_its_share_of_the_optimistic_value():
    """Half of the prior variance is left after one visit with prior 1: u = 1/2."""
    built = Built(CORRIDOR, ex.OneHot())
    context = dataclasses.replace(built.setting, discount=0.5)
    model = ex.models.KalmanExpectation(0.0, 1.0, optimism=2.0).build(context)
    fit(model, built.transition(4, 1, 3.0, 5))
    worth, weights = 2.0 * 3.0 / 0.501, np.full(16, 8.0)
    seen = 1.5 + 0.5 * 0.5 * (0.5 * 8.0) + 0.5 * worth
    assert backed_up_value(model, built.state(4), 1, weights, 0.5) == pytest.approx(seen)
    assert backed_up_value(model, built.state(4), 0, weights, 0.5) == pytest.approx(worth)
    moved = np.zeros(16)
    add_expected(model, built.state(4), 1, moved, 1.0)
    assert moved[5] == pytest.approx(0.25) and np.count_nonzero(moved) == 1


def test_predicted_ends_move_towards_their_mean_where_data_are_few():
    """After many visits one step from the end a new state counts on the mean continuation."""
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.KalmanExpectation(0.0, 1.0, continuation_prior=True).build(built.setting)
    plain = ex.models.KalmanExpectation(0.0, 1.0).build(built.setting)
    rng = np.random.default_rng(0)
    for _ in range(400):
        successor = 4 if rng.random() < 0.8 else None
        for each in (model, plain):
            fit(each, built.transition(int(rng.integers(3, 6)), 1, 0.0, successor))
    weights = np.zeros(16)
    weights[:9] = 1.0  # all states are worth 1, so that a look-ahead is the continuation
    known, unknown = built.state(4), built.state(0)
    assert backed_up_value(plain, unknown, 1, weights, 1.0) == 0.0
    assert backed_up_value(model, unknown, 1, weights, 1.0) == pytest.approx(0.8, abs=0.1)
    assert backed_up_value(model, known, 1, weights, 1.0) == pytest.approx(0.8, abs=0.06)


def test_the_prior_on_continuation_by_hand():
    """State 4 goes on and state 3 ends, twice each: the mean continuation is 1/2."""
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.KalmanExpectation(0.0, 9.0, continuation_prior=True).build(built.setting)
    for state, successor in [(4, 5), (3, None)] * 2:
        fit(model, built.transition(state, 1, 0.0, successor))
    # second visits: h = 9/10, a tenth of the prior variance; means before them: 1/2 and 2/3
    first = (1.0 - 1 / 2) ** 2 - 1 / 4 * 0.9
    second = (0.0 - 2 / 3) ** 2 - 2 / 9 * 0.9
    ratio, variance = (first + second) / 2 / (1 / 4), 9 / 19
    moved = (1 / 2 - 18 / 19) * variance / (variance + ratio)
    weights = np.zeros(16)
    weights[3:6] = 4.0, 2.0, 1.0  # s* is half state 3, half state 4
    assert backed_up_value(model, built.state(4), 1, weights, 1.0) == pytest.approx(
        18 / 19 + moved * 3.0
    )


def test_optimism_counts_on_rewards_until_the_episode_ends():
    """One of two outcomes ends the episode, c̄ = 1/2; both pay 3."""
    built = Built(CORRIDOR, ex.OneHot())
    context = dataclasses.replace(built.setting, discount=0.8)
    model = ex.models.KalmanExpectation(optimism=2.0).build(context)
    for successor in (5, None):
        fit(model, built.transition(4, 1, 3.0, successor))
    untried = backed_up_value(model, built.state(4), 0, np.zeros(16), 0.8)
    assert untried == pytest.approx(2.0 * 3.0 / (1.001 - 0.8 * 0.5))


def fit_until_known(features, change_detection):
    """Return a model that has seen rewards of about 1 in state 4, always followed by state 3."""
    built = Built(CORRIDOR, features)
    model = ex.models.KalmanExpectation(
        0.0, 30.0, change_detection=change_detection, initial_reward=0.0
    ).build(built.setting)
    rng = np.random.default_rng(0)
    for _ in range(100):
        fit(model, built.transition(4, 1, float(rng.normal(1.0, 0.1)), 3))
    return built, model


@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(30, 5)])
def test_it_learns_anew_after_a_change(features):
    """Five rewards of 3 are enough for most of it; without detection they are 5 in 105."""
    errors = []
    for detects in (True, False):
        built, model = fit_until_known(features, detects)
        for _ in range(5):
            fit(model, built.transition(4, 1, 3.0, 3))
        weights = np.zeros(built.setting.width)
        errors.append(3.0 - backed_up_value(model, built.state(4), 1, weights, 1.0))
    assert errors[0] < 0.6 and errors[1] > 1.8


def test_a_single_outlier_is_no_change():
    _, model = fit_until_known(ex.OneHot(), True)
    built, plain = fit_until_known(ex.OneHot(), False)
    for reward in (50.0, 1.0, 1.0, 1.0, 50.0, 1.0, 1.0):
        for each in (model, plain):
            fit(each, built.transition(4, 1, reward, 3))
    np.testing.assert_array_equal(model.covariance, plain.covariance)


def test_random_rewards_are_hardly_ever_a_change():
    """Normal rewards in four states: less than one false report in 500."""
    built = Built(CORRIDOR, ex.OneHot())
    test = build_change_test(built.setting, True)
    model = ex.models.KalmanExpectation(0.0, 30.0).build(built.setting)
    rng, reports = np.random.default_rng(0), 0
    for _ in range(20_000):
        outcome = built.transition(int(rng.integers(4)), 1, float(rng.normal()), 5)
        error = write_errors(model.linear, outcome)
        reports += detect_change(test, outcome, error, 1.0)
        fit(model, outcome)
    assert 0 < reports < 40


def test_evidence_of_a_change_by_hand():
    """Rewards of 1, 1 and 3 in one state; the errors of the model are given."""
    built = Built(CORRIDOR, ex.OneHot())
    test = build_change_test(built.setting, True)
    for error in (1.0, 0.5):  # those of the fast filter are the same
        detect_change(test, built.transition(4, 1, 1.0, None), error, 1.0)
    assert test.fast[1, 4] == 0.75 and test.spread[1, 4] == 0.625 and test.evidence[1, 4] == 0.0
    assert not detect_change(test, built.transition(4, 1, 3.0, None), 2.5, 1.0)
    evidence = (2.5**2 - 2.25**2) / (2 * 0.625)
    assert test.evidence[1, 4] == pytest.approx(evidence)
    spread = 0.625 + (2.5**2 - 0.625) / 3
    assert test.fast[1, 4] == pytest.approx(0.75 + 0.5 * 2.25)
    assert test.spread[1, 4] == pytest.approx(spread)
    detect_change(test, built.transition(4, 1, 3.0, None), 2.4, 1.0)
    assert test.evidence[1, 4] == pytest.approx(evidence + (2.4**2 - 1.125**2) / (2 * spread))


def test_two_outliers_in_a_row_are_a_change():
    """One adds 4 at most, and 5 are needed; a report starts the count again."""
    built = Built(CORRIDOR, ex.OneHot())
    test = build_change_test(built.setting, True)
    for _ in range(10):
        detect_change(test, built.transition(4, 1, 1.0, None), 0.1, 1.0)
    test.evidence[1, 4] = 0.0
    fast = test.fast[1, 4]
    assert not detect_change(test, built.transition(4, 1, 50.0, None), 50.0, 1.0)
    assert test.evidence[1, 4] == 4.0 and test.fast[1, 4] == (fast + 50.0) / 2
    assert detect_change(test, built.transition(4, 1, 50.0, None), 50.0, 1.0)
    assert test.evidence[1, 4] == 0.0


class Filter(NamedTuple):
    state: Weighted
    covariance: np.ndarray
    gain: np.ndarray
    least: np.ndarray


@function
def filter_steps(task, steps, noise, prior, jitter, rng):
    """Filter states whose features differ by ``jitter``; note the least variance."""
    task, rng = unowned(task), unowned(rng)
    for _ in range(steps):
        level = rng.random() - 0.5
        for n in range(task.state.values.shape[0]):
            task.state.values[n] = level + jitter * rng.random()
        add_process_noise(task.covariance, 0, task.state, noise, prior)
        variance = estimation_variance(task.covariance, 0, task.state, task.gain)
        task.least[0] = min(task.least[0], variance)
        shrink_covariance(task.covariance, 0, task.gain, variance)


@pytest.mark.parametrize("noise", [0.0, 0.001])
@pytest.mark.parametrize(("prior", "jitter"), [(1.0, 1e-9), (1e6, 1e-4), (1.0, 0.0)])
def test_a_million_steps_with_nearly_collinear_features_stay_positive_definite(
    noise, prior, jitter
):
    active, index = np.arange(6), np.array([-1])
    covariance = np.zeros((1, 6, 8))
    covariance[0, range(6), range(6)] = prior
    state = Weighted(active, np.zeros(6), index)
    task = Filter(state, covariance, np.zeros((1, 8)), np.ones(1))
    kernel = kernel_for(task, filter_steps)
    kernel(task, 1_000_000, noise, prior, jitter, np.random.default_rng(0))
    matrix = covariance[0, :, :6]
    assert np.isfinite(matrix).all() and task.least[0] >= 0.0
    np.testing.assert_array_equal(matrix, matrix.T)
    np.linalg.cholesky(matrix)
    assert matrix.diagonal().max() <= prior * (1 + 1e-12)


def agents():
    kalman: Any = {"model": "kalman", "planning_steps": 2}
    hopeful = ex.models.KalmanExpectation(
        optimism=0.5, continuation_prior=True, change_detection=True
    )
    for update in ("levi", "gradient"):
        yield f"hopeful_{update}", ex.Lookahead(model=hopeful, planning_update=update)
    yield "hopeful_q", ex.QPlanning(model=hopeful)
    option = (ex.options.TableOption((1,) * 9, (0.25,) * 9),)
    yield "q_planning", ex.QPlanning(**kalman)
    yield "cached_values", ex.CachedValues(**kalman)
    yield "cached_policy", ex.CachedPolicy(**kalman)
    yield "levi", ex.Lookahead(planning_update="levi", **kalman)
    yield "average_reward", ex.Lookahead(centering=0.1, discount=1.0, **kalman)
    yield "options", ex.Lookahead(options=option, **kalman)
    yield "rollout", ex.Lookahead(backups=ex.backups.Rollout(3), **kalman)
    yield "network", ex.Lookahead(0.02, values=ex.agents.NetworkValues(3), **kalman)
    bonus = ex.models.ExplorationBonus(ex.models.KalmanExpectation(), 0.1)
    yield "bonus", ex.Lookahead(model=bonus, planning_steps=2)
    for name in ex.agents.PlanningAgent.backup_names:
        yield name, ex.Lookahead(backups=name, **kalman)


@pytest.mark.parametrize("agent", [pytest.param(agent, id=name) for name, agent in agents()])
def test_it_goes_with_every_agent_and_backup_distribution(agent):
    ex.check(agent, CORRIDOR, ex.RandomBinary(12, 3), steps=40, compiled=False)


def test_replayed_transitions_are_not_fitted_again():
    agent = ex.Lookahead(model="kalman", backups=ex.backups.Replay(model_fits=5))
    assert Built(CORRIDOR, ex.OneHot(), agent).agent.planner.replayed_fits == 0


def test_it_beats_gradient_steps_on_the_changing_corridor():
    """Figure 5's domain, whose ε-greedy optimum is 13.92; Algorithm 1 as printed earns 10."""
    agent = ex.Lookahead.paper(0.1, model="kalman", planning_steps=5)
    changing = ex.Corridor(slip=0.1, switch_every=500)
    returns = ex.run(changing, ex.RandomBinary(14, 5), agent, episodes=2000, runs=8).returns
    assert returns.mean() > 13.0


@pytest.mark.parametrize(
    ("features", "changes", "kind"),
    [
        (ex.OneHot(), {}, "KalmanPart"),
        (ex.RandomBinary(512, 5), {}, "KalmanPart"),
        (ex.RandomBinary(513, 5), {}, "LinearPart"),
        (ex.RandomBinary(2048, 1), {}, "KalmanPart"),
        (ex.RandomBinary(2049, 1), {}, "LinearPart"),
        (ex.OneHot(), {"model_step": 0.1}, "LinearPart"),
        (ex.OneHot(), {"backups": "features"}, "LinearPart"),
        (ex.OneHot(), {"model": "sparse"}, "SparsePart"),
    ],
)
def test_the_default_model_fits_least_squares_where_it_can(features, changes, kind):
    built = Built(CORRIDOR, features)
    for agent in (ex.Lookahead, ex.CachedValues, ex.CachedPolicy):
        planner = agent(**changes).build(built.setting).planner
        assert type(planner.model).__name__ == kind
        assert (planner.replayed_fits > 0) == (kind != "KalmanPart" and "backups" not in changes)
