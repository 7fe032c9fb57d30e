"""Numbers that pages give as exact are what is computed: gaps, optima, the levels of LoCA."""

from __future__ import annotations

import numpy as np
import pytest
from test_docs import DOCS, rows

import expectant as ex
from expectant.lab.looks import look_named

THIRD = 1 / 3
SLIPS = {"0": 0.0, "0.1": 0.1, "0.3": 0.3, "1/3": THIRD, "0.35": 0.35, "0.4": 0.4}


def policy_gap(domain: ex.Domain) -> float:
    """The largest gap of the action values of acting ε-greedily on q*."""
    policy = ex.exact.epsilon_greedy_policy(ex.exact.optimal_policy(domain), 0.1)
    values = ex.exact.backed_up(domain, ex.exact.policy_values(domain, policy))
    return float(ex.exact.planning_gap(domain, values).max())


def wrong_by(domain: ex.Domain) -> float:
    """The largest error of the values where the invalid update ends."""
    found = ex.exact.fixed_point(domain, "invalid").action_values
    return float(np.abs(found - ex.exact.optimal_action_values(domain)).max())


COMPUTED = {
    "largest gap of q*": lambda world: ex.exact.planning_gap(world).max(),
    "largest gap of the ε-greedy policy's action values": policy_gap,
    "largest error of the invalid fixed point": wrong_by,
    "exact, ε-greedy on q*, ε = 0.1": lambda world: ex.exact.epsilon_greedy_optimal_return(
        world, 0.1
    ),
    "return at the invalid fixed point": lambda world: (
        ex.exact.fixed_point(world, "invalid").start_return
    ),
}


def said(page: str) -> str:
    """The words of a page on one line."""
    return " ".join((DOCS / f"{page}.md").read_text("utf-8").split())


def test_the_gaps_of_the_corridor_by_slip():
    table = {first: cells for first, *cells in rows(DOCS / "what-holds.md", "| slip |")}
    assert list(table) == list(COMPUTED)
    for name, cells in table.items():
        for cell, slip in zip(cells, SLIPS.values(), strict=True):
            digits = len(cell.partition(".")[2]) or 3
            exact = float(COMPUTED[name](ex.Corridor(slip=slip)))
            assert round(exact, digits) == pytest.approx(float(cell)), (name, slip)


def test_what_the_text_says_of_the_gaps():
    world = ex.Corridor(slip=THIRD)
    gap = ex.exact.planning_gap(world)
    largest, policy, error = gap.max(), policy_gap(world), wrong_by(world)
    assert np.unravel_index(gap.argmax(), gap.shape) == (1, 0)
    text = said("what-holds")
    assert f"the gap of q* is {largest:.3f} at its largest (cell 1, left)" in text
    assert f"and {policy:.3f} if the action values" in text
    assert f"differ from q* by up to {error:.3f}" in text
    assert f"and {largest:.3f} at its largest for a slip of 1/3" in said("idea")
    for slip in SLIPS.values():
        world = ex.Corridor(slip=slip)
        best = ex.exact.optimal_action_values(world).argmax(axis=1)
        invalid = ex.exact.fixed_point(world, "invalid").action_values.argmax(axis=1)
        assert (best == invalid).all()


def test_the_optimum_of_the_counterexample():
    world = ex.Counterexample()
    exploring = ex.exact.epsilon_greedy_optimal_return(world, 0.1)
    assert f"it is exactly {exploring:.4f}".replace("-", "−") in said("what-holds")
    policy = ex.exact.epsilon_greedy_policy(ex.exact.optimal_policy(world), 0.1)
    values = ex.exact.backed_up(world, ex.exact.policy_values(world, policy))
    assert f"{values[0, 0]:.2f} is what A in state 1 is worth".replace("-", "−") in said(
        "what-holds"
    )


def test_the_levels_of_the_adaptation_test():
    levels = look_named("greedy_return").levels
    assert levels is not None
    before, after, _ = levels(ex.LocaGrid(), ex.QLearning(0.1, discount=0.97), 3, horizon=40)
    text = said("adaptation")
    assert f"divided by the optimum, {before['optimum']:.3f}." in text
    assert f"(a return of {after['outdated policy']:.3f})" in text
    assert f"the new optimum has 1 ({after['optimum']:.3f})" in text
