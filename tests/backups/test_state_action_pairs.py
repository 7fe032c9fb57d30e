"""Pairs of a state and an action: what is drawn, what is stored, and in which order."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from building import Built, per_feature

import expectant as ex
from expectant.core.verbs import (
    age,
    draw,
    learn,
    load_successor,
    on_action_priority,
    on_priority,
    plan,
    relabel,
    remember,
    reset,
    stored_transition,
)

DOMAIN = ex.Corridor(cells=4, slip=0.0)


def made(backups, domain=DOMAIN):
    b = Built(domain, ex.OneHot())
    return b, backups.build(b.setting)


def drawn(b, pairs, count=1):
    """How often each (state, action) is drawn."""
    found: Counter[tuple[int, int]] = Counter()
    state = b.state(0)
    for _ in range(count):
        slot = draw(pairs, state, b.rng)
        found[int(state.active[0]), int(stored_transition(pairs, slot)[0])] += 1
    return found


def test_every_tried_pair_is_drawn_alike():
    b, pairs = made(ex.backups.SeenPairs())
    for _ in range(50):
        remember(pairs, b.transition(0, 1, -1.0, 1))
    remember(pairs, b.transition(0, 0, -1.0, None))
    remember(pairs, b.transition(2, 1, -1.0, 3))
    found = drawn(b, pairs, 3000)
    assert set(found) == {(0, 1), (0, 0), (2, 1)}
    assert all(abs(count - 1000) < 6 * np.sqrt(3000 * 2 / 9) for count in found.values())


def test_the_latest_outcome_is_kept_and_its_age_is_known():
    b, pairs = made(ex.backups.SeenPairs())
    remember(pairs, b.transition(0, 1, -1.0, 1))
    remember(pairs, b.transition(0, 1, 7.0, 3))
    remember(pairs, b.transition(2, 0, 0.5, None))
    remember(pairs, b.transition(2, 0, 0.5, None))
    state, successor = b.state(0), b.state(0)
    for _ in range(20):
        slot = draw(pairs, state, b.rng)
        load_successor(pairs, slot, successor)
        if state.active[0] == 0:
            assert stored_transition(pairs, slot) == (1, 7.0, 1.0)
            assert (successor.active[0], successor.state_index[0], age(pairs, slot)) == (3, 3, 2)
        else:
            assert stored_transition(pairs, slot) == (0, 0.5, 0.0)
            assert age(pairs, slot) == 0


def test_untried_actions_of_visited_states_lead_nowhere():
    b, pairs = made(ex.backups.SeenPairs(untried=True))
    remember(pairs, b.transition(1, 1, -1.0, 2))
    assert set(drawn(b, pairs, 100)) == {(1, 0), (1, 1)}  # nothing was done in state 2
    state, successor = b.state(0), b.state(0)
    slot = next(
        s
        for s in iter(lambda: draw(pairs, state, b.rng), None)
        if stored_transition(pairs, s)[0] == 0
    )
    load_successor(pairs, slot, successor)
    assert (stored_transition(pairs, slot), int(successor.active[0])) == ((0, 0.0, 1.0), 1)
    remember(pairs, b.transition(1, 0, 3.0, 0))
    assert stored_transition(pairs, slot) == (0, 3.0, 1.0)


def test_an_evicted_state_takes_its_pairs_along():
    b, pairs = made(ex.backups.SeenPairs(capacity=2))
    for state in (0, 1):
        for action in (0, 1):
            remember(pairs, b.transition(state, action, 1.0, 3))
    remember(pairs, b.transition(2, 0, 1.0, 3))  # no room: state 0 goes
    assert set(drawn(b, pairs, 200)) == {(1, 0), (1, 1), (2, 0)}
    remember(pairs, b.transition(0, 1, 1.0, 3))  # and comes back in the place of state 1
    assert set(drawn(b, pairs, 200)) == {(2, 0), (0, 1)}


def test_a_state_in_the_place_of_another_was_never_tried():
    b, sweeping = made(ex.backups.PrioritizedPairs(capacity=2))
    for state, action in ((0, 0), (0, 0), (0, 1), (1, 1)):
        remember(sweeping, b.transition(state, action, 1.0, None))
    assert sweeping.links.tries.tolist() == [[2, 1], [0, 1]]
    remember(sweeping, b.transition(2, 1, 1.0, None))  # no room: state 0 goes
    assert sweeping.links.tries.tolist() == [[0, 1], [0, 1]]
    on_action_priority(sweeping, np.zeros((2, b.setting.width)), b.state(2), 1, 1.0, 3.0, 1.0)
    assert sweeping.errors.any()
    remember(sweeping, b.transition(3, 0, 1.0, None))  # and state 1, then state 2
    remember(sweeping, b.transition(0, 0, 1.0, None))
    assert not sweeping.errors.any()


@pytest.mark.parametrize("step", [0.3, 1.0])
def test_expected_errors_are_exact_in_a_world_without_chance(step):
    """The error of every tried pair, kept through a thousand updates, against its definition."""
    maze = ex.domains.DynaMaze(step_reward=-0.01)
    agent = ex.DynaQ(
        per_feature(step), 3, discount=0.9, backups=ex.backups.PrioritizedPairs(links=20)
    )
    b, rng = Built(maze, ex.OneHot(), agent), np.random.default_rng(1)
    table = maze.mdp().outcomes
    state = int(table.start.argmax())
    first = None
    for _ in range(1500):
        action = int(rng.integers(4))
        following = int(table.successors[state, action, 0])
        reward = float(table.rewards[0, state, action, 0])
        after = None if following < 0 else following
        learn(b.agent, b.transition(state, action, reward, after), b.rng)
        first = (state, action) if first is None else first
        plan(b.agent, b.rng)
        state = int(table.start.argmax()) if following < 0 else following
    weights, sweeping = b.agent.weights, b.agent.memory
    compared = 0
    for pair in sweeping.pairs.order[: sweeping.pairs.counters[0]]:
        row, action = divmod(int(pair), 4)
        number = int(sweeping.pairs.seen.distinct.vectors.active[row, 0])
        following = int(table.successors[number, action, 0])
        future = 0.0 if following < 0 else weights[:, following].max()
        target = table.rewards[0, number, action, 0] + 0.9 * future
        if (number, action) != first:  # what is told of the first step of all is lost
            error = target - weights[action, number]
            assert sweeping.errors[pair] == pytest.approx(error, abs=1e-12)
            compared += 1
    assert compared > 100


def test_the_largest_error_is_backed_up_first_and_sweeps_back():
    agent = ex.DynaQ(per_feature(1.0), 0, discount=0.5, backups="prioritized")
    b = Built(DOMAIN, ex.OneHot(), agent)
    for state in (0, 1, 2):
        learn(b.agent, b.transition(state, 1, 0.0, state + 1), b.rng)
    learn(b.agent, b.transition(3, 1, 16.0, None), b.rng)
    one = b.agent._replace(planning_steps=1)
    for number, expected in ((2, 8.0), (1, 4.0), (0, 2.0)):
        assert drawn_next(b) == (number, 1)
        plan(one, b.rng)
        assert b.agent.weights[1, number] == expected
    assert b.agent.memory.heap.length[0] == 0  # nothing is left to do


def drawn_next(b):
    """The pair at the top of the heap."""
    sweeping = b.agent.memory
    row, action = divmod(int(sweeping.heap.order[0]), 2)
    return int(sweeping.pairs.seen.distinct.vectors.active[row, 0]), action


def test_steps_to_nowhere_pay_nothing_whatever_the_phase():
    """What was never tried has no outcome that could pay something else."""
    domain = ex.Corridor(cells=4, slip=0.1, switch_every=1, step_reward=-1.0, other_reward=3.0)
    b, pairs = made(ex.backups.SeenPairs(untried=True), domain)
    remember(pairs, b.transition(1, 1, 7.0, 2))  # outcome 0: left out of cell 0, which pays 3
    reset(b.domain, 0, b.rng)
    relabel(pairs, b.domain)
    assert pairs.rewards[:2].tolist() == [0.0, 3.0]
    reset(b.domain, 1, b.rng)
    relabel(pairs, b.domain)
    assert pairs.rewards[:2].tolist() == [0.0, 20.0]


def test_only_pairs_that_were_tried_wait_for_a_backup():
    """All actions of a state are as wrong as its value, but of one only it is known what follows."""
    b, sweeping = made(ex.backups.PrioritizedPairs())
    remember(sweeping, b.transition(0, 1, -1.0, 1))
    on_priority(sweeping, b.state(0), 0.0, 5.0)
    assert sweeping.errors[:2].tolist() == [5.0, 5.0]
    assert sweeping.heap.length[0] == 1
    assert drawn(b, sweeping) == {(0, 1): 1}
    remember(sweeping, b.transition(0, 0, -1.0, None))  # now the other one is known too
    assert drawn(b, sweeping) == {(0, 0): 1}


def test_a_successor_counts_as_often_as_it_followed():
    """One step in four led from 0 to 1, whose greatest value rises from 2 to 10: γ · 8 / 4."""
    b, sweeping = made(ex.backups.PrioritizedPairs())
    for following in (1, 2, 2, 2):
        remember(sweeping, b.transition(0, 1, 0.0, following))
    weights = np.zeros((2, b.setting.width))
    weights[:, 1] = [2.0, 10.0]
    on_action_priority(sweeping, weights, b.state(1), 1, 12.0, 13.0, 0.5)
    assert sweeping.errors[:2].tolist() == [0.0, 1.0]
    row = int(np.flatnonzero(sweeping.pairs.seen.distinct.vectors.active[:, 0] == 1)[0])
    assert sweeping.errors[2 * row + 1] == 1.0  # what is left of its own error
    on_action_priority(sweeping, weights, b.state(1), 0, -5.0, -5.0, 0.5)
    assert sweeping.errors[1] == 1.0  # the greatest value is what it was


def test_q_planning_prioritizes_pairs():
    assert ex.QPlanning(model="latest", backups="prioritized").resolve_backups() == (
        ex.backups.PrioritizedPairs()
    )
    assert ex.Lookahead(backups="prioritized").resolve_backups() == ex.backups.PrioritizedSweeping()
