"""State values of one hidden layer: worked by hand, at the mean and averaged, compiled as plain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.agents.network_values import NetworkValuesPart
from expectant.core.updates import correct, displacement
from expectant.core.vectors import Weighted, dense, state_value
from expectant.core.verbs import back_up, backed_up_value, learn
from expectant.models.wrappers import ValueAtMeanPart

CORRIDOR, FEATURES = ex.Corridor(slip=0.3), ex.RandomBinary(14, 5)
VALUES = ex.agents.NetworkValues(hidden=5)


def disturb(part: Any, hidden: int, seed: int = 1) -> Any:
    """Give a new network a last layer that is not zero."""
    part.outer[0, :hidden] = np.random.default_rng(seed).normal(size=hidden)
    return part


def weighted_state(values: list[float]) -> Weighted:
    return Weighted(np.arange(len(values)), np.array(values), np.full(1, -1))


def numpy_value(part: NetworkValuesPart, vector: np.ndarray) -> float:
    return float(part.outer[0] @ np.tanh(vector @ part.inner))


def test_values_agree_with_numpy_and_are_zero_at_the_end_and_at_first():
    built = Built(CORRIDOR, FEATURES)
    part: Any = ex.agents.NetworkValues(hidden=11).build(built.setting)
    assert all(state_value(part, built.state(n)) == 0.0 for n in range(9))
    disturb(part, 11)
    for number in range(9):
        state = built.state(number)
        assert state_value(part, state) == pytest.approx(
            numpy_value(part, dense(state, 14)), abs=1e-12
        )
    mean = np.random.default_rng(3).normal(size=14)
    assert state_value(part, weighted_state(mean.tolist())) == pytest.approx(
        numpy_value(part, mean), abs=1e-12
    )
    assert state_value(part, weighted_state([0.0] * 14)) == 0.0


def test_hidden_weights_are_normal_and_leave_the_numbers_of_the_run_alone():
    built = Built(CORRIDOR, FEATURES)
    before = built.rng.bit_generator.state
    part: Any = ex.agents.NetworkValues(hidden=100).build(built.setting)
    assert built.rng.bit_generator.state == before
    assert part.inner[:, :100].std() == pytest.approx(5**-0.5, rel=0.1)
    assert not part.inner[:, 100:].any() and part.inner.shape == (14, 104)


def test_a_step_by_hand():
    """v̂ = ½ tanh(x) at x = 1 · 0.3 − 2 · 0.2; both layers move by the old weights of the other."""
    part = NetworkValuesPart(np.zeros((2, 8)), np.zeros((1, 8)), np.zeros(8), np.zeros(1))
    part.inner[:, 0], part.outer[0, 0] = (0.3, 0.2), 0.5
    state, h = weighted_state([1.0, -2.0]), math.tanh(-0.1)
    assert state_value(part, state) == pytest.approx(0.5 * h)
    correct(part, state, 3.0, 0.1, 0)
    slope = 0.5 * (1.0 - h * h)
    assert part.outer[0, 0] == pytest.approx(0.5 + 0.1 * 3.0 * h)
    assert part.inner[:, 0] == pytest.approx([0.3 + 0.3 * slope, 0.2 - 0.6 * slope])
    assert not part.inner[:, 1:].any() and not part.outer[0, 1:].any()  # paddings stay zero
    moved = displacement(part, state, 3.0, 0.1)
    assert moved == pytest.approx(state_value(part, state) - 0.5 * h) and moved > 0.0


def test_a_step_follows_the_gradient_of_every_weight():
    built = Built(CORRIDOR, FEATURES)
    part: Any = disturb(VALUES.build(built.setting), 5)
    state, step = built.state(4), 1e-7
    layers = [part.inner.copy(), part.outer.copy()]
    slopes = []
    for layer in (part.inner, part.outer):
        slope = np.zeros_like(layer)
        for at in np.ndindex(layer.shape):
            kept, sides = layer[at], []
            for change in (1e-5, -1e-5):
                layer[at] = kept + change
                sides.append(numpy_value(part, dense(state, 14)))
            layer[at] = kept
            slope[at] = (sides[0] - sides[1]) / 2e-5
        slopes.append(slope)
    correct(part, state, 2.0, step, 0)
    for before, layer, slope in zip(layers, (part.inner, part.outer), slopes, strict=True):
        assert np.abs(slope[..., :5]).max() > 1e-2
        np.testing.assert_allclose(
            (layer - before)[..., :5] / (2.0 * step), slope[..., :5], atol=1e-6
        )


# --------------------------------------------------------------------- at the mean, or averaged

# From state 0, action 0 leads to 1 or to 2 and ends in one of four cases; action 1 ends with −9.
FORKED = np.zeros((3, 2, 4))
FORKED[..., 3] = 1.0
FORKED[0, 0] = 0.0, 0.25, 0.5, 0.25
FORK = ex.FiniteMDP(
    FORKED, np.array([[2.0, -9.0], [1.0, -9.0], [1.0, -9.0]]), start=[1.0, 0.0, 0.0]
)


def build_fork(model: Any, **options: Any) -> Built:
    agent = ex.Lookahead.paper(0.1, model=model, values=VALUES, discount=0.9, **options)
    built = Built(FORK, ex.OneHot(), agent)
    disturb(built.agent.weights, 5)
    return built


def look_ahead(built: Built) -> float:
    agent = built.agent
    return float(backed_up_value(agent.planner.model, built.state(0), 0, agent.weights, 0.9))


def test_means_are_valued_and_distributions_averaged():
    values = [build_fork(model) for model in ("exact", "exact_episodic", "true")]
    zero_terminal, episodic, distribution = (look_ahead(built) for built in values)
    part = values[0].agent.weights
    first, second = (
        numpy_value(part, np.array([0, 1.0, 0])),
        numpy_value(part, np.array([0, 0, 1.0])),
    )
    assert zero_terminal == pytest.approx(2.0 + 0.9 * numpy_value(part, np.array([0, 0.25, 0.5])))
    mean = numpy_value(part, np.array([0, 1 / 3, 2 / 3]))
    assert episodic == pytest.approx(2.0 + 0.9 * 0.75 * mean)
    assert distribution == pytest.approx(2.0 + 0.9 * (0.25 * first + 0.5 * second))
    assert len({round(found, 6) for found in (zero_terminal, episodic, distribution)}) == 3


@pytest.mark.parametrize("model", ["expectation", "sparse", "network", "episodic"])
def test_learned_means_are_valued_too(model):
    built = build_fork(model, model_step=0.02 if model == "network" else 0.1)
    for _ in range(30):
        for after in (1, 2, 2, None):
            learn(built.agent, built.transition(0, 0, 2.0, after), built.rng)
    part, mean = built.agent.weights, np.zeros(8)
    around: Any = built.agent.planner.model
    assert type(around) is ValueAtMeanPart
    state, nothing = built.state(0), np.zeros(8)
    reward = backed_up_value(around.model, state, 0, nothing, 0.0)
    for i in range(3):
        probe = np.eye(8)[i]
        mean[i] = backed_up_value(around.model, state, 0, probe, 1.0) - reward
    assert mean[1] > 0.1 and mean[2] > 0.3
    if model == "episodic":  # v̂(ŝ) is what counts, and how likely there is a next state at all
        inside: Any = around.model
        alive = 1.0 - inside.endings[0, 0]
        assert 0.5 < alive < 0.95
        expected = reward + 0.9 * alive * numpy_value(part, mean[:3] / alive)
    else:
        expected = reward + 0.9 * numpy_value(part, mean[:3])
    assert look_ahead(built) == pytest.approx(expected, abs=1e-12)


def test_a_backup_moves_the_value_towards_the_best_look_ahead():
    built = build_fork("true")
    target, before = look_ahead(built), state_value(built.agent.weights, built.state(0))
    error = back_up(built.agent, built.state(0), -1, 0.9, built.rng)
    assert error == pytest.approx(abs(target - before))
    after = state_value(built.agent.weights, built.state(0))
    assert abs(target - after) < abs(target - before)


def test_a_real_step_moves_the_value_towards_reward_and_next_value():
    built = build_fork("true")
    start, following = (state_value(built.agent.weights, built.state(n)) for n in (0, 2))
    error = learn(built.agent, built.transition(0, 0, 2.0, 2), built.rng)
    assert error == pytest.approx(abs(2.0 + 0.9 * following - start))


def test_a_bonus_comes_on_top():
    plain = build_fork("exact_episodic")
    curious = build_fork(ex.models.ExplorationBonus(ex.models.ExactEpisodic(), 0.5))
    curious.agent.planner.model.model.clock[0] = 9
    assert look_ahead(curious) == pytest.approx(look_ahead(plain) + 0.5 * 3.0)


@pytest.mark.parametrize("phase", [0, 1])
def test_given_models_average_values_or_take_the_value_of_the_mean(phase):
    """AVI and LEVI of all states but those at the ends, which differ by Jensen's gap."""
    domain = ex.Corridor(slip=0.3, switch_every=5)
    targets = {}
    for model in ("true", "exact"):
        built = Built(domain, FEATURES, ex.Lookahead.paper(0.1, model=model, values=VALUES))
        part = disturb(built.agent.weights, 5)
        built.domain.now[1] = phase
        targets[model] = np.array([
            backed_up_value(built.agent.planner.model, built.state(n), 1, part, 0.9)
            for n in range(1, 8)
        ])  # fmt: skip
    rows = np.array([dense(built.state(n), built.setting.width)[:14] for n in range(9)])
    mean = 0.7 * rows[2:] + 0.3 * rows[:-2]
    averaged = [0.7 * numpy_value(part, r) + 0.3 * numpy_value(part, s)
                for r, s in zip(rows[2:], rows[:-2], strict=True)]  # fmt: skip
    at_mean = [numpy_value(part, row) for row in mean]
    np.testing.assert_allclose(targets["true"], -1.0 + 0.9 * np.array(averaged), atol=1e-12)
    np.testing.assert_allclose(targets["exact"], -1.0 + 0.9 * np.array(at_mean), atol=1e-12)
