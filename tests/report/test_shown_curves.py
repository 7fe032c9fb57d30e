from __future__ import annotations

import math

import numpy as np
import pytest
from made_results import result_of

import expectant as ex
from expectant.report.chart import Curve
from expectant.report.palette import AGENTS, Style
from expectant.report.plot import (
    bin_size,
    chart_of_results,
    curves_of,
    palette_of_results,
    shown_switches,
)

NAN = math.nan
SWITCHING = ex.Corridor(switch_every=5)


def places(curve: Curve) -> np.ndarray:
    assert curve.x is not None
    return curve.x


@pytest.mark.parametrize(
    ("episodes", "size"),
    [(1, 1), (80, 1), (81, 2), (160, 2), (161, 5), (2_000, 50), (4_001, 100), (25_000, 500)],
)
def test_bins_are_round_and_not_too_many(episodes, size):
    assert bin_size(episodes) == size


def test_switches_are_shown_unless_phases_are_shorter_than_a_bin():
    assert shown_switches(400, 101) == [101, 202, 303]
    assert shown_switches(400, 4) == shown_switches(400, None) == []


def test_a_curve_over_episodes_by_hand():
    returns = [[1.0] * 81 + [5.0], [3.0] * 81 + [5.0]]  # 82 episodes, two by two
    (curve,) = curves_of({"a": result_of(returns)})
    assert places(curve)[:2].tolist() == [1.0, 3.0] and places(curve).size == 41
    assert curve.mean[:2].tolist() == [2.0, 2.0]
    assert curve.mean[-1] == (3.0 + 4.0) / 2  # (1 + 5) / 2 and (3 + 5) / 2
    assert (curve.low[0], curve.high[0]) == (1.0, 3.0)
    assert (curve.runs, curve.diverged) == (2, 0)


def test_a_curve_over_steps_weighs_bins_by_their_steps():
    rewards = np.arange(150.0)[None]  # of two steps each, the last of one
    (curve,) = curves_of({"a": result_of(rewards=rewards, steps=299)})
    assert curve.mean.size == 75
    assert curve.mean[0] == 0.5 and places(curve)[0] == 2.0
    assert curve.mean[-1] == pytest.approx((2 * 148 + 149) / 3)
    assert places(curve)[-1] == 299 - 1.5
    assert np.isnan(curve.low).all()  # one run says nothing of others


def test_a_curve_ends_where_a_run_diverged():
    (curve,) = curves_of({"a": result_of([[1.0, 2.0, 3.0], [1.0, NAN, NAN]])})
    np.testing.assert_array_equal(curve.mean, [1.0, NAN, NAN])
    assert (curve.runs, curve.diverged) == (2, 1)


def test_results_of_different_lengths_share_their_bins():
    long, short = result_of(np.zeros((2, 400))), result_of(np.zeros((2, 37)))
    one, other = curves_of({"long": long, "short": short})
    assert places(other)[:-1].tolist() == places(one)[:7].tolist()
    assert places(other)[-1] == 36.0  # of episodes 35 and 36


def test_charts_have_the_optimum_and_the_switches_of_the_domain():
    (plot,) = chart_of_results({"a": result_of(np.zeros((2, 10)), domain=SWITCHING)}).plots
    (level,) = plot.levels
    assert level.height == pytest.approx(13.924, abs=5e-4)
    assert (level.name, level.start, level.end) == ("exact, ε-greedy on q*, ε = 0.1", 0, 10)
    assert list(plot.breaks) == [5]


def test_known_agents_look_as_they_do_on_pages_unless_two_are_alike():
    plain, ahead = result_of([[1.0]]), result_of([[1.0]], agent=ex.Lookahead.paper(0.1))
    palette = palette_of_results({"mine": plain, "other": ahead})
    assert palette["lookahead"] == Style("other", *AGENTS["lookahead"])
    assert palette["q_learning"] == Style("mine", *AGENTS["q_learning"])
    assert list(palette_of_results({"mine": plain, "lookahead": plain, "x": ahead})) == [
        "mine", "lookahead", "x",
    ]  # fmt: skip
