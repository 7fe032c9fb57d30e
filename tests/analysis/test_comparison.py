from __future__ import annotations

import numpy as np
import pytest

from expectant.analysis import bootstrap, difference


def test_differences_by_hand():
    first, second = np.array([3.0, 5.0, 7.0]), np.array([1.0, 3.0, 5.0])
    # paired, every run differs by two; unpaired, the runs' own spread counts
    assert difference(first, second) == pytest.approx((2.0, 2.0, 2.0))
    apart = difference(first, second, paired=False)
    assert apart.statistic == 2.0
    assert apart.low < 1.0
    assert apart.high > 3.0


def test_unpaired_samples_may_differ_in_size():
    found = difference(np.ones(4), np.zeros(9), paired=False)
    assert found == pytest.approx((1.0, 1.0, 1.0))


def test_bootstrap_takes_the_same_runs_from_every_sample():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(20, 6))
    found = bootstrap(lambda a, b: (a - b).max(axis=-1), [common + 1.0, common])
    assert found == pytest.approx((1.0, 1.0, 1.0))


def test_bootstrap_of_two_runs_by_hand():
    # resamples hold the second run 0, 1 or 2 times; the tails are beyond 2.5 %
    assert bootstrap(lambda mean: mean**2, [np.array([0.0, 2.0])]) == (1.0, 0.0, 4.0)


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_cover_the_truth(paired):
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(400):
        shared = rng.normal(size=30) if paired else 0.0
        first, second = rng.normal(1.0, 1.0, 30) + shared, rng.exponential(size=30) + shared
        found = difference(first, second, paired=paired, resamples=500)
        covered += found.low <= 0.0 <= found.high
    assert 0.91 <= covered / 400 <= 0.98


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_diverged_run_makes_the_estimate_unknown(lost):
    sample = np.array([1.0, 2.0, lost])
    for paired in (True, False):
        assert np.isnan(difference(sample, np.zeros(3), paired=paired)).all()


def test_one_run_has_no_interval():
    found = difference(np.array([3.0]), np.array([1.0]))
    assert found.statistic == 2.0
    assert np.isnan([found.low, found.high]).all()
