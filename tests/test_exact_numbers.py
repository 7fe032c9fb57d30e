"""Numbers that pages give as exact are what is computed: gaps, optima, the levels of LoCA."""

from __future__ import annotations

import numpy as np
import pytest
from test_docs import DOCS, rows

import expectant as ex
from expectant.experiments.probes import find_probe

SLIPS = (0.0, 0.1, 0.3, 1 / 3, 0.35, 0.4)


def policy_gap(domain: ex.Domain) -> float:
    """The largest gap of the action values of acting ε-greedily on q*."""
    policy = ex.exact.epsilon_greedy_policy(ex.exact.optimal_policy(domain), 0.1)
    values = ex.exact.action_values_of(domain, ex.exact.policy_values(domain, policy))
    return float(ex.exact.planning_gap(domain, values).max())


def invalid_error(domain: ex.Domain) -> float:
    """The largest error of the values where the invalid update ends."""
    found = ex.exact.fixed_point(domain, "invalid").action_values
    return float(np.abs(found - ex.exact.optimal_action_values(domain)).max())


COMPUTED = {
    "largest gap of q*": lambda domain: ex.exact.planning_gap(domain).max(),
    "largest gap of the ε-greedy policy's action values": policy_gap,
    "largest error of the invalid fixed point": invalid_error,
    "exact, ε-greedy on q*, ε = 0.1": lambda domain: ex.exact.epsilon_greedy_optimal_return(
        domain, 0.1
    ),
    "return at the invalid fixed point": lambda domain: (
        ex.exact.fixed_point(domain, "invalid").start_return
    ),
}


def test_the_gaps_of_the_corridor_by_slip():
    table = {first: cells for first, *cells in rows(DOCS / "what-holds.md", "| slip |")}
    assert list(table) == list(COMPUTED)
    for name, cells in table.items():
        for cell, slip in zip(cells, SLIPS, strict=True):
            digits = len(cell.partition(".")[2]) or 3
            exact = float(COMPUTED[name](ex.Corridor(slip=slip)))
            assert round(exact, digits) == pytest.approx(float(cell)), (name, slip)
    gap = ex.exact.planning_gap(ex.Corridor(slip=1 / 3))
    assert np.unravel_index(gap.argmax(), gap.shape) == (1, 0)
    for slip in SLIPS:  # the gap changes no greedy action
        domain = ex.Corridor(slip=slip)
        best = ex.exact.optimal_action_values(domain).argmax(axis=1)
        assert (best == ex.exact.fixed_point(domain, "invalid").action_values.argmax(axis=1)).all()


def test_exact_numbers_within_the_text():
    domain = ex.Counterexample()
    policy = ex.exact.epsilon_greedy_policy(ex.exact.optimal_policy(domain), 0.1)
    values = ex.exact.action_values_of(domain, ex.exact.policy_values(domain, policy))
    levels = find_probe("greedy_return").levels
    assert levels is not None
    agent = ex.QLearning.paper(0.1, discount=0.97)
    before, after = (levels(ex.domains.LocaGrid(), agent, n, horizon=40) for n in (0, 1))
    said = {
        "what-holds": [
            f"{ex.exact.epsilon_greedy_optimal_return(domain, 0.1):.4f}",
            f"{values[0, 0]:.2f}",
            f"{ex.exact.planning_gap(ex.Corridor(slip=1 / 3)).max():.3f}",
        ],
        "adaptation": [
            f"{before['optimum']:.3f}",
            f"{after['outdated policy']:.3f}",
            f"{after['optimum']:.3f}",
        ],
    }
    for page, numbers in said.items():
        text = (DOCS / f"{page}.md").read_text("utf-8").replace("−", "-")
        assert all(number in text for number in numbers), (page, numbers)
