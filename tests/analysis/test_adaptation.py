from __future__ import annotations

import numpy as np
import pytest

from expectant.analysis import Panel
from expectant.analysis.adaptation import drops, first_bins, lowest_bins, phases


def panel_of(curves: np.ndarray, **changes) -> Panel:
    settings = {"bin": 10, "switch_every": 20, "optimum": 10.0, **changes}
    return Panel("5a", "", "text", curves={"agent": curves}, labels={}, **settings)


def test_every_switch_of_a_panel():
    curve = np.array([9.0, 10.0, 2.0, 8.0, 5.0, 7.0, 9.0, 9.0])
    panel = panel_of(curve[None])
    np.testing.assert_array_equal(drops(panel, curve), [8.0, 3.0, -2.0])
    np.testing.assert_array_equal(lowest_bins(panel, curve), [2.0, 5.0, 9.0])
    np.testing.assert_array_equal(first_bins(panel, curve), [2.0, 5.0, 9.0])


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_diverged_run_is_never_dropped(lost):
    curves = np.array([[9.0, 10.0, 2.0, 8.0], [9.0, 10.0, 2.0, lost]])
    np.testing.assert_array_equal(drops(panel_of(curves), curves), [[8.0, np.nan]])
    np.testing.assert_array_equal(lowest_bins(panel_of(curves), curves), [[2.0, np.nan]])


def test_a_phase_cut_short_is_left_out():
    assert phases(panel_of(np.zeros((1, 7)))) == ([2, 4], 2)


def test_windows_reach_to_the_first_and_the_last_bin():
    panel = Panel("", "", "", 10, 30, 0.0, {"a": np.zeros((1, 9))}, {"a": "A"})
    found = [len(panel.windows(before, after)) for before, after in ((3, 3), (4, 3), (3, 4))]
    assert found == [2, 1, 1]  # switches at bins 3 and 6 of 9
