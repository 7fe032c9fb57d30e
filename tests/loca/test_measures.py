from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant.exact import optimal_policy
from expectant.loca.measures import policies_of, references, returns_within


@pytest.mark.parametrize(
    ("noise", "expected"), [(0.25, (2.596, 1.295, 0.873)), (0.0, (2.846, 1.423, 0.771))]
)
def test_references_are_the_published_ones(noise, expected):
    assert [round(x, 3) for x in references(ex.LocaGrid(noise=noise))] == list(expected)


def test_ties_are_split_evenly():
    preferences = np.array([[[1.0, 1.0, 0.0, 0.5], [0.0, 0.0, 2.0, 0.0]]])
    assert policies_of(preferences).tolist() == [[[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]]


def test_returns_by_hand():
    grid = ex.LocaGrid(rows=1, columns=3, noise=0.0)
    right = np.tile([0.0, 1.0, 0.0, 0.0], (1, 3, 1))
    # 4 after one, two and three steps: the last is the first to lie beyond a horizon of two
    three = returns_within(grid, right, 0, discount=0.5, horizon=3)
    two = returns_within(grid, right, 0, discount=0.5, horizon=2)
    np.testing.assert_allclose([three, two], [[(4 + 2 + 1) / 3], [(4 + 2) / 3]])
    assert returns_within(grid, right, 1, discount=0.5, horizon=3) == pytest.approx(1.75 / 3)
    half = np.tile([0.0, 0.5, 0.0, 0.5], (1, 3, 1))  # in the last column, left stays
    assert returns_within(grid, half, 0, discount=0.5, horizon=1) == pytest.approx((1 + 2) / 3)


def test_many_policies_at_once_are_measured_alike():
    grid = ex.LocaGrid()
    policies = np.stack([optimal_policy(grid, discount=0.97, phase=p) for p in (0, 1)])
    together = returns_within(grid, policies, 1)
    apart = [returns_within(grid, policy[None], 1)[0] for policy in policies]
    np.testing.assert_allclose(together, apart)
    assert together[1] > together[0]
