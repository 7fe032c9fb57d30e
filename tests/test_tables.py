"""The tables of the documentation are those of the stored results, and are made as they say."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from test_docs import prose, rows
from test_site import ROOT, site

from expectant.analysis.panel import Panel
from expectant.lab.study import packaged, read_study, the_paper
from expectant.lab.together import answer_from_rows

tables = site("tables")


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_is_the_one_that_is_stored(page):
    text = page.read_text("utf-8")
    assert tables.with_tables(text) == text, "python docs/site/tables.py writes it again"


GENERATED = [
    *sorted((ROOT / "docs/agents").glob("*.md")),
    ROOT / "docs/readings.md",
    ROOT / "docs/studies.md",
    ROOT / "docs/nonlinear-values.md",
    ROOT / "docs/adaptation.md",
    ROOT / "docs/choosing.md",
    ROOT / "docs/features.md",
    ROOT / "docs/stable-planning.md",
    ROOT / "docs/which-agent.md",
]
RESULT = re.compile(r"\(\S+ to \S+\)")


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: page.stem)
def test_no_result_is_typed(page):
    """What has an interval came from runs, and stands in a table that is made from stored ones."""
    # test_code_blocks.py compares what blocks print
    left = tables.SENTENCE.sub("", tables.MARK.sub("", prose(page)))
    assert not RESULT.search(left), RESULT.search(left)


def entry(**changed: Any) -> dict[str, Any]:
    measures = {"mean": [-1.25, -1.5, -1.0], "drop@2": [1234.5, None, None]}
    place = {"figure": "5a", "panel": "", "reading": "ours", "agent": "ahead", "label": "Ahead"}
    return {**place, "runs": 1000, "optimum": 13.924, "measures": measures, **changed}


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MEASURED", tmp_path)
    entries = [
        entry(),
        entry(agent="q", label="Q", runs=30, optimum=None, measures={"mean": [2.0, 1.0, 3.0]}),
        entry(reading="code"),
        entry(figure="3"),
    ]
    (tmp_path / "some.json").write_text(json.dumps(entries))


def test_measures_in_columns(stored):
    asked = "study=some figure=5a reading=ours rows=agent,reading columns=mean,drop@2,optimum,runs"
    assert tables.table(asked) == [
        "| agent | reading | return | drop (switch 2) | exact, ε-greedy on q* | runs |",
        "|---|---|---|---|---|---|",
        "| Ahead | `ours` | −1.25 (−1.50 to −1.00) | 1,234.50 | 13.92 | 1,000 |",
        "| Q | `ours` | 2.00 (1.00 to 3.00) | – | – | 30 |",
    ]


def test_one_measure_across_agents(stored):
    asked = "study=some figure=5a rows=reading columns=agent measure=mean digits=1 interval=no"
    assert tables.table(asked) == [
        "| reading | Ahead | Q |",
        "|---|---|---|",
        "| `ours` | −1.2 | 2.0 |",
        "| `code` | −1.2 | – |",
    ]


def test_a_curve_of_looks(tmp_path, stored):
    curve = [[0, 0.0], [5, 0.25], [10, 0.75]]
    looked = entry(curve=curve, quantity="value", measures={"mean": [0.5, None, None]})
    (tmp_path / "looked.json").write_text(json.dumps([looked]))
    asked = "study=looked columns=mean,at:5,reaches:0.5,reaches:0.9 times=20 digits=0"
    assert tables.table(asked) == [
        "| agent | value | 5 | reaches 0.5 | reaches 0.9 |",
        "|---|---|---|---|---|",
        "| Ahead | 10 | 5 | 150 | – |",  # 0.5 is halfway from 5 to 10
    ]
    panel = Panel("8", "", "", 1, None, np.nan, {"q": np.array([[1.0, 3.0], [3.0, 5.0]])},
                  {"q": "Q"}, points=np.array([0, 5]))  # fmt: skip
    assert tables._curve(panel, "q") == {"curve": [[0, 2.0], [5, 4.0]]}


def test_claims_under_several_readings(tmp_path, stored):
    judged = {"id": 3, "figure": "5a", "claim": "It pays.", "verdict": "holds",
              "runs": 1000, "effect": 1.0, "low": 0.5, "high": 1.5}  # fmt: skip
    both = [{**judged, "reading": reading} for reading in ("code", "print")]
    (tmp_path / "other-claims.json").write_text(json.dumps(both))
    assert tables.table("claims=other")[2:] == [
        "| 3 | 5a | `code` | It pays. | holds | 1,000 | 1 (0.5 to 1.5) |",
        "| 3 | 5a | `print` | It pays. | holds | 1,000 | 1 (0.5 to 1.5) |",
    ]


def test_claims_with_their_verdicts(tmp_path, stored):
    judged = {
        "id": 3, "figure": "5a", "reading": "ours", "claim": "It pays.", "verdict": "holds",
        "effect": 1.23456789, "low": -2.0, "high": 4.5, "runs": 30, "kind": "number",
    }  # fmt: skip
    unjudged = {**judged, "id": 4, "effect": None}
    earlier = {**judged, "id": 2, "verdict": "unclear", "low": None, "high": None}
    folder = tmp_path / "results"
    folder.mkdir()
    for found in ([earlier], [judged, unjudged]):
        (folder / "claims.json").write_text(json.dumps(found))
        tables.store_claims(folder, "some")
    assert tables.table("claims=some") == [
        "| # | figure | claim | verdict | runs | number (95 % interval) |",
        "|---|---|---|---|---|---|",
        "| 2 | 5a | It pays. | unclear | 30 | 1.235 (– to –) |",
        "| 3 | 5a | It pays. | holds | 30 | 1.235 (−2 to 4.5) |",
    ]


def test_what_is_not_there_is_said(stored):
    with pytest.raises(ValueError, match="nothing is stored of"):
        tables.table("study=some figure=9 columns=mean")
    with pytest.raises(ValueError, match="unknown"):
        tables.table("study=some figures=5a columns=mean")
    with pytest.raises(ValueError, match="nobody makes 'nonsense'"):
        tables.table("nonsense")


def test_a_page_gets_its_tables_again_and_nothing_else_changes(stored):
    mark = "<!-- table: study=some figure=3 columns=mean -->\n\n"
    made = "| agent | return |\n|---|---|\n| Ahead | −1.25 (−1.50 to −1.00) |\n"
    for old in ("", "\n", "| stale |\n|---|\n| 7 |\n", "| stale |\n|---|\n| 7 |\n\n"):
        text = f"before\n\n{mark}{old}after 1.5\n"
        assert tables.with_tables(text) == f"before\n\n{mark}{made}\nafter 1.5\n"


def test_what_is_kept_of_curves():
    curves = np.array([[1.0, 3.0], [3.0, 5.0]])
    panel = Panel("5a", "", "", 50, None, 7.0, {"q": curves}, {"q": "Q"})
    kept = dict(tables._measures(panel, "q"))
    # two runs, 2 and 4 on average: 3 with t of one degree of freedom, whose 97.5 % point is 12.706
    assert kept["mean"] == [3.0, float(f"{3 - 12.7062:.5g}"), float(f"{3 + 12.7062:.5g}")]
    assert kept["last"][0] == 4.0 and kept["shortfall"][0] == 3.0
    assert "drop" not in kept  # the goal never moves


def test_the_settings_of_the_adaptation_test_are_those_of_its_study():
    cells = {
        cell.base_panel or cell.experiment: cell.agent
        for experiment in read_study(packaged()["loca"]).experiments.values()
        for cell in experiment.cells()
    }
    listed = rows(ROOT / "docs/adaptation.md", "| agent | grid | chosen |")
    names = ["q_learning", "q_planning_distribution", "q_planning_expectation", "lookahead",
             "cached_values", "cached_policy"]  # fmt: skip
    for name, (_, grid, chosen) in zip(names, listed, strict=True):
        agent = cells[name]
        for part, number in zip(grid.split("; "), chosen.split("; "), strict=True):
            option = re.match(r"[a-z ]+(?= )", part)[0].replace(" ", "_")  # type: ignore[index]
            owner = vars(agent)["model"] if option == "forgetting" else agent
            assert getattr(owner, option) == float(number), (name, option)
            assert number in re.findall(r"[\d.]+", part), (name, option)


# ------------------------------------------------------------------------ the readings of the paper

paper = site("paper_tables")


def moved(difference: float, low: float, high: float, **more: bool) -> dict[str, Any]:
    numbers = {"difference": difference, "low": low, "high": high, "margin": 0.2}
    return {"part": "return of Q", **numbers, **more}


def choice(**changed: Any) -> dict[str, Any]:
    place = {"set": "ours", "figure": "5a", "panel": "", "agent": "q_learning", "label": "Q"}
    steps = {"printed": {"action_step": 0.001}, "best": {"action_step": 0.3}}
    numbers = {"at_edge": ["action_step"], "rank": 5, "tried": 6, "diverged": 0, "margin": 0.2}
    returns = {"printed_return": 4.0, "best_return": 6.5, "behind": [-2.5, -3.0, -2.0]}
    return {**place, **steps, **numbers, **returns, "verdict": "does not hold", **changed}


@pytest.fixture
def found(tmp_path, monkeypatch):
    """A folder of the command `readings`, and another to store it in."""
    folder, kept = tmp_path / "results", tmp_path / "measured"
    folder.mkdir(), kept.mkdir()
    monkeypatch.setattr(paper, "MEASURED", kept)
    (folder / "timings.json").write_text('{"cells": {"a": [90.0, 5], "b": [60.0, 5]}}')
    parts = [
        moved(900.0, -1.0, 1801.0, clear=False, matters=False),
        moved(-0.5, -0.75, -0.25, clear=True, matters=True),
    ]
    base: dict[str, Any] = {"set": "ours", "reading": None, "option": None, "runs": 9, "moved": {}}
    rows = [base, {**base, "reading": "ties", "option": "the first", "moved": {"10": parts}}]
    (folder / "readings.json").write_text(json.dumps(rows))
    verdict = {"id": 13, "reading": "ours", "verdict": "holds", "effect": 0.5, "low": 0.25,
               "high": 0.75, "margin": 0.2, "runs": 9, "claim": "words"}  # fmt: skip
    choices = [
        choice(), choice(figure="5b"), choice(set="code"), choice(agent="lookahead", label="A-head"),
    ]  # fmt: skip
    fails = {**verdict, "id": 22, "verdict": "does not hold"}
    grids = {"runs": 30, "fresh": 9, "choices": choices, "verdicts": [fails], "at_best": [verdict]}
    (folder / "parameters.json").write_text(json.dumps(grids))
    return folder


def test_what_the_readings_have_found_is_stored_and_told(found):
    assert [path.name for path in paper.store(found)] == ["readings.json", "parameters.json"]
    head, (row,) = paper.differences("ours")
    assert head[:3] == ("reading", "option (9 runs)", "10")
    assert row[:4] == ["ties", "the first", "**−0.5 (−0.75 to −0.25)**", "·"]
    assert paper.differences("print")[1] == []
    _, rows = paper.parameters()
    # 5b has the same Q, and both sets have
    assert [line[:3] for line in rows] == [["5a", "Q", "ours, code"], ["5a", "A-head", "ours"]]
    assert rows[0][3:] == [
        "α_q 0.001", "α_q 0.3 (edge)", "6.50", "−2.50 (−3.00 to −2.00)", "5 of 6", "does not hold",
    ]  # fmt: skip
    assert [line[1] for line in paper.parameters(["lookahead"])[1]] == ["A-head"]
    assert paper.at_best() == (("claim", "`ours`"), [["13", "**holds** +0.5 (+0.25 to +0.75)"]])
    row = {"readings": {"features": "draw 3"}, "verdicts": {"10": "holds"}, "effects": {"10": 1.0},
           "chances": {"10": 0.5}, "shown": 0.0, "runs": 7, "processor_seconds": 30.0,
           "agent": "q"}  # fmt: skip
    joint = answer_from_rows([row], [10], {10: ["features"]}, [row])
    (found / "joint.json").write_text(json.dumps(joint))
    paper.store(found)
    assert paper.joint()[1][0][:2] == ["10", "1"]
    assert paper.draws()[1] == [["draw 3", "1", "1", "1 to 1"]]
    assert paper.largest_set()[1] == [["features", "draw 3"]]
    assert tables.sentence("figure-5").startswith("**Can it be obtained?** Yes: claims 10 all hold")
    assert tables.sentence("differences").startswith("1 changes and 8 claims are 8 differences, of")
    assert " which 1 are beyond" in tables.sentence("differences")
    page = "<!-- sentence: step-sizes -->\n\nsomething\nold\n\nmore\n"
    said = tables.with_tables(page).split("\n\n")
    assert said[2] == "more\n" and said[1] == (
        "**Claim 22.** Under none of the 1 sets would all printed step sizes be chosen. For how "
        "many agents they are the best of the grid, and for how many as good: `ours` 0 and 0 of 2."
    )
    with pytest.raises(ValueError, match="nobody makes 'luck'"):
        tables.sentence("luck")
    assert [line[2] for line in paper.times()[1]] == ["1 min", "2 min", "2 min"]


def test_a_difference_that_can_be_told_from_zero_is_bold_only_if_it_matters():
    small = moved(0.125, 0.0625, 0.1875, clear=True, matters=False)
    assert paper._difference(small) == "+0.125 (+0.0625 to +0.188)"
    large = moved(-1234.5, -1250.0, -99.0, clear=True, matters=True)
    assert paper._difference(large) == "**−1,234 (−1,250 to −99)**"
    assert paper._difference({**small, "clear": False}) == "·" == paper._difference(None)


def test_claim_22_holds_printed_step_sizes_against_the_best_that_was_found():
    stored = json.loads((ROOT / "docs/measured/parameters.json").read_text("utf-8"))["choices"]
    found = {
        one["agent"]: one for one in stored if one["set"] == "ours" and one["figure"][0] == "5"
    }
    cells = {cell.agent_key: cell.agent for cell in the_paper().experiments["ablation-22"].cells()}
    agents = {"q": "q_learning", "ahead": "lookahead", "values": "cached_values"}
    for short, agent in agents.items():
        for which in ("printed", "best"):
            steps = {name: getattr(cells[f"{short}_{which}"], name) for name in found[agent][which]}
            assert steps == found[agent][which], (agent, which)


def test_a_number_that_has_run_away_is_short():
    assert tables.number(-6.1782e60, 2) == "−6e+60"
    assert tables.number(-999_999_999.0, 0) == "−999,999,999"


def test_what_the_guide_says_of_agents_without_settings():
    """The sentence below the tables, which has no numbers but would be wrong with others."""
    from untuned import PLANNERS, STORED, verdict

    stored = json.loads(STORED.read_text("utf-8")).values()
    behind = {
        kind: sum(verdict(found[kind], found["q_learning"]) == "less" for found in stored)
        for kind in PLANNERS
    }
    assert behind["lookahead"] == behind["cached_values"] == 0 < behind["cached_policy"]
    ahead = [verdict(found["lookahead"], found["q_learning"]) == "more" for found in stored]
    assert sum(ahead) >= 6 and len(ahead) == 10
    made = tables.named_table("untuned-highest")
    assert any(
        row.startswith("| Algorithm 3 | FrozenLake 4×4; Acrobot; MountainCar |") for row in made
    )
    said = (ROOT / "docs/which-agent.md").read_text("utf-8")
    assert "neither is surely behind Q-learning anywhere" in said


def test_what_is_said_of_the_sparse_model():
    """The sentences below its table, which have no numbers but would be wrong with others."""
    from sparse import DEFAULT, STORED

    small, large = json.loads(STORED.read_text("utf-8"))
    for size in (small, large):
        usual, roomy, fine = size["sparse"]
        assert (usual["capacity"], usual["threshold"]) == (DEFAULT.capacity, DEFAULT.threshold)
        assert usual["evicted"] > roomy["evicted"] == fine["evicted"] == 0.0
        (mean, *_), (_, low, high) = usual["apart"], roomy["apart"]
        assert low < mean < high
        assert usual["entries"] < fine["entries"] < 1.5 * usual["entries"]
    assert small["runs"] >= 60 and small["sparse"][0]["apart"][1] < 0.0
    assert small["sparse"][2]["apart"][1] < 0.0 < small["sparse"][2]["apart"][2]
    assert large["sparse"][0]["apart"][1] > 0.0 > large["sparse"][2]["apart"][2]
    said = (ROOT / "docs/features.md").read_text("utf-8")
    assert f"ex.SparseExpectation(step, {fine['capacity']}, {fine['threshold']})" in said
