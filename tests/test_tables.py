"""The tables of the documentation are those of the stored results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_docs import DOCS, ROOT, rows
from test_site import site

from expectant.analysis.panel import Panel
from expectant.lab.cells import Cell
from expectant.lab.specs.grid import dotted, leaves
from expectant.lab.specs.spec import read_config
from expectant.lab.study import packaged, read_study, the_paper

tables, collect = site("tables"), site("collect")


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_is_the_one_that_is_stored(page):
    text = page.read_text("utf-8")
    assert tables.fill_page(text) == text, "python docs/site/tables.py writes it again"


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A folder to store results in; by name."""
    (tmp_path / "measured").mkdir()
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    monkeypatch.setattr(collect, "MEASURED", tmp_path / "measured")

    def store(name: str, content: Any) -> None:
        (tmp_path / "measured" / f"{name}.json").write_text(json.dumps(content))

    return store


def entry(**changed: Any) -> dict[str, Any]:
    measures = {"mean": [-1.25, -1.5, -1.0], "drop@2": [1234.5, None, None]}
    place = {"figure": "5a", "panel": "", "reading": "ours", "agent": "ahead", "label": "Ahead"}
    return {**place, "runs": 1000, "optimum": 13.924, "measures": measures, **changed}


def test_formats():
    form = tables.CELLS.format
    assert form("{a:.2f} {b:.1f} {c:~3}", a=-1.5, b=[1.0, -0.01, 2.0], c=[-1234.5, 0.12345]) == (
        "−1.50 1.0 (0.0 to 2.0) −1,234 to 0.123"
    )
    assert form("{a:+~3} {b:,} {c} {d[x][1]}", a=0.5, b=1000, c=[1, 2], d={"x": [3, 4]}) == (
        "+0.5 1,000 1, 2 4"
    )
    assert form("{a}{b:? (%)}{c:? (%)} {gone[1]:.2f}", a="x", b="y", c="") == "x (y) –"
    assert form("{a:.2f} {b:.0%}", a=-6.1782e60, b=0.547) == "−6e+60 55 %"


def test_entries_of_a_stored_file(stored):
    stored("some", {"rows": [{"agent": "q", "n": 3}, {"agent": "ahead", "n": 1500}]})
    asked = 'from=measured/some:rows where=agent=ahead,other columns="agent={agent} | n={n:,}"'
    assert tables.make_table(asked) == ["| agent | n |", "|---|---|", "| ahead | 1,500 |"]
    asked = 'from=measured/some:rows columns="={agent:?one}" across={agent} cell={n}'
    assert tables.make_table(asked)[::2] == ["|  | q | ahead |", "| one | 3 | 1500 |"]


def test_metrics_of_a_study(stored):
    entries = [
        entry(),
        entry(agent="q", label="Q", runs=30, optimum=None, measures={"mean": [2.0, 1.0, 3.0]}),
        entry(reading="code"),
        entry(figure="3"),
    ]
    stored("some", entries)
    asked = "study=some figure=5a reading=ours rows=agent,reading columns=mean,drop@2,optimum,runs"
    assert tables.make_table(asked) == [
        "| agent | reading | return | drop (switch 2) | exact, ε-greedy on q* | runs |",
        "|---|---|---|---|---|---|",
        "| Ahead | `ours` | −1.25 (−1.50 to −1.00) | 1,234.50 | 13.92 | 1,000 |",
        "| Q | `ours` | 2.00 (1.00 to 3.00) | – | – | 30 |",
    ]
    asked = "study=some figure=5a rows=reading columns=agent measure=mean digits=1 times=2"
    assert tables.make_table(asked)[2:] == [
        "| `ours` | −2.5 (−3.0 to −2.0) | 4.0 (2.0 to 6.0) |",
        "| `code` | −2.5 (−3.0 to −2.0) | – |",
    ]
    with pytest.raises(ValueError, match="nothing is stored"):
        tables.make_table("study=some figure=9 columns=mean")
    with pytest.raises(ValueError, match="unknown"):
        tables.make_table("study=some figures=5a columns=mean")


def test_points_of_a_curve(stored):
    curve = [[0, 0.0], [5, 0.25], [10, 0.75]]
    measures = {"mean": [0.5, None, None]}
    stored("curves", [entry(curve=curve, quantity="value", measures=measures)])
    asked = "study=curves columns=mean,at:5,reaches:0.5,reaches:0.9 times=20 digits=0"
    assert tables.make_table(asked) == [
        "| agent | value | 5 | reaches 0.5 | reaches 0.9 |",
        "|---|---|---|---|---|",
        "| Ahead | 10 | 5 | 150 | – |",  # 0.5 is halfway from 5 to 10
    ]


def test_claims_and_answers(stored):
    one = {"id": 3, "figure": "5a", "reading": "ours", "claim": "9 cells: Does it?", "runs": 1000,
           "verdict": "holds", "effect": 1.23456, "low": -2.0, "high": None, "margin": 0.5,
           "panel": "9 cells"}  # fmt: skip
    stored("some-claims", [one, {**one, "claim": "And that?", "verdict": "does not hold"}])
    assert tables.make_table("claims=some")[2] == (
        "| 3 | 5a | 9 cells: Does it? | holds | 1,000 | 1.235 (−2 to –) |"
    )
    assert tables.make_table("answers=some figure=5a")[::2] == [
        "| panel (margin) | Does it? | And that? |",
        "| 9 cells (± 0.5) | **yes** 1.23 (−2 to –) | **the reverse** 1.23 (−2 to –) |",
    ]


def test_a_page_gets_its_tables_again_and_nothing_else_changes(stored):
    stored("some", [entry()])
    mark = "<!-- table: study=some columns=mean -->\n\n"
    made = "| agent | return |\n|---|---|\n| Ahead | −1.25 (−1.50 to −1.00) |\n"
    for old in ("", "\n", "| stale |\n|---|\n| 7 |\n", "| stale |\n|---|\n| 7 |\n\n"):
        text = f"before\n\n{mark}{old}after 1.5\n"
        assert tables.fill_page(text) == f"before\n\n{mark}{made}\nafter 1.5\n"


def test_metrics_of_curves():
    curves = np.array([[1.0, 3.0], [3.0, 5.0]])
    panel = Panel(
        "5a", "", "", 50, None, 7.0, {"q": curves}, {"q": "Q"}, points=np.array([0, 5])
    )  # fmt: skip
    kept = collect.summarise(panel, "q", {("5a", "", "", "q"): 1.5})
    assert (kept["runs"], kept["time"], kept["curve"]) == (2, 1.5, [[0, 2.0], [5, 4.0]])
    # two runs, 2 and 4 on average: 3 with t of one degree of freedom, whose 97.5 % point is 12.706
    mean = kept["measures"]["mean"]
    assert mean == [3.0, float(f"{3 - 12.7062:.5g}"), float(f"{3 + 12.7062:.5g}")]
    assert kept["measures"]["last"][0] == 4.0 and kept["measures"]["shortfall"][0] == 3.0
    assert "drop" not in kept["measures"]  # the goal never moves


# ----------------------------------------------------------------------- what pages say of the results


def test_verdicts_are_on_the_claims_of_the_paper_and_do_not_depend_on_the_seed():
    """None flips with another seed, and at most one in twenty moves to or from "unclear"."""
    first, second = (
        {(one["id"], one["reading"]): one["verdict"] for one in tables.read(name)}
        for name in (tables.PAPER, "measured/second-seed-claims")
    )
    assert {key for key, _ in first} == {claim.id for claim in the_paper().claims}
    moved = [(first[key], second[key]) for key in first if first[key] != second[key]]
    assert all("unclear" in pair for pair in moved) and len(moved) <= len(first) / 20


def test_the_adaptation_test_confirms_what_is_published():
    verdicts = {(row["agent"], row["backups"]): row for row in tables.read("loca:rows")}
    near = ("replay", "recency", "trajectory", "current")
    for (agent, backups), row in verdicts.items():
        if agent == "published":
            assert row["verdict"] == {"adapts": "adaptive"}.get(row["published"], "not adaptive")
        elif agent not in ("q_learning", "cached_policy"):
            assert row["verdict"] == ("not adaptive" if backups in near else "adaptive")


def test_the_settings_of_the_adaptation_test_are_those_of_its_study():
    cells = {
        cell.base_panel or cell.experiment: cell.agent
        for experiment in read_study(packaged()["loca"]).experiments.values()
        for cell in experiment.cells()
    }
    names = ["q_learning", "q_planning_distribution", "q_planning_expectation", "lookahead",
             "cached_values", "cached_policy"]  # fmt: skip
    listed = rows(DOCS / "adaptation.md", "| agent | grid | chosen |")
    for name, (_, grid, chosen) in zip(names, listed, strict=True):
        for part, number in zip(grid.split("; "), chosen.split("; "), strict=True):
            option = re.match(r"[a-z ]+(?= )", part)[0].replace(" ", "_")  # type: ignore[index]
            owner = vars(cells[name])["model"] if option == "forgetting" else cells[name]
            assert getattr(owner, option) == float(number), (name, option)


def test_claim_22_compares_printed_step_sizes_with_the_best_that_was_found():
    found = {
        one["agent"]: one
        for one in tables.read("measured/parameters:choices")
        if one["set"] == "ours" and one["figure"][0] == "5"
    }
    cells = {cell.agent_key: cell.agent for cell in the_paper().experiments["ablation-22"].cells()}
    agents = {"q": "q_learning", "ahead": "lookahead", "values": "cached_values"}
    for short, agent in agents.items():
        for which in ("printed", "best"):
            steps = {name: getattr(cells[f"{short}_{which}"], name) for name in found[agent][which]}
            assert steps == found[agent][which], (agent, which)


def test_the_guide_advises_what_its_study_shows():
    """Each sentence of advice that rests on a number, as a condition on the stored numbers."""
    found = {(one["problem"], one["agent"]): one for one in tables.read("which-agent")}
    planners = ("q_planning", "lookahead", "cached_values")

    def surely_more(problem, agent, other):
        return found[problem, agent]["reported"]["low"] > found[problem, other]["reported"]["high"]

    moving, maze = "a corridor whose goal moves", "a maze, every step costs 1"
    crowded, car = "the corridor with too few features", "the mountain car, tile coding"
    for problem in ("a corridor that stays", moving, maze):
        assert all(surely_more(problem, agent, "q_learning") for agent in planners)
        for agent in planners:
            steps, models = (
                found[problem, agent][f"by_{name}"] for name in ("planning_steps", "model_step")
            )
            assert steps["20"] > steps["1"] and models["0.5"] > models["0.1"]
    assert surely_more(moving, "lookahead", "q_planning")
    slow = [found[maze, agent]["by_model_step"]["0.1"] for agent in planners]
    assert max(slow) < found[maze, "q_learning"]["reported"]["low"]
    for agent in planners:
        means = [found[crowded, each]["reported"]["mean"] for each in (agent, "q_learning")]
        by = found[crowded, agent]["by_model_step"]
        assert means[0] < means[1] and by["0.5"] < by["0.1"]
    assert not surely_more(car, "lookahead", "cached_values")
    less = {row["agent"]: row["less"] for row in tables.read("untuned:counts")}
    assert less["Algorithm 1"] == less["Algorithm 2"] == 0 < less["Algorithm 3"]


# ------------------------------------------------------------------- studies whose arms were tuned

STUDIES = sorted(
    path.name.removesuffix("-tuning.json") for path in (DOCS / "measured").glob("*-tuning.json")
)


def cells_of(study: str) -> Iterator[tuple[str, Cell]]:
    for name, experiment in read_study(packaged()[study]).experiments.items():
        for cell in experiment.cells():
            yield name, cell


@pytest.mark.parametrize("study", STUDIES)
def test_every_arm_has_the_settings_that_were_chosen_for_it(study):
    stored = tables.read(f"measured/{study}-tuning")
    chosen = {(one["figure"], one["panel"], one["agent"]): one for one in stored}
    arms: dict[str, dict[tuple[str, str], Any]] = {}
    for name, cell in cells_of(study):
        has = {dotted(path): value for path, value in leaves(cell.agent.to_dict(), ("agent",))}
        wanted = chosen[name.removesuffix("-error"), cell.panel, cell.agent_key]["settings"]
        assert {key: has[key] for key in wanted} == wanted, cell.id
        arm = (cell.domain, cell.features, cell.agent, cell.step_limit)
        arms.setdefault(name, {})[cell.panel, cell.agent_key] = arm
    for name, own in arms.items():  # errors are measured in the same agents
        assert own == arms[name.removesuffix("-error")]


@pytest.mark.parametrize("study", STUDIES)
def test_arms_were_tuned_alike_and_on_other_seeds(study):
    experiments = read_study(packaged()[study]).experiments
    tried: dict[tuple[str, str], set[int]] = {}
    for one in tables.read(f"measured/{study}-tuning"):
        tried.setdefault((one["figure"], one["panel"]), set()).add(one["tried"])
        assert one["seed"] != experiments[one["figure"]].seed
        spec = read_config(packaged()[study] / f"{one['figure']}-tuning.toml")
        assert (spec.runs, spec.seed) == (one["runs"], one["seed"])
    assert all(len(counts) == 1 for counts in tried.values()), tried
