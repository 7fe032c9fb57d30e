"""Agents with options: what they choose among, how they carry it out, what stays the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from building import Built
from scripted import Scripted, outcomes

import expectant as ex
from expectant import exact
from expectant.agents.action_selection import sample_action
from expectant.core.vectors import Transition
from expectant.core.verbs import (
    act,
    backed_up_value,
    begin,
    learn,
    plan,
    policy,
    policy_of,
    preference,
    reset,
    stop,
    stop_of,
)

LINE = ex.Corridor(cells=4, slip=0.0)
LEFT, RIGHT = 0, 1
TO_THE_RIGHT = ex.options.TableOption(policy=(RIGHT,) * 4, stop=(0.0, 0.0, 0.0, 1.0))
HALF = ex.options.TableOption(policy=((0.25, 0.75),) * 4, stop=(0.5,) * 4)
AGENTS = {
    "lookahead": ex.Lookahead.paper(0.3, 0.3, discount=0.9),
    "cached values": ex.CachedValues.paper(0.3, 0.3, 0.3, discount=0.9),
    "cached policy": ex.CachedPolicy.paper(0.3, 0.3, 0.3, discount=0.9),
}
every_agent = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS.keys())


class ToGoalPart(NamedTuple):
    action: int
    stopping: float


@policy.register(ToGoalPart)
def _(option, state, probabilities):
    for action in range(probabilities.shape[0]):
        probabilities[action] = 1.0 if action == option.action else 0.0


@stop.register(ToGoalPart)
def _(option, state):
    return option.stopping


class ToGoal(ex.Option):
    action: int = ex.parameter(ex.rules.whole(0))
    stopping: float = ex.parameter(ex.rules.number(), default=0.25)

    def build(self, context):
        return ToGoalPart(self.action, self.stopping)


class BuiltForRun(Built):
    """An agent as a run has it."""

    def __init__(self, agent, domain=LINE, seed=0):
        super().__init__(domain, ex.OneHot(), seed=seed)
        self.agent = agent.build_agent(self.setting)


def test_an_episode_begins_without_an_option():
    b = BuiltForRun(ex.Lookahead.paper(0.5, options=(TO_THE_RIGHT,)))
    b.agent.active[0] = 0
    begin(b.agent, b.state(0), b.rng)
    assert b.agent.active[0] == -1


def test_planning_counts_the_discount_once():
    """b + γ wᵀF s for an action, b_o + wᵀF_o s for an option: all numbers are powers of two."""
    b = BuiltForRun(ex.Lookahead.paper(0.5, discount=0.5, options=(TO_THE_RIGHT,)))
    model, weights = b.agent.agent.planner.model, np.zeros(8)
    weights[:4] = [0.0, 0.0, 0.0, 8.0]
    model.model.rewards[RIGHT, 2], model.model.rows[RIGHT, 2, 3] = -1.0, 1.0
    model.extended.rewards[0, 0], model.extended.rows[0, 0, 3] = -1.5, 0.125
    assert backed_up_value(model, b.state(2), RIGHT, weights, 0.5) == -1.0 + 0.5 * 8.0
    assert backed_up_value(model, b.state(0), 2, weights, 0.5) == -1.5 + 0.125 * 8.0


def test_exact_models_are_the_exact_ones():
    options = ex.options.OptionSet((TO_THE_RIGHT, HALF), models="exact")
    b = BuiltForRun(
        ex.Lookahead.paper(0.5, model="exact", discount=0.5, options=options, backups="all")
    )
    model, weights = b.agent.agent.planner.model, np.zeros(8)
    weights[:4] = [1.0, -2.0, 4.0, 8.0]
    for number, option in enumerate((TO_THE_RIGHT, HALF)):
        rewards, successors = exact.option_model(LINE, option.policy, option.stop, 0.5)
        expected = rewards + successors @ weights[:4]
        found = [backed_up_value(model, b.state(s), 2 + number, weights, 0.5) for s in range(4)]
        np.testing.assert_allclose(found, expected)


def test_exact_models_are_those_of_the_phase():
    """Going right ends in one step and pays 1 in the first phase, 4 in the second."""
    rewards = np.array([1.0, 4.0])[:, None, None, None] * np.ones((2, 1, 2, 1))
    ends = np.full((1, 2, 1), -1)
    domain = ex.FiniteMDP(np.ones((1, 2, 1)), rewards, ends, switch_every=1)
    options = ex.options.OptionSet((ex.options.TableOption((RIGHT,), (0.5,)),), models="exact")
    b = BuiltForRun(ex.Lookahead.paper(0.5, model="exact", options=options, backups="all"), domain)
    model = b.agent.agent.planner.model
    for episode, paid in ((0, 1.0), (1, 4.0), (2, 1.0)):
        reset(b.domain, episode, b.rng)
        assert backed_up_value(model, b.state(0), 2, np.zeros(8), 1.0) == paid


def test_planning_with_options_ends_in_the_optimal_values():
    domain = ex.domains.TwoRooms()
    to_hallway = ex.options.BestOption(domain.named_states["H"])
    options = ex.options.OptionSet((to_hallway,), models="exact")
    agent = ex.Lookahead.paper(
        1.0, model="exact", discount=0.99, options=options, planning_steps=4000, backups="all"
    )
    b = BuiltForRun(agent, domain)
    plan(b.agent, b.rng)
    wanted = exact.optimal_values(domain, discount=0.99)
    np.testing.assert_allclose(b.agent.agent.weights[: domain.states], wanted, atol=1e-9)


def test_options_of_several_kinds_keep_their_order():
    """Tables that stand together share a part; numbers go on through all of them."""
    options = (HALF, TO_THE_RIGHT, ToGoal(LEFT), ToGoal(RIGHT, 0.75), HALF)
    b = BuiltForRun(ex.Lookahead.paper(0.1, options=options))
    part, found = b.agent.agent.planner.model.options, []
    for number in range(5):
        probabilities = np.zeros(2)
        policy_of(part, number, b.state(1), probabilities)
        found.append([*probabilities, stop_of(part, number, b.state(1))])
    assert found == [
        [0.25, 0.75, 0.5],
        [0.0, 1.0, 0.0],
        [1.0, 0.0, 0.25],
        [0.0, 1.0, 0.75],
        [0.25, 0.75, 0.5],
    ]


def prefer_the_option(b):
    """Make the option's promise the greatest everywhere."""
    b.agent.agent.planner.model.extended.rewards[0, :4] = 5.0


def test_what_is_noted_is_how_likely_actions_are():
    """ε = 0.5 over three choices; the option goes right with probability 3/4."""
    b = BuiltForRun(ex.Lookahead.paper(0.1, epsilon=0.5, options=(HALF,)))
    prefer_the_option(b)
    frequencies = outcomes(lambda rng: act(b.agent, b.state(1), rng), 12, 3)
    left = 1 / 6 + (0.5 + 1 / 6) * 0.25
    assert frequencies == pytest.approx({LEFT: left, RIGHT: 1.0 - left})
    assert b.agent.behaviour.tolist() == pytest.approx([left, 1.0 - left])


def test_ties_are_noted_as_they_are_broken():
    third = ex.options.TableOption(((1 / 3, 2 / 3),) * 4, (0.5,) * 4)
    b = BuiltForRun(ex.Lookahead.paper(0.1, epsilon=0.0, options=(third,)))
    frequencies = outcomes(lambda rng: act(b.agent, b.state(1), rng), 6, 4)
    assert frequencies == pytest.approx({LEFT: 1 / 3 + 1 / 9, RIGHT: 1 / 3 + 2 / 9})
    assert b.agent.behaviour.tolist() == pytest.approx([4 / 9, 5 / 9])


def test_a_softmax_is_noted_with_what_explores():
    b = BuiltForRun(ex.CachedPolicy.paper(0.1, 0.1, epsilon=0.4, options=(HALF, TO_THE_RIGHT)))
    b.agent.agent.policy[:, 1] = np.log([1.0, 2.0, 3.0, 4.0])
    act(b.agent, b.state(1), b.rng)
    choices = 0.1 + 0.6 * np.array([1, 2, 3, 4]) / 10
    mixed = choices[:2] + choices[2] * np.array([0.25, 0.75]) + choices[3] * np.array([0, 1])
    np.testing.assert_allclose(b.agent.behaviour, mixed)
    written = np.zeros(2)
    policy(b.agent, b.state(1), written)
    np.testing.assert_allclose(written, [0.1 + 0.3 * 0.25, 0.2 + 0.3 * 0.75 + 0.4])


def test_a_committed_agent_goes_on_until_the_option_stops():
    options = ex.options.OptionSet((TO_THE_RIGHT,), acting="committed")
    b = BuiltForRun(ex.Lookahead.paper(0.1, epsilon=0.0, options=options))
    prefer_the_option(b)
    assert act(b.agent, b.state(0), b.rng) == RIGHT and b.agent.active[0] == 0
    b.agent.agent.planner.model.extended.rewards[0, :4] = -5.0  # it would choose otherwise now
    b.agent.agent.planner.model.model.rewards[LEFT, :4] = 5.0
    assert act(b.agent, b.state(1), b.rng) == RIGHT and b.agent.active[0] == 0
    assert b.agent.behaviour.tolist() == [0.0, 1.0]
    assert act(b.agent, b.state(3), b.rng) == LEFT and b.agent.active[0] == -1
    assert b.agent.behaviour.tolist() == [1.0, 0.0]


def test_a_committed_agent_still_explores():
    options = ex.options.OptionSet((TO_THE_RIGHT,), acting="committed")
    b = BuiltForRun(ex.Lookahead.paper(0.1, epsilon=0.5, options=options))
    b.agent.active[0] = 0

    def followed(rng):
        b.agent.active[0] = 0
        return act(b.agent, b.state(1), rng)

    assert outcomes(followed, 8, 2) == {LEFT: 0.25, RIGHT: 0.75}
    assert b.agent.behaviour.tolist() == [0.25, 0.75]


def test_an_agent_that_does_not_commit_chooses_at_every_step():
    b = BuiltForRun(ex.Lookahead.paper(0.1, epsilon=0.0, options=(TO_THE_RIGHT,)))
    prefer_the_option(b)
    assert act(b.agent, b.state(0), b.rng) == RIGHT and b.agent.active[0] == 0
    b.agent.agent.planner.model.model.rewards[LEFT, :4] = 9.0
    assert act(b.agent, b.state(1), b.rng) == LEFT and b.agent.active[0] == -1


def test_an_agent_may_plan_with_options_and_act_without():
    """ε = 0.5 over the two actions alone, however good the option is."""
    b = BuiltForRun(
        ex.Lookahead.paper(
            0.1, epsilon=0.5, options=ex.options.OptionSet((HALF,), acting="actions")
        )
    )
    prefer_the_option(b)
    b.agent.agent.planner.model.model.rewards[LEFT, 1] = 1.0
    frequencies = outcomes(lambda rng: act(b.agent, b.state(1), rng), 4, 2)
    assert frequencies == {LEFT: 0.75, RIGHT: 0.25}
    assert b.agent.behaviour.tolist() == [0.75, 0.25] and b.agent.active[0] == -1


def test_a_greedy_agent_begins_the_option_that_promises_most():
    b = BuiltForRun(ex.Lookahead.paper(0.1, options=(TO_THE_RIGHT, HALF)))
    model = b.agent.agent.planner.model
    model.model.rewards[:, 1] = [3.0, 1.0]
    assert [preference(b.agent, b.state(1), action) for action in (0, 1)] == [3.0, 1.0]
    model.extended.rewards[:, 1] = [4.0, 5.0]
    assert [preference(b.agent, b.state(1), action) for action in (0, 1)] == [3.0, 5.0]


def test_an_action_that_was_taken_is_learned_about_whoever_chose_it():
    b = BuiltForRun(ex.CachedValues.paper(0.5, 0.5, 0.5, discount=0.5, options=(TO_THE_RIGHT,)))
    act(b.agent, b.state(3), b.rng)
    learn(b.agent, Transition(b.state(3), RIGHT, 20.0, b.state(0), 0.0, 0), b.rng)
    inside = b.agent.agent
    assert inside.weights[3] == 10.0
    assert inside.action_weights[:, 3].tolist() == [0.0, 10.0, 0.0]
    assert inside.planner.model.model.rewards[RIGHT, 3] == 10.0


def test_the_best_option_is_the_exact_one():
    rooms = ex.domains.TwoRooms()
    hallway = rooms.named_states["H"]
    here = np.arange(rooms.states) == hallway
    for given, wanted in (
        (ex.options.BestOption(hallway), exact.solve_subtask(rooms, here, 0.99, where=here)),
        (
            ex.options.BestOption(hallway, 2.0, anywhere=True, discount=0.9),
            exact.solve_subtask(rooms, 2.0 * here, 0.9),
        ),
        (
            ex.options.BestOption(hallway, rewarded=False),
            exact.solve_subtask(rooms, here, 0.99, where=here, rewarded=False),
        ),
    ):
        found = given.table(rooms)
        np.testing.assert_array_equal(found.policy, wanted.policy)
        np.testing.assert_array_equal(found.stop, wanted.stop)


@pytest.mark.parametrize(
    ("chances", "number", "expected"),
    [
        ([0.0, 1.0], 0.0, 1),  # what is impossible is not drawn at its border either
        ([0.5, 0.0, 0.5], 0.5, 2),
        ([0.5, 0.5], 0.5, 1),
        ([0.5, 0.5], 0.49, 0),
    ],
)
def test_an_action_of_an_option_is_drawn_below_its_border(chances, number, expected):
    assert sample_action(np.array(chances), Scripted([number])) == expected
