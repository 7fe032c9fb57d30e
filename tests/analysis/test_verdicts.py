"""Intervals, paired differences and verdicts."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from loading import module_at

from expectant.analysis import Panel, holm_correction, interval, learning_curve, paired_difference
from expectant.analysis.adaptation import cross_fitted_lows, selection_biases
from expectant.analysis.verdicts import (
    ABOUT,
    ABOVE,
    AT_LEAST,
    EQUAL,
    FAILS,
    HOLDS,
    TAIL,
    UNCLEAR,
    Finding,
    Statement,
    assess,
    assess_exact,
    assess_interval,
    bootstrap_t_interval,
    clip_at_floor,
    combine_intervals,
    crossing_interval,
    false_discovery_rates,
    first_crossing,
    is_refuted_at_margin,
    p_value_of,
    pseudo_values,
    verdict,
    wilson_interval,
)
from expectant.experiments.metrics import METRICS

ROOT = Path(__file__).parents[2]
coverage = module_at(ROOT / "benchmarks/interval_coverage.py")
BUILT_IN = sorted(METRICS)  # before a test registers another


def test_bins_are_means_and_a_short_last_bin_is_kept():
    curve = learning_curve(np.array([[1, 3, 5, 7, 10], [0, 0, 2, 2, 4]]), bin=2)
    np.testing.assert_array_equal(curve, [[2, 6, 10], [0, 2, 4]])


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


NAN = float("nan")


def test_a_paired_t_test_by_hand():
    """Differences 1, 2, 3: mean 2, error 1/√3, t = 2√3 with two degrees of freedom."""
    found = paired_difference(np.array([1.0, 4.0, 9.0]), np.array([0.0, 2.0, 6.0]))
    assert found.mean == 2.0
    assert (found.above, found.below) == (3, 0)
    # Student's t with two degrees of freedom has P(|T| > t) = 1 − t / √(2 + t²)
    assert found.p_value == pytest.approx(1 - np.sqrt(12 / 14))
    half = 4.302653 / np.sqrt(3)
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half), abs=1e-6)


def test_a_diverged_run_is_the_worst():
    """Five runs against none: the sign test gives twice 1 in 32."""
    good, bad = np.arange(5.0), np.full(5, NAN)
    found = paired_difference(good, bad)
    assert (found.above, found.below) == (5, 0)
    assert found.p_value == pytest.approx(2 / 32)
    assert np.isnan([found.mean, found.low, found.high]).all()
    assert paired_difference(bad, good).below == 5


def test_two_diverged_runs_are_alike():
    found = paired_difference(np.array([NAN, NAN, 1.0]), np.array([NAN, 5.0, -np.inf]))
    assert (found.above, found.below, found.p_value) == (1, 1, 1.0)
    assert paired_difference(np.array([NAN]), np.array([NAN])).p_value == 1.0


def test_a_single_run_and_differences_without_spread():
    single = paired_difference(np.array([3.0]), np.array([1.0]))
    assert (single.mean, single.p_value) == (2.0, 1.0) and np.isnan(single.low)
    assert paired_difference(np.ones(3), np.ones(3)).p_value == 1.0
    assert paired_difference(np.ones(3), np.zeros(3)).p_value == 0.0


def test_holm_by_hand():
    """Sorted 0.01, 0.03, 0.04 times 3, 2, 1; never less than the one before."""
    np.testing.assert_allclose(holm_correction(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(holm_correction(np.array([0.5, 0.9])), [1.0, 1.0])
    assert holm_correction(np.array([])).size == 0


def runs(mean: float, half: float, count: int = 20) -> np.ndarray:
    """Numbers whose 95 % interval is ``mean ± half``."""
    from scipy.special import stdtrit

    values = np.random.default_rng(0).normal(size=count)
    values = (values - values.mean()) / values.std(ddof=1)
    return mean + values * half * math.sqrt(count) / float(stdtrit(count - 1, 0.975))


def test_the_interval_by_hand():
    found = assess(np.array([1.0, 2.0, 3.0]), Statement())
    assert (found.effect, found.low, found.high) == pytest.approx((2.0, -0.4841, 4.4841), abs=1e-4)


@pytest.mark.parametrize(("kind", "mean", "half", "outcome"), [
    (ABOVE, 7.0, 0.9, HOLDS),  # reference 5, margin 1
    (ABOVE, 7.0, 1.1, UNCLEAR),
    (ABOVE, 5.5, 0.4, EQUAL),
    (ABOVE, 5.5, 0.6, UNCLEAR),
    (ABOVE, 4.5, 0.4, EQUAL),
    (ABOVE, 4.5, 0.6, UNCLEAR),
    (ABOVE, 3.0, 1.1, UNCLEAR),
    (ABOVE, 3.0, 0.9, FAILS),
    (AT_LEAST, 4.5, 0.4, HOLDS),
    (AT_LEAST, 9.0, 0.4, HOLDS),
    (AT_LEAST, 4.5, 0.6, UNCLEAR),
    (AT_LEAST, 3.5, 0.6, UNCLEAR),
    (AT_LEAST, 3.5, 0.4, FAILS),
    (ABOUT, 5.5, 0.4, HOLDS),
    (ABOUT, 5.5, 0.6, UNCLEAR),
    (ABOUT, 6.5, 0.6, UNCLEAR),
    (ABOUT, 6.5, 0.4, FAILS),
    (ABOUT, 3.5, 0.4, FAILS),
])  # fmt: skip
def test_outcomes_of_one_statement(kind, mean, half, outcome):
    assert assess(runs(mean, half), Statement(kind, 5.0, 1.0)).outcome == outcome


@pytest.mark.parametrize(("kind", "number", "outcome"), [
    (ABOVE, 4e-16, EQUAL),  # the noise of adding up in another order
    (ABOVE, 1.0 + 4e-16, EQUAL),
    (ABOVE, 1.0 + 1e-6, HOLDS),
    (ABOVE, -1.0 - 1e-6, FAILS),
    (AT_LEAST, -1.0 - 4e-16, HOLDS),
    (AT_LEAST, -1.0 - 1e-6, FAILS),
    (ABOUT, 1.0 + 4e-16, HOLDS),
    (ABOUT, 1.0 + 1e-6, FAILS),
])  # fmt: skip
def test_numbers_without_any_spread(kind, number, outcome):
    assert assess_exact(number, Statement(kind, 0.0, 1.0)).outcome == outcome
    assert assess(np.full(7, number), Statement(kind, 0.0, 1.0)).outcome == outcome


def test_without_a_margin_nothing_is_equal_but_nothing_itself():
    assert assess_exact(0.0, Statement()).outcome == EQUAL
    assert assess_exact(4e-16, Statement()).outcome == EQUAL
    assert assess_exact(1e-6, Statement()).outcome == HOLDS
    assert assess_exact(math.nan, Statement()).outcome == UNCLEAR
    assert assess(runs(0.0, 1.0), Statement()).outcome == UNCLEAR


def finding(p_fails: float, p_equal: float = 1.0, holds: bool = False) -> Finding:
    low = 2.0 if holds else 0.5
    return Finding(Statement(ABOVE, 0.0, 1.0), low + 0.1, low, low + 0.2, p_fails, p_equal)


def test_several_parts():
    """All must hold; that one fails, or is equal, is corrected for there being several."""
    good = finding(1.0, holds=True)
    assert verdict([good, good])[0] == HOLDS
    assert verdict([finding(0.024)])[0] == FAILS
    assert verdict([finding(0.024), good])[0] == UNCLEAR  # Holm: 0.024 · 2
    assert verdict([finding(0.012), good])[0] == FAILS
    assert verdict([good, finding(1.0, 0.024)])[0] == EQUAL
    assert verdict([finding(1.0, 0.024), finding(1.0, 0.024)])[0] == UNCLEAR
    assert verdict([finding(1.0, 0.012), finding(1.0, 0.024)])[0] == EQUAL
    assert verdict([finding(0.001), finding(1.0, 0.001), good])[1].p_fails == 0.001
    with pytest.raises(ValueError, match="must not be empty"):
        verdict([])


def test_pseudo_values_of_something_linear_are_the_runs_own():
    curves = np.random.default_rng(0).normal(size=(9, 4))
    values = pseudo_values(lambda mean: mean[:, 1] - 2 * mean[:, 3], [curves])
    np.testing.assert_allclose(values, curves[:, 1] - 2 * curves[:, 3], atol=1e-12)
    product = pseudo_values(lambda one, other: one * other, [curves[:, 0], curves[:, 1]])
    without = [np.delete(curves, run, 0)[:, :2].mean(axis=0).prod() for run in range(9)]
    whole = curves[:, :2].mean(axis=0).prod()
    np.testing.assert_allclose(product, 9 * whole - 8 * np.array(without), atol=1e-12)


@pytest.mark.parametrize(("count", "draw"), [
    (30, lambda rng, size: rng.normal(size=size)),
    (100, lambda rng, size: rng.normal(size=size) * 5.0 + 2.0),
    (300, lambda rng, size: rng.exponential(size=size)),  # a few runs far worse than the rest
    (300, lambda rng, size: np.where(rng.random(size) < 0.1, 20.0, rng.normal(size=size))),
])  # fmt: skip
def test_intervals_cover_as_often_as_they_say(count, draw):
    """2,000 experiments: 95 % ± 1.5 points for bells, at least 93 % for what is skewed."""
    rng = np.random.default_rng(1)
    truth = draw(rng, (2_000_000,)).mean()
    samples = draw(rng, (2000, count))
    findings = [assess(values, Statement()) for values in samples]
    covered = np.mean([finding.low <= truth <= finding.high for finding in findings])
    assert 0.93 <= covered <= 0.965


PHASES = {
    "clear": [0.0, -4.0, -2.0, 0.0, 1.0],
    "flat": [0.0] * 10,
    "short": [0.0] * 3,
    "sloping": [0.1 * bin for bin in range(10)],
}


@pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES)
def test_intervals_of_the_lowest_bin_cover_it(phase):
    """1,000 experiments: at least 93 %, where one bin is lowest and where others are as low."""
    rng, truth, covered = np.random.default_rng(2), np.array([*phase, *phase]), 0
    panel = Panel("f", "", "", 1, len(phase), 0.0, {"a": truth[None]}, {})
    for _ in range(1000):
        noise = rng.normal(size=(100, truth.size)) * 4.0 + rng.normal(size=(100, 1)) * 2.0
        curves = truth + noise
        bias = float(selection_biases(panel, curves)[0]), 0.0
        found = assess(cross_fitted_lows(panel, curves)[0], Statement(), bias=bias)
        covered += found.low <= min(phase) <= found.high
    assert 0.935 <= covered / 1000 <= 0.99


@pytest.mark.parametrize("metric", BUILT_IN)
def test_intervals_of_every_metric_cover(metric):
    """200 experiments of 30 skewed runs: 95 % but for chance; the full table is in the docs."""
    covered = coverage.coverage(metric, "skewed", 30, 200, truth_runs=20_000)
    assert covered >= 0.9


def test_stored_coverage_has_every_metric():
    """92 to 98 % but for lows, which are bounded from both sides, and stuck runs that are rare."""
    rows = json.loads(coverage.STORED.read_text("utf-8"))["rows"]
    assert {row["metric"] for row in rows} == {*BUILT_IN}
    for row in rows:
        if row["shape"] != "1 run in 300 stuck":
            most = 0.995 if METRICS[row["metric"]].crossed else 0.98
            assert all(0.92 <= row[str(runs)] <= most for runs in coverage.RUNS), row


def test_crossings_by_hand():
    """Means −9, −9, 0 and 9, whose error is 4 / √19, cross zero at the third bin."""
    noise = np.tile([[-1.0], [1.0]], (10, 1))
    curves = noise * 4.0 + [-9.0, -9.0, 0.0, 9.0]
    assert first_crossing(curves.mean(axis=0)) == 2.0
    half = 4.0 / 19**0.5 * 2.093024
    assert crossing_interval(curves, 0.025) == pytest.approx((2.0 - half / 9.0, 2.0 + half / 9.0))
    assert crossing_interval(-np.abs(curves) - 9.0, 0.025) == (3.0, 3.0)  # never
    assert crossing_interval(noise * 0.0 + [-1.0, 0.0, 1.0], 0.025) == (1.0, 1.0)
    assert first_crossing(np.array([[1.0, -1.0], [-np.inf, 2.0]])).tolist() == [0.0, 1.0]


def test_skewed_runs_have_a_skewed_interval():
    values = np.random.default_rng(0).exponential(size=30)
    low, high = bootstrap_t_interval(values, 0.025)
    assert high - values.mean() > 1.2 * (values.mean() - low) > 0.0
    assert bootstrap_t_interval(np.ones(5), 0.025) == (1.0, 1.0)


def test_shares_and_sums_by_hand():
    """Wilson's interval of none in n is 0 to z² / (n + z²)."""
    low, high = wilson_interval(0.0, 40, TAIL)
    assert (low, high) == pytest.approx((0.0, 3.8415 / 43.8415), abs=1e-4)
    ends = np.array([[0.0, 4.0], [-3.0, 6.0]])
    total = combine_intervals(np.array([1.0, 2.0]), ends, np.array([1.0, -1.0]))
    assert total == pytest.approx((-1.0 - math.hypot(1.0, 4.0), -1.0 + math.hypot(3.0, 5.0)))


def test_intervals_are_inverted_to_p_values():
    def interval_at(tail: float) -> tuple[float, float]:
        return 1.0 - 0.01 / tail, 3.0

    found = assess_interval(2.0, interval_at, Statement(ABOVE, 0.0, 0.5), runs=9)
    assert (found.low, found.high, found.runs) == pytest.approx((0.6, 3.0, 9))
    assert (found.outcome, found.p_holds, found.p_fails) == (HOLDS, TAIL, 1.0)
    assert assess_interval(2.0, interval_at, Statement(), runs=1).outcome == UNCLEAR


def test_false_discovery_rates_by_hand():
    np.testing.assert_allclose(
        false_discovery_rates(np.array([0.04, 0.01, 0.03, 0.9])), [0.16 / 3, 0.04, 0.16 / 3, 0.9]
    )
    held = assess(runs(3.0, 0.5), Statement())
    assert p_value_of(HOLDS, [held]) == pytest.approx(2.0 * held.p_holds)
    assert p_value_of(UNCLEAR, [held]) == 1.0


def test_median_and_share_of_runs_ahead():
    found = assess(np.array([3.0, 3.0, 1.0, -93.0]), Statement(reference=1.0))
    assert (found.median, found.ahead, found.runs) == (2.0, 0.625, 4)


def test_that_more_than_the_margin_is_ruled_out_is_corrected_for_several_parts():
    good = assess(runs(3.0, 0.5), Statement(ABOVE, 0.0, 1.0))
    short = assess(runs(0.0, 0.99), Statement(ABOVE, 0.0, 1.0))  # its interval just ends below 1
    assert short.outcome == EQUAL and good.p_short > 0.9
    assert is_refuted_at_margin([short]) and not is_refuted_at_margin([short, good])
    assert is_refuted_at_margin([assess(runs(0.0, 0.5), Statement(ABOVE, 0.0, 1.0)), good])
    assert not is_refuted_at_margin([good])
    assert assess(runs(3.0, 0.5), Statement(ABOUT, 5.0, 1.0)).p_short < 0.025


def test_a_verdict_is_wrong_as_seldom_as_the_level_says():
    """No effect at all, five parts: that one of them fails is said in at most 2.5 of a hundred."""
    rng = np.random.default_rng(4)
    outcomes = []
    for _ in range(1000):
        parts = [assess(values, Statement(ABOVE, 0.0, 0.0)) for values in rng.normal(size=(5, 50))]
        outcomes.append(verdict(parts)[0])
    assert outcomes.count(FAILS) / 1000 < 0.025 + 3.2 * math.sqrt(0.025 / 1000)
    assert outcomes.count(HOLDS) <= 2


def test_diverged_bins_are_as_bad_as_the_worst():
    one, other = clip_at_floor([np.array([[1.0, np.nan]]), np.array([[-3.0, np.inf]])])
    np.testing.assert_array_equal([one[0], other[0]], [[1.0, -3.0], [-3.0, -3.0]])
    errors = clip_at_floor([np.array([[1.0, np.nan]]), np.array([[3.0, np.inf]])], of_errors=True)
    assert [curve.tolist() for curve in errors] == [[[1.0, 3.0]], [[3.0, 3.0]]]
    (nothing,) = clip_at_floor([np.array([[np.nan]])])
    assert np.isnan(nothing).all()


def test_no_bin_counts_below_the_floor():
    one, other = clip_at_floor([np.array([[1.0, np.nan]]), np.array([[-30.0, np.inf]])], -5.0)
    np.testing.assert_array_equal([one[0], other[0]], [[1.0, -5.0], [-5.0, -5.0]])


def test_a_p_value_at_the_border_counts():
    found = Finding(Statement(), 0.0, -1.0, 1.0, p_fails=1.0, p_equal=TAIL)
    assert verdict([found])[0] == EQUAL
    assert verdict([found._replace(p_fails=TAIL)])[0] == FAILS
    assert is_refuted_at_margin([found._replace(p_short=TAIL)])


def test_a_margin_is_on_the_side_of_at_least():
    shown = Statement("at least", 1.0, 0.1).is_satisfied_by(np.array([0.95, 0.85, 1.2]))
    assert shown.tolist() == [True, False, True]
