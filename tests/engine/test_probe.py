"""What an agent answers, worked out by hand on five cells, and that asking leaves no trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.core import tree
from expectant.core.verbs import encode
from expectant.engine.driver import drive, new_control
from expectant.engine.learner_file import states_of
from expectant.engine.loop import simulate
from expectant.engine.probe import (
    TOPICS,
    Answers,
    States,
    all_states,
    ask,
    copy_subject,
    load_probe,
    probe_agent,
)
from expectant.engine.progress import Silent
from expectant.engine.setup import Setup, load_loop

FIVE = ex.Corridor(cells=5, slip=0.0)
SLIPPERY = ex.Corridor(cells=4, slip=0.2)


def prepared(agent, features=None, domain=FIVE) -> Any:
    return Setup(domain, features or ex.OneHot(), agent, episodes=30, step_limit=100).build(0)[0]


def seen(run, asked=TOPICS, states=None, **options) -> Answers:
    return probe_agent(ask, copy_subject(run), states or all_states(5), asked, **options)


def test_values_and_preferences_by_hand():
    run = prepared(ex.Lookahead.paper(0.1, model="exact"))
    run.agent.weights[:5] = [16, 17, 18, 19, 20]
    found = seen(run)
    np.testing.assert_array_equal(found.features, np.eye(5))
    np.testing.assert_array_equal(found.values, [16, 17, 18, 19, 20])
    left, right = found.preferences.T
    np.testing.assert_array_equal(left, [0, 15, 16, 17, 18])
    np.testing.assert_array_equal(right, [16, 17, 18, 19, 20])
    assert (found.greedy.tolist(), found.ties.tolist()) == ([1] * 5, [1] * 5)


def test_ties_are_counted_from_the_first_of_the_best():
    run = prepared(ex.QLearning.paper(0.1), domain=ex.domains.LocaGrid(rows=1, columns=3))
    run.agent.weights[:, :3] = np.array([[1, 5, 5, 0], [2, 2, 2, 2], [0, 0, 0, 3]]).T
    found = seen(run, ("preferences",), all_states(3))
    assert (found.greedy.tolist(), found.ties.tolist()) == ([1, 0, 3], [2, 4, 1])


def test_state_values_of_action_values_are_the_greatest():
    run = prepared(ex.QLearning.paper(0.1))
    run.agent.weights[:, :5] = [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]
    assert seen(run, ("values",)).values.tolist() == [5, 4, 3, 4, 5]


def test_a_policy_is_a_softmax_of_preferences_and_others_have_none():
    run = prepared(ex.CachedPolicy.paper(0.1, 0.1))
    run.agent.policy[1, :5] = [math.log(n) for n in (1, 2, 3, 4, 9)]
    found = seen(run, ("policy",)).policy
    np.testing.assert_allclose(found[:, 1], [1 / 2, 2 / 3, 3 / 4, 4 / 5, 9 / 10])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.isnan(seen(prepared(ex.Lookahead.paper(0.1)), ("policy",)).policy).all()


def test_memory_takes_a_state_as_the_next_one_only_after_an_action():
    run = prepared(ex.QLearning.paper(0.1), ex.features.History(ex.OneHot(), 2))
    encode(run.features, np.array([3]), -1, run.state)
    one = States(np.array([[4]]), np.array([4]))
    begun = seen(run, ("features",), one).features[0]
    later = seen(run, ("features",), one, action=1).features[0]
    assert begun.nonzero()[0].tolist() == [4]
    assert later.nonzero()[0].tolist() == [4, 5 + 3]  # and again: the run's memory is as it was
    assert seen(run, ("features",), one, action=1).features[0].tolist() == later.tolist()


# -------------------------------------------------------------------------- looking, no trace


AGENTS = [
    ex.Lookahead.paper(0.1, 0.1, model="sample", planning_steps=1, backups="prioritized"),
    ex.Lookahead.paper(0.1, 0.1, model="cached_lookahead", planning_steps=1, backups="seen"),
    ex.Lookahead.paper(0.1, 0.1, planning_steps=1, backups="mg"),
    ex.CachedPolicy.paper(0.1, 0.1, model="network", planning_steps=1, backups="trajectory"),
    ex.QPlanning.paper(0.1, model="true_sample", planning_steps=1, backups="pairs"),
]


def bits(stop) -> list[Any]:
    arrays = [(name, array.tobytes()) for name, array in tree.arrays(stop.run)]
    return [states_of(stop.streams), *arrays]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.kind)
def test_a_run_that_is_looked_at_ends_in_the_same_bits(agent):
    setup = Setup(SLIPPERY, ex.RandomBinary(6, 2), agent, episodes=4, step_limit=20)
    for stop in drive(setup, 0, simulate, new_control(), range(5)):
        seen(stop.run, states=all_states(4))
    (end,) = drive(setup, 0, simulate, new_control())
    assert bits(stop) == bits(end)


def test_features_that_change_when_asked_do_so_in_the_copy():
    domain, features = ex.MountainCar(step_limit=10), ex.Tiles(2, 4, hash_size=20)
    setup = Setup(domain, features, ex.QLearning.paper(0.1), episodes=3)
    low, high = np.transpose(domain.bounds)
    points = np.random.default_rng(0).uniform(low, high, (30, 2))
    for stop in drive(setup, 0, simulate, new_control(), range(4)):
        seen(stop.run, states=States(points, np.full(30, -1)))
    (end,) = drive(setup, 0, simulate, new_control())
    assert bits(stop) == bits(end)


def test_compiled_answers_have_the_same_bits():
    agent, states = ex.Lookahead.paper(0.1, 0.1), all_states(4)
    setup = Setup(SLIPPERY, ex.RandomBinary(6, 2), agent, episodes=30, step_limit=20)
    (end,) = drive(setup, 0, load_loop(setup, True, "", Silent()), new_control())
    subject = copy_subject(end.run)
    kernel = load_probe(subject, states, True, "", Silent())
    fast, slow = (probe_agent(each, subject, states, TOPICS) for each in (kernel, ask))
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)
