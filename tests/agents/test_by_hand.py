"""Every agent's updates on a few transitions, worked by hand in the tabular case."""

from __future__ import annotations

import math

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.core.updates import entropy_of, policy_gradient, softmax
from expectant.core.verbs import act, learn, outcome, plan, preference, relabel, reset, step

DOMAIN = ex.Corridor(cells=2, slip=0.0)


def build(agent):
    return Built(DOMAIN, ex.OneHot(), agent)


def test_q_learning():
    b = build(ex.QLearning.paper(0.5, discount=0.5))
    assert learn(b.agent, b.transition(1, 1, 20.0, None), b.rng) == 20.0
    learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng)
    # q(1, right) = 10; q(0, right) = 0.5 (−1 + 0.5 · 10)
    assert b.agent.weights[:, :2].tolist() == [[0.0, 0.0], [2.0, 10.0]]
    learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng)
    assert b.agent.weights[1, 0] == 2.0 + 0.5 * (-1.0 + 5.0 - 2.0)


def test_doubled_gradients_are_twice_the_step_of_values_alone():
    once = build(
        ex.Lookahead.paper(
            0.2, 0.1, planning_steps=0, interpretation=ex.Interpretation(doubled_gradients=True)
        )
    )
    twice = build(ex.Lookahead.paper(0.4, 0.1, planning_steps=0))
    for b in (once, twice):
        learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng)
    np.testing.assert_array_equal(once.agent.weights, twice.agent.weights)
    np.testing.assert_array_equal(once.agent.planner.model.rows, twice.agent.planner.model.rows)
    policy = build(
        ex.CachedPolicy.paper(0.1, 0.1, interpretation=ex.Interpretation(doubled_gradients=True))
    ).agent
    assert (policy.value_step, policy.policy_step, policy.planner.model.step) == (0.2, 0.1, 0.1)


def test_q_planning_with_the_true_model():
    b = build(
        ex.QPlanning.paper(
            0.5,
            model="true",
            planning_steps=1,
            interpretation=ex.Interpretation(stored_action=True),
        )
    )
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
    assert b.agent.weights[1, 1] == 10.0
    plan(b.agent, b.rng)  # the only stored state and action: 10 + 0.5 (20 − 10)
    assert b.agent.weights[:, :2].tolist() == [[0.0, 0.0], [0.0, 15.0]]


def test_q_planning_with_a_learned_expectation_model():
    b = build(
        ex.QPlanning.paper(
            0.5, 0.5, planning_steps=1, interpretation=ex.Interpretation(stored_action=True)
        )
    )
    learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng)
    # q(0, right) = −0.5; model: r = −0.5, s̄ = 0.5 s(1); target −0.5 + 0.5 · max_a q(1, a) = −0.5
    b.agent.weights[:, 1] = [8.0, 4.0]
    plan(b.agent, b.rng)
    assert b.agent.weights[1, 0] == -0.5 + 0.5 * (-0.5 + 0.5 * 8.0 + 0.5)


def test_algorithm_1():
    b = build(ex.Lookahead.paper(0.5, 0.5, planning_steps=1, discount=0.5))
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
    # TD: w(1) = 10. Model: r(1, right) = 10, s̄ = 0
    assert b.agent.weights[:2].tolist() == [0.0, 10.0]
    assert [preference(b.agent, b.state(1), a) for a in (0, 1)] == [0.0, 10.0]
    plan(b.agent, b.rng)  # LEVI: target max(0, 10), no change
    assert b.agent.weights[1] == 10.0
    learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng)
    # w(0) = 0.5 (−1 + 0.5 · 10) = 2; r(0, right) = −0.5, s̄(0, right) = 0.5 s(1)
    assert b.agent.weights[0] == 2.0
    assert preference(b.agent, b.state(0), 1) == -0.5 + 0.5 * 0.5 * 10.0
    assert act(b.agent._replace(epsilon=0.0), b.state(0), b.rng) == 1


def test_algorithm_1_with_the_stored_termination_flag():
    b = build(
        ex.Lookahead.paper(
            0.5, 0.5, planning_steps=1, interpretation=ex.Interpretation(stored_termination=True)
        )
    )
    b.agent.planner.model.rows[:, 1, 0] = 1.0  # s̄(1, ·) = s(0)
    b.agent.weights[:2] = [100.0, 0.0]
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
    assert b.agent.weights[1] == 10.0
    plan(b.agent, b.rng)  # max(r(1, ·)) without bootstrapping: max(0, 10)
    assert b.agent.weights[1] == 10.0


def test_algorithm_2():
    b = build(ex.CachedValues.paper(0.5, 0.25, 0.5, planning_steps=1, discount=0.5))
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
    assert b.agent.weights[1] == 10.0
    assert b.agent.action_weights[1, 1] == 0.25 * 20.0
    plan(b.agent, b.rng)  # LEVI leaves w(1) = 10; q(1, left) → 0, q(1, right) → b = 10
    assert b.agent.action_weights[:, 1].tolist() == [0.0, 5.0 + 0.25 * (10.0 - 5.0)]
    learn(b.agent, b.transition(1, 0, -1.0, 1), b.rng)
    # a self-loop shows that q uses the new w: w(1) = 10 + 0.5 (−1 + 5 − 10) = 7
    assert b.agent.weights[1] == 7.0
    assert b.agent.action_weights[0, 1] == 0.25 * (-1.0 + 0.5 * 7.0)


def test_algorithm_2_with_the_printed_delta():
    b = build(
        ex.CachedValues.paper(
            0.5, 0.25, 0.5, planning_steps=0, interpretation=ex.Interpretation(printed_delta=True)
        )
    )
    b.agent.weights[1] = 4.0
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
    assert b.agent.action_weights[1, 1] == 0.25 * (20.0 - 4.0)


def test_algorithm_3():
    b = build(ex.CachedPolicy.paper(0.5, 0.1, 0.5, planning_steps=0))
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
    # δ = 20, π uniform: θ += 0.1 · 20 · (1[b = a] − 0.5)
    assert b.agent.weights[1] == 10.0
    assert b.agent.policy[:, 1].tolist() == [-1.0, 1.0]
    frequency = np.mean([act(b.agent, b.state(1), b.rng) for _ in range(20_000)])
    assert frequency == pytest.approx(math.exp(1) / (math.exp(1) + math.exp(-1)), abs=0.012)


def test_algorithm_3_plans_along_the_error_of_a_sampled_action():
    b = build(ex.CachedPolicy.paper(0.5, 0.1, 1.0, planning_steps=1))
    learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)  # r(1, right) = 20, r(1, left) = 0
    policy = b.agent.policy[:, 1].copy()
    probability = 1 / (1 + math.exp(-2.0))
    plan(b.agent, b.rng)  # LEVI: w(1) = 10 + 0.5 (20 − 10) = 15
    assert b.agent.weights[1] == 15.0
    change = b.agent.policy[1, 1] - policy[1]
    right, left = 0.1 * 5.0 * (1 - probability), 0.1 * -15.0 * -probability
    assert change == pytest.approx(right) or change == pytest.approx(left)


def test_entropy_bonus_is_the_gradient_of_the_entropy():
    b = build(ex.CachedPolicy.paper(0.5, 0.1))
    policy, state, probabilities = np.zeros((3, 8)), b.state(0), np.zeros(3)
    policy[:, 0] = [0.3, -0.2, 1.0]

    def entropy(theta):
        softmax(theta, state, probabilities)
        return entropy_of(probabilities)

    numeric = []
    for action in range(3):
        up, down = policy.copy(), policy.copy()
        up[action, 0] += 1e-6
        down[action, 0] -= 1e-6
        numeric.append((entropy(up) - entropy(down)) / 2e-6)
    softmax(policy, state, probabilities)
    moved = policy.copy()
    policy_gradient(moved, state, 0, 0.0, 1.0, probabilities, 1.0)
    np.testing.assert_allclose(moved[:, 0] - policy[:, 0], numeric, atol=1e-8)


def test_actions_of_no_probability_have_no_part_in_the_entropy():
    state, policy = build(ex.CachedPolicy.paper(0.5, 0.1)).state(0), np.zeros((3, 8))
    policy_gradient(policy, state, 0, 0.0, 0.5, np.array([1.0, 0.0, 0.0]), 1.0)
    assert not policy.any()


@pytest.mark.parametrize(("agent", "learning", "planning"), [
    (ex.QLearning.paper(0.5), 1.0, 0.0),
    (ex.QPlanning.paper(0.5, 0.5, planning_steps=1, interpretation=ex.Interpretation(stored_action=True)), 1.0 + 2.0, 0.0),
    (ex.Lookahead.paper(0.5, 0.5, planning_steps=1), 1.0 + 2.0, 0.5),
    (ex.CachedValues.paper(0.5, 0.25, 0.5, planning_steps=1), 1.0 + 1.0 + 2.0, 0.5 + 0.0 + 0.25),
    (ex.CachedPolicy.paper(0.5, 0.1, 0.5, planning_steps=1), 1.0 + 2.0, 0.5),
], ids=repr)  # fmt: skip
def test_every_agent_returns_the_sum_of_its_errors(agent, learning, planning):
    """δ = −1, the model is wrong by 1 and 1; then w(0) = −1/2 moves towards 0, q(0, 1) to −1/2."""
    b = build(agent)
    assert learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng) == learning
    assert plan(b.agent, b.rng) == planning


@pytest.mark.parametrize(("relabelled", "reward"), [(False, 20.0), (True, 0.0)])
def test_stored_rewards_are_relabelled_only_if_asked_for(relabelled, reward):
    domain = ex.Corridor(cells=1, slip=0.0, switch_every=10)
    b = Built(
        domain,
        ex.OneHot(),
        ex.Lookahead.paper(0.5, interpretation=ex.Interpretation(relabelled_rewards=relabelled)),
    )
    reset(b.domain, 0, b.rng)
    step(b.domain, 1, b.rng)
    transition = b.transition(0, 1, 20.0, None)._replace(outcome=int(outcome(b.domain)))
    learn(b.agent, transition, b.rng)
    reset(b.domain, 10, b.rng)
    relabel(b.agent, b.domain)
    assert b.agent.planner.backups.rewards[0] == reward


def test_replayed_fits_repeat_the_stored_transition():
    once = build(
        ex.Lookahead.paper(
            0.0, 0.5, planning_steps=0, interpretation=ex.Interpretation(replayed_fits=2)
        )
    )
    learn(once.agent, once.transition(0, 1, -1.0, 1), once.rng)
    assert once.agent.planner.model.rewards[1, 0] == -(1 - 0.5**3)
    assert once.agent.planner.model.rows[1, 0, 1] == 1 - 0.5**3


# ------------------------------------------------------------ interpretations of the algorithms


class Zeros:
    """Draws the first of everything."""

    def random(self):
        return 0.0


def after_a_self_loop(agent):
    """r(1, left) = −1 and s̄(1, left) = 1 are known, then w(1) = 8 and the state is backed up."""
    b = build(agent)
    learn(b.agent, b.transition(1, 0, -1.0, 1), b.rng)
    b.agent.weights[1] = 8.0
    return b


@pytest.mark.parametrize(("options", "left", "right"), [
    ({}, -1.0 + 0.5 * 5.5, 0.0),  # w(1) = 8 + 0.5 (3 − 8) = 5.5 comes first
    ({"cache_first": True}, 3.0, 0.0),
    ({"cached_actions": "greedy"}, 1.75, 7.0),
    ({"cache_first": True, "cached_actions": "greedy"}, 3.0, 7.0),
])  # fmt: skip
def test_what_a_backup_of_algorithm_2_caches_and_when(options, left, right):
    agent = ex.CachedValues.paper(
        0.5, 1.0, 1.0, planning_steps=1, discount=0.5, interpretation=ex.Interpretation(**options)
    )
    b = after_a_self_loop(agent)
    b.agent.action_weights[1, 1] = 7.0
    assert plan(b.agent, b.rng) > 0.0
    assert b.agent.weights[1] == 5.5
    assert b.agent.action_weights[:, 1].tolist() == [left, right]


@pytest.mark.parametrize(("old", "error"), [(False, 1.75 - 5.5), (True, 3.0 - 5.5)])
def test_which_target_a_planned_policy_step_has(old, error):
    agent = ex.CachedPolicy.paper(
        0.5,
        0.1,
        1.0,
        planning_steps=1,
        discount=0.5,
        interpretation=ex.Interpretation(old_target=old),
    )
    b = after_a_self_loop(agent)
    b.agent.policy[:, 1] = 0.0
    plan(b.agent, Zeros())  # the state, and then the action to the left
    assert b.agent.weights[1] == 5.5
    assert b.agent.policy[:, 1] == pytest.approx([0.1 * error * 0.5, -0.1 * error * 0.5])
