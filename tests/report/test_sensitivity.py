from __future__ import annotations

import numpy as np
import pytest

from expectant.report.sensitivity import (
    Sensitivity,
    draw_sensitivity,
    lowest_shown,
    setting_name,
)
from expectant.report.sensitivity_heat import HeatMap, draw_heat_maps

NAN = np.nan
LINES = [
    Sensitivity("one", "One $5", "agent.step", [0.01, 0.1, 1.0], np.array([[1, 0.5, 1.5], [3, 2, 4], [NAN, NAN, NAN]]), np.array([1, 3, NAN])),
    Sensitivity("two", "Two", "agent.step", [0.1, 1.0], np.array([[2, 1, 3], [1, NAN, NAN]])),
    Sensitivity("two", "Two", "agent.model.kind", ["linear", None], np.array([[2, 1, 3], [-1e9, NAN, NAN]])),
    Sensitivity("two", "Two", "agent.on", [True, False], np.array([[2, 1, 3], [1, 0, 2]])),
]  # fmt: skip


def test_the_same_numbers_make_the_same_bytes(tmp_path):
    first = draw_sensitivity(LINES, "Title\nproblem", "mean", tmp_path / "a")
    second = draw_sensitivity(LINES, "Title\nproblem", "mean", tmp_path / "b")
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with pytest.raises(ValueError, match="at least one setting"):
        draw_sensitivity([], "", "", tmp_path / "c")


def test_everything_may_have_diverged(tmp_path):
    gone = Sensitivity("one", "One", "agent.step", [1, 2], np.full((2, 3), NAN))
    draw_sensitivity([gone], "", "mean", tmp_path / "gone")
    nothing = np.full((1, 2), NAN)
    heat = HeatMap("One", "agent.a", "agent.b", [1], [1, 2], nothing, np.array([[True, False]]))
    draw_heat_maps([heat], "", "mean", tmp_path / "gone-heat")


def test_heat_maps(tmp_path):
    means = np.arange(12.0).reshape(4, 3)
    means[0, 0] = NAN
    maps = [
        HeatMap("One", "agent.a", "features.b", [1, 2, 3, 4], ["x", "y", "z"], means, np.isnan(means)),
        HeatMap("Two", "agent.a", "agent.b", list(range(50)), list(range(40)), np.random.default_rng(0).normal(size=(50, 40)), np.zeros((50, 40), bool)),
    ]  # fmt: skip
    first = draw_heat_maps(maps, "Title", "mean", tmp_path / "a")
    second = draw_heat_maps(maps, "Title", "mean", tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with pytest.raises(ValueError, match="at least one map"):
        draw_heat_maps([], "", "", tmp_path / "c")


def test_disasters_do_not_flatten_the_rest():
    means = np.array([1.0, 2.0, 3.0, -1e9, NAN])
    assert lowest_shown(means) == 3.0 - 4 * 1.5  # four times from the top to the median, 1.5
    assert lowest_shown(means[:3]) == 1.0
    assert lowest_shown(means[4:]) == 0.0
    assert lowest_shown(np.array([2.0, 2.0])) == 2.0


def test_names_of_settings():
    assert setting_name("agent.value_step") == "value step"
    assert setting_name("features.size") == "features size"
