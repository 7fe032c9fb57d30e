from __future__ import annotations

import numpy as np
import pytest

from expectant.analysis import interval, learning_curve
from expectant.analysis.curves import finite_or_nan


def test_bins_are_means_and_a_short_last_bin_is_kept():
    curve = learning_curve(np.array([[1, 3, 5, 7, 10], [0, 0, 2, 2, 4]]), bin=2)
    np.testing.assert_array_equal(curve, [[2, 6, 10], [0, 2, 4]])


def test_an_interval_of_equal_runs_has_no_width():
    found = interval(np.full((5, 2), 3.0))
    for value in found:
        np.testing.assert_allclose(value, 3.0)


@pytest.mark.parametrize(
    ("level", "low", "high"), [(0.95, 0.0, 2.0), (0.6, 0.0, 2.0), (0.4, 1.0, 1.0)]
)
def test_the_interval_of_two_runs_by_hand(level, low, high):
    """A quarter of all resamples has the mean 0, a half 1, a quarter 2."""
    found = interval(np.array([0.0, 2.0]), level=level)
    assert (found.mean, found.low, found.high) == (1.0, low, high)


def test_a_diverged_run_makes_its_columns_unknown():
    samples = np.ones((4, 3))
    samples[2, 1] = np.nan
    assert np.isnan(interval(samples).mean).tolist() == [False, True, False]
    assert np.isnan(interval(samples).low).tolist() == [False, True, False]


def test_infinite_counts_as_diverged():
    np.testing.assert_array_equal(finite_or_nan(np.array([1.0, np.inf])), [1.0, np.nan])
