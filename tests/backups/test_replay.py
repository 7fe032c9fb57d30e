from __future__ import annotations

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.verbs import (
    draw,
    grown,
    load_successor,
    relabel,
    remember,
    reset,
    room,
    step,
    stored,
)


def test_replay_keeps_the_latest_transitions_and_draws_them_evenly():
    built = Built(ex.Corridor(), ex.OneHot())
    replay = ex.Replay(capacity=4).build(built.setting)
    state = built.state(0)
    for number in range(6):  # 0 and 1 are overwritten
        remember(replay, built.transition(number, number % 2, float(number), number + 1))
    seen = np.zeros(9)
    for _ in range(8000):
        slot = draw(replay, state, built.rng)
        seen[state.active[0]] += 1
        action, reward, alive = stored(replay, slot)
        assert (action, reward, alive) == (state.place[0] % 2, float(state.place[0]), 1.0)
        load_successor(replay, slot, state)
        assert state.place[0] == reward + 1
    assert not seen[[0, 1, 6, 7, 8]].any()
    np.testing.assert_allclose(seen[2:6] / 8000, 0.25, atol=0.025)


@pytest.mark.parametrize("most", [128, 129])
def test_a_slot_is_as_narrow_as_states_and_actions_allow(most):
    """A long replay waits for memory."""
    dynamics = [np.eye(most)] * most  # every action stays where it is
    domain = ex.FiniteMDP(np.stack(dynamics), np.zeros((most, most)), endless=True)
    built = Built(domain, ex.OneHot())
    replay = ex.Replay(4).build(built.setting)
    remember(replay, built.transition(most - 1, most - 1, 0.5, most - 1))
    remember(replay, built.transition(most - 1, 0, 0.5, None))
    assert stored(replay, 0) == (most - 1, 0.5, 1.0) and stored(replay, 1) == (0, 0.5, 0.0)
    assert [type(number) for number in stored(replay, 0)[::2]] == [int, float]
    state = built.state(0)
    load_successor(replay, 0, state)
    assert (state.place[0], state.active[0]) == (most - 1, most - 1)


def test_the_newest_transition_can_be_drawn_at_once():
    built = Built(ex.Corridor(), ex.OneHot())
    replay, state = ex.Replay(10).build(built.setting), built.state(0)
    remember(replay, built.transition(7, 0, -1.0, 8))
    assert draw(replay, state, built.rng) == 0
    assert state.place[0] == 7


def test_unlimited_replay_grows_without_losing_anything():
    built = Built(ex.Corridor(), ex.OneHot())
    replay = ex.Replay(None).build(built.setting)
    size = room(replay)
    for number in range(size):
        remember(replay, built.transition(number % 9, 0, float(number), 1))
    assert room(replay) == 0
    replay = grown(replay)
    assert room(replay) == size
    remember(replay, built.transition(3, 1, -7.0, None))
    assert [float(x) for x in replay.rewards[[0, size - 1, size]]] == [0.0, size - 1.0, -7.0]
    assert stored(replay, size) == (1, -7.0, 0.0)


def test_unlimited_replay_gives_the_same_run_as_a_large_one():
    agents = [
        ex.Lookahead.paper(0.1, 0.1, planning_steps=1, replay_capacity=capacity)
        for capacity in (None, 200_000)
    ]
    unlimited, large = (
        ex.run(ex.Corridor(), ex.OneHot(), agent, episodes=2000, runs=1) for agent in agents
    )
    assert unlimited.lengths.sum() > 2 * 4096  # it had to grow twice
    np.testing.assert_array_equal(unlimited.returns, large.returns)


def test_relabelling_swaps_the_rewards_of_the_ends():
    domain = ex.Corridor(cells=1, slip=0.0, switch_every=10)
    built = Built(domain, ex.OneHot())
    replay = ex.Replay(10).build(built.setting)
    for action in (0, 1):
        reset(built.domain, 0, built.rng)
        reward, alive = step(built.domain, action, built.rng)
        transition = built.transition(0, action, reward, None)
        remember(replay, transition._replace(alive=alive, outcome=int(built.domain.now[2])))
    assert replay.rewards[:2].tolist() == [0.0, 20.0]
    reset(built.domain, 10, built.rng)
    relabel(replay, built.domain)
    assert replay.rewards[:2].tolist() == [20.0, 0.0]


def test_all_that_is_stored_is_relabelled_after_wrapping_around_too():
    domain = ex.Corridor(cells=1, slip=0.0, switch_every=10)
    built = Built(domain, ex.OneHot())
    replay = ex.Replay(3).build(built.setting)
    for action in (0, 1, 1, 1):  # the last one is in the first slot
        reset(built.domain, 0, built.rng)
        reward, _ = step(built.domain, action, built.rng)
        transition = built.transition(0, action, reward, None)
        remember(replay, transition._replace(outcome=int(built.domain.now[2])))
    assert replay.rewards.tolist() == [20.0] * 3
    reset(built.domain, 10, built.rng)
    relabel(replay, built.domain)
    assert replay.rewards.tolist() == [0.0] * 3
