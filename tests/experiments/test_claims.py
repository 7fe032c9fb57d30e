"""Verdicts on claims, from made-up curves whose numbers are known."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from expectant.analysis import Panel
from expectant.analysis.verdicts import verdict as judging_verdict
from expectant.experiments import claims as claims_module
from expectant.experiments.claims import Claim, Verdict, judge_claims, judging_hash, plan_more_runs
from expectant.experiments.clauses import FIGURES, AgentGroups, Clause, CostRule
from expectant.experiments.metrics import METRICS
from expectant.experiments.study import read_study

HOLDS, EQUAL, FAILS, UNCLEAR = "holds", "equal", "does not hold", "unclear"
OPTIMUM, BIN = 10.0, 50
PAPER = read_study()
CLAIMS = PAPER.claims
NAMES = {k: v for one in CLAIMS for part in one.clauses for k, v in part.names.items()}
Q, EXPECTATION, TRUE = "q_learning", "q_planning_expectation", "q_planning_true"


def claim(number: int) -> Claim:
    return next(found for found in CLAIMS if found.id == number)


def plain(name: str, **curves: Any) -> Panel:
    """A panel of single episodes, of agents that go by their keys."""
    arrays = {key: np.array(curve, float) for key, curve in curves.items()}
    return Panel("f", name, "", 1, None, OPTIMUM, arrays, {key: key for key in arrays})


def of_all(metric: str, *agents: str, **more: Any) -> Claim:
    return Claim(1, "f", "It is so.", clauses=(Clause(metric=METRICS[metric], of=agents, **more),))


def judged(said: Claim, *panels: Panel, **more: Any) -> Verdict:
    (found,) = judge_claims([said], panels, **more)
    return found


def spread(mean: float, deviation: float, runs: int = 40) -> np.ndarray:
    """Runs of one bin with exactly this mean and standard deviation."""
    noise = np.random.default_rng(0).normal(size=runs)
    return (mean + deviation * (noise - noise.mean()) / noise.std(ddof=1))[:, None]


HALF = 2.0227 / np.sqrt(40)  # of a 95 % interval of 40 runs whose standard deviation is 1


@pytest.mark.parametrize(("statement", "mean", "outcome"), [
    ({"margin": 0.5}, 0.5 + 1.01 * HALF, HOLDS),
    ({"margin": 0.5}, 0.5 + 0.99 * HALF, UNCLEAR),
    ({"margin": 0.5}, 0.5 - 1.01 * HALF, EQUAL),
    ({"margin": 0.5}, -0.5 + 1.01 * HALF, EQUAL),
    ({"margin": 0.5}, -0.5 + 0.99 * HALF, UNCLEAR),
    ({"margin": 0.5}, -0.5 - 1.01 * HALF, FAILS),
    ({}, 1.01 * HALF, HOLDS),
    ({}, -1.01 * HALF, FAILS),
    ({"low": 3.0}, 3.0 + 1.01 * HALF, HOLDS),
    ({"at_least": 2.0, "margin": 0.5}, 1.5 + 1.01 * HALF, HOLDS),
    ({"at_least": 2.0, "margin": 0.5}, 1.5 + 0.99 * HALF, UNCLEAR),
    ({"at_least": 2.0, "margin": 0.5}, 1.5 - 1.01 * HALF, FAILS),
    ({"low": 1.5, "high": 2.5}, 2.5 - 1.01 * HALF, HOLDS),
    ({"about": 2.0, "margin": 0.5}, 1.5 + 1.01 * HALF, HOLDS),
    ({"about": 2.0, "margin": 0.5}, 2.5, UNCLEAR),
    ({"about": 2.0, "margin": 0.5}, 2.5 + 1.01 * HALF, FAILS),
    ({"about": 2.0, "margin": 0.5}, 1.5 - 1.01 * HALF, FAILS),
])  # fmt: skip
def test_the_borders_of_every_verdict(statement, mean, outcome):
    found = judged(of_all("mean", "a", **statement), plain("", a=spread(mean, 1.0)))
    assert found.verdict == outcome, found.detail
    assert found.effect == pytest.approx(mean)
    assert (found.low, found.high) == pytest.approx((mean - HALF, mean + HALF), abs=1e-4)
    assert (found.runs, found.margin) == (40, statement.get("margin", 0.5 * ("high" in statement)))


def paper_panel(figure: str, curves: dict[str, Any], switch_every: int | None = None) -> Panel:
    """Runs that are all alike, so that every interval is a point."""
    same = {key: np.tile(curve, (3, 1)) for key, curve in curves.items()}
    return Panel(figure, "", "text", BIN, switch_every, OPTIMUM, same, NAMES)


@pytest.mark.parametrize(("number", "figure", "levels", "outcome"), [
    (1, "1", {Q: 9.951}, HOLDS),
    (1, "1", {Q: 9.949}, FAILS),
    (2, "1", {EXPECTATION: 9.949}, HOLDS),
    (2, "1", {EXPECTATION: 9.951}, EQUAL),
    (3, "3", {Q: 8.0 - 0.299, TRUE: 8.0}, HOLDS),
    (3, "3", {Q: 8.0 - 0.301, TRUE: 8.0}, FAILS),
    (4, "3", {Q: 8.301, TRUE: 8.301, EXPECTATION: 8.0}, HOLDS),
    (4, "3", {Q: 8.299, TRUE: 8.301, EXPECTATION: 8.0}, EQUAL),
])  # fmt: skip
def test_levels_that_the_paper_claims(number, figure, levels, outcome):
    everyone = {Q: 0.0, EXPECTATION: 0.0, TRUE: 0.0, **levels}
    curves = {key: np.repeat([-99.0, level], [30, 10]) for key, level in everyone.items()}
    assert judged(claim(number), paper_panel(figure, curves)).verdict == outcome


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
def test_a_diverged_run_is_the_worst_of_all_and_is_counted(lost):
    """Of 40 runs 39 are far ahead; the one that is lost counts as the worst bin there is."""
    ahead = np.repeat(spread(5.0, 0.1), 8, axis=1)
    ahead[3, 5:] = lost
    said = of_all("mean", "a", minus=("b",))
    found = judged(said, plain("", a=ahead, b=np.full((40, 8), -50.0)))
    ahead[3, 5:] = -50.0
    assert found.effect == judged(said, plain("", a=ahead, b=np.full((40, 8), -50.0))).effect
    assert "diverged: 1 of 40 runs of a" in found.detail
    altogether = plain("", a=np.full((40, 8), lost), b=np.repeat(spread(-9.0, 1.0), 8, axis=1))
    assert judged(said, altogether).verdict == FAILS


def test_bins_that_count_as_the_floor_are_counted():
    data = replace(plain("", a=[[1.0, -9.0], [np.nan, 1.0], [1.0, 1.0]]), floor=-5.0)
    found = judged(of_all("mean", "a"), data)
    assert found.floored == 2
    assert found.effect == pytest.approx((4 * 1.0 - 2 * 5.0) / 6)
    assert "counted as the floor: 2 of 6 bins of a" in found.detail


def test_a_verdict_that_depends_on_the_floor_says_so():
    """Random is 0 and the optimum 10; 2 of 40 runs earn −99: clipped at −10, −40 or −100."""
    curves = np.repeat(spread(4.0, 0.1), 4, axis=1)
    curves[:2] = -99.0
    data = replace(plain("", a=curves), floor=-40.0)
    found = judged(of_all("mean", "a", margin=0.5), data)
    assert found.floors == {"1×": HOLDS, "4×": UNCLEAR, "10×": UNCLEAR}
    assert (found.verdict, found.note) == (UNCLEAR, "holds with a floor of 1×")
    assert found.median == pytest.approx(4.0, abs=0.1) and found.ahead == 0.95
    assert judged(of_all("mean", "a"), replace(data, curves={"a": curves[2:]})).floors == {}
    failed = judged(of_all("failed", "a", high=0.5), data)
    assert failed.effect == 1.0 and {*failed.floors.values()} == {FAILS}  # 4 is less than 5


def test_the_number_of_runs_is_that_of_the_number_shown():
    """The second clause, of 40 runs, decides; the first has 7."""
    few = replace(plain("", a=spread(9.0, 0.1, 7)), figure="few")
    both = of_all("mean", "a").clauses[0], of_all("mean", "a", margin=5.0).clauses[0]
    said = Claim(1, "f", "It is so.", clauses=(replace(both[0], figure="few"), both[1]))
    found = judged(said, plain("", a=spread(0.0, 1.0)), few)
    assert (found.verdict, found.runs) == (EQUAL, 40)


def test_verdicts_have_false_discovery_rates():
    """One p-value of 0.04 and three of nearly 1 or 0: the q-values are Benjamini–Hochberg's."""
    data = plain("", a=spread(1.0, 1.0), b=spread(HALF * 1.01, 1.0), c=spread(0.0, 1.0))
    found = judge_claims([of_all("mean", agent) for agent in "abc"], [data])
    assert [one.verdict for one in found] == [HOLDS, HOLDS, UNCLEAR]
    assert found[0].q_value < 1e-6 and found[2].q_value == 1.0
    assert found[1].q_value == pytest.approx(0.0483 * 3 / 2, abs=1e-3)


def test_a_hash_of_judging_code_ignores_wording_and_notices_numbers():
    def hashed(code: str) -> str:
        return " ".join(claims_module._code_words(ast.parse(code)))

    code = 'import os\nSHARE = 0.25  # late\ndef f(x: int) -> int:\n    """Do."""\n    return x + SHARE\n'
    same = "SHARE = 0.25\ndef f(\n    x,\n):\n    return x + SHARE"
    assert hashed(code) == hashed(same) != hashed(same.replace("0.25", "0.3"))
    assert hashed(same) != hashed(same.replace("+", "-"))
    assert hashed("f('so it is')") == hashed("f('so be it')") != hashed("f('so')")
    plain_rule, other = of_all("mean", "a"), of_all("mean", "a", margin=0.1)
    assert judging_hash(plain_rule) == judging_hash(replace(plain_rule, claim="So it is."))
    assert judging_hash(plain_rule) != judging_hash(other)


def test_whether_runs_diverge_is_told_by_the_runs_themselves():
    """Half of the runs are lost: a floor under what is lost must not hide it."""
    curves = np.repeat(spread(0.0, 1.0), 4, axis=1)
    curves[:20, -1] = np.nan
    some = of_all("diverged", "a", low=0.1)
    found = judged(some, plain("", a=curves))
    assert (found.effect, found.verdict) == (0.5, HOLDS)
    assert judged(some, plain("", a=np.zeros((40, 4)))).verdict == FAILS


def test_the_replication_probability_is_that_of_a_figure_with_as_many_runs_as_the_source():
    """The difference of a run is 0.4 ± 1: means of n runs lie above 0.2 with Φ(0.2 √n)."""
    said = of_all("mean", "a", margin=0.2)
    data = plain("", a=spread(0.4, 1.0, 2000))
    for size in (5, 30):
        found = judged(said, data, sizes={"f": size})
        assert found.replication_probability == pytest.approx(ndtr(0.2 * np.sqrt(size)), abs=0.05)
    assert (found.verdict, found.runs) == (HOLDS, 2000) and FIGURES >= 1000
    assert judged(said, data).replication_probability == 1.0
    assert np.isnan(judged(said, data, sizes={"f": None}).replication_probability)
    ours = paper_panel("5a", {key: np.full(40, level) for key, level in
                              (("lookahead", 9.0), (EXPECTATION, 1.0))}, 500)  # fmt: skip
    assert judged(claim(13), ours, sizes=PAPER.sizes).replication_probability == 1.0
    assert PAPER.sizes["1"] is None and PAPER.sizes["5a"] == 30


def cost_of(ahead=lambda a, d: a * 5 * d, values=lambda a, d: a * 5, policy=None, least=4.0):
    """Agents are functions of actions and features, the numbers that they read for a decision."""
    agents = {"ahead": ahead, "values": values, "policy": policy or values}
    sizes: Any = {"actions": (2, 8, 32), "features": (16, 64, 256), "active": 5}
    rule = CostRule(agents=agents, **sizes, much_more=least)
    return judging_verdict(rule.find(lambda agent, a, d, active: agent(a, d)))


@pytest.mark.parametrize(("given", "outcome"), [
    ({}, HOLDS),
    ({"policy": lambda a, d: a**2}, HOLDS),  # theirs may grow faster with the actions
    ({"policy": lambda a, d: 30 * a * a}, FAILS),  # but not as far as to be as dear
    ({"ahead": lambda a, d: a * 5}, FAILS),
    ({"values": lambda a, d: a * d}, FAILS),
    ({"ahead": lambda a, d: a * d / 100}, FAILS),
    ({"ahead": lambda a, d: 5 * d}, FAILS),
    ({"least": 16.0}, HOLDS),  # both growths are 16
    ({"least": 16.01}, FAILS),
])  # fmt: skip
def test_cost_of_a_decision(given, outcome):
    found, decisive = cost_of(**given)
    assert found == outcome and decisive.low == decisive.high == decisive.effect


def test_interpretations_side_by_side_and_missing_figures_left_out():
    first = replace(plain("", a=[[1.0]] * 3), interpretation="preferred")
    second = replace(plain("", a=[[-1.0]] * 3), interpretation="authors")
    found = judge_claims([of_all("mean", "a"), claim(1)], [first, second])
    assert [(one.interpretation, one.verdict) for one in found] == [
        ("preferred", HOLDS),
        ("authors", FAILS),
    ]


def test_what_is_missing_is_said():
    found = judged(of_all("mean", "a", minus=("b",)), plain("", a=[[1.0]] * 3))
    assert (found.verdict, found.runs) == (UNCLEAR, 0)
    assert found.detail == "Not enough data: no curves of b."
    one = judged(of_all("mean", "a"), plain("", a=[[1.5]]))
    assert one.verdict == UNCLEAR
    assert one.to_dict()["effect"] == 1.5 and one.to_dict()["low"] is None


def test_verdicts_serialise():
    found = judged(of_all("mean", "a"), plain("", a=spread(1.0, 1.0))).to_dict()
    assert list(found) == [
        *("id", "figure", "interpretation", "kind", "claim", "verdict"),
        *("effect", "low", "high", "margin", "runs", "replication_probability", "rule", "detail"),
        *("label", "unit", "note", "floored", "stated", "reference"),
        *(
            "level",
            "statement",
            "short",
            "ours",
            "median",
            "ahead",
            "floors",
            "q_value",
            "judged_by",
        ),
        "statistic",
    ]
    assert found["statistic"] == found["effect"] and json.dumps(found, allow_nan=False)


def test_several_agents_and_panels_count_by_their_means():
    """(1 + 3) / 2 − 1.5 in one panel and (5 + 5) / 2 − 1.5 in the other: 0.5 and 3.5, 2 across."""
    one = plain("one", a=[[1.0]] * 3, b=[[3.0]] * 3, c=[[1.0]] * 3, d=[[2.0]] * 3)
    two = plain("two", a=[[5.0]] * 3, b=[[5.0]] * 3, c=[[1.0]] * 3, d=[[2.0]] * 3)
    found = judged(of_all("mean", "a", "b", minus=("c", "d")), one, two)
    assert found.effect == 0.5  # of the weakest part
    assert "one: return of a and b minus that of c and d is 0.5, holds" in found.detail.lower()
    assert judged(of_all("mean", "a", "b", minus=("c", "d"), across=True), one, two).effect == 2.0


def test_a_difference_can_be_taken_off_another():
    """(9 − mean of 5 and 7) − (4 − 3): what a wrong setting costs one agent more than another."""
    data = plain("", a=[[9.0]] * 3, b=[[5.0]] * 3, c=[[7.0]] * 3, d=[[4.0]] * 3, e=[[3.0]] * 3)
    found = judged(
        of_all("mean", "a", minus=("b", "c"), beyond=AgentGroups(of=("d",), minus=("e",))), data
    )
    assert found.effect == 2.0
    assert found.label == "return of a minus that of b and c, less the return of d minus that of e,"


@pytest.mark.parametrize(
    ("second", "outcome"), [(38.0, EQUAL), (35.5, HOLDS), (42.0, EQUAL), (45.0, FAILS)]
)
def test_a_margin_can_be_a_share_of_what_is_measured(second, outcome):
    """A tenth of the first regret, 40, is less than 100: a fall by 4.5 matters, one by 2 does not."""
    curve = OPTIMUM - np.tile([0.0, 40.0, second], (3, 1))
    data = replace(plain("", a=curve), switch_every=1)
    falls = of_all("regret-falls", "a", margin=100.0, relative_margin=0.1)
    found = judged(falls, data)
    assert (found.margin, found.verdict, found.unit) == (
        4.0, outcome, "return, summed over episodes",
    )  # fmt: skip
    shaky = plain("", a=[[0.0, 1.0, 4.0, 1.0], [0.0, 1.0, 1.0, 4.0]])  # as steady on average
    steady = judged(of_all("unsteadiness", "a", margin=9.0, relative_margin=0.1), shaky)
    assert steady.margin == pytest.approx(0.9)
    large = of_all("regret-falls", "a", margin=1.0, relative_margin=0.1)
    assert judged(large, data).margin == 1.0


def test_what_stands_beside_is_told_of_every_move_in_its_own_figure():
    """An agent that is low after the first move alone is not called middling."""
    data = replace(plain("", a=[[9.0, 1.0, 5.0, 3.0]] * 4), switch_every=1)
    told = replace(of_all("mean", "a"), beside=(METRICS["lowest"],))
    detail = judged(told, data, replace(data, figure="other")).detail
    assert "lowest level after a switch: a 1 / 5 / 3" in detail and detail.count("beside") == 1


def test_a_claim_about_one_panel_is_judged_by_that_one():
    left, right = plain("left", a=[[1.0], [1.0]]), plain("right", a=[[-1.0], [-1.0]])
    for name, outcome in (("left", HOLDS), ("right", FAILS), (None, FAILS)):
        found = judged(replace(of_all("mean", "a"), panel=name), left, right)
        assert found.verdict == outcome
        assert found.detail.count(" is ") == (2 if name is None else 1)


# ------------------------------------------------------------------------------------------ looks


def test_runs_go_on_for_what_an_unclear_claim_depends_on():
    """Agent a is part of a claim that is decided and of one that is not; b only of the first."""
    looks = {"f": (40, 100)}
    panel = plain("", a=spread(1.0, 1.0), b=spread(-9.0, 1.0), c=spread(1.0, 5.0, 90))
    decided = of_all("mean", "a", minus=("b",), margin=1.0)
    unclear = of_all("mean", "a", minus=("c",))
    assert judged(decided, panel, looks=looks).verdict == HOLDS
    assert plan_more_runs([decided], [panel], looks) == {}
    assert plan_more_runs([decided, unclear], [panel], looks) == {
        ("f", "", "", "a"): 100, ("f", "", "", "c"): 100,
    }  # fmt: skip
    both = replace(decided, clauses=(*decided.clauses, *unclear.clauses))
    assert {arm[3] for arm in plan_more_runs([both], [panel], looks)} == {"a", "c"}
    assert plan_more_runs([unclear], [panel], {"f": (20, 40)}) == {}  # at the last look


def test_an_early_look_is_at_a_higher_level():
    said, panel = of_all("mean", "a"), plain("", a=spread(2.5 * HALF / 2.0227, 1.0))
    once, early = judged(said, panel), judged(said, panel, looks={"f": (40, 100)})
    assert (once.verdict, once.level) == (HOLDS, 0.95)
    assert (early.verdict, early.level) == (UNCLEAR, pytest.approx(0.999))
    assert "first look" in early.rule and "first look" not in once.rule
    half = 3.5581 / np.sqrt(40)  # Student's t of 39 degrees of freedom at 99.9 %
    assert early.high - early.effect == pytest.approx(half, abs=1e-4)
