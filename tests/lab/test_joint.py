"""Readings changed all at once: what is drawn, what is kept, what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from expectant.lab import joint as module
from expectant.lab.joint import ROWS, Joint, answer, read_rows, search
from expectant.lab.study import the_paper

PAPER = the_paper()


def a_search(runs: int = 3, seed: int = 0) -> Joint:
    return Joint(PAPER, ("5a", "5b"), runs, seed)


def test_the_named_sets_come_first_and_no_combination_twice():
    found = list(a_search().combinations(200))
    assert len({json.dumps(chosen, sort_keys=True) for chosen in found}) == 200
    for named_set, chosen in zip(PAPER.sets, found, strict=False):
        for reading in a_search().readings:
            assert chosen[reading.name] == reading.chosen(named_set).name
            assert reading.concerns("5a") or reading.concerns("5b")
    assert list(a_search().combinations(50)) == found[:50]  # more of them are the same and more
    drawn = {(name, option) for chosen in found for name, option in chosen.items()}
    assert drawn == {(r.name, o.name) for r in a_search().readings for o in r.options}


def test_a_combination_changes_what_its_options_say():
    chosen = list(a_search().combinations(3))[2]
    cells = a_search(7, 5).experiment("5b", chosen).cells()
    code = PAPER.experiment("5b", "code").cells()
    assert [cell.agent for cell in cells] == [cell.agent for cell in code]
    assert {(cell.runs, cell.seed) for cell in cells} == {(7, 5)}


def test_claims_need_all_figures_of_their_clauses():
    """Claim 7 is about figure 4a, and about 4b too; 18 is about counted work."""
    found = {
        figures: {claim.id for claim in Joint(PAPER, figures, 3).claims}
        for figures in (("4a",), ("4b",), ("4a", "4b"))
    }
    assert {5, 6} <= found["4a",] and 7 not in found["4a",] | found["4b",]
    assert 7 in found["4a", "4b"]
    assert not any(18 in claims for claims in found.values())


@pytest.fixture
def computed(monkeypatch):
    """Curves that do not depend on anything, and how many cells were asked for."""
    asked: list[int] = []

    def curves(cells: Any, store: Any, **options: Any) -> list[np.ndarray]:
        asked.append(len(cells))
        rng = np.random.default_rng(0)
        return [rng.normal(size=(cell.runs, cell.points)) for cell in cells]

    monkeypatch.setattr(module, "compute", curves)
    return asked


def test_it_goes_on_where_it_was(computed, tmp_path):
    first = search(a_search(), tmp_path, 5, None)
    assert len(first) == 5 and computed == [4 * 7, 7]
    with open(tmp_path / ROWS, "a") as file:
        file.write('{"readings": {"k in fig')  # stopped while it was writing
    again = search(a_search(), tmp_path, 6, None)
    assert computed == [4 * 7, 7, 7]
    assert again[:5] == first
    assert {int(claim) for claim in again[0]["verdicts"]} == {
        claim.id for claim in a_search().claims
    }
    assert {10, 14, 17, 20} <= {claim.id for claim in a_search().claims}
    search(a_search(seed=1), tmp_path, 1, None)
    assert computed[-1] == 7  # another seed is another row
    assert len(read_rows(tmp_path / ROWS)) == 7


def test_what_the_rows_say():
    def row(one: str, other: str, third: str) -> dict[str, Any]:
        verdicts = {"10": one, "11": other, "14": third}
        return {"readings": {"k": one}, "verdicts": verdicts}

    found = answer([
        row("holds", "holds", "unclear"),
        row("holds", "equal", "unclear"),
        row("does not hold", "equal", "holds"),
    ])  # fmt: skip
    assert found["claims"][10] == {"holds": 2, "does not hold": 1}
    assert found["never_together"] == ["10 and 14", "11 and 14"]
    assert (found["most_together"], found["all_together"]) == (2, 0)
    assert found["best"] == [{"claims": [10, 11], "readings": {"k": "holds"}}]
    assert answer([])["combinations"] == 0
    assert read_rows(Path("/nowhere")) == []
