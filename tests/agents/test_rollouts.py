from __future__ import annotations

import pytest
from building import Built

import expectant as ex
from expectant.core.verbs import learn, plan, sample_next

CHAIN = ex.Corridor(cells=4, slip=0.0)


def test_a_rollout_backs_up_where_the_model_leads():
    """A deterministic chain known to the model: one rollout carries the goal's value all the way."""
    model = ex.models.Sample(ex.models.TrueModel())
    agent = ex.CachedValues.paper(
        1.0, 0.0, model=model, planning_steps=1, epsilon=0.0, backups=ex.backups.Rollout(4)
    )
    built = Built(CHAIN, ex.OneHot(), agent)
    built.agent.action_weights[1, :] = 1.0  # prefers to go right
    learn(built.agent, built.transition(0, 1, -1.0, 1), built.rng)
    built.agent.weights[:] = 0.0
    built.agent.action_weights[:] = 0.0
    built.agent.action_weights[1, :] = 100.0
    plan(built.agent, built.rng)
    assert built.agent.weights[3] == 20.0  # three states on: the goal's reward
    plan(built.agent, built.rng)
    assert built.agent.weights[2] == 19.0


@pytest.mark.parametrize(("length", "expected"), [
    (1, [99.5, 100.0, 100.0, 100.0]),
    (2, [99.5, 99.5, 100.0, 100.0]),
    (3, [99.5, 99.5, 99.5, 100.0]),
    (4, [99.5, 99.5, 99.5, 99.25]),
    (9, [99.5, 99.5, 99.5, 99.25]),
])  # fmt: skip
def test_a_rollout_is_as_long_as_it_says_and_stops_at_the_end(length, expected):
    model = ex.models.Sample(ex.models.TrueModel())
    agent = ex.CachedValues.paper(
        0.5, 0.0, model=model, planning_steps=1, epsilon=0.0, backups=ex.backups.Rollout(length)
    )
    built = Built(CHAIN, ex.OneHot(), agent)
    learn(built.agent, built.transition(0, 1, -1.0, 1), built.rng)
    built.agent.weights[:4] = 100.0  # a backup goes half the way to one less than a neighbour
    built.agent.action_weights[1, :] = 1.0  # prefers to go right
    plan(built.agent, built.rng)
    assert built.agent.weights[:4].tolist() == expected  # cell 3 looks back at cell 2: 98.5


def test_rollouts_are_discounted_like_all_else():
    agent = ex.Lookahead.paper(
        1.0, model="true_sample", planning_steps=1, discount=0.5, backups=ex.backups.Rollout(3)
    )
    built = Built(CHAIN, ex.OneHot(), agent.replace(epsilon=0.0))
    learn(built.agent, built.transition(0, 1, -1.0, 1), built.rng)
    built.agent.weights[:4] = 100.0
    plan(built.agent, built.rng)
    assert built.agent.weights[:4].tolist() == [49.0, 49.0, 49.0, 100.0]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_errors_of_all_backups_add_up(length):
    agent = ex.Lookahead.paper(
        0.5, model="true_sample", planning_steps=1, epsilon=0.0, backups=ex.backups.Rollout(length)
    )
    built = Built(CHAIN, ex.OneHot(), agent)
    learn(built.agent, built.transition(0, 1, -1.0, 1), built.rng)
    built.agent.weights[:4] = 100.0
    assert plan(built.agent, built.rng) == length  # each finds an error of one


def test_an_expectation_model_leads_to_a_mean():
    built = Built(
        ex.Corridor(cells=3, slip=0.5),
        ex.OneHot(),
        ex.Lookahead.paper(0.1, backups=ex.backups.Rollout(2)),
    )
    model = built.agent.planner.model
    model.rows[0, 1, :3] = [0.5, 0.0, 0.5]
    imagined = built.agent.planner.rollout.state
    assert sample_next(model, built.state(1), 0, imagined) == 1.0
    assert imagined.values.tolist() == [0.5, 0.0, 0.5]  # in neither of the two cells
