"""Distribution, sample and episodic models, learned and exact, with every agent."""

from __future__ import annotations

import numpy as np
import pytest
from building import Built, per_feature
from scripted import Scripted

import expectant as ex
from expectant.core.verbs import backed_up_action_value, backed_up_value, draw_outcome, fit
from expectant.features.distinct_vectors import empty_vectors, find_or_add_vector, find_vector
from expectant.models.distribution import probability

CORRIDOR = ex.Corridor(cells=3, slip=0.25)


def feed(model, built, steps=4000, seed=0):
    """Uniformly random transitions of the corridor."""
    outcomes, rng = CORRIDOR.mdp().outcomes, np.random.default_rng(seed)
    for _ in range(steps):
        state, action = int(rng.integers(3)), int(rng.integers(2))
        o = int(rng.random() < outcomes.probabilities[0, state, action, 1])
        successor = int(outcomes.successors[state, action, o])
        reward = float(outcomes.rewards[0, state, action, o])
        fit(model, built.transition(state, action, reward, None if successor < 0 else successor))


def test_distinct_vectors_are_numbered_in_the_order_they_are_seen():
    built = Built(ex.Corridor(), ex.RandomBinary(14, 5))
    distinct = empty_vectors(built.shape, 4)
    order = [3, 7, 3, 0, 7, 8, 5, 3]
    numbers = [int(find_or_add_vector(distinct, built.state(s))) for s in order]
    assert numbers == [0, 1, 0, 2, 1, 3, -1, 0]
    assert int(find_vector(distinct, built.state(6))) == -1  # full, and never seen
    assert int(find_vector(distinct, built.state(8))) == 3


def test_the_exact_episodic_model_predicts_the_states_that_survive():
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.ExactEpisodic().build(built.setting)
    weights = np.zeros(8)
    weights[:3] = [4.0, 8.0, 16.0]
    # in the last cell, going right: it ends (20) three times in four, else goes left (−1)
    row = 2 * 2 + 1
    assert model.survival[row] == 0.25
    assert model.expected[row, :3].tolist() == [0.0, 1.0, 0.0]
    value = backed_up_value(model, built.state(2), 1, weights, 0.5)
    assert value == 0.75 * 20.0 + 0.25 * (-1.0 + 0.5 * 8.0)


def test_counts_become_probabilities_worked_by_hand():
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.Distribution().build(built.setting)
    for reward, successor in ((-1.0, 0), (-1.0, 2), (-1.0, 0), (20.0, None)):
        fit(model, built.transition(1, 0, reward, successor))
    number = int(find_vector(model.states, built.state(1)))
    shares = {
        int(model.successors[number, 0, o]): float(probability(model, number, 0, o))
        for o in range(3)
    }
    names = {int(find_vector(model.states, built.state(s))): s for s in (0, 2)}
    assert {names.get(k, "end"): v for k, v in shares.items()} == {0: 0.5, 2: 0.25, "end": 0.25}
    weights = np.zeros(8)
    weights[:3] = [4.0, 0.0, 8.0]
    expected = 0.5 * (-1 + 0.5 * 4) + 0.25 * (-1 + 0.5 * 8) + 0.25 * 20
    assert backed_up_value(model, built.state(1), 0, weights, 0.5) == pytest.approx(expected)
    assert backed_up_value(model, built.state(1), 1, weights, 0.5) == 0.0  # never tried
    assert backed_up_value(model, built.state(2), 1, weights, 0.5) == 0.0


def test_forgetting_lets_old_counts_fade():
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.Distribution(forgetting=0.5).build(built.setting)
    fit(model, built.transition(1, 0, 20.0, None))
    fit(model, built.transition(1, 0, -1.0, 0))
    fit(model, built.transition(1, 0, -1.0, 0))
    number = int(find_vector(model.states, built.state(1)))
    assert float(probability(model, number, 0, 0)) == pytest.approx(0.25 / 1.75)


def test_what_was_counted_of_an_outcome_goes_with_it():
    built = Built(ex.Corridor(), ex.OneHot())
    model = ex.models.Distribution(outcomes=2).build(built.setting)
    for successor, reward in ((1, -1.0), (1, -1.0), (1, -1.0), (2, 40.0), (2, 40.0)):
        fit(model, built.transition(0, 0, reward, successor))
    assert fit(model, built.transition(0, 0, 6.0, 3)) == 6.0  # nothing was expected of it yet
    assert model.counts[0, 0].tolist() == [3.0, 1.0]  # not three: two of them were another's
    assert model.rewards[0, 0].tolist() == [-1.0, 6.0]
    assert float(probability(model, 0, 0, 1)) == 0.25


def test_states_beyond_the_capacity_are_not_counted():
    built = Built(ex.Corridor(), ex.OneHot())
    model = ex.models.Distribution(states=1).build(built.setting)
    assert fit(model, built.transition(0, 0, -1.0, 1)) == 0.0  # 1 has no number
    assert fit(model, built.transition(1, 0, -1.0, 0)) == 0.0
    assert not model.counts.any()
    fit(model, built.transition(0, 0, -1.0, 0))
    assert model.counts.sum() == 1.0


def test_where_probabilities_fall_short_by_rounding_the_last_outcome_is_drawn():
    built = Built(CORRIDOR, ex.OneHot())
    model, successor = ex.models.TrueModel().build(built.setting), built.state(0)
    model.probabilities[0, 1, 0] = [0.25, 0.5]
    draw_outcome(model, built.state(1), 0, successor, Scripted([0.9]))
    assert successor.state_index[0] == 2


def test_the_episodic_model_learns_nothing_of_a_next_state_from_an_end():
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.EpisodicExpectation(per_feature(0.5)).build(built.setting)
    assert fit(model, built.transition(1, 0, -1.0, 2)) == 0.0 + 1.0 + 1.0  # β; r, then ‖s'‖²
    assert model.model.rows[0, 1, :3].tolist() == [0.0, 0.0, 0.5]
    assert fit(model, built.transition(1, 0, 20.0, None)) == 1.0 + 20.5
    assert model.model.rows[0, 1, :3].tolist() == [0.0, 0.0, 0.5]
    assert (model.model.rewards[0, 1], model.endings[0, 1]) == (-0.5 + 0.5 * 20.5, 0.5)
    weights = np.zeros(8)
    weights[:3] = [1.0, 1.0, 8.0]
    value = backed_up_value(model, built.state(1), 0, weights, 0.5)
    assert value == 9.75 + 0.5 * 0.5 * 0.5 * 8.0
    assert not model.endings[1].any() and not model.model.rewards[1].any()


@pytest.mark.parametrize(("ending", "alive"), [(-0.5, 1.0), (0.0, 1.0), (0.25, 0.75), (1.5, 0.0)])
def test_the_probability_of_termination_is_clipped(ending, alive):
    built = Built(CORRIDOR, ex.OneHot())
    model = ex.models.EpisodicExpectation(per_feature(0.5)).build(built.setting)
    model.endings[0, 1], model.model.rows[0, 1, 2] = ending, 1.0
    weights = np.zeros((2, 8))
    weights[:, 2] = [4.0, 8.0]
    assert backed_up_value(model, built.state(1), 0, weights[0], 0.5) == 2.0 * alive
    assert backed_up_action_value(model, built.state(1), 0, weights, 0.5) == 4.0 * alive


@pytest.mark.parametrize(
    "learned",
    [
        ex.models.Distribution(),
        ex.models.EpisodicExpectation(per_feature(0.01)),
        ex.models.LinearExpectation(per_feature(0.01)),
    ],
    ids=lambda m: m.kind,
)
def test_learned_models_approach_the_exact_backed_up_values(learned):
    built = Built(CORRIDOR, ex.OneHot())
    model = learned.build(built.setting)
    feed(model, built, 8000)
    exact = ex.models.ExactExpectation().build(built.setting)
    weights = np.zeros(8)
    weights[:3] = [5.0, -3.0, 10.0]
    for number in range(3):
        for action in (0, 1):
            found = backed_up_value(model, built.state(number), action, weights, 0.9)
            right = backed_up_value(exact, built.state(number), action, weights, 0.9)
            assert found == pytest.approx(right, abs=2.0)


def test_action_values_are_right_with_a_sample_model():
    agent = ex.QPlanning.paper(0.1, 0.1, model="sample", planning_steps=5)
    result = ex.run(ex.Counterexample(), ex.OneHot(), agent, episodes=6000, runs=40, seed=5)
    assert abs(result.returns[:, -4000:].mean() + 0.2875) < 0.02
