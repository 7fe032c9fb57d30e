"""Backups from the current state, all states and pairs, and those that were seen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from building import Built, per_feature
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.backups.state_action_pairs import count_backups
from expectant.backups.states import empty_rows, find_or_add_row
from expectant.core.vectors import empty_state
from expectant.core.verbs import can_draw, draw, learn, plan, remember, stored_transition
from expectant.features.distinct_vectors import find_vector


def test_it_is_the_state_just_reached_or_the_last_before_the_end():
    built = Built(ex.Corridor(), ex.RandomBinary(14, 5))
    backups, state = ex.backups.CurrentState().build(built.setting), built.state(0)
    for here, there, now in [(3, 4, 4), (4, 5, 5), (8, None, 8), (2, 1, 1)]:
        remember(backups, built.transition(here, 0, -1.0, there))
        for _ in range(2):
            assert draw(backups, state, built.rng) == -1
            assert state.state_index[0] == now
            assert state.active.tolist() == built.state(now).active.tolist()


def test_with_the_true_model_it_plans_where_the_agent_never_was():
    built = Built(
        ex.Corridor(slip=0.0), ex.OneHot(), ex.Lookahead.paper(1.0, model="true", backups="all")
    )
    for _ in range(200):
        plan(built.agent, built.rng)
    assert built.agent.weights[:9].tolist() == [20.0 - n for n in range(8, -1, -1)]


LINE = ex.Corridor(cells=5)


def drawn(backups, count, seed=0):
    b = Built(LINE, ex.OneHot(), seed=seed)
    part, state = backups.build(b.setting), empty_state(b.shape)
    found = []
    for _ in range(count):
        assert draw(part, state, b.rng) == -1
        assert state.active[0] == state.state_index[0]
        found.append(int(state.state_index[0]))
    return found


def test_a_sweep_goes_to_every_state_once():
    found = np.array(drawn(ex.backups.AllStates(sweeps=True), 100)).reshape(20, 5)
    assert (np.sort(found, axis=1) == np.arange(5)).all()
    assert len(set(map(tuple, found))) > 10  # each in an order of its own


def test_every_order_is_as_likely():
    """Who comes first: 600 sweeps, each state within five deviations of a fifth of them."""
    firsts = Counter(drawn(ex.backups.AllStates(sweeps=True), 3000)[::5])
    spread = np.sqrt(600 * 0.2 * 0.8)
    assert all(abs(firsts[state] - 120) < 5 * spread for state in range(5))


def test_pairs_come_in_turn():
    built = Built(ex.Corridor(), ex.OneHot())
    backups, state = ex.backups.AllPairs().build(built.setting), built.state(0)
    found = []
    for _ in range(20):
        slot = draw(backups, state, built.rng)
        found.append((int(state.state_index[0]), *stored_transition(backups, slot)))
    pairs = [(cell, action, 0.0, 1.0) for cell in range(9) for action in (0, 1)]
    assert found == [*pairs, *pairs[:2]]


def test_the_drawn_action_is_backed_up():
    agent = ex.agents.PlanningOnly(
        ex.QPlanning.paper(1.0, model="true", planning_steps=1, backups="all_pairs")
    )
    built = Built(ex.Corridor(slip=0.0, cells=3), ex.OneHot(), agent)
    for _ in range(6):
        plan(built.agent, built.rng)
    assert built.agent.weights[:, :3].T.tolist() == [[0.0, -1.0], [-1.0, -1.0], [-2.0, 20.0]]


def test_draws_of_pairs_are_counted():
    for backups in (ex.backups.SeenPairs(), ex.backups.PrioritizedPairs()):
        built = Built(
            ex.Corridor(),
            ex.OneHot(),
            ex.DynaQ(per_feature(0.1), planning_steps=3, backups=backups, discount=1.0),
        )
        remember(built.agent.memory, built.transition(3, 0, -1.0, 4))
        assert count_backups(built.agent) == 0
        plan(built.agent, built.rng)
        assert count_backups(built.agent) == 3


@pytest.mark.parametrize("agent", ["dyna", "q_planning"])
def test_what_idles_makes_no_update_while_nothing_waits(agent):
    swept = ex.backups.PrioritizedPairs(threshold=0.5, idles=True)
    agents = {
        "dyna": ex.DynaQ(per_feature(1.0), planning_steps=3, backups=swept, discount=0.9),
        "q_planning": ex.QPlanning.paper(
            1.0, model="latest", planning_steps=3, discount=0.9, backups=swept
        ),
    }
    built = Built(ex.Corridor(), ex.OneHot(), agents[agent])
    backups = getattr(built.agent, "memory", None) or built.agent.planner.backups
    learn(built.agent, built.transition(3, 1, 0.0, 4), built.rng)
    assert not can_draw(backups)
    plan(built.agent, built.rng)
    assert count_backups(built.agent) == 0
    learn(built.agent, built.transition(4, 1, 1.0, None), built.rng)  # now 3 is worth more
    assert can_draw(backups)
    plan(built.agent, built.rng)
    assert count_backups(built.agent) == 1
    assert built.agent.weights[1, 3] == pytest.approx(0.9)


def test_states_that_look_alike_are_one_with_the_latest_place():
    built = Built(ex.Corridor(cells=3), ex.OneHot())
    backups, state = ex.backups.SeenStates().build(built.setting), built.state(0)
    for place in (1, 2):
        transition = built.transition(0, 0, -1.0, 1)
        transition.state.state_index[0] = place
        remember(backups, transition)
    assert backups.total[0] == 1
    draw(backups, state, built.rng)
    assert (state.active[0], state.state_index[0]) == (0, 2)


@settings(max_examples=60, deadline=None)
@given(
    capacity=st.integers(1, 7),
    visits=st.lists(st.integers(0, 29), min_size=1, max_size=80),
    weighted=st.booleans(),
)
def test_every_state_is_found_in_its_row_whatever_came_before(capacity, visits, weighted):
    """Against a list: the latest ``capacity`` first sights, in the order of the sights."""
    shape = ex.extend.Shape(10, 2, weighted)
    seen = empty_rows(shape, capacity)

    def vector(number: int):
        state: Any = empty_state(shape)
        state.active[:] = [number % 10, number // 10]
        if weighted:
            state.values[:] = [1.0, number * 0.5]
        return state

    kept: list[int] = []
    for visit in visits:
        row = find_or_add_row(seen, vector(visit))
        if visit not in kept:
            kept = [*kept, visit][-capacity:]
        assert find_vector(seen.distinct, vector(visit)) == row
        rows = [find_vector(seen.distinct, vector(number)) for number in range(30)]
        assert [number for number in range(30) if rows[number] >= 0] == sorted(kept)
        assert len({rows[number] for number in kept}) == len(kept)
        order = sorted(kept, key=lambda number: seen.serials[rows[number]])
        assert order == kept
        assert (seen.distinct.slots >= 0).sum() == len(kept)
