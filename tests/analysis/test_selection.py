"""Selection among trials, with numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from expectant.analysis.selection import (
    best_by_value,
    best_index,
    is_no_worse,
    split_runs,
    trial_means,
)

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


def test_worse_is_a_paired_t_test():
    rng = np.random.default_rng(1)
    shared, noise = rng.normal(0, 10, 12), rng.normal(0, 0.5, (3, 12))
    values = shared + noise + np.array([[0.0], [-0.05], [-1.5]])
    assert is_no_worse(values, 0).tolist() == [True, True, False]
    p_value = stats.ttest_rel(values[0], values[2], alternative="greater").pvalue
    assert p_value < 0.025
    unpaired = stats.ttest_ind(values[0], values[2], alternative="greater").pvalue
    assert unpaired > 0.2  # without pairing the shared luck would hide the difference
    just_below, just_above = p_value * 0.99, p_value * 1.01
    assert is_no_worse(values[[0, 2]], 0, level=just_below).tolist() == [True, True]
    assert is_no_worse(values[[0, 2]], 0, level=just_above).tolist() == [True, False]


def test_special_cases_of_being_no_worse():
    constant = np.array([[2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, NAN, 3.0]])
    assert is_no_worse(constant, 0).tolist() == [True, False, True, False]
    assert is_no_worse(np.array([[2.0], [1.0]]), 0).tolist() == [True, True]  # a single run
    assert is_no_worse(np.array([[2.0, 3.0]]), 0).tolist() == [True]
    better = np.array([[1.0, 1.1, 0.9], [5.0, 5.2, 4.9]])
    assert is_no_worse(better, 0).tolist() == [True, True]


def test_mistakes_are_as_rare_as_stated():
    """Forty equal trials: one of them is called worse in at most about 5 % of sweeps."""
    rng = np.random.default_rng(0)
    wrong = sum(not is_no_worse(rng.normal(size=(40, 10)), 0).all() for _ in range(400))
    assert wrong <= 32  # 5 % would be 20; 32 is beyond 99 % of what 5 % gives


def test_the_best_trial_for_every_value():
    means = np.array([5.0, 1.0, 2.0, NAN, 4.0])
    assert best_by_value([3, 1, 2, 1, 2], means) == [(1, 1), (2, 4), (3, 0)]
    assert best_by_value([None, "b", 2, "a", 2], means) == [(2, 4), ("a", 3), ("b", 1), (None, 0)]
