"""Replay: evenly, by recency and along trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.core.verbs import (
    draw,
    free_capacity,
    grow,
    load_successor,
    relabel,
    remember,
    reset,
    step,
    stored_transition,
)


def test_replay_keeps_the_latest_transitions_and_draws_them_evenly():
    built = Built(ex.Corridor(), ex.OneHot())
    replay = ex.backups.Replay(capacity=4).build(built.setting)
    state = built.state(0)
    for number in range(6):  # 0 and 1 are overwritten
        remember(replay, built.transition(number, number % 2, float(number), number + 1))
    seen = np.zeros(9)
    for _ in range(8000):
        slot = draw(replay, state, built.rng)
        seen[state.active[0]] += 1
        action, reward, alive = stored_transition(replay, slot)
        number = state.state_index[0]
        assert (action, reward, alive) == (number % 2, float(number), 1.0)
        load_successor(replay, slot, state)
        assert state.state_index[0] == reward + 1
    assert not seen[[0, 1, 6, 7, 8]].any()
    np.testing.assert_allclose(seen[2:6] / 8000, 0.25, atol=0.025)


@pytest.mark.parametrize("most", [128, 129])
def test_a_slot_is_as_narrow_as_states_and_actions_allow(most):
    """A long replay waits for memory."""
    dynamics = [np.eye(most)] * most  # every action stays where it is
    domain = ex.FiniteMDP(np.stack(dynamics), np.zeros((most, most)), endless=True)
    built = Built(domain, ex.OneHot())
    replay = ex.backups.Replay(4).build(built.setting)
    remember(replay, built.transition(most - 1, most - 1, 0.5, most - 1))
    remember(replay, built.transition(most - 1, 0, 0.5, None))
    assert stored_transition(replay, 0) == (most - 1, 0.5, 1.0)
    assert stored_transition(replay, 1) == (0, 0.5, 0.0)
    assert [type(number) for number in stored_transition(replay, 0)[::2]] == [int, float]
    state = built.state(0)
    load_successor(replay, 0, state)
    assert (state.state_index[0], state.active[0]) == (most - 1, most - 1)


def test_unlimited_replay_grows_without_losing_anything():
    built = Built(ex.Corridor(), ex.OneHot())
    replay = ex.backups.Replay(None).build(built.setting)
    size = free_capacity(replay)
    for number in range(size):
        remember(replay, built.transition(number % 9, 0, float(number), 1))
    assert free_capacity(replay) == 0
    replay = grow(replay)
    assert free_capacity(replay) == size
    remember(replay, built.transition(3, 1, -7.0, None))
    assert [float(x) for x in replay.rewards[[0, size - 1, size]]] == [0.0, size - 1.0, -7.0]
    assert stored_transition(replay, size) == (1, -7.0, 0.0)


def test_unlimited_replay_gives_the_same_run_as_a_large_one(monkeypatch):
    monkeypatch.setattr("expectant.backups.replay.INITIAL_CAPACITY", 16)
    agents = [
        ex.Lookahead.paper(0.1, 0.1, planning_steps=1, replay_capacity=capacity)
        for capacity in (None, 2000)
    ]
    unlimited, large = (
        ex.run(ex.Corridor(), ex.OneHot(), agent, episodes=20, runs=1, compiled=False)
        for agent in agents
    )
    assert 2 * 16 < unlimited.lengths.sum() < 2000  # it had to grow twice
    np.testing.assert_array_equal(unlimited.returns, large.returns)


def test_all_that_is_stored_is_relabelled_after_wrapping_around_too():
    domain = ex.Corridor(cells=1, slip=0.0, switch_every=10)
    built = Built(domain, ex.OneHot())
    replay = ex.backups.Replay(3).build(built.setting)
    for action in (0, 1, 1, 1):  # the last one is in the first slot
        reset(built.domain, 0, built.rng)
        reward, _ = step(built.domain, action, built.rng)
        transition = built.transition(0, action, reward, None)
        remember(replay, transition._replace(outcome=int(built.domain.now[2])))
    assert replay.rewards.tolist() == [20.0] * 3
    reset(built.domain, 10, built.rng)
    relabel(replay, built.domain)
    assert replay.rewards.tolist() == [0.0] * 3


DRAWS = 20_000


def ages_drawn(halflife: float, capacity: int, stored: int) -> np.ndarray:
    """How often each age is drawn; the rewards number the transitions."""
    built = Built(ex.Corridor(), ex.OneHot())
    backups = ex.backups.RecencyReplay(capacity, halflife).build(built.setting)
    state = built.state(0)
    for number in range(stored):
        remember(backups, built.transition(number % 9, number % 2, float(number), None))
    ages = np.zeros(stored)
    for _ in range(DRAWS):
        slot = draw(backups, state, built.rng)
        _, reward, _ = stored_transition(backups, slot)
        assert state.state_index[0] == reward % 9
        ages[stored - 1 - int(reward)] += 1
    return ages / DRAWS


@pytest.mark.parametrize(
    ("halflife", "capacity", "stored"), [(1.0, 10, 4), (2.0, 6, 15), (1e12, 5, 7), (3.0, 1, 3)]
)
def test_weights_halve_every_halflife(halflife, capacity, stored):
    kept = min(capacity, stored)
    weights = 0.5 ** (np.arange(kept) / halflife)
    ages = ages_drawn(halflife, capacity, stored)
    np.testing.assert_allclose(ages[:kept], weights / weights.sum(), atol=0.012)
    assert not ages[kept:].any()  # overwritten


def filled(built: Built, length: int, capacity: int, steps: Sequence[tuple[int, int | None]]):
    """A trajectory replay of the given steps, whose rewards number them."""
    backups = ex.backups.Trajectory(length, capacity).build(built.setting)
    for number, (here, there) in enumerate(steps):
        remember(backups, built.transition(here, 1, float(number), there))
    return backups


def drawn(built: Built, backups, times: int) -> list[int]:
    """The numbers of the steps that are drawn, one after the other."""
    state, numbers = built.state(0), []
    for _ in range(times):
        slot = draw(backups, state, built.rng)
        numbers.append(int(stored_transition(backups, slot)[1]))
        assert state.state_index[0] == backups.replay.states.state_indices[slot]
    return numbers


def walks(numbers: list[int], starts_after: set[int], length: int) -> list[list[int]]:
    """Cut a sequence of draws into walks, as they should be."""
    found: list[list[int]] = [[]]
    for number in numbers:
        if found[-1] and (found[-1][-1] in starts_after or len(found[-1]) == length):
            found.append([])
        found[-1].append(number)
    return found


def test_walks_follow_experience_and_stop_where_it_stopped():
    built = Built(ex.Corridor(), ex.OneHot())
    # 0 1 2 ended; 3 4 was cut off (what follows starts elsewhere); 5 6 7 is the newest
    steps = [(0, 1), (1, 2), (2, None), (5, 6), (6, 7), (2, 3), (3, 4), (4, 5)]
    backups = filled(built, 3, 100, steps)
    numbers = drawn(built, backups, 9000)
    parts = walks(numbers, {2, 4, 7}, 3)[:-1]
    for walk in parts:
        assert walk == list(range(walk[0], walk[0] + len(walk)))
    assert max(map(len, parts)) == 3
    assert all(len(walk) == 3 or walk[-1] in {2, 4, 7} for walk in parts)
    starts = np.bincount([walk[0] for walk in parts], minlength=8) / len(parts)
    np.testing.assert_allclose(starts, 1 / 8, atol=0.025)


def test_a_walk_ends_with_its_episode_even_if_the_next_one_starts_in_the_same_state():
    built = Built(ex.Corridor(), ex.OneHot())
    backups = filled(built, 10, 100, [(0, 1), (1, 1), (1, 2), (2, 3)])
    backups.replay.alive[1] = 0.0
    numbers = drawn(built, backups, 400)
    after_the_end = {after for before, after in pairwise(numbers) if before == 1}
    assert after_the_end == {0, 1, 2, 3}  # a new walk begins, anywhere


def test_walks_go_on_over_the_wrapped_end_but_not_past_the_newest():
    built = Built(ex.Corridor(), ex.OneHot())
    steps = [(n % 8, (n + 1) % 8) for n in range(14)]  # in six slots: 12 and 13 are before 8
    backups = filled(built, 50, 6, steps)
    numbers = drawn(built, backups, 3000)
    assert set(numbers) == {8, 9, 10, 11, 12, 13}
    for before, after in pairwise(numbers):
        assert before == 13 or after == before + 1
