"""Selection among trials, with numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from expectant.analysis.selection import (
    Response,
    best_grid,
    best_index,
    envelope_range,
    is_no_worse,
    responses,
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


# model_step 1 and 2 with value_step 1, 2 and 3; (2, 3) was not tried
COLUMNS = {"value": [3, 1, 2, 1, 2], "model": [1, 1, 1, 2, 2]}
MEANS = np.array([5.0, 1.0, 2.0, NAN, 4.0])


def test_envelope_and_slice():
    # The best is value 3, model 1: the slice through it has model 1.
    assert responses(COLUMNS, MEANS, "value", 0) == [Response(1, 1, 1), Response(2, 4, 2), Response(3, 0, 0)]  # fmt: skip
    found = responses(COLUMNS, MEANS, "model", 0)
    assert found == [Response(1, 0, 0), Response(2, 4, None)]
    assert envelope_range(MEANS, found) == 1.0
    assert envelope_range(np.array([NAN]), [Response(1, 0, 0)]) == 0.0


def test_the_best_of_every_pair_of_values():
    grid = best_grid(COLUMNS, MEANS, "value", "model")
    assert (grid.first, grid.second) == ([1, 2, 3], [1, 2])
    assert grid.best.tolist() == [[1, 3], [2, 4], [0, -1]]
