"""Every choice at random is exactly as likely as it should be, counted over an even grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from building import Built
from scripted import outcomes

import expectant as ex
from expectant.agents.action_selection import greedy, write_epsilon_greedy
from expectant.agents.cached_policy import sample_policy
from expectant.core.verbs import act, back_up, draw, draw_outcome, fit, preference, remember
from expectant.domains.finite import sample

DOMAIN = ex.Corridor(cells=5, slip=0.25)


def many_actions(actions: int) -> ex.FiniteMDP:
    """One state in which every action ends the episode."""
    return ex.FiniteMDP(np.ones((1, actions, 2)) * [0.0, 1.0], np.zeros((1, actions)))


def build_with_preferences(agent, preferences):
    """An agent in one state that has these preferences (the logarithms of a policy's chances)."""
    built = Built(many_actions(len(preferences)), ex.OneHot(), agent)
    table = getattr(built.agent, "policy", built.agent.weights)
    table[:, 0] = preferences
    return built.agent, built.state(0)


@pytest.mark.parametrize("chances", [(0.2, 0.3, 0.5), (0.5, 0.5), (0.1, 0.6, 0.1, 0.2)])
def test_a_policy_is_drawn_as_it_says(chances):
    agent, state = build_with_preferences(
        ex.CachedPolicy.paper(0.1, 0.1), [math.log(p) for p in chances]
    )
    found = outcomes(lambda rng: sample_policy(agent, state, rng), 1000)
    assert found == dict(enumerate(chances))
    assert outcomes(lambda rng: act(agent, state, rng), 1000) == found  # ε is 0
    np.testing.assert_allclose(agent.probabilities, chances)


def test_epsilon_comes_on_top_of_a_policy():
    agent, state = build_with_preferences(
        ex.CachedPolicy.paper(0.1, 0.1, epsilon=0.25), [800.0, 0.0]
    )  # no overflow
    found = outcomes(lambda rng: act(agent, state, rng), 40, numbers=2)
    assert found == {0: 0.875, 1: 0.125}


def test_epsilon_greedy_explores_as_often_as_it_says():
    agent, state = build_with_preferences(
        ex.QLearning.paper(0.1, epsilon=0.25), [0.0, 0.0, 0.0, 7.0]
    )
    # the ties on the way to the best action draw two numbers, which decide nothing
    found = outcomes(lambda rng: act(agent, state, rng), 8, numbers=3)
    assert found == {0: 0.0625, 1: 0.0625, 2: 0.0625, 3: 0.8125}


@pytest.mark.parametrize(("preferences", "best"), [
    ([5.0, 5.0, 5.0], [0, 1, 2]),
    ([5.0, 5.0, 5.0, 5.0], [0, 1, 2, 3]),
    ([-1.0, 3.0, 2.0, 3.0], [1, 3]),
    ([-7.0, -7.0], [0, 1]),
])  # fmt: skip
def test_ties_are_even(preferences, best):
    agent, state = build_with_preferences(ex.QLearning.paper(0.1, epsilon=0.0), preferences)
    found = outcomes(lambda rng: greedy(agent, state, len(preferences), rng), 12, numbers=3)
    assert found == pytest.approx({action: 1 / len(best) for action in best})


@pytest.mark.parametrize("agent", [
    ex.QLearning.paper(0.1, epsilon=0.2, interpretation=ex.Interpretation(ties="first")),
    ex.QPlanning.paper(0.1, epsilon=0.2, interpretation=ex.Interpretation(ties="first")),
    ex.Lookahead.paper(0.1, epsilon=0.2, interpretation=ex.Interpretation(ties="first")),
    ex.CachedValues.paper(0.1, 0.1, epsilon=0.2, interpretation=ex.Interpretation(ties="first")),
])  # fmt: skip
def test_the_first_of_ties_is_taken_without_a_draw(agent):
    built = Built(many_actions(4), ex.OneHot(), agent)
    state, nobody = built.state(0), None  # whoever asked it for a number would fail
    ahead = isinstance(agent, ex.Lookahead)  # it knows rewards and no values
    table = built.agent.planner.model.rewards if ahead else built.agent.weights
    getattr(built.agent, "action_weights", table)[:, 0] = [1.0, 3.0, 2.0, 3.0]
    assert [preference(built.agent, state, action) for action in range(4)] == [1.0, 3.0, 2.0, 3.0]
    assert greedy(built.agent, state, 4, nobody) == 1
    probabilities = np.zeros(4)
    write_epsilon_greedy(built.agent, state, 0.2, probabilities)
    np.testing.assert_allclose(probabilities, [0.05, 0.85, 0.05, 0.05])


def test_ties_share_what_is_greedy():
    agent, state = build_with_preferences(ex.QLearning.paper(0.1), [1.0, 3.0, 2.0, 3.0])
    probabilities = np.zeros(4)
    write_epsilon_greedy(agent, state, 0.2, probabilities)
    np.testing.assert_allclose(probabilities, [0.05, 0.45, 0.05, 0.45])


# ------------------------------------------------------------------------------ worlds and models


@pytest.mark.parametrize("chances", [
    (0.2, 0.3, 0.5),
    (0.0, 0.5, 0.0, 0.25, 0.25, 0.0),
    (1.0,),
    (0.125,) * 8,
])  # fmt: skip
def test_a_distribution_is_drawn_as_it_says(chances):
    cumulative = np.cumsum(chances)
    found = outcomes(lambda rng: int(sample(cumulative, rng.random())), 1000)
    assert found == {number: chance for number, chance in enumerate(chances) if chance > 0.0}


def outcome_sampler(model, built, number, action):
    """(successor or −1, reward) of a draw."""
    successor = built.state(0)

    def draw_one(rng):
        reward, alive = draw_outcome(model, built.state(number), action, successor, rng)
        return (int(successor.active[0]) if alive > 0.0 else -1), reward

    return draw_one


def test_the_true_model_draws_as_it_says():
    built = Built(DOMAIN, ex.OneHot())
    model = ex.models.TrueModel().build(built.setting)
    assert outcomes(outcome_sampler(model, built, 2, 1), 16) == {(1, -1.0): 0.25, (3, -1.0): 0.75}
    assert outcomes(outcome_sampler(model, built, 4, 1), 16) == {(-1, 20.0): 0.75, (3, -1.0): 0.25}


def test_a_learned_distribution_is_drawn_as_counted():
    built = Built(DOMAIN, ex.OneHot())
    model = ex.models.Distribution().build(built.setting)
    for successor, reward in ((1, -1.0), (3, -3.0), (None, 6.0), (3, -5.0)):
        fit(model, built.transition(2, 0, reward, successor))
    found = outcomes(outcome_sampler(model, built, 2, 0), 16)
    assert found == {(-1, 6.0): 0.25, (1, -1.0): 0.25, (3, -4.0): 0.5}
    assert outcomes(outcome_sampler(model, built, 2, 1), 16) == {(-1, 0.0): 1.0}  # never tried


# ---------------------------------------------------------------------------------- where to plan


@pytest.mark.parametrize(("backups", "visits", "expected"), [
    (ex.backups.Replay(4), [0, 0, 1, 2, 2, 2], {1: 0.25, 2: 0.75}),
    (ex.backups.Trajectory(1, 4), [0, 0, 1, 2, 2, 2], {1: 0.25, 2: 0.75}),
    (ex.backups.SeenStates(), [0, 0, 1, 2, 2, 2, 4], {0: 0.25, 1: 0.25, 2: 0.25, 4: 0.25}),
    (ex.backups.SeenStates(2), [0, 0, 1, 2, 2, 2, 4], {2: 0.5, 4: 0.5}),
    (ex.backups.AllStates(), [3], dict.fromkeys(range(5), 0.2)),
    (ex.backups.RecencyReplay(2, 1.0), [0, 1, 2, 3], {2: 1 / 3, 3: 2 / 3}),
    (ex.backups.StateSampler(), [0, 1, 1, 4, 4, 4], {0: 1 / 6, 1: 1 / 3, 4: 1 / 2}),
    (ex.backups.CurrentState(), [0, 1], {2: 1.0}),
], ids=repr)  # fmt: skip
def test_states_to_plan_from_are_drawn_as_often_as_they_should(backups, visits, expected):
    built = Built(DOMAIN, ex.OneHot())
    part, state = backups.build(built.setting), built.state(0)
    for number in visits:
        remember(part, built.transition(number, 0, -1.0, 2))

    def draw_one(rng):
        draw(part, state, rng)
        return int(state.active[0])

    assert outcomes(draw_one, 300) == pytest.approx(expected)


def test_q_planning_tries_every_action_alike():
    domain = many_actions(5)

    def tried(rng):
        built = Built(domain, ex.OneHot(), ex.QPlanning.paper(1.0, model="true"))
        built.agent.weights[:, 0] = 1.0  # all actions are worth nothing: the one backed up shows it
        back_up(built.agent, built.state(0), -1, 1.0, rng)
        return int(built.agent.weights[:, 0].argmin())

    assert outcomes(tried, 50) == pytest.approx(dict.fromkeys(range(5), 0.2))


@pytest.mark.parametrize(("slot", "expected"), [(0, {3: 1.0}), (-1, dict.fromkeys(range(5), 0.2))])
def test_a_stored_action_is_that_of_a_stored_transition(slot, expected):
    """Where a rollout leads nothing is stored, so any action may be tried there."""
    domain = many_actions(5)

    def tried(rng):
        built = Built(
            domain,
            ex.OneHot(),
            ex.QPlanning.paper(
                1.0, model="true", interpretation=ex.Interpretation(stored_action=True)
            ),
        )
        remember(built.agent.planner.backups, built.transition(0, 3, 0.0, None))
        built.agent.weights[:, 0] = 1.0
        back_up(built.agent, built.state(0), slot, 1.0, rng)
        return int(built.agent.weights[:, 0].argmin())

    assert outcomes(tried, 50) == pytest.approx(expected)
