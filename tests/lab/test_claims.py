"""Every rule on made-up curves for which it must hold, must not, and must be undecided."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from expectant.analysis import Panel
from expectant.lab.claims import Verdict
from expectant.lab.claims import evaluate as evaluate_all
from expectant.lab.study import the_paper

CLAIMS = the_paper().claims
NAMES = CLAIMS[0].names


def evaluate(panels: Any, work: Any = None) -> list[Verdict]:
    return evaluate_all(CLAIMS, panels, work)


RUNS, PHASE, SWITCHES, BIN, OPTIMUM = 30, 10, 3, 50, 10.0
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
SLIPS = ("slip 0", "slip 0.1", "slip 0.3")


def curves(
    name: str,
    *,
    level: float = 10.0,
    depths: float | tuple[float, ...] = 15.0,
    ramps: int | tuple[int, ...] = 5,
    level_spread: float = 0.0,
    depth_spread: float = 0.0,
    wavers: tuple[int, ...] = (),
) -> np.ndarray:
    """Four phases at ``level``; each switch takes a curve down by a depth, and a ramp back up.

    At the switches in ``wavers`` the runs wait around the threshold (8) from bin 2 to bin 7, so
    that some have recovered in 3 bins and others in 9. The spreads are over runs.
    """
    rng = np.random.default_rng(zlib.crc32(name.encode()))

    def spread(size: float) -> np.ndarray:
        noise = rng.normal(size=(RUNS, 1))
        return size * (noise - noise.mean()) / noise.std()

    parts = [np.full((RUNS, PHASE), level)]
    for switch in range(SWITCHES):
        depth = np.broadcast_to(depths, SWITCHES)[switch] + spread(depth_spread)
        way_back = 1.0 - np.arange(PHASE) / np.broadcast_to(ramps, SWITCHES)[switch]
        phase = level - depth * np.maximum(way_back, 0.0)
        if switch in wavers:
            phase = np.full((RUNS, PHASE), level)
            phase[:, :2] = level - depth
            phase[:, 2:8] = 0.8 * OPTIMUM + spread(2.0)
        parts.append(phase)
    noise = rng.normal(scale=0.02, size=(RUNS, PHASE * (SWITCHES + 1)))
    return np.concatenate(parts, axis=1) + spread(level_spread) + noise


Agents = Mapping[str, Mapping[str, Any]]


def panel(figure: str, agents: Agents, name: str = "", reading: str = "text") -> Panel:
    still = figure in ("1", "3")
    common = {"depths": 0.0} if still else {}
    return Panel(
        figure=figure,
        panel=name,
        reading=reading,
        bin=BIN,
        switch_every=None if still else PHASE * BIN,
        optimum=OPTIMUM,
        curves={key: curves(key, **{**common, **given}) for key, given in agents.items()},
        labels=NAMES,
    )


def three(q: dict, expectation: dict, true: dict | None = None) -> Agents:
    agents = {"q_learning": q, "q_planning_expectation": expectation}
    return agents if true is None else {**agents, "q_planning_true": true}


def steps(*settings: dict) -> Agents:
    keys = ("q_learning", *(f"q_planning_true_{n}" for n in (1, 5, 20)))
    return dict(zip(keys, settings, strict=True))


def fifth(q: dict, expectation: dict, lookahead: dict) -> Agents:
    return {**three(q, expectation), "lookahead": lookahead}


def cached(lookahead: dict, values: dict, policy: dict, q: dict) -> Agents:
    return {
        "lookahead": lookahead,
        "cached_values": values,
        "cached_policy": policy,
        "q_learning": q,
    }


# recoveries with the usual depth 15: a ramp of 3, 5, 7, 9 bins takes 4, 6, 8, 9 bins
SLOW, MIDDLE, FAST = {"ramps": 9}, {"ramps": 5}, {"ramps": 3}
DEEP, SHALLOW = {"depths": 15.0}, {"depths": 5.0}
WAVERS = {"wavers": (0, 1, 2)}
VARIED = {"depth_spread": 5.0}

# claim: outcome: agents; in figure 4a these are the agents of the last panel, see `panels`
CASES: dict[int, dict[str, Agents]] = {
    1: {
        HOLDS: three({"level": 10.0}, {}),
        FAILS: three({"level": 9.0}, {}),
        UNDECIDED: three({"level": 9.95, "level_spread": 0.2}, {}),
    },
    2: {
        HOLDS: three({}, {"level": 9.0}),
        FAILS: three({}, {"level": 10.0}),
        UNDECIDED: three({}, {"level": 9.95, "level_spread": 0.2}),
    },
    3: {
        HOLDS: three({"level": 9.9}, {}, {"level": 10.0}),
        FAILS: three({"level": 9.0}, {}, {"level": 10.0}),
        UNDECIDED: three({"level": 9.75, "level_spread": 2.0}, {}, {"level": 10.0}),
    },
    4: {
        HOLDS: three({}, {"level": 8.0}, {}),
        FAILS: three({"level": 7.0}, {"level": 8.0}, {}),
        UNDECIDED: three({"level": 8.1, "level_spread": 2.0}, {"level": 8.0}, {}),
    },
    5: {
        HOLDS: three(SLOW, FAST, FAST),
        FAILS: three(FAST, SLOW, FAST),
        UNDECIDED: three(MIDDLE, FAST, WAVERS),
    },
    6: {
        HOLDS: three(DEEP, SHALLOW, SHALLOW),
        FAILS: three(SHALLOW, {"depths": 2.0}, DEEP),
        UNDECIDED: three(SHALLOW, {"depths": 2.0}, SHALLOW | VARIED),
    },
    7: {
        HOLDS: three({"ramps": (9, 3, 3)}, {"ramps": (7, 3, 3)}, FAST),
        FAILS: three({"ramps": (3, 9, 3)}, {"ramps": (3, 7, 3)}, FAST),
        UNDECIDED: three({"wavers": (0,)}, FAST, FAST),
    },
    8: {
        HOLDS: steps({"ramps": 9}, {"ramps": 7}, {"ramps": 5}, {"ramps": 3}),
        FAILS: steps({"ramps": 9}, {"ramps": 7}, {"ramps": 3}, {"ramps": 5}),
        UNDECIDED: steps({"ramps": 9}, {"ramps": 7}, WAVERS, {"ramps": 5}),
    },
    9: {
        HOLDS: steps({"depths": 15.0}, {"depths": 10.0}, {"depths": 7.0}, {"depths": 4.0}),
        FAILS: steps({"depths": 15.0}, {"depths": 10.0}, {"depths": 4.0}, {"depths": 7.0}),
        UNDECIDED: steps(
            {"depths": 15.0}, {"depths": 10.0}, {"depths": 4.0}, {"depths": 4.0} | VARIED
        ),
    },
    10: {
        HOLDS: fifth({"depths": 17.0}, {}, {}),
        FAILS: fifth({"depths": 5.0}, {}, {}),
        UNDECIDED: fifth({"depths": 19.0} | VARIED, {}, {}),
    },
    11: {
        HOLDS: fifth({"depths": (15.0, 10.0, 5.0)}, {}, {}),
        FAILS: fifth({"depths": (5.0, 10.0, 15.0)}, {}, {}),
        UNDECIDED: fifth(DEEP | VARIED, {}, {}),
    },
    12: {
        HOLDS: fifth(SLOW | DEEP, FAST | SHALLOW, {}),
        FAILS: fifth(SLOW | SHALLOW, FAST | DEEP, {}),
        UNDECIDED: fifth(SLOW | DEEP, FAST | DEEP | VARIED, {}),
    },
    13: {
        HOLDS: fifth({}, {"level": 9.0}, {"level": 10.0}),
        FAILS: fifth({}, {"level": 10.0}, {"level": 9.0}),
        UNDECIDED: fifth({}, {"level": 10.0}, {"level": 10.0, "level_spread": 5.0}),
    },
    14: {
        HOLDS: fifth(SLOW, MIDDLE, FAST),
        FAILS: fifth(SLOW, FAST, MIDDLE),
        UNDECIDED: fifth(MIDDLE, SLOW, WAVERS),
    },
    15: {
        HOLDS: cached(FAST, SLOW, {}, {}),
        FAILS: cached(SLOW, FAST, {}, {}),
        UNDECIDED: cached(MIDDLE, WAVERS, {}, {}),
    },
    16: {
        HOLDS: cached(SHALLOW, {}, DEEP, {}),
        FAILS: cached(DEEP, {}, SHALLOW, {}),
        UNDECIDED: cached(DEEP, {}, DEEP | VARIED, {}),
    },
    17: {
        HOLDS: cached({}, {}, FAST | SHALLOW, SLOW | DEEP),
        FAILS: cached({}, {}, SLOW | SHALLOW, FAST | DEEP),
        UNDECIDED: cached({}, {}, WAVERS | SHALLOW, MIDDLE | DEEP),
    },
}
FIGURES = {claim.id: claim.figure for claim in CLAIMS}


def panels(claim: int, outcome: str) -> list[Panel]:
    figure, agents = FIGURES[claim], CASES[claim][outcome]
    if figure != "4a":
        return [panel(figure, agents)]
    # one panel decides against all; on average over panels (claim 7) the others must not matter
    others = three(FAST, FAST, FAST) if claim == 7 else CASES[claim][HOLDS]
    return [panel(figure, others, name) for name in SLIPS[:2]] + [panel(figure, agents, SLIPS[2])]


def verdict(claim: int, data: list[Panel]) -> Verdict:
    (found,) = [found for found in evaluate(data) if found.id == claim]
    return found


TABLE = [(claim, outcome) for claim in CASES for outcome in CASES[claim]]


@pytest.mark.parametrize(("claim", "outcome"), TABLE)
def test_rules(claim, outcome):
    found = verdict(claim, panels(claim, outcome))
    assert found.verdict == outcome, found.detail
    assert found.low <= found.high
    assert "diverged" not in found.detail


@pytest.mark.parametrize("claim", CASES)
def test_no_verdict_is_constant(claim):
    found = {verdict(claim, panels(claim, outcome)).verdict for outcome in CASES[claim]}
    assert found == {HOLDS, FAILS, UNDECIDED}


@pytest.mark.parametrize("claim", CASES)
@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_diverged_run_leaves_it_undecided_and_is_counted(claim, lost):
    for agent in CLAIMS[claim - 1].agents:
        data = panels(claim, HOLDS)
        data[-1].curves[agent][3, 5:] = lost
        found = verdict(claim, data)
        assert found.verdict == UNDECIDED
        assert f"1 of {RUNS} runs of {NAMES[agent]}" in found.detail
        assert found.to_dict()["statistic"] is None


def test_a_divergence_cannot_save_a_claim():
    data = panels(4, FAILS)
    data[0].curves["q_planning_true"][0] = np.nan
    found = verdict(4, data)
    assert found.verdict == FAILS
    assert "diverged: 1 of 30 runs" in found.detail


@pytest.mark.parametrize("claim", [5, 7, 8, 12, 14, 15, 17])
def test_curves_that_never_recover_decide_nothing_about_recovery(claim):
    # the drops alone would hold
    depths = {key: 15.0 if key == "q_learning" else 9.0 for key in CLAIMS[claim - 1].agents}
    lost: Agents = {key: {"level": 5.0, "depths": depth} for key, depth in depths.items()}
    found = verdict(claim, [panel(FIGURES[claim], lost)])
    assert found.verdict == UNDECIDED
    assert "all only lower bounds" in found.detail


def test_one_agent_that_never_recovers_is_later_than_one_that_does():
    lost = {"level": 5.0}
    found = verdict(15, [panel("5b", cached(FAST, lost, {}, {}))])
    assert found.verdict == HOLDS
    assert found.statistic == PHASE * BIN - 200


def test_the_weakest_part_is_reported():
    data = panels(5, FAILS)
    found = verdict(5, data)
    assert (found.statistic, found.low, found.high) == pytest.approx((-250.0,) * 3)
    assert found.detail.count("recovery of Q-learning minus") == 6
    assert "slip 0.3: recovery of Q-learning minus that of Q-planning with an" in found.detail


def test_the_shortening_is_a_mean_over_agents_and_panels():
    # two of nine curves recover sooner the second time: by 9 − 4 and by 8 − 4 bins of 50
    assert verdict(7, panels(7, HOLDS)).statistic == pytest.approx((250 + 200) / 9)


def counts(lookahead=lambda a, d: a * 5 * d, values=lambda a, d: a * 5, policy=None) -> dict:
    work = {"lookahead": lookahead, "cached_values": values, "cached_policy": policy or values}
    grid = [(a, d) for a in (2, 8, 32) for d in (16, 64, 256)]
    return {key: {size: float(count(*size)) for size in grid} for key, count in work.items()}


MISSING = {key: value for key, value in counts().items() if key != "cached_policy"}
HOLED = {**counts(), "cached_values": {(2, 16): 10.0}}


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (counts(), HOLDS),
        (counts(policy=lambda a, d: 6 * a + 20), HOLDS),
        (counts(lookahead=lambda a, d: a * 5 * d + 1), HOLDS),  # a fixed cost is no slower growth
        (counts(lookahead=lambda a, d: a * 5), FAILS),
        (counts(lookahead=lambda a, d: a * 5 * d, values=lambda a, d: a * d), FAILS),
        (counts(lookahead=lambda a, d: a * d / 100), FAILS),
        (counts(lookahead=lambda a, d: 5 * d), FAILS),
        (counts(values=lambda a, d: np.nan), UNDECIDED),
        (counts(values=lambda a, d: 0), UNDECIDED),
        (MISSING, UNDECIDED),
        (HOLED, UNDECIDED),
        ({key: {(2, 16): 1.0} for key in counts()}, UNDECIDED),
        ({}, UNDECIDED),
    ],
)
def test_counted_work(given, outcome):
    (found,) = evaluate([], {"text": given})
    assert (found.id, found.figure, found.reading) == (18, "discussion", "text")
    assert found.verdict == outcome, found.detail
    np.testing.assert_array_equal([found.low, found.high], [found.statistic] * 2)


def test_counted_work_by_hand():
    (found,) = evaluate([], {"code": counts(lookahead=lambda a, d: a * (d + 16))})
    # the largest point: 272 a against 5 a; from 16 to 256 features: 272 / 32; the actions: equal
    assert found.statistic == 1.0
    assert "growth with the features of look-ahead, times that of cached policy, is 8.5" in (
        found.detail
    )
    assert "work at the largest point of look-ahead, times that of cached policy, is 54.4" in (
        found.detail
    )


def everything() -> list[Panel]:
    return [data for claim in (1, 3, 5, 8, 12, 15) for data in panels(claim, HOLDS)]


def test_every_claim_once_in_order():
    found = evaluate(everything(), {"text": counts()})
    assert [one.id for one in found] == list(range(1, 19))
    assert [one.figure for one in found] == [
        *("1", "1", "3", "3", "4a", "4a", "4a", "4b", "4b"),
        *("5a",) * 5,
        *("5b",) * 3,
        "discussion",
    ]


def test_readings_side_by_side_and_missing_figures_left_out():
    first, second = (panel("5a", CASES[13][side], reading=side) for side in (HOLDS, FAILS))
    found = evaluate([first, second])
    assert [(one.id, one.reading) for one in found[:4]] == [
        (10, HOLDS),
        (10, FAILS),
        (11, HOLDS),
        (11, FAILS),
    ]
    assert [one.verdict for one in found if one.id == 13] == [HOLDS, FAILS]
    assert evaluate([]) == []


def test_what_is_missing_is_said():
    found = verdict(13, [panel("5a", {"lookahead": {}})])
    assert found.verdict == UNDECIDED
    assert found.detail == "Not enough data: no curves of Q-planning with an expectation model."
    short = panel("5a", fifth(SHALLOW, {}, {}))
    cut = {key: curve[:, : 2 * PHASE] for key, curve in short.curves.items()}
    short = Panel("5a", "", "text", BIN, PHASE * BIN, OPTIMUM, cut, NAMES)
    assert "1 of 3" in verdict(11, [short]).detail
    assert verdict(10, [short]).verdict == FAILS


def test_one_run_decides_nothing():
    data = panels(13, HOLDS)[0]
    one = {key: curve[:1] for key, curve in data.curves.items()}
    found = verdict(13, [Panel("5a", "", "text", BIN, 500, OPTIMUM, one, NAMES)])
    assert found.verdict == UNDECIDED
    assert found.to_dict()["statistic"] == pytest.approx(1.0, abs=0.1)
    assert found.to_dict()["low"] is None


def test_verdicts_serialise_and_repeat():
    plain = [found.to_dict() for found in evaluate(everything(), {"text": counts()})]
    assert list(plain[0]) == [
        *("id", "figure", "reading", "claim", "verdict"),
        *("statistic", "low", "high", "rule", "detail"),
    ]
    again = [found.to_dict() for found in evaluate(everything(), {"text": counts()})]
    assert json.dumps(plain, allow_nan=False) == json.dumps(again, allow_nan=False)
    assert all(type(value) in (int, float, str) for found in plain for value in found.values())


def test_claims_and_rules_are_sentences():
    for claim in CLAIMS:
        for text in (claim.claim, claim.rule):
            assert text[0].isupper()
            assert text.endswith(".")
    assert len({claim.claim for claim in CLAIMS}) == len({claim.rule for claim in CLAIMS}) == 18
