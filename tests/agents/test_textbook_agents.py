"""Sarsa, expected Sarsa, Dyna-Q and RVI Q-learning: updates worked by hand, and what must agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from building import Built, per_feature

import expectant as ex
from expectant.core.verbs import act, begin, learn, on_truncation, plan

DOMAIN = ex.Corridor(cells=2, slip=0.0)
LEFT, RIGHT = 0, 1


def build(agent, domain=DOMAIN):
    return Built(domain, ex.OneHot(), agent)


def test_sarsa_learns_of_the_action_it_will_take():
    b = build(ex.Sarsa(per_feature(0.5), discount=0.5, epsilon=0.0, trace=0.0))
    b.agent.weights[:, :2] = [[0.0, 4.0], [0.0, 8.0]]
    learn(b.agent, b.transition(0, RIGHT, -1.0, 1), b.rng)
    assert b.agent.weights[RIGHT, 0] == 0.5 * (-1.0 + 0.5 * 8.0)  # greedy in state 1: right
    b.agent.weights[LEFT, 1] = 100.0  # too late to change its mind
    assert act(b.agent, b.state(1), b.rng) == RIGHT
    assert act(b.agent, b.state(1), b.rng) == LEFT  # the next choice is a new one
    learn(b.agent, b.transition(1, RIGHT, 20.0, None), b.rng)
    assert b.agent.weights[RIGHT, 1] == 8.0 + 0.5 * (20.0 - 8.0)


def test_sarsa_follows_its_policy_where_it_explores():
    b = build(ex.Sarsa(per_feature(1.0), epsilon=1.0, trace=0.0, discount=1.0))
    b.agent.weights[:, 1] = [10.0, 30.0]
    found = set()
    for _ in range(60):
        learn(b.agent, b.transition(0, RIGHT, 0.0, 1), b.rng)
        taken = act(b.agent, b.state(1), b.rng)
        found.add((taken, b.agent.weights[RIGHT, 0]))
    assert found == {(LEFT, 10.0), (RIGHT, 30.0)}


@pytest.mark.parametrize("verb", [begin, on_truncation])
def test_traces_and_choices_end_with_the_episode(verb):
    b = build(ex.Sarsa(per_feature(0.5), 0.9, epsilon=0.0, discount=1.0))
    learn(b.agent, b.transition(0, RIGHT, -1.0, 1), b.rng)
    assert b.agent.traces.any()
    assert b.agent.next_action[0] >= 0
    b.agent.expected[0] = 1.0
    verb(b.agent, b.state(0), b.rng)
    assert not b.agent.traces.any()
    assert (b.agent.next_action[0], b.agent.expected[0]) == (-1, 0.0)


def test_sarsa_with_traces_by_hand():
    b = build(ex.Sarsa(per_feature(0.5), 1.0, epsilon=0.0, discount=1.0))
    b.agent.weights[LEFT] = -100.0  # so that right is greedy
    learn(b.agent, b.transition(0, RIGHT, 1.0, 0), b.rng)
    assert b.agent.weights[RIGHT, 0] == 0.5
    learn(b.agent, b.transition(0, RIGHT, 2.0, None), b.rng)
    # the online λ-return algorithm: 0.5 · 3 = 1.5, then 1.5 + 0.5 (2 − 1.5)
    assert b.agent.weights[RIGHT, 0] == 1.75


def test_dutch_traces_make_it_the_online_lambda_return_algorithm():
    """With λ = 1 in one state: w = Σ rewards and the last estimate, taken in one after another.

    After two steps the estimate is 0.5: towards 1 + 2 + 0.5 it is 1.75, then towards 2 + 0.5 2.125;
    at the end towards 6, 5 and 3.
    """
    b = build(ex.Sarsa(per_feature(0.5), 1.0, epsilon=0.0, discount=1.0))
    b.agent.weights[LEFT] = -100.0
    for reward, following, value in ((1.0, 0, 0.5), (2.0, 0, 2.125), (3.0, None, 3.5)):
        learn(b.agent, b.transition(0, RIGHT, reward, following), b.rng)
        assert b.agent.weights[RIGHT, 0] == value


@pytest.mark.parametrize(
    ("step", "trace", "values"),
    [
        (0.75, 1.25, (2.25, 2.25 + 0.75 * 3 * 1.25 - 0.75 * 2.25)),
        (2.0, 1.0, (3.0, 3.0)),  # the step is 1, as z = x would overshoot by itself
    ],
)
def test_bounded_traces_by_hand(step, trace, values):
    b = build(ex.Sarsa(step, 1.0, epsilon=0.0, discount=1.0))
    for value in values:
        learn(b.agent, b.transition(0, 1, 3.0, None), b.rng)
        assert b.agent.weights[1, 0] == pytest.approx(value, rel=1e-12)
    assert b.agent.traces[1, 0] == pytest.approx(trace, rel=1e-12)


def test_without_traces_lambda_is_one_step_sarsa():
    plain, dutch = (
        build(ex.Sarsa(per_feature(0.5), trace, discount=0.9)) for trace in (0.0, 1e-300)
    )
    for b in (plain, dutch):
        for number in range(30):
            learn(b.agent, b.transition(number % 2, RIGHT, 1.0, (number + 1) % 2), b.rng)
    np.testing.assert_allclose(plain.agent.weights, dutch.agent.weights, rtol=1e-12)


def test_steps_adapt_without_traces():
    assert ex.Sarsa(ex.step_sizes.IDBD(0.1), 0.0).trace == 0.0


def test_expected_sarsa_by_hand():
    b = build(ex.ExpectedSarsa(per_feature(0.5), discount=0.5, epsilon=0.2))
    b.agent.weights[:, 1] = [4.0, 8.0]
    learn(b.agent, b.transition(0, RIGHT, -1.0, 1), b.rng)
    # 0.8 · 8 + 0.2 · 6 = 7.6
    assert b.agent.weights[RIGHT, 0] == pytest.approx(0.5 * (-1.0 + 0.5 * 7.6))
    learn(b.agent, b.transition(1, LEFT, 2.0, None), b.rng)
    assert b.agent.weights[LEFT, 1] == 3.0


def test_greedy_expected_sarsa_is_q_learning_to_the_bit():
    first, second = (
        ex.run(DOMAIN, ex.OneHot(), agent, episodes=20, runs=2, compiled=False)
        for agent in (
            ex.QLearning.paper(0.3, epsilon=0.0),
            ex.ExpectedSarsa(per_feature(0.3), epsilon=0.0, discount=1.0),
        )
    )
    assert (first.returns == second.returns).all()


def test_dyna_q_by_hand():
    b = build(ex.DynaQ(per_feature(0.5), 1, discount=0.5))
    learn(b.agent, b.transition(1, RIGHT, 20.0, None), b.rng)
    assert b.agent.weights[RIGHT, 1] == 10.0
    plan(b.agent, b.rng)  # the only pair that was tried
    assert b.agent.weights[RIGHT, 1] == 15.0
    learn(b.agent, b.transition(1, RIGHT, 4.0, 0), b.rng)  # what came of it last is the model
    b.agent.weights[RIGHT, 1] = 0.0
    plan(b.agent, b.rng)
    assert b.agent.weights[RIGHT, 1] == 2.0
    assert b.agent.weights[LEFT].sum() == 0.0  # what was never tried is not planned


def test_dyna_q_plus_by_hand():
    b = build(ex.DynaQ(per_feature(1.0), 200, 0.1, discount=0.0))
    for _ in range(4):
        learn(b.agent, b.transition(0, RIGHT, -1.0, 1), b.rng)
    learn(b.agent, b.transition(1, RIGHT, 5.0, 0), b.rng)
    plan(b.agent, b.rng)
    # right in state 0 was tried one step ago, in state 1 just now, left never in five steps; and a
    # step to nowhere pays nothing
    expected = [[0.1 * math.sqrt(5)] * 2, [-1.0 + 0.1, 5.0]]
    np.testing.assert_allclose(b.agent.weights[:, :2], expected)


def test_what_was_never_tried_leads_nowhere():
    b = build(ex.DynaQ(per_feature(1.0), 300, 1e-9, discount=0.5))
    learn(b.agent, b.transition(0, RIGHT, 8.0, 1), b.rng)
    plan(b.agent, b.rng)
    assert b.agent.weights[LEFT, 0] == pytest.approx(0.5 * 8.0)  # γ max q(0, ·)


@pytest.mark.parametrize("backups", ["pairs", "prioritized"])
def test_dyna_q_is_q_planning_with_the_latest_outcome_to_the_bit(backups):
    planner = ex.QPlanning.paper(
        0.3, model="latest", discount=0.9, planning_steps=2, backups=backups
    )
    agent = ex.DynaQ(per_feature(0.3), 2, backups=backups, discount=0.9)
    first, second = (
        ex.run(ex.domains.DynaMaze(), ex.OneHot(), each, episodes=3, runs=1, compiled=False)
        for each in (planner, agent)
    )
    assert (first.lengths == second.lengths).all()


@pytest.mark.parametrize(
    "agent",
    [
        ex.Sarsa(per_feature(0.5), centering=0.25, epsilon=0.0, trace=0.0, discount=1.0),
        ex.Sarsa(per_feature(0.5), 0.5, centering=0.25, epsilon=0.0, discount=1.0),
        ex.ExpectedSarsa(per_feature(0.5), centering=0.25, epsilon=0.0, discount=1.0),
        ex.DynaQ(per_feature(0.5), 1, centering=0.25, discount=1.0),
    ],
    ids=repr,
)
def test_rewards_are_measured_against_their_mean(agent):
    b = build(agent)
    learn(b.agent, b.transition(1, RIGHT, 4.0, None), b.rng)
    assert (b.agent.weights[RIGHT, 1], b.agent.centering.rate[0]) == (2.0, 0.5)
    if isinstance(agent, ex.DynaQ):
        plan(b.agent, b.rng)  # δ = 4 − 0.5 − 2
    else:
        begin(b.agent, b.state(1), b.rng)
        learn(b.agent, b.transition(1, RIGHT, 4.0, None), b.rng)
    assert b.agent.weights[RIGHT, 1] == 2.0 + 0.5 * 1.5
    assert b.agent.centering.rate[0] == 0.5 + 0.25 * 0.5 * 1.5


def test_rvi_q_learning_by_hand():
    chain = ex.domains.TransientChain(length=1)
    b = build(ex.RVIQLearning(per_feature(0.5), reference=(0, 1)), chain)
    b.agent.weights[1, :2] = [0.25, 4.0]
    learn(b.agent, b.transition(1, 1, 1.0, 1), b.rng)
    assert b.agent.weights[1, 1] == 4.0 + 0.5 * (1.0 - 0.25 + 4.0 - 4.0)
    for reference, value in (("max", 4.0), ("mean", (0.25 + 4.0) / 4)):
        b = build(ex.RVIQLearning(per_feature(0.5), reference=reference), chain)
        b.agent.weights[1, :2] = [0.25, 4.0]
        learn(b.agent, b.transition(1, 0, 1.0, 1), b.rng)
        assert b.agent.weights[0, 1] == 0.5 * (1.0 - value + 4.0)
