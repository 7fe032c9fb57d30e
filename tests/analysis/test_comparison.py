from __future__ import annotations

import math

import numpy as np
import pytest

from expectant.analysis import Estimate, all_of, bootstrap, difference, greater, within
from expectant.analysis.comparison import FAILS, HOLDS, UNDECIDED

NAN = math.nan


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


def test_same_data_same_bytes():
    sample = np.random.default_rng(3).normal(size=(30, 5))

    def statistic(mean: np.ndarray) -> np.ndarray:
        return mean.min(axis=-1)

    assert bootstrap(statistic, [sample]) == bootstrap(statistic, [sample])
    other = np.random.default_rng(4)
    assert bootstrap(statistic, [sample]) != bootstrap(statistic, [sample], rng=other)


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


def test_a_lower_level_is_narrower():
    sample = np.random.default_rng(0).normal(size=30)
    wide, narrow = (difference(sample, np.zeros(30), level=level) for level in (0.95, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_diverged_run_makes_the_estimate_unknown(lost):
    sample = np.array([1.0, 2.0, lost])
    for paired in (True, False):
        assert np.isnan(difference(sample, np.zeros(3), paired=paired)).all()


def test_one_run_has_no_interval():
    found = difference(np.array([3.0]), np.array([1.0]))
    assert found.statistic == 2.0
    assert np.isnan([found.low, found.high]).all()
    assert greater(found).outcome == UNDECIDED


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: difference(np.ones((2, 2)), np.ones(2)), "first must be"),
        (lambda: difference(np.ones(2), np.ones(3)), "same number of runs"),
        (lambda: difference(np.ones(2), np.ones(2), resamples=0), "resamples must be"),
        (lambda: difference(np.ones(2), np.ones(2), level=0.0), "level must be"),
        (lambda: bootstrap(np.sum, [np.ones((3, 2))]), "one number for each"),
        (lambda: bootstrap(np.negative, [np.ones(0)]), "at least one run"),
        (lambda: all_of([]), "must not be empty"),
    ],
)
def test_errors_name_the_rule(call, rule):
    with pytest.raises(ValueError, match=rule):
        call()


@pytest.mark.parametrize(
    ("low", "high", "margin", "outcome"),
    [
        (1.0, 3.0, 0.0, HOLDS),
        (1.0, 3.0, 1.0, UNDECIDED),
        (-1.0, 1.0, 0.0, UNDECIDED),
        (0.0, 1.0, 0.0, UNDECIDED),
        (-1.0, 0.0, 0.0, FAILS),
        (0.0, 0.0, 0.0, FAILS),  # no resample was greater
        (-3.0, -1.0, -2.0, UNDECIDED),
        (NAN, NAN, 0.0, UNDECIDED),
    ],
)
def test_greater(low, high, margin, outcome):
    assert greater(Estimate((low + high) / 2, low, high), margin).outcome == outcome


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-0.5, 0.5, HOLDS),
        (-1.0, 1.0, HOLDS),
        (0.5, 1.5, UNDECIDED),
        (-2.0, 2.0, UNDECIDED),
        (1.0, 2.0, UNDECIDED),
        (1.1, 2.0, FAILS),
        (-3.0, -2.0, FAILS),
        (NAN, NAN, UNDECIDED),
    ],
)
def test_within(low, high, outcome):
    assert within(Estimate((low + high) / 2, low, high), -1.0, 1.0).outcome == outcome


def test_all_of_reports_the_least_favourable():
    clear = greater(Estimate(10.0, 9.0, 11.0), label="clear")
    narrow = greater(Estimate(1.0, 0.1, 1.9), label="narrow")
    open_ = greater(Estimate(0.0, -1.0, 1.0), label="open")
    unknown = greater(Estimate(NAN, NAN, NAN), label="unknown")
    false = greater(Estimate(-1.0, -2.0, -0.5), label="false")
    assert all_of([clear, narrow]).label == "narrow"
    assert all_of([clear, narrow]).outcome == HOLDS
    assert all_of([open_, clear]).label == "open"
    assert all_of([clear, open_, unknown]).label == "unknown"
    assert all_of([unknown, false, open_]) == false


@pytest.mark.parametrize(("statistic", "room"), [(2.0, math.inf), (1.0, 0.0), (0.0, -math.inf)])
def test_without_any_width_there_is_all_room_or_none(statistic, room):
    point = Estimate(statistic, statistic, statistic)
    assert greater(point, 1.0).room == room
    assert within(point, 1.0, 9.0).room == room
    assert greater(Estimate(3.0, 2.0, 4.0), 1.0).room == 1.0  # two, in widths of two


def test_decisions_in_words():
    assert greater(Estimate(2.0, 1.0, 3.0), label="x").described == "x is 2, interval 1 to 3"
    assert greater(Estimate(2.0, 2.0, 2.0), label="x").described == "x is 2"
    assert greater(Estimate(NAN, NAN, NAN), label="x").described == "x is unknown"
