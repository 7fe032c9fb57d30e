from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.backups.states import seen_row, seen_states
from expectant.features.distinct import number_of
from expectant.features.vector import empty_state
from expectant.verbs import draw, remember


def frequencies(built: Built, backups, draws: int) -> np.ndarray:
    state, seen = built.state(0), np.zeros(built.setting.domain.states or 0)
    for _ in range(draws):
        assert draw(backups, state, built.rng) == -1
        assert (state.active == built.state(state.place[0]).active).all()
        seen[state.place[0]] += 1
    return seen / draws


@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(14, 5)], ids=repr)
def test_rare_states_are_drawn_as_often_as_frequent_ones(features):
    built = Built(ex.Corridor(), features)
    backups = ex.SeenStates().build(built.setting)
    for number in [3] * 50 + [4] + [5] * 7 + [3]:
        remember(backups, built.transition(number, 0, -1.0, 8))
    expected = [0, 0, 0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0]
    np.testing.assert_allclose(frequencies(built, backups, 6000), expected, atol=0.025)


def test_when_full_a_new_state_replaces_the_first():
    built = Built(ex.Corridor(), ex.OneHot())
    backups = ex.SeenStates(capacity=3).build(built.setting)
    for number in [0, 1, 0, 2, 0, 7, 1, 8]:  # 7 replaces 0, then 8 replaces 1
        remember(backups, built.transition(number, 0, -1.0, 3))
    expected = np.isin(np.arange(9), [2, 7, 8]) / 3
    np.testing.assert_allclose(frequencies(built, backups, 6000), expected, atol=0.025)


def test_states_that_look_alike_are_one_with_the_latest_place():
    built = Built(ex.Corridor(cells=3), ex.OneHot())
    backups, state = ex.SeenStates().build(built.setting), built.state(0)
    for place in (1, 2):
        transition = built.transition(0, 0, -1.0, 1)
        transition.state.place[0] = place
        remember(backups, transition)
    assert backups.total[0] == 1
    draw(backups, state, built.rng)
    assert (state.active[0], state.place[0]) == (0, 2)


@settings(max_examples=60, deadline=None)
@given(
    capacity=st.integers(1, 7),
    visits=st.lists(st.integers(0, 29), min_size=1, max_size=80),
    weighted=st.booleans(),
)
def test_every_state_is_found_in_its_row_whatever_came_before(capacity, visits, weighted):
    """Against a list: the latest ``capacity`` first sights, in the order of the sights."""
    shape = ex.Shape(10, 2, weighted)
    seen = seen_states(shape, capacity)

    def vector(number: int):
        state: Any = empty_state(shape)
        state.active[:] = [number % 10, number // 10]
        if weighted:
            state.values[:] = [1.0, number * 0.5]
        return state

    kept: list[int] = []
    for visit in visits:
        row = seen_row(seen, vector(visit))
        if visit not in kept:
            kept = [*kept, visit][-capacity:]
        assert number_of(seen.distinct, vector(visit)) == row
        rows = [number_of(seen.distinct, vector(number)) for number in range(30)]
        assert [number for number in range(30) if rows[number] >= 0] == sorted(kept)
        assert len({rows[number] for number in kept}) == len(kept)
        order = sorted(kept, key=lambda number: seen.serials[rows[number]])
        assert order == kept
        assert (seen.distinct.slots >= 0).sum() == len(kept)
