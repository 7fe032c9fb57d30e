"""The tables of the documentation are those of the stored results, and are made as they say."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from test_docs import rows
from test_site import ROOT, site

from expectant.analysis.panel import Panel
from expectant.lab.study import packaged, read_study

tables = site("tables")


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_is_the_one_that_is_stored(page):
    text = page.read_text("utf-8")
    assert tables.with_tables(text) == text, "python docs/site/tables.py writes it again"


GENERATED = [*sorted((ROOT / "docs/agents").glob("*.md")), ROOT / "docs/readings.md"]
RESULT = re.compile(r"\(\S+ to \S+\)")


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: page.stem)
def test_no_result_is_typed(page):
    """What has an interval came from runs, and stands in a table that is made from stored ones."""
    left = tables.MARK.sub("", page.read_text("utf-8"))
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


def test_what_is_not_there_is_said(stored):
    with pytest.raises(ValueError, match="nothing is stored of"):
        tables.table("study=some figure=9 columns=mean")
    with pytest.raises(ValueError, match="unknown"):
        tables.table("study=some figures=5a columns=mean")
    with pytest.raises(KeyError):
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
        cell.base_panel or "q_learning": cell.agent
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
            owner = agent.model if option == "forgetting" else agent
            assert getattr(owner, option) == float(number), (name, option)
            assert number in re.findall(r"[\d.]+", part), (name, option)
