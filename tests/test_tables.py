"""The tables of the documentation are those of the stored results, and are made as they say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from test_site import ROOT, site

from expectant.analysis.panel import Panel

tables = site("tables")


@pytest.mark.parametrize("page", tables.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_is_the_one_that_is_stored(page):
    text = page.read_text("utf-8")
    assert tables.with_tables(text) == text, "python docs/site/tables.py writes it again"


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
        "| # | figure | claim | verdict | number (95 % interval) |",
        "|---|---|---|---|---|",
        "| 2 | 5a | It pays. | unclear | 1.235 (– to –) |",
        "| 3 | 5a | It pays. | holds | 1.235 (−2 to 4.5) |",
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
    for old in ("", "| stale |\n|---|\n| 7 |\n"):
        text = f"before\n\n{mark}{old}\nafter 1.5\n"
        assert tables.with_tables(text) == f"before\n\n{mark}{made}\nafter 1.5\n"


def test_what_is_kept_of_curves():
    curves = np.array([[1.0, 3.0], [3.0, 5.0]])
    panel = Panel("5a", "", "", 50, None, 7.0, {"q": curves}, {"q": "Q"})
    kept = dict(tables._measures(panel, "q"))
    # two runs, 2 and 4 on average: 3 with t of one degree of freedom, whose 97.5 % point is 12.706
    assert kept["mean"] == [3.0, float(f"{3 - 12.7062:.5g}"), float(f"{3 + 12.7062:.5g}")]
    assert kept["last"][0] == 4.0 and kept["shortfall"][0] == 3.0
    assert "drop" not in kept  # the goal never moves
