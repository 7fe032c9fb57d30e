"""Every rule of every study on made-up curves for which it must say each of its outcomes.

Levels of agents in phases are found by solving for what every part of a claim is to be, so no rule
is written a second time here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from expectant.analysis import Panel
from expectant.analysis.judging import ABOUT, ABOVE, AT_LEAST, Statement
from expectant.analysis.judging import verdict as judging_verdict
from expectant.analysis.local_change import is_test  # noqa: F401  its measures
from expectant.lab.claims import SHORT, Claim, Verdict
from expectant.lab.claims import judge_claims as evaluate_all
from expectant.lab.clauses import BLOCKS, Clause
from expectant.lab.decision_cost import CostRule
from expectant.lab.measures import MEASURES
from expectant.lab.reproduce import verdicts_of
from expectant.lab.study import Study, packaged, read_study, the_paper

HOLDS, EQUAL, FAILS, UNCLEAR = "holds", "equal", "does not hold", "unclear"
RUNS, PHASE, BIN, OPTIMUM = 40, 10, 50, 10.0
WIDTHS = np.tile(
    [1, PHASE - 1], 4
)  # of four phases the first bin, which is the lowest, and the rest
START = np.tile([-15.0, 5.0], 4)
PARTS = WIDTHS.size
STUDIES = {name: read_study(folder) for name, folder in packaged().items()}
CLAIMS = the_paper().claims
NAMES = CLAIMS[0].names

Key = tuple[str, str, str]  # figure, panel, agent
Levels = dict[Key, np.ndarray]  # of every part of a phase
Spread = dict[Key, Any]  # of the runs, in every part


def claim_of(name: str, number: int) -> Claim:
    return next(found for found in STUDIES[name].claims if found.id == number)


def claim(number: int) -> Claim:
    return claim_of(the_paper().name, number)


@cache
def figure_of(study: str, figure: str) -> tuple[list[Key], bool]:
    """The curves of a figure, and whether its goal moves."""
    cells = STUDIES[study].experiments[figure].cells()
    keys = [(figure, cell.panel, cell.agent_key) for cell in cells]
    return keys, cells[0].domain.switch_every is not None


def keys_of(study: Study, found: Claim) -> list[Key]:
    figures = {clause.figure or found.figure: None for clause in found.clauses}
    keys = [key for figure in figures for key in figure_of(study.name, figure)[0]]
    return [key for key in keys if found.panel in (None, key[1])]


@cache
def noise_of(place: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """How far every run of a curve is from their mean (runs, 1), and a little for every bin."""
    rng = np.random.default_rng(place)
    noise = rng.normal(size=(runs, 1))
    if runs > 1:
        noise = (noise - noise.mean()) / noise.std(ddof=1)
    return noise, 1e-6 * rng.normal(size=(runs, WIDTHS.sum()))


def panels(study: Study, levels: Levels, spread: Spread | None = None, runs: int = RUNS) -> Any:
    """Panels of agents at these levels; ``spread`` is how far their runs lie apart."""
    grouped: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for place, ((figure, name, agent), phases) in enumerate(levels.items()):
        noise, little = noise_of(place, runs)
        apart = np.broadcast_to((spread or {}).get((figure, name, agent), 0.0), PARTS)
        curve = np.repeat(phases, WIDTHS) + np.repeat(apart, WIDTHS) * noise
        grouped.setdefault((figure, name), {})[agent] = curve + little
    return [
        Panel(figure, name, "ours", BIN, _moves(study, figure), OPTIMUM, curves, NAMES)
        for (figure, name), curves in grouped.items()
    ]


def _moves(study: Study, figure: str) -> int | None:
    return PHASE * BIN if figure_of(study.name, figure)[1] else None


def statistics(study: Study, found: Claim, levels: Levels) -> np.ndarray:
    parts = found.parts(panels(study, levels, runs=1))
    return np.array(
        [
            clause.values(own, [[c.mean(axis=0)[None] for c in g] for g in clause.runs_of(own)])[0]
            for clause, own in parts
        ]
    )


@cache
def dependence(name: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """What every part of a claim is at the start, and how it depends on each level."""
    study, found = STUDIES[name], claim_of(name, number)
    start = dict.fromkeys(keys_of(study, found), START)
    base, slopes = statistics(study, found, start), []
    for key, level in start.items():
        for part in range(PARTS):
            moved = {**start, key: level + np.eye(PARTS)[part] * 1e-3}
            slopes.append((statistics(study, found, moved) - base) / 1e-3)
    return base, np.array(slopes).T


def solved(study: Study, found: Claim, targets: np.ndarray) -> tuple[Levels, np.ndarray]:
    """Levels at which every part has its target, and how parts depend on each level."""
    base, table = dependence(study.name, found.id)
    change = np.linalg.lstsq(table, targets - base, rcond=None)[0]
    assert table @ change == pytest.approx(targets - base, abs=1e-3)
    keys, shifts = keys_of(study, found), change.reshape(-1, PARTS)
    levels = {key: START + shift for key, shift in zip(keys, shifts, strict=True)}
    return levels, table.reshape(len(base), -1, PARTS)


def unit(statement: Any) -> float:
    return statement.margin or 1.0


def supported(statement: Any) -> float:
    """A number that is clearly as stated."""
    away = {ABOVE: 8.0, AT_LEAST: 8.0, ABOUT: 0.0}[statement.kind]
    return statement.reference + away * unit(statement)


def case(study: Study, found: Claim, outcome: str, which: int) -> Any:
    """Curves for which the part ``which`` decides, and all others hold."""
    start = dict.fromkeys(keys_of(study, found), START)
    said = [clause.statement for clause, _ in found.parts(panels(study, start, runs=1))]
    targets, spread = np.array([supported(statement) for statement in said]), Spread()
    statement = said[which]
    if outcome == EQUAL:
        targets[which] = statement.reference
    elif outcome == FAILS:
        targets[which] = statement.reference - 8.0 * unit(statement)
    elif outcome == UNCLEAR:
        bound = statement.margin if statement.kind == ABOVE else -statement.margin
        targets[which] = statement.reference + bound
    levels, slopes = solved(study, found, targets)
    if outcome == UNCLEAR:
        agent, part = np.unravel_index(np.abs(slopes[which]).argmax(), slopes[which].shape)
        size = 3.0 * unit(statement) / abs(slopes[which, agent, part])
        spread[list(levels)[agent]] = np.eye(PARTS)[part] * size
    return panels(study, levels, spread)


def linear(found: Claim) -> bool:
    """Whether levels can be solved for: times are no sums of levels."""
    measures = [clause.measure for clause in found.clauses]
    return bool(measures) and not any(m.per_run or m.name == "settling" for m in measures)


TABLE = [
    (name, found.id, outcome)
    for name, study in STUDIES.items()
    for found in study.claims
    if linear(found)
    for outcome in (HOLDS, EQUAL, FAILS, UNCLEAR)
    if outcome != EQUAL
    or any(c.statement.kind == ABOVE and c.statement.margin > 0 for c in found.clauses)
]


@pytest.mark.parametrize(("name", "number", "outcome"), TABLE)
def test_every_rule_can_say_each_of_its_outcomes(name, number, outcome):
    study, found = STUDIES[name], claim_of(name, number)
    start = dict.fromkeys(keys_of(study, found), START)
    kinds = [clause.statement for clause, _ in found.parts(panels(study, start, runs=1))]
    for which in {0, len(kinds) - 1}:
        if outcome == EQUAL and (kinds[which].kind != ABOVE or not kinds[which].margin):
            continue
        (said,) = evaluate_all([found], case(study, found, outcome, which))
        assert said.verdict == outcome, said.detail
        assert said.low <= said.effect <= said.high
        assert (said.runs, said.kind, "diverged" in said.detail) == (RUNS, found.kind, False)


def verdict(number: int, data: list[Panel], sizes: Any = None) -> Verdict:
    (found,) = evaluate_all([claim(number)], data, sizes)
    return found


def paper(number: int, outcome: str, which: int = 0) -> list[Panel]:
    return case(the_paper(), claim(number), outcome, which)


@pytest.mark.parametrize("lost", [np.nan, np.inf, -np.inf])
def test_a_diverged_run_is_the_worst_of_all_and_is_counted(lost):
    """Of 40 runs 39 are far ahead; the one that is lost counts as the worst bin there is."""
    data = paper(13, HOLDS)
    before = verdict(13, data)
    data[0].curves["lookahead"][3, 5:] = lost
    found = verdict(13, data)
    assert found.effect < before.effect and np.isfinite(found.effect)
    assert f"diverged: 1 of {RUNS} runs of look-ahead" in found.detail
    worst = min(curve[np.isfinite(curve)].min() for curve in data[0].curves.values())
    data[0].curves["lookahead"][3, 5:] = worst
    assert verdict(13, data).effect == found.effect


def test_agents_that_diverge_altogether_lose():
    data = paper(13, HOLDS)
    data[0].curves["q_learning"][:, 1] = -50.0  # the worst bin there is
    data[0].curves["lookahead"][:] = np.nan
    assert verdict(13, data).verdict == FAILS


def test_one_part_that_fails_decides_and_is_reported():
    data = paper(5, FAILS, which=5)
    found = verdict(5, data)
    assert found.effect == pytest.approx(-800.0, abs=1.0)
    assert found.margin == 100.0
    assert found.detail.count("regret after a switch of Q-learning minus") == 6
    assert "beside it, slip 0, recovery towards its own level: Q-learning" in found.detail


def test_what_is_told_beside_a_claim_is_of_its_own_figure():
    data = paper(7, HOLDS)
    own = sum(panel.figure == "4a" for panel in data)
    assert 0 < own < len(data)
    assert verdict(7, data).detail.count("beside it") == own * len(claim(7).beside)


def test_the_chance_is_that_of_a_figure_with_as_many_runs_as_the_paper():
    """The difference of a run is 0.4 ± 1: means of n runs lie above 0.2 with Φ(0.2 √n)."""
    from scipy.special import ndtr

    start = dict.fromkeys(keys_of(the_paper(), claim(13)), START)
    ahead = ("5a", "", "lookahead")
    data = panels(the_paper(), {**start, ahead: start[ahead] + 0.4}, {ahead: 1.0}, runs=2000)
    for size in (5, 30):
        found = verdict(13, data, {"5a": size})
        assert found.chance == pytest.approx(ndtr(0.2 * np.sqrt(size)), abs=0.05)
    assert found.verdict == HOLDS and found.runs == 2000
    (of_study,) = verdicts_of(replace(the_paper(), claims=(claim(13),)), data)
    assert of_study.chance == found.chance  # the paper has 30 runs
    assert verdict(13, data).chance == 1.0
    assert BLOCKS >= 1000


def test_several_parts_are_shown_together_or_not_at_all():
    """Two parts of which each is shown by half of the figures, by other runs each."""
    keys = keys_of(the_paper(), claim(4))
    levels = dict.fromkeys(keys, START)
    for agent in ("q_learning", "q_planning_true"):
        levels["3", "", agent] = START + 0.3
    spread = {("3", "", agent): 1.0 for agent in ("q_learning", "q_planning_true")}
    found = verdict(4, panels(the_paper(), levels, spread), {"3": 10})
    assert 0.15 < found.chance < 0.35
    assert found.verdict == UNCLEAR


class Counts(NamedTuple):
    """An agent whose reads per decision are given by a function of actions and features."""

    reads: Callable[[int, int], float]


def cost_of(ahead=lambda a, d: a * 5 * d, values=lambda a, d: a * 5, policy=None, least=4.0):
    agents = {"ahead": Counts(ahead), "values": Counts(values), "policy": Counts(policy or values)}
    named = {name: (name, agent) for name, agent in agents.items()}
    rule = CostRule(named, (2, 8, 32), (16, 64, 256), 5, least)
    return judging_verdict(rule.find(lambda agent, a, d, active: agent.reads(a, d)))


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


def test_cost_of_a_decision_by_hand():
    """The largest point: 272 a against 5 a; from 16 to 256 features: 272 / 32; actions: 32 / 2."""
    found, decisive = cost_of(ahead=lambda a, d: a * (d + 16))
    assert (found, decisive.effect) == (HOLDS, 8.5)
    assert decisive.label == "growth with the features of ahead, times that of values,"


def test_verdicts_on_the_cost_of_a_decision():
    (data,) = paper(13, HOLDS)
    (found,) = evaluate_all([claim(18)], [data])
    assert (found.reading, found.verdict, found.runs) == ("ours", HOLDS, 0)
    assert found.to_dict()["chance"] is None and found.unit == "times"  # nothing was drawn
    assert evaluate_all([claim(18)], []) == []


def test_readings_side_by_side_and_missing_figures_left_out():
    (first,), (second,) = paper(13, HOLDS), paper(13, FAILS)
    found = evaluate_all(CLAIMS, [first, replace(second, reading="code")])
    assert {one.figure for one in found} == {"5a", "discussion"}
    assert [(one.reading, one.verdict) for one in found if one.id == 13] == [
        ("ours", HOLDS),
        ("code", FAILS),
    ]
    assert evaluate_all(CLAIMS, []) == []


def test_what_is_missing_is_said():
    (data,) = paper(13, HOLDS)
    alone = replace(data, curves={"lookahead": data.curves["lookahead"]})
    found = verdict(13, [alone])
    assert (found.verdict, found.runs) == (UNCLEAR, 0)
    assert found.detail == "Not enough data: no curves of Q-planning with an expectation model."
    cut = replace(data, curves={key: c[:, : 2 * PHASE] for key, c in data.curves.items()})
    assert "1 of 2" in verdict(11, [cut]).detail


def test_one_run_decides_nothing():
    (data,) = paper(13, HOLDS)
    found = verdict(13, [data.of_runs(1)])
    assert found.verdict == UNCLEAR
    assert found.to_dict()["effect"] == pytest.approx(1.6, abs=1e-3)
    assert found.to_dict()["low"] is None


def test_verdicts_serialise_and_repeat():
    data = [*paper(13, HOLDS), *paper(5, HOLDS)]
    plain = [found.to_dict() for found in evaluate_all(CLAIMS, data)]
    assert list(plain[0]) == [
        *("id", "figure", "reading", "kind", "claim", "verdict"),
        *("effect", "low", "high", "margin", "runs", "chance", "rule", "detail"),
        *("label", "unit", "note", "floored", "statistic"),
    ]
    assert all(entry["statistic"] == entry["effect"] for entry in plain)
    again = [found.to_dict() for found in evaluate_all(CLAIMS, data)]
    assert json.dumps(plain, allow_nan=False) == json.dumps(again, allow_nan=False)


def test_claims_and_rules_are_sentences_and_have_numbers_of_their_own():
    for found in CLAIMS:
        for text in (found.claim, found.rule):
            assert text[0].isupper()
            assert text.endswith(".")
    assert len({found.id for found in CLAIMS}) == len({found.claim for found in CLAIMS})
    assert len({found.rule for found in CLAIMS}) == len(CLAIMS)


def test_whether_runs_diverge_is_told_by_the_runs_themselves():
    """Half of the runs of LEVI are lost: a floor under what is lost must not hide it."""
    study = STUDIES["stable-planning"]
    never, some = study.claims[:2]
    data = panels(study, dict.fromkeys(keys_of(study, never), START))
    for panel in data:
        panel.curves["levi"] = panel.curves["levi"].copy()
        panel.curves["levi"][:20, -1] = np.nan
    assert [said.verdict for said in evaluate_all([never, some], data)] == [HOLDS, HOLDS]
    for panel in data:
        panel.curves["gradient"] = panel.curves["levi"]
    (said,) = evaluate_all([never], data)
    assert said.verdict == FAILS


def plain(name: str, **curves: list[list[float]]) -> Panel:
    """A panel of single episodes, of agents that go by their keys."""
    arrays = {key: np.array(curve, float) for key, curve in curves.items()}
    return Panel("f", name, "", 1, None, OPTIMUM, arrays, {key: key for key in arrays})


def of_all(measure: str, *agents: str, **more: Any) -> Claim:
    clause = Clause(MEASURES[measure], agents, **more)
    return Claim(1, "f", "It is so.", (clause,))


def test_measures_of_single_runs_are_averaged_and_not_taken_of_the_mean_curve():
    """Two runs of opposite ups and downs have a mean curve without any."""
    ups = [[0.0, 2.0] * 8, [2.0, 0.0] * 8]
    (found,) = evaluate_all([of_all("unsteadiness", "a")], [plain("", a=ups)])
    assert found.effect == 4.0
    assert found.chance == 1.0  # every single run shows it


def test_a_claim_about_one_panel_is_judged_by_that_one():
    left, right = plain("left", a=[[1.0], [1.0]]), plain("right", a=[[-1.0], [-1.0]])
    both = of_all("mean", "a")
    for name, outcome in (("left", HOLDS), ("right", FAILS), (None, FAILS)):
        (found,) = evaluate_all([replace(both, panel=name)], [left, right])
        assert found.verdict == outcome
        assert found.detail.count(" is ") == (2 if name is None else 1)


def test_several_agents_and_panels_count_by_their_means():
    """(1 + 3) / 2 − 1.5 in one panel and (5 + 5) / 2 − 1.5 in the other: 0.5 and 3.5, 2 across."""
    one = plain("one", a=[[1.0]] * 3, b=[[3.0]] * 3, c=[[1.0]] * 3, d=[[2.0]] * 3)
    two = plain("two", a=[[5.0]] * 3, b=[[5.0]] * 3, c=[[1.0]] * 3, d=[[2.0]] * 3)
    apart = of_all("mean", "a", "b", minus=("c", "d"))
    (found,) = evaluate_all([apart], [one, two])
    assert found.effect == 0.5  # of the weakest part
    assert "one: return of a and b minus that of c and d is 0.5, holds" in found.detail.lower()
    (found,) = evaluate_all([of_all("mean", "a", "b", minus=("c", "d"), across=True)], [one, two])
    assert found.effect == 2.0
    assert found.detail.startswith("Mean over panels of the return of a and b minus that of c")


def test_as_many_runs_count_as_every_agent_has():
    data = plain("", a=[[1.0], [3.0], [100.0]], b=[[0.0], [0.0]])
    (found,) = evaluate_all([of_all("mean", "a", minus=("b",))], [data])
    assert (found.effect, found.runs) == (2.0, 2)
    alone, less = of_all("mean", "a"), of_all("mean", "a", minus=("b",))
    (found,) = evaluate_all([replace(alone, clauses=alone.clauses + less.clauses)], [data])
    assert found.runs == 2  # of the part that has fewest


def test_a_difference_can_be_taken_off_another():
    """(9 − mean of 5 and 7) − (4 − 3): what a wrong setting costs one agent more than another."""
    data = plain("", a=[[9.0]] * 3, b=[[5.0]] * 3, c=[[7.0]] * 3, d=[[4.0]] * 3, e=[[3.0]] * 3)
    beyond = (("d",), ("e",))
    (found,) = evaluate_all([of_all("mean", "a", minus=("b", "c"), beyond=beyond)], [data])
    assert found.effect == 2.0
    assert found.label == "return of a minus that of b and c, less the return of d minus that of e,"


def moved(first: float, second: float, runs: int = 3) -> Panel:
    """Three phases of one bin: the curve is as far below the optimum as said after each move."""
    curve = OPTIMUM - np.tile([0.0, first, second], (runs, 1))
    return replace(plain("", a=curve.tolist()), switch_every=1)


@pytest.mark.parametrize(
    ("second", "outcome"), [(38.0, EQUAL), (35.5, HOLDS), (42.0, EQUAL), (45.0, FAILS)]
)
def test_a_margin_can_be_a_share_of_what_is_measured(second, outcome):
    """A tenth of the first regret, 40, is less than 100: a fall by 4.5 matters, one by 2 does not."""
    falls = of_all("regret-falls", "a", statement=Statement(ABOVE, 0.0, 100.0), relative=0.1)
    (found,) = evaluate_all([falls], [moved(40.0, second)])
    assert (found.margin, found.verdict) == (4.0, outcome)
    large = of_all("regret-falls", "a", statement=Statement(ABOVE, 0.0, 1.0), relative=0.1)
    assert evaluate_all([large], [moved(40.0, second)])[0].margin == 1.0


def test_a_verdict_says_what_its_number_is_and_in_which_unit():
    found = verdict(5, paper(5, HOLDS))
    assert "regret after a switch of Q-learning minus that of Q-planning" in found.label
    assert found.unit == "return, summed over episodes"
    assert verdict(13, paper(13, HOLDS)).unit == "return per episode"


def test_where_the_margin_is_ruled_out_that_is_said_beside_unclear():
    """−0.1 ± 0.2 around a margin of 0.2: it may be equal, or fail, but it does not hold."""
    values = np.random.default_rng(0).normal(size=40)
    values = (values - values.mean()) / values.std(ddof=1)
    for centre, note in ((-0.15, SHORT), (0.15, "")):
        data = plain("", a=(centre + 0.5 * values)[:, None].tolist())
        (found,) = evaluate_all([of_all("mean", "a", statement=Statement(ABOVE, 0.0, 0.2))], [data])
        assert (found.verdict, found.note) == (UNCLEAR, note)


def test_bins_that_count_as_the_floor_are_counted():
    data = replace(plain("", a=[[1.0, -9.0], [np.nan, 1.0], [1.0, 1.0]]), floor=-5.0)
    (found,) = evaluate_all([of_all("mean", "a")], [data])
    assert found.floored == 2
    assert found.effect == pytest.approx((4 * 1.0 - 2 * 5.0) / 6)
    assert "counted as the floor: 2 of 6 bins of a" in found.detail


def test_there_is_no_chance_where_the_source_does_not_say_how_many_runs_it_had():
    assert np.isnan(verdict(13, paper(13, HOLDS), {"5a": None}).chance)
    assert the_paper().sizes["1"] is None and the_paper().sizes["5a"] == 30
    assert {name for name, size in the_paper().sizes.items() if size is None} == {
        "1", *(name for name in the_paper().figures if name.startswith("ablation"))
    }  # fmt: skip


def test_what_stands_beside_is_told_of_every_move():
    """An agent that is low after the first move alone is not called middling."""
    data = replace(plain("", a=[[9.0, 1.0, 5.0, 3.0]] * 4), switch_every=1)
    told = replace(of_all("mean", "a"), beside=(MEASURES["lowest"],))
    assert "lowest level after a switch: a 1 / 5 / 3" in evaluate_all([told], [data])[0].detail
