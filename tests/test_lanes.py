from __future__ import annotations

import numba
import numpy as np
import pytest

from expectant import lanes
from expectant.engine.compile.compiling import register_overloads


@pytest.mark.parametrize("size", [1, 8, 14, 100, 1000])
@pytest.mark.parametrize("active", [1, 3, 5])
def test_compiled_sums_have_the_same_bits_as_plain_ones(size, active):
    register_overloads()
    rng = np.random.default_rng(size * 10 + active)
    width = lanes.padded(size)
    rows = rng.normal(size=(2, size, width)) * 10.0 ** rng.integers(-8, 8, (2, size, width))
    weights = rng.normal(size=width)
    chosen = rng.choice(size, min(active, size), replace=False)
    values = rng.normal(size=chosen.size)

    @numba.njit
    def compiled(rows, chosen, values, weights):
        return (
            lanes.dot_rows(rows, 1, chosen, weights),
            lanes.dot_weighted_rows(rows, 1, chosen, values, weights),
            lanes.dot_row(rows[1], chosen[0], weights),
        )

    plain = (
        lanes.dot_rows(rows, 1, chosen, weights),
        lanes.dot_weighted_rows(rows, 1, chosen, values, weights),
        lanes.dot_row(rows[1], chosen[0], weights),
    )
    assert compiled(rows, chosen, values, weights) == plain
    np.testing.assert_allclose(plain[0], rows[1, chosen].sum(axis=0) @ weights, rtol=1e-9)
    np.testing.assert_allclose(plain[1], (values @ rows[1, chosen]) @ weights, rtol=1e-9)
    np.testing.assert_allclose(plain[2], rows[1, chosen[0]] @ weights, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 8, 14, 100])
@pytest.mark.parametrize("active", [1, 5])
def test_compiled_sums_of_rows_have_the_same_bits_as_plain_ones(size, active):
    register_overloads()
    rng = np.random.default_rng(size * 10 + active)
    width = lanes.padded(size)
    rows = rng.normal(size=(2, size, width)) * 10.0 ** rng.integers(-8, 8, (2, size, width))
    chosen = rng.choice(size, min(active, size), replace=False)
    values, added = rng.normal(size=chosen.size), rng.normal(size=width)

    def summed(rows, total, weighted):
        lanes.sum_rows(total, rows, 1, chosen)
        lanes.sum_weighted_rows(weighted, rows, 1, chosen, values)
        lanes.add_to_row(rows, 1, chosen[0], 0.3, added)

    found = [[rows.copy(), np.ones(width), np.ones(width)] for _ in range(2)]
    summed(*found[0])
    numba.njit(summed)(*found[1])
    for plain, compiled in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, compiled)
    changed, total, weighted = found[0]
    np.testing.assert_allclose(total, rows[1, chosen].sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(weighted, values @ rows[1, chosen], rtol=1e-9)
    expected = rows.copy()
    expected[1, chosen[0]] += 0.3 * added
    np.testing.assert_array_equal(changed, expected)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_compiled_sums_over_lists_have_the_same_bits_as_plain_ones(kind):
    register_overloads()
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 16)) * 10.0 ** rng.integers(-8, 8, (3, 16))
    indices, weights = rng.integers(40, size=(3, 16)).astype(kind), rng.normal(size=40)
    compiled = numba.njit(lambda *given: lanes.dot_listed(*given))
    for row in range(3):
        plain = lanes.dot_listed(values, indices, row, weights)
        assert compiled(values, indices, row, weights) == plain
        np.testing.assert_allclose(plain, values[row] @ weights[indices[row]], rtol=1e-9)


def test_padding():
    assert [lanes.padded(n) for n in (1, 8, 9, 14, 4096)] == [8, 8, 16, 16, 4096]
