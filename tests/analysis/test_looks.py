"""Looks: their sizes, and by simulation that both together keep the error rate."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from expectant.analysis.looks import error_share, look_sizes
from expectant.analysis.verdicts import ABOUT, ABOVE, LEVEL, UNCLEAR, Statement, assess

SIZES = look_sizes(30, 300)
STUDIES = 4000
NOMINAL = 1.0 - LEVEL
CHANCE = 3.0 * np.sqrt(NOMINAL * LEVEL / STUDIES)  # three standard errors of a simulated share
BORDER = Statement(ABOVE, 0.0, 0.0)


def test_sizes_and_shares():
    assert SIZES == (90, 300)
    assert look_sizes(10, 100) == (30, 100) and look_sizes(100, 500) == (150, 500)
    assert look_sizes(30, 30) == (30,) and look_sizes(30, 40) == (40,)
    for sizes in (SIZES, (40,)):
        assert sum(error_share(sizes, size) for size in sizes) == pytest.approx(1.0)
    assert error_share(SIZES, 30) == error_share(SIZES, 90) < error_share(SIZES, 300)
    assert error_share((), 5) == 1.0


def normal(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=SIZES[-1])


def skewed(rng: np.random.Generator) -> np.ndarray:
    return 1.0 - rng.exponential(size=SIZES[-1])


def rarely_bad(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(SIZES[-1]) < 0.1, -9.0, 1.0) + rng.normal(size=SIZES[-1])


@cache
def simulate(draw, statement=BORDER, sizes=SIZES, adjusted=True) -> tuple[float, float]:
    """The share of studies decided, and of final intervals without the true mean, 0."""
    decided = missed = 0
    rng = np.random.default_rng(0)
    for _ in range(STUDIES):
        values = draw(rng)
        for size in sizes:
            share = error_share(sizes, size) if adjusted else 1.0
            finding = assess(values[:size], statement, share=share)
            if finding.outcome != UNCLEAR:
                break
        decided += finding.outcome != UNCLEAR
        missed += not finding.low <= 0.0 <= finding.high
    return decided / STUDIES, missed / STUDIES


@pytest.mark.parametrize("statement", [BORDER, Statement(ABOUT, 1.0, 1.0)])
@pytest.mark.parametrize("draw", [normal, skewed])
def test_looks_keep_the_error_rate(draw, statement):
    """The number is on the border: every decision is an error."""
    assert max(simulate(draw, statement)) <= NOMINAL + CHANCE


def test_rare_bad_runs_cost_hardly_more_than_with_one_look():
    once = simulate(rarely_bad, sizes=SIZES[-1:])
    assert max(simulate(rarely_bad)) <= max(once) + CHANCE


def test_without_the_shares_errors_were_more_frequent():
    assert min(simulate(normal, adjusted=False)) > NOMINAL + CHANCE
