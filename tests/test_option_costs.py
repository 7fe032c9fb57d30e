"""What one more option costs: how the benchmark judges it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loading import module_at


@pytest.fixture
def costs() -> Any:
    path = Path(__file__).parents[1] / "benchmarks" / "options.py"
    return module_at(path, "expectant_option_costs")


def test_a_line_does_not_grow_and_a_square_does(costs):
    assert costs.growth({0: 500.0, 4: 900.0, 8: 1300.0, 16: 2100.0}) == 1.0
    assert costs.growth({n: 500.0 + n * n for n in costs.COUNTS}) == 4.0


def test_the_least_of_the_rounds_counts(costs, monkeypatch):
    times = iter([5.0] * 8 + [3.0] * 8 + [4.0] * 8)
    monkeypatch.setattr(costs, "nanoseconds_a_step", lambda job: next(times))
    assert set(costs.costs(rounds=3)["learned"].values()) == {3.0}
