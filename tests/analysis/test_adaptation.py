from __future__ import annotations

import numpy as np
import pytest

from expectant.analysis import (
    Panel,
    censored,
    drop,
    lowest,
    pooled_drop,
    pooled_recovery,
    recovery,
    recovery_threshold,
)
from expectant.analysis.adaptation import drops, entries, lowests, phases

# two phases of five bins of ten episodes; the goal moves at bin 5
CURVES = np.array(
    [
        [0.0, 4.0, 6.0, 8.0, 10.0, -2.0, 0.0, 6.0, 8.0, 9.0],
        [0.0, 2.0, 4.0, 6.0, 6.0, 2.0, 2.0, 4.0, 4.0, 5.0],
    ]
)


def test_drop_for_each_run_and_pooled():
    np.testing.assert_array_equal(drop(CURVES, 5, 5), [12.0, 4.0])
    np.testing.assert_array_equal(drop(CURVES, 5, 5, before=2), [11.0, 4.0])
    # the mean curve: 8 before, 0 at its lowest
    assert drop(CURVES.mean(axis=0), 5, 5) == 8.0


def test_a_fifth_of_the_phase_is_the_level_before():
    curve = np.concatenate([np.arange(20.0), np.zeros(20)])
    assert drop(curve, 20, 20) == np.mean([16, 17, 18, 19])


def test_recovery_for_each_run_and_pooled():
    np.testing.assert_array_equal(recovery(CURVES, 5, 5, 10, 6.0), [30.0, 50.0])
    np.testing.assert_array_equal(censored(CURVES, 5, 5, 6.0), [False, True])
    # the mean curve after the switch: 0, 1, 5, 6, 7
    assert recovery(CURVES.mean(axis=0), 5, 5, 10, 6.0) == 40.0
    assert not censored(CURVES.mean(axis=0), 5, 5, 6.0)


def test_recovery_in_the_last_bin_is_not_censored():
    assert recovery(CURVES[1], 5, 5, 10, 5.0) == 50.0
    assert not censored(CURVES[1], 5, 5, 5.0)


@pytest.mark.parametrize(
    ("optimum", "fraction", "threshold"),
    [(10.0, 0.8, 8.0), (-10.0, 0.8, -12.0), (0.0, 0.8, 0.0), (4.0, 0.5, 2.0), (3.0, 1.0, 3.0)],
)
def test_threshold(optimum, fraction, threshold):
    assert recovery_threshold(optimum, fraction) == pytest.approx(threshold)


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_diverged_run_is_never_dropped(lost):
    curves = CURVES.copy()
    curves[1, 7:] = lost
    np.testing.assert_array_equal(drop(curves, 5, 5), [12.0, np.nan])
    np.testing.assert_array_equal(recovery(curves, 5, 5, 10, 6.0), [30.0, np.nan])
    np.testing.assert_array_equal(lowest(curves, 5, 5), [-2.0, np.nan])
    assert not censored(curves, 5, 5, 6.0)[1]
    assert np.isnan(pooled_drop(curves, 5, 5)).all()
    assert np.isnan(pooled_recovery(curves, 5, 5, 10, 6.0)).all()


def test_pooled_statistics_are_of_the_mean_curve_and_repeat():
    curves = CURVES[np.arange(30) % 2] + np.random.default_rng(1).normal(size=(30, 10))
    found = pooled_drop(curves, 5, 5)
    assert found.statistic == drop(curves.mean(axis=0), 5, 5)
    assert found.low < found.statistic < found.high
    assert found == pooled_drop(curves, 5, 5)
    assert found != pooled_drop(curves, 5, 5, rng=np.random.default_rng(5))
    assert pooled_recovery(curves, 5, 5, 10, 6.0) == pooled_recovery(curves, 5, 5, 10, 6.0)


def test_pooled_drop_covers_the_truth():
    rng = np.random.default_rng(0)
    truth = np.array([10.0] * 5 + [-5.0, 2.0, 6.0, 9.0, 10.0])
    covered = 0
    for _ in range(300):
        curves = truth + rng.normal(scale=2.0, size=(30, 10))
        found = pooled_drop(curves, 5, 5, resamples=400)
        covered += found.low <= 15.0 <= found.high
    assert 0.9 <= covered / 300 <= 0.985


def panel_of(curves: np.ndarray, **changes) -> Panel:
    settings = {"bin": 10, "switch_every": 20, "optimum": 10.0, **changes}
    return Panel("5a", "", "text", curves={"agent": curves}, labels={}, **settings)


def test_every_switch_of_a_panel():
    curve = np.array([9.0, 10.0, 2.0, 8.0, 5.0, 7.0, 9.0, 9.0])
    panel = panel_of(curve[None])
    np.testing.assert_array_equal(drops(panel, curve), [8.0, 3.0, -2.0])
    np.testing.assert_array_equal(lowests(panel, curve), [2.0, 5.0, 9.0])
    np.testing.assert_array_equal(entries(panel, curve), [2.0, 5.0, 9.0])


def test_a_phase_cut_short_is_left_out():
    assert phases(panel_of(np.zeros((1, 7)))) == ([2, 4], 2)


def test_almost_recovered_is_not_recovered_but_rounding_does_not_matter():
    curve = np.array([9.0, 9.0, 0.0, 4.9999, 5.0 - 1e-12, 5.0])
    assert recovery(curve, 2, 4, 10, 5.0) == 30.0
    assert not censored(curve, 2, 4, 5.0)
    assert censored(curve[:4], 2, 2, 5.0)
