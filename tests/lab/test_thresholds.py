"""The numbers that decide claims, each from both sides, on curves without any noise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from expectant.analysis import Panel
from expectant.analysis.adaptation import drop, own_recoveries, regrets
from expectant.lab.claims import judge_claims
from expectant.lab.measures import MEASURES, Measure
from expectant.lab.study import the_paper

CLAIMS = the_paper().claims
NAMES = CLAIMS[0].names
RUNS, BINS, BIN, OPTIMUM = 3, 40, 50, 10.0
Q, EXPECTATION, TRUE = "q_learning", "q_planning_expectation", "q_planning_true"


def at(name: str, switch: int) -> Measure:
    found = MEASURES[name].at
    assert found is not None
    return found(switch)


def panel(figure: str, curves: dict[str, np.ndarray], switch_every: int | None = None) -> Panel:
    """Runs that are all alike, so that every interval is a point."""
    same = {key: np.tile(curve, (RUNS, 1)) for key, curve in curves.items()}
    return Panel(figure, "", "text", BIN, switch_every, OPTIMUM, same, NAMES)


def settled(level: float) -> np.ndarray:
    """Worthless, but for the last quarter of the bins."""
    return np.repeat([-99.0, level], [30, 10])


def fallen(lowest: float) -> np.ndarray:
    """Four phases of ten bins; the first bin of the second is the lowest."""
    curve = np.full(BINS, OPTIMUM)
    curve[10] = lowest
    return curve


def verdicts(panels: list[Panel]) -> dict[int, str]:
    return {found.id: found.verdict for found in judge_claims(CLAIMS, panels)}


@pytest.mark.parametrize(("claim", "figure", "levels", "outcome"), [
    (1, "1", {Q: 9.951}, "holds"),
    (1, "1", {Q: 9.949}, "does not hold"),
    (1, "1", {Q: 10.049}, "holds"),
    (1, "1", {Q: 10.051}, "does not hold"),
    (2, "1", {EXPECTATION: 9.949}, "holds"),
    (2, "1", {EXPECTATION: 9.951}, "equal"),
    (2, "1", {EXPECTATION: 10.051}, "does not hold"),
    (3, "3", {Q: 8.0 - 0.299, TRUE: 8.0}, "holds"),
    (3, "3", {Q: 8.0 - 0.301, TRUE: 8.0}, "does not hold"),
    (4, "3", {Q: 8.301, TRUE: 8.301, EXPECTATION: 8.0}, "holds"),
    (4, "3", {Q: 8.299, TRUE: 8.301, EXPECTATION: 8.0}, "equal"),
    (4, "3", {Q: 8.301, TRUE: 7.701, EXPECTATION: 8.0}, "equal"),
    (4, "3", {Q: 8.301, TRUE: 7.699, EXPECTATION: 8.0}, "does not hold"),
])  # fmt: skip
def test_levels(claim, figure, levels, outcome):
    everyone = {Q: 0.0, EXPECTATION: 0.0, TRUE: 0.0, **levels}
    found = verdicts([panel(figure, {key: settled(level) for key, level in everyone.items()})])
    assert found[claim] == outcome


@pytest.mark.parametrize(
    ("lowest", "holds"), [(-8.99, True), (-9.01, False), (-5.01, True), (-4.99, False)]
)
def test_about_minus_seven(lowest, holds):
    found = verdicts([panel("5a", {Q: fallen(lowest)}, 10 * BIN)])
    assert found[10] == ("holds" if holds else "does not hold")


def test_regret_is_the_area_below_the_optimum_in_the_first_500_episodes():
    curve = fallen(-5.0)
    curve[20:22] = [0.0, 8.0]
    found = panel("5a", {Q: curve}, 10 * BIN)
    assert regrets(found, curve).tolist() == [15.0 * BIN, 12.0 * BIN, 0.0]
    assert MEASURES["regret"].of(found, curve) == 9.0 * BIN
    assert MEASURES["regret-falls"].of(found, curve) == 3.0 * BIN
    long = panel("5a", {Q: curve}, 20 * BIN)  # the second half of the phase does not count
    assert regrets(long, np.where(np.arange(BINS) == 35, -99.0, curve)).tolist() == [12.0 * BIN]


@pytest.mark.parametrize(("level", "bins"), [(6.2, 3), (6.1, 4)])
def test_recovered_is_most_of_the_way_to_its_own_level(level, bins):
    """From -5 to 9: four fifths of the way are 6.2, whatever the optimum."""
    curve = fallen(-5.0)
    curve[10:20] = [9.0, -5.0, level, *[9.0] * 7]
    found = panel("5a", {Q: curve}, 10 * BIN)
    assert own_recoveries(found, curve)[0] == bins * BIN


def test_changes_are_between_the_switches_that_they_name():
    curve = np.full(BINS, OPTIMUM)
    curve[10:12], curve[20:23], curve[30] = -8.0, -3.0, 4.0
    found = panel("5a", {Q: curve}, 10 * BIN)
    assert MEASURES["lowest-rises"].of(found, curve) == (4.0 - 3.0) / 2 + 8.0
    assert MEASURES["lowest"].of(found, curve) == (-8.0 - 3.0 + 4.0) / 3
    assert MEASURES["recovery"].of(found, curve) == (3 + 4 + 2) * BIN / 3
    assert MEASURES["drop"].of(found, curve) == (18.0 + 13.0 + 6.0) / 3
    assert MEASURES["entry"].of(found, curve) == (-8.0 - 3.0 + 4.0) / 3
    assert [at("lowest", n).of(found, curve) for n in (1, 2, 3)] == [-8.0, -3.0, 4.0]
    assert [at("drop", n).of(found, curve) for n in (1, 2, 3)] == [18.0, 13.0, 6.0]


def test_unsteadiness_is_that_of_single_runs():
    """Two runs that go up and down against each other are steady on average, and not by themselves."""
    curve = np.tile([1.0, -1.0], BINS // 2)
    found = panel("5a", {Q: curve}, 10 * BIN)
    assert MEASURES["unsteadiness"].of(found, np.stack([curve, -curve])).tolist() == [4.0, 4.0]
    assert MEASURES["unsteadiness"].per_run


@pytest.mark.parametrize(("phase_bins", "before"), [(4, 1), (9, 1), (10, 2), (15, 3)])
def test_the_level_before_a_switch_is_that_of_the_last_fifth(phase_bins, before):
    curve = np.concatenate([np.arange(float(phase_bins)), np.full(phase_bins, -1.0)])
    last = np.arange(phase_bins)[-before:].mean()
    assert drop(curve, phase_bins, phase_bins) == last + 1.0


FIGURES = {"1": 0.05, "3": 0.3, "4a": 0.2, "4b": 0.2, "5a": 0.2, "5b": 0.2}
MARGINS = {"regret": 100.0, "regret-falls": 100.0, "lowest": 1.0, "lowest-rises": 1.0}


def test_the_margins_are_those_that_the_file_says():
    """By the measure, or by the figure; a number that the text calls "about" has two around it."""
    judged = 0
    for claim in CLAIMS:
        for clause in claim.clauses:
            figure = clause.figure or claim.figure
            if figure in FIGURES:
                margin = MARGINS.get(clause.measure.name, FIGURES[figure])
                expected = 2.0 if clause.statement.reference else margin
                assert clause.statement.margin == expected, claim.claim
                judged += 1
    assert judged > 30


def test_what_falls_is_each_agent_less_the_next():
    (more_steps,) = (claim for claim in CLAIMS if claim.id == 8)
    order = [Q, "q_planning_true_1", "q_planning_true_5", "q_planning_true_20"]
    found = [(*clause.of, *clause.minus) for clause in more_steps.clauses]
    assert found == list(pairwise(order))
