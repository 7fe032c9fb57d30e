from __future__ import annotations

import math

import pytest

from expectant.core import formatting as tables


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([9.7, -13.2], 2),
        ([0.0123], 5),
        ([-15_000.0], 0),
        ([0.0], 2),
        ([], 2),
        ([math.nan, 1.0], 3),
        ([1000.0], 0),
        ([100.0], 1),
        ([0.1], 4),
        ([1e-30], 8),
    ],
)
def test_decimals_go_by_the_largest_number(values, decimals):
    assert tables.decimals_for(values) == decimals


def test_numbers_and_intervals():
    assert tables.number_text(-1234.567, 1) == "-1,234.6"
    assert tables.number_text(2.0, 1, signed=True) == "+2.0"
    assert tables.number_text(math.nan, 1) == "-"
    assert tables.interval_text(1.0, 2.0, 1) == "1.0 to 2.0"
    assert tables.interval_text(math.nan, 2.0, 1) == "-"
