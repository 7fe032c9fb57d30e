"""Models of several steps: worked by hand, and against what a chain leads to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built, per_feature

import expectant as ex
from expectant.core.verbs import backed_up_value, begin, fit, on_truncation

WORLD = ex.Corridor(cells=5, slip=0.0)


def made(steps=2, discount=0.5, step=1.0):
    agent = ex.Lookahead.paper(
        0.1,
        discount=discount,
        model=ex.models.NStepExpectation(steps, ex.models.LinearExpectation(per_feature(step))),
    )
    built = Built(WORLD, ex.OneHot(), agent)
    return built, built.agent.planner.model


def test_two_steps_are_learned_as_one_by_hand():
    """γ = ½ and a step of 1: from 1 by way of 2 to 3, then to the end."""
    built, model = made()
    assert fit(model, built.transition(1, 1, -1.0, 2)) == 0.0  # nothing is known of it yet
    assert not model.model.rewards.any() and not model.model.rows.any()
    fit(model, built.transition(2, 0, -4.0, 3))
    assert model.model.rewards[1, 1] == -1.0 + 0.5 * -4.0
    assert model.model.rows[1, 1].tolist() == [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0]  # γ e₃
    weights = np.arange(8.0)
    value = backed_up_value(model, built.state(1), 1, weights, 0.5)
    assert value == -3.0 + 0.25 * weights[3]
    fit(model, built.transition(3, 1, 8.0, None))  # the end: both that wait have their outcome
    assert model.model.rewards[0, 2] == -4.0 + 0.5 * 8.0
    assert model.model.rewards[1, 3] == 8.0
    assert not model.model.rows[0, 2].any() and not model.model.rows[1, 3].any()
    assert model.queue[1] == 0


def test_a_ring_of_three_goes_round():
    built, model = made(steps=3)
    path = [(0, 1, 1.0), (1, 1, 2.0), (2, 0, 4.0), (1, 1, 8.0), (2, 1, 16.0), (3, 1, 32.0)]
    for (state, action, reward), following in zip(path, [1, 2, 1, 2, 3, 4], strict=True):
        fit(model, built.transition(state, action, reward, following))
    # the last fit of each: 0 → 1 of steps 1-3, (1, right) of steps 4-6, (2, left) of steps 3-5
    assert model.model.rewards[1, 0] == 1.0 + 1.0 + 1.0
    assert model.model.rewards[1, 1] == 8.0 + 8.0 + 8.0
    assert model.model.rewards[0, 2] == 4.0 + 4.0 + 4.0
    assert model.model.rows[1, 1].tolist()[:5] == [0.0, 0.0, 0.0, 0.0, 0.25]
    assert model.model.rows[0, 2].tolist()[:5] == [0.0, 0.0, 0.0, 0.25, 0.0]


@pytest.mark.parametrize("end", [begin, on_truncation])
def test_nothing_reaches_from_one_episode_into_the_next(end):
    built, model = made()
    fit(model, built.transition(1, 1, -1.0, 2))
    end(model, built.state(2), np.random.default_rng(0))
    fit(model, built.transition(4, 0, -1.0, 3))
    assert not model.model.rewards.any() and not model.model.rows.any()


def test_one_step_is_the_model_itself():
    options: Any = {"episodes": 10, "runs": 2, "compiled": False, "progress": False}
    world, features = ex.Corridor(slip=0.2), ex.RandomBinary(14, 5)
    for model in (
        ex.models.LinearExpectation(per_feature(0.05)),
        ex.models.SparseExpectation(per_feature(0.05)),
    ):
        agent = ex.Lookahead.paper(0.05, model=model, discount=0.9)
        alike = agent.replace(model=ex.models.NStepExpectation(1, model))
        ours, theirs = (ex.run(world, features, each, **options) for each in (alike, agent))
        np.testing.assert_array_equal(ours.returns, theirs.returns)


def test_it_learns_where_the_behaviour_leads_after_two_steps():
    """A chain without choices: γ P² from the true transitions, and R + γ P R."""
    chance = np.array([[0.0, 0.7, 0.3], [0.5, 0.0, 0.5], [0.0, 0.2, 0.6]])
    moves = np.concatenate([chance, 1.0 - chance.sum(axis=1, keepdims=True)], axis=1)[:, None]
    rewards = np.array([[1.0], [-2.0], [4.0]])
    agent = ex.Lookahead.paper(0.1, discount=0.8, planning_steps=0, model=ex.models.NStepExpectation(2, ex.models.LinearExpectation(ex.step_sizes.Decaying(0.5, 20.0, power=0.8, per="feature", bounded=False))))  # fmt: skip
    found = ex.run(
        ex.FiniteMDP(moves, rewards), ex.OneHot(), agent, steps=6_000, runs=1, compiled=False,
        keep_agents=True, progress=False,
    )  # fmt: skip
    model = found.kept[0][0].agent.planner.model.model
    np.testing.assert_allclose(model.rows[0, :, :3], 0.8 * chance @ chance, atol=0.12)
    expected = rewards[:, 0] + 0.8 * chance @ rewards[:, 0]
    np.testing.assert_allclose(model.rewards[0, :3], expected, atol=0.6)
