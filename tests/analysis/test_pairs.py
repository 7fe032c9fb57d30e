from __future__ import annotations

import numpy as np
import pytest

from expectant.analysis import holm_adjusted, paired_difference

NAN = float("nan")


def test_a_paired_t_test_by_hand():
    """Differences 1, 2, 3: mean 2, error 1/√3, t = 2√3 with two degrees of freedom."""
    found = paired_difference(np.array([1.0, 4.0, 9.0]), np.array([0.0, 2.0, 6.0]))
    assert found.mean == 2.0
    assert (found.above, found.below) == (3, 0)
    # Student's t with two degrees of freedom has P(|T| > t) = 1 − t / √(2 + t²)
    assert found.chance == pytest.approx(1 - np.sqrt(12 / 14))
    half = 4.302653 / np.sqrt(3)
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half), abs=1e-6)


def test_a_diverged_run_is_the_worst():
    """Five runs against none: the sign test gives twice 1 in 32."""
    good, bad = np.arange(5.0), np.full(5, NAN)
    found = paired_difference(good, bad)
    assert (found.above, found.below) == (5, 0)
    assert found.chance == pytest.approx(2 / 32)
    assert np.isnan([found.mean, found.low, found.high]).all()
    assert paired_difference(bad, good).below == 5


def test_two_diverged_runs_are_alike():
    found = paired_difference(np.array([NAN, NAN, 1.0]), np.array([NAN, 5.0, -np.inf]))
    assert (found.above, found.below, found.chance) == (1, 1, 1.0)
    assert paired_difference(np.array([NAN]), np.array([NAN])).chance == 1.0


def test_from_one_run_nothing_can_be_told():
    found = paired_difference(np.array([3.0]), np.array([1.0]))
    assert (found.mean, found.chance) == (2.0, 1.0)
    assert np.isnan([found.low, found.high]).all()


def test_differences_without_spread():
    assert paired_difference(np.ones(3), np.ones(3)).chance == 1.0
    assert paired_difference(np.ones(3), np.zeros(3)).chance == 0.0


def test_holm_by_hand():
    """Sorted 0.01, 0.03, 0.04 times 3, 2, 1; never less than the one before."""
    np.testing.assert_allclose(holm_adjusted(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(holm_adjusted(np.array([0.5, 0.9])), [1.0, 1.0])
    assert holm_adjusted(np.array([])).size == 0
