"""Subtasks: what stopping is worth, what an option learns, and the whole way to planning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant import exact
from expectant.core.verbs import (
    act,
    begin,
    learn,
    learn_options,
    plan,
    policy_of,
    reset,
    step,
    stop_of,
)
from expectant.options.subtasks import can_stop, stopping_value

LINE = ex.Corridor(cells=3, slip=0.0)
HALF = np.array([0.5, 0.5])
ROOMS = ex.domains.Rooms(
    """
    #######
    #SP.#.#
    #.P.H.#
    #...#G#
    #######
    """
)


def options_of(subtask, domain=LINE, features=None):
    b = Built(domain, features or ex.OneHot())
    return b, subtask.build(b.setting)


def test_stopping_is_worth_the_bonus_instead_of_the_features_own_value():
    b, options = options_of(ex.options.RewardRespecting(2, 1.5))
    options.weights[:3] = [4.0, 5.0, 6.0]
    assert [stopping_value(options, 0, b.state(n)) for n in range(3)] == [4.0, 5.0, 1.5]
    b, options = options_of(ex.options.ShortestPath(2, 1.5))
    options.weights[:3] = [4.0, 5.0, 6.0]
    assert [stopping_value(options, 0, b.state(n)) for n in range(3)] == [0.0, 0.0, 1.5]


def test_stopping_is_worth_what_the_agents_values_say_now():
    b, options = options_of(ex.options.RewardRespecting(2, 1.5))
    for told in ([4.0, 5.0, 6.0], [7.0, 8.0, 9.0]):
        weights = np.array([*told, *[0.0] * 5])
        learn_options(options, b.transition(0, 1, -1.0, 1), HALF, weights, 0.5)
        assert [stopping_value(options, 0, b.state(n)) for n in range(3)] == [*told[:2], 1.5]


def test_with_shared_features_only_the_one_is_replaced():
    b, options = options_of(ex.options.RewardRespecting(0, 10.0), features=ex.RandomBinary(4, 2))
    options.weights[:4] = [1.0, 2.0, 4.0, 8.0]
    for n in range(3):
        active = b.state(n).active
        expected = sum(options.weights[i] if i else 10.0 for i in active)
        assert stopping_value(options, 0, b.state(n)) == expected


def test_where_an_option_stops():
    """Where z ≥ v_o, in the subgoal only or anywhere; a softmax of zeros is even."""
    found = {}
    for anywhere in (False, True):
        b, options = options_of(ex.options.RewardRespecting(2, 1.0, anywhere=anywhere))
        options.values[0, :3] = [-0.5, 0.5, 0.5]
        found[anywhere] = [can_stop(options, 0, b.state(n)) for n in range(3)]
        options.values[0, 2] = 1.0  # going on is just as good
        assert stop_of(options, 0, b.state(2)) == 1.0
        options.values[0, 2] = 2.0  # going on is better than the bonus
        assert stop_of(options, 0, b.state(2)) == 0.0
    assert found == {False: [False, False, True], True: [True, False, True]}
    probabilities = np.zeros(2)
    policy_of(options, 0, b.state(0), probabilities)
    assert probabilities.tolist() == [0.5, 0.5]


def test_a_step_of_actor_and_critic_by_hand():
    """ρ = 1, α = 1/2, α' = 1/4, γ = 1/2, λ = 1/2: cell 1 to cell 2, where the option stops."""
    b, options = options_of(
        ex.options.RewardRespecting(2, 8.0, step=0.5, policy_step=0.25, trace=0.5)
    )
    none = np.zeros(8)
    learn_options(options, b.transition(0, 1, -1.0, 1), HALF, none, 0.5)
    # δ = −1, e = s(0); ∇log π is ±1/2; then e ← γλ e = e / 4
    assert options.values[0, :3].tolist() == [-0.5, 0.0, 0.0]
    assert options.policies[0, :, 0].tolist() == [0.125, -0.125]
    assert options.value_traces[0, :3].tolist() == [0.25, 0.0, 0.0]
    learn_options(options, b.transition(1, 1, -1.0, 2), HALF, none, 0.5)
    # δ = −1 + 8 / 2 = 3, felt a quarter as much in cell 0; it stops, and the traces with it
    assert options.values[0, :3].tolist() == [-0.5 + 0.375, 1.5, 0.0]
    assert options.policies[0, :, 1].tolist() == [-0.375, 0.375]
    assert options.policies[0, :, 0].tolist() == [0.125 - 0.09375, -0.125 + 0.09375]
    assert not options.value_traces.any() and not options.policy_traces.any()
    learn_options(options, b.transition(2, 1, 20.0, None), HALF, none, 0.5)
    assert options.values[0, 2] == 10.0  # the end: δ = 20, and nothing after it


def test_a_shortest_path_does_not_see_rewards():
    b, options = options_of(ex.options.ShortestPath(2, step=0.5))
    learn_options(options, b.transition(0, 1, -1.0, 1), HALF, np.full(8, 9.0), 0.5)
    assert not options.values.any()
    learn_options(options, b.transition(1, 1, -1.0, 2), HALF, np.full(8, 9.0), 0.5)
    assert options.values[0, 1] == 0.25


@pytest.mark.parametrize("anywhere", [False, True])
def test_the_best_options_value_is_where_the_critic_rests(anywhere):
    """Under the best policy the mean change is zero, in every state."""
    hallway = ROOMS.named_states["H"]
    here = np.arange(ROOMS.states) == hallway
    best = exact.solve_subtask(ROOMS, here, 0.9, where=None if anywhere else here)
    b, options = options_of(
        ex.options.RewardRespecting(hallway, anywhere=anywhere, policy_step=0.0), ROOMS
    )
    options.values[0, : ROOMS.states] = best.values
    options.policies[0, :, : ROOMS.states] = np.log(best.policy + 1e-300).T
    table, before = ROOMS.mdp().outcomes, options.values.copy()
    for state in range(ROOMS.states):
        change = np.zeros_like(before)
        for action in range(4):
            successor = int(table.successors[state, action, 0])
            seen = b.transition(state, action, table.rewards[0, state, action, 0],
                                None if successor < 0 else successor)  # fmt: skip
            learn_options(options, seen, np.full(4, 0.25), np.zeros(16), 0.9)
            change += 0.25 * (options.values - before)
            options.values[...] = before
        np.testing.assert_allclose(change, 0.0, atol=1e-12)


def walk(agent, steps, seed=0):
    """An agent through the rooms, one step after the other; as a run has it."""
    b = Built(ROOMS, ex.OneHot(), seed=seed)
    part, place = agent.build_agent(b.setting), 0
    domain, rng = b.domain, b.rng
    reset(domain, 0, rng)
    for _ in range(steps):
        place = int(domain.now[0])
        action = act(part, b.state(place), rng)
        reward, alive = step(domain, action, rng)
        after = int(domain.now[0]) if alive else None
        learn(part, b.transition(place, action, reward, after), rng)
        plan(part, rng)
        if not alive:
            reset(domain, 0, rng)
    return b, part


def test_from_a_subtask_to_planning_in_one_agent():
    """Subtask, option, model, plan: online, from random actions, and all come out right."""
    hallway = ROOMS.named_states["H"]
    subtask = ex.options.RewardRespecting(hallway, step=0.2, policy_step=0.2)
    options = ex.options.OptionSet((subtask,), step=0.2, acting="actions")
    agent = ex.Lookahead.paper(
        0.2, 0.2, epsilon=1.0, discount=0.9, planning_steps=1, options=options
    )
    b, part = walk(agent, 6000)
    model = part.agent.planner.model
    found, states = model.options, ROOMS.states
    here = np.arange(states) == hallway
    best = exact.solve_subtask(ROOMS, here, 0.9, where=here)
    start = 0
    assert found.values[0, start] == pytest.approx(best.values[start], abs=0.1)
    # what the model says of the option is what the option does, as it is by now
    policy, stopping = np.zeros((states, 4)), np.zeros(states)
    for n in range(states):
        policy_of(found, 0, b.state(n), policy[n])
        stopping[n] = stop_of(found, 0, b.state(n))
    rewards, successors = exact.option_model(ROOMS, policy, stopping, 0.9)
    assert model.extended.rewards[0, start] == pytest.approx(rewards[start], abs=0.1)
    assert model.extended.rows[0, start, hallway] == pytest.approx(
        successors[start, hallway], abs=0.1
    )
    assert successors[start, hallway] > 0.8 * 0.9**5  # it goes around the pits, to the hallway


def test_traces_do_not_reach_into_the_next_episode():
    subtasks = (ex.options.RewardRespecting(2, trace=0.5), ex.options.ShortestPath(2, trace=0.5))
    options = ex.options.OptionSet(subtasks, trace=0.5)
    agent = ex.Lookahead.paper(0.2, 0.2, epsilon=1.0, discount=0.9, options=options)
    b = Built(LINE, ex.OneHot())
    part: Any = agent.build_agent(b.setting)
    act(part, b.state(0), b.rng)
    learn(part, b.transition(0, 1, -1.0, 1), b.rng)
    found, extended = part.agent.planner.model.options, part.agent.planner.model.extended
    traces = [extended.traces]
    for own in (found.first, found.rest):
        traces += [own.value_traces, own.policy_traces]
    assert all(trace.any() for trace in traces)
    begin(part, b.state(0), b.rng)
    assert not any(trace.any() for trace in traces)
