"""Reductions in a fixed order: compiled sums have the same bits as plain ones."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from expectant.core import reductions as lanes
from expectant.jit.compile import register_overloads


@pytest.fixture(scope="module")
def compiled():
    """All reductions of one set of arrays, compiled once."""
    register_overloads()
    return numba.njit(reduce_all)


def reduce_all(rows, chosen, values, weights, listed, indices, total, weighted):
    lanes.sum_rows(total, rows, 1, chosen)
    lanes.sum_weighted_rows(weighted, rows, 1, chosen, values)
    found = (
        lanes.dot_rows(rows, 1, chosen, weights),
        lanes.dot_weighted_rows(rows, 1, chosen, values, weights),
        lanes.dot_row(rows[1], chosen[0], weights),
        lanes.dot_listed(listed, indices, 2, weights),
    )
    lanes.add_to_row(rows, 1, chosen[0], 0.3, weights)
    return found


@pytest.mark.parametrize("size", [1, 8, 14, 100, 1000])
@pytest.mark.parametrize("active", [1, 3, 5])
def test_compiled_sums_have_the_same_bits_as_plain_ones(size, active, compiled):
    rng = np.random.default_rng(size * 10 + active)
    width = lanes.padded_size(size)
    rows = rng.normal(size=(2, size, width)) * 10.0 ** rng.integers(-8, 8, (2, size, width))
    weights = rng.normal(size=width)
    chosen = rng.choice(size, min(active, size), replace=False)
    values = rng.normal(size=chosen.size)
    listed = rng.normal(size=(3, 16)) * 10.0 ** rng.integers(-8, 8, (3, 16))
    indices = rng.integers(width, size=(3, 16)).astype(np.int32)
    arrays = [[rows.copy(), np.ones(width), np.ones(width)] for _ in range(2)]
    found = [
        reduce_(changed, chosen, values, weights, listed, indices, total, weighted)
        for reduce_, (changed, total, weighted) in zip((reduce_all, compiled), arrays, strict=True)
    ]
    assert found[0] == found[1]
    for plain, fast in zip(*arrays, strict=True):
        np.testing.assert_array_equal(plain, fast)
    picked = rows[1, chosen]
    expected = (picked.sum(axis=0) @ weights, values @ picked @ weights, picked[0] @ weights,
                listed[2] @ weights[indices[2]])  # fmt: skip
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)
    changed, total, weighted = arrays[0]
    np.testing.assert_allclose(total, picked.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(weighted, values @ picked, rtol=1e-9)
    rows[1, chosen[0]] += 0.3 * weights
    np.testing.assert_array_equal(changed, rows)


def test_padding():
    assert [lanes.padded_size(n) for n in (1, 8, 9, 14, 4096)] == [8, 8, 16, 16, 4096]
