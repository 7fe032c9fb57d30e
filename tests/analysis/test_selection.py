"""Selection among trials, with numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from expectant.analysis.selection import best_by_value, best_index, split_runs, trial_means

NAN = np.nan


def test_a_diverged_trial_is_never_the_best():
    values = np.array([[1.0, 1.0], [9.0, NAN], [2.0, 2.0], [np.inf, 5.0]])
    means = trial_means(values)
    np.testing.assert_array_equal(means, [1.0, NAN, 2.0, NAN])
    assert best_index(means) == 2
    assert best_index(np.array([NAN, NAN])) == 0
    assert best_index(np.array([3.0, 3.0])) == 0
    with pytest.raises(ValueError, match="best_index: means must have at least one"):
        best_index(np.array([]))


@pytest.mark.parametrize(
    ("runs", "first", "second"), [(1, [0], [0]), (3, [0, 1, 2], [0, 1, 2]), (4, [0, 1], [2, 3]), (5, [0, 1, 2], [3, 4])]
)  # fmt: skip
def test_split_runs(runs, first, second):
    picking, reporting = split_runs(runs)
    assert list(range(runs))[picking] == first
    assert list(range(runs))[reporting] == second


def test_the_best_trial_for_every_value():
    means = np.array([5.0, 1.0, 2.0, NAN, 4.0])
    assert best_by_value([3, 1, 2, 1, 2], means) == [(1, 1), (2, 4), (3, 0)]
    assert best_by_value([None, "b", 2, "a", 2], means) == [(2, 4), ("a", 3), ("b", 1), (None, 0)]
