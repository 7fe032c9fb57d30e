"""Stored answers in docs/measured come from the rules and the judging code of today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from expectant.experiments.claims import judging_hash
from expectant.experiments.study import packaged_studies, read_study

MEASURED = Path(__file__).parents[1] / "docs/measured"
STUDIES = {**packaged_studies(), "second-seed": packaged_studies()["kudashkina-2021"]}
HINT = (
    "stored answers are older than the judging code: run `expectant report FOLDER` and "
    "`python docs/site/store_results.py FOLDER`"
)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_stored_answers_are_not_stale(name):
    claims = {claim.id: claim for claim in read_study(STUDIES[name]).claims}
    path = MEASURED / f"{name}-claims.json"
    rows = json.loads(path.read_text("utf-8")) if path.exists() else []
    path = MEASURED / f"{name}.json"
    numbers = json.loads(path.read_text("utf-8")) if path.exists() and rows else []
    hashes = [(row.get("judged_by"), judging_hash(claims[row["id"]])) for row in rows]
    hashes += [(row.get("judged_by"), judging_hash()) for row in numbers]
    assert all(stored == now for stored, now in hashes), HINT
