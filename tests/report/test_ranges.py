"""The one rule of how far down an axis reaches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from expectant.report.ranges import colour_floor, value_range

NAN = math.nan


def agents(*values: list[float]) -> dict[str, np.ndarray]:
    return {str(number): np.array(each, float) for number, each in enumerate(values)}


def test_everything_is_shown_where_nothing_is_flattened():
    found = value_range(agents([0, 10], [4, 10], [-5, 9]), levels=[12.0])
    assert found == pytest.approx((-5 - 0.05 * 17, 12 + 0.05 * 17, -math.inf))


def test_one_that_falls_far_is_left_out_below_the_floor():
    # The typical agent reaches from 14 down to 9, so the floor is at 14 - 3 * 5.
    found = value_range(agents([9, 14], [10, 14], [12, 3, -200]))
    assert found.floor == -1.0
    assert (found.low, found.high) == pytest.approx((3 - 0.05 * 11, 14 + 0.05 * 11))


def test_up_to_five_times_the_typical_reach_all_is_shown():
    assert value_range(agents([9, 14], [10, 14], [14, -11])).floor == -math.inf
    assert value_range(agents([9, 14], [10, 14], [14, -11.1])).floor == -1.0


def test_of_two_agents_the_better_one_is_typical():
    assert value_range(agents([9, 14], [-200, 14])).floor == -1.0


def test_two_that_never_meet_are_both_shown():
    assert value_range(agents([10, 11], [-200, -199])).floor == -math.inf


def test_a_moment_in_which_all_are_far_down_is_left_out():
    # 19 of 20 values reach from -100 down to -150: a moment counts for 4 times that, -300; the
    # floor is 3 times as far down as this, -700.
    curve = [-5000.0] + [-150.0] * 20 + [-100.0] * 20
    found = value_range(agents(curve, curve))
    assert found.floor == pytest.approx(-100 - 3 * 200)
    assert found.low == pytest.approx(-150 - 0.05 * 50)


def test_disasters_do_not_take_all_colours():
    means = np.array([1.0, 2.0, 3.0, -1e9, NAN])
    assert colour_floor(means) == 3.0 - 5 * (3.0 - 1.0)  # 1 is the lower one of the middle two
    assert colour_floor(means[4:]) == -math.inf
    assert colour_floor(np.array([2.0, 2.0])) == -math.inf
