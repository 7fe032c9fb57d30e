"""Feature vectors and tables in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from expectant.core.interfaces import Shape
from expectant.core.vectors import add, dense, dot, empty_state, empty_table, max_action_value
from expectant.core.verbs import copy, load, matches, save


def test_vectors_do_what_dense_ones_do():
    rng = np.random.default_rng(0)
    for weighted in (False, True):
        shape = Shape(10, 4, weighted)
        state: Any = empty_state(shape)
        other, table = empty_state(shape), empty_table(shape, 3)
        state.active[:] = [1, 3, 7, 9]
        state.state_index[0] = 6
        if weighted:
            state.values[:] = [0.5, -2.0, 0.0, 3.0]
        vector, weights = dense(state, 16), rng.normal(size=16)
        assert abs(dot(state, weights) - vector @ weights) < 1e-12
        rows = rng.normal(size=(3, 16))
        assert abs(max_action_value(rows, state) - (rows @ vector).max()) < 1e-12
        expected = weights + 0.25 * vector
        add(state, weights, 0.25)
        np.testing.assert_allclose(weights, expected)
        save(table, 2, state)
        load(table, 2, other)
        np.testing.assert_array_equal(dense(other, 16), vector)
        assert other.state_index[0] == 6
        assert matches(table, 2, state) and not matches(table, 1, state)
        blank = empty_state(shape)
        copy(blank, state)
        np.testing.assert_array_equal(dense(blank, 16), vector)
        assert blank.state_index[0] == 6
        for array in blank[:-1]:  # the active features, and the values if there are any
            array[3] += 1
            assert not matches(table, 2, blank)
            array[3] -= 1
        assert matches(table, 2, blank)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("most", "kind"),
    [
        (2**7, np.int8), (2**7 + 1, np.int16), (2**15, np.int16), (2**15 + 1, np.int32),
        (2**31, np.int32),
    ],
)  # fmt: skip
def test_tables_are_as_narrow_as_their_last_feature_and_place_allow(most, kind, weighted):
    shape = Shape(most, 2, weighted)
    state: Any = empty_state(shape)
    other, table = empty_state(shape), empty_table(shape, 3, most)
    state.active[:] = [0, most - 1]
    state.state_index[0] = most - 1
    save(table, 1, state)
    load(table, 1, other)
    assert other.active.tolist() == [0, most - 1]
    assert other.state_index[0] == most - 1
    assert table.active.dtype == table.state_indices.dtype == kind
    assert (table.state_indices == [-1, most - 1, -1]).all()
    assert empty_table(shape, 1).active.dtype == np.int32  # if the number of places is not known
