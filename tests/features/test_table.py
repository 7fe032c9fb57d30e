from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.features.vector import (
    add,
    dense,
    dot,
    empty_state,
    empty_table,
    greatest,
)
from expectant.parts import Shape
from expectant.verbs import copy, load, matches, save


def test_random_binary_vectors_have_the_ones_asked_for_and_differ_between_runs():
    domain, features = ex.Corridor(), ex.RandomBinary(14, 5)
    first = ex.exact.feature_matrix(domain, features, seed=3, run=0)
    again = ex.exact.feature_matrix(domain, features, seed=3, run=0)
    other = ex.exact.feature_matrix(domain, features, seed=3, run=1)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(np.unique(first)) == {0.0, 1.0}
    np.testing.assert_array_equal(first.sum(axis=1), 5.0)  # without replacement


def test_one_hot_is_the_identity():
    np.testing.assert_array_equal(ex.exact.feature_matrix(ex.Corridor(), ex.OneHot()), np.eye(9))


def test_vectors_do_what_dense_ones_do():
    rng = np.random.default_rng(0)
    for weighted in (False, True):
        shape = Shape(10, 4, weighted)
        state: Any = empty_state(shape)
        other, table = empty_state(shape), empty_table(shape, 3)
        state.active[:] = [1, 3, 7, 9]
        state.place[0] = 6
        if weighted:
            state.values[:] = [0.5, -2.0, 0.0, 3.0]
        vector, weights = dense(state, 16), rng.normal(size=16)
        assert abs(dot(state, weights) - vector @ weights) < 1e-12
        rows = rng.normal(size=(3, 16))
        assert abs(greatest(rows, state) - (rows @ vector).max()) < 1e-12
        expected = weights + 0.25 * vector
        add(state, weights, 0.25)
        np.testing.assert_allclose(weights, expected)
        save(table, 2, state)
        load(table, 2, other)
        np.testing.assert_array_equal(dense(other, 16), vector)
        assert other.place[0] == 6
        assert matches(table, 2, state) and not matches(table, 1, state)
        blank = empty_state(shape)
        copy(blank, state)
        np.testing.assert_array_equal(dense(blank, 16), vector)
        assert blank.place[0] == 6
        for array in blank[:-1]:  # the active features, and the values if there are any
            array[3] += 1
            assert not matches(table, 2, blank)
            array[3] -= 1
        assert matches(table, 2, blank)


def test_one_draw_for_all_runs():
    """With a number the vectors are those of that number, whatever the run draws."""
    domain = ex.Corridor()
    parts = [
        ex.RandomBinary(14, 5, draw=draw).build(domain, np.random.default_rng(run)).active.tolist()
        for draw, run in ((3, 0), (3, 1), (4, 0), (None, 0), (None, 1))
    ]
    assert parts[0] == parts[1]
    assert len({str(part) for part in parts}) == 4


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
    state.place[0] = most - 1
    save(table, 1, state)
    load(table, 1, other)
    assert other.active.tolist() == [0, most - 1]
    assert other.place[0] == most - 1
    assert table.active.dtype == table.places.dtype == kind
    assert (table.places == [-1, most - 1, -1]).all()
    assert empty_table(shape, 1).active.dtype == np.int32  # if the number of places is not known
