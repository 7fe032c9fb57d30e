"""Studies whose arms were tuned: their specs have what the sweeps beside them have chosen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_site import ROOT, site

from expectant.analysis.panel import Panel
from expectant.lab.cells import Cell
from expectant.lab.measures import measure_named
from expectant.lab.specs.grid import dotted, leaves
from expectant.lab.specs.spec import read_spec
from expectant.lab.study import packaged, read_study

site("tables")  # puts its folder among those that are searched
answers, tuned = site("answers"), site("tuned")
STUDIES = sorted(
    path.name.removesuffix("-tuning.json")
    for path in (ROOT / "docs/measured").glob("*-tuning.json")
)


def chosen(study: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(one["figure"], one["panel"], one["agent"]): one for one in tuned.read(study)}


def cells(study: str) -> Iterator[tuple[str, Cell]]:
    for name, experiment in read_study(packaged()[study]).experiments.items():
        for cell in experiment.cells():
            yield name, cell


@pytest.mark.parametrize("study", STUDIES)
def test_every_arm_has_the_settings_that_were_chosen_for_it(study):
    found = chosen(study)
    for name, cell in cells(study):
        figure = name.removesuffix("-error")
        has = {dotted(path): value for path, value in leaves(cell.agent.to_dict(), ("agent",))}
        wanted = found[figure, cell.panel, cell.agent_key]["settings"]
        assert {key: has[key] for key in wanted} == wanted, cell.id
        assert has["agent.step_unit"] == "total"


@pytest.mark.parametrize("study", STUDIES)
def test_the_error_is_looked_at_in_the_same_agents(study):
    parts: dict[str, dict[tuple[str, str], Any]] = {}
    for name, cell in cells(study):
        own = parts.setdefault(name, {})
        own[cell.panel, cell.agent_key] = (cell.domain, cell.features, cell.agent, cell.step_limit)
    looked_at = [name for name in parts if name.endswith("-error")]
    assert looked_at
    for name in looked_at:
        assert parts[name] == parts[name.removesuffix("-error")]


@pytest.mark.parametrize("study", STUDIES)
def test_arms_were_tuned_alike_and_on_other_seeds(study):
    experiments = read_study(packaged()[study]).experiments
    tried: dict[tuple[str, str], set[int]] = {}
    for (figure, panel, agent), one in chosen(study).items():
        tried.setdefault((figure, panel), set()).add(one["tried"])
        assert one["seed"] != experiments[figure].seed
        spec = read_spec(packaged()[study] / f"{figure}-tuning.toml")
        own = [c for c in spec.cells() if (c.base_panel, c.base_agent) == (panel, agent)]
        assert (len(own), spec.runs, spec.seed) == (one["tried"], one["runs"], one["seed"])
    assert all(len(counts) == 1 for counts in tried.values()), tried


def test_a_table_of_what_was_chosen(tmp_path, monkeypatch):
    monkeypatch.setattr(tuned, "MEASURED", tmp_path)
    assert tuned.read("some") == []
    entries = [
        {"panel": panel, "label": "Ahead", "edge": ["agent.value_step"],
         "settings": {"agent.value_step": 1.0, "agent.model.distribution.forgetting": 0.03}}
        for panel in ("9 cells", "50 cells")
    ]  # fmt: skip
    (tmp_path / "some-tuning.json").write_text(json.dumps(entries))
    assert tuned.table("some") == (
        ["steps chosen for", "9 cells", "50 cells"],
        [["Ahead", "value 1*, forgetting 0.03", "value 1*, forgetting 0.03"]],
    )


def test_answers_by_question_and_panel():
    asked = {"figure": "corridor", "claim": "Does it?", "margin": 0.5, "effect": 1.23456,
             "low": 1.0, "high": 1500.0, "verdict": "holds", "panel": "9 cells"}  # fmt: skip
    reverse = {"verdict": "does not hold", "effect": -2.0, "low": -3.0, "high": -1.0}
    claims = [
        asked,
        {**asked, "claim": "And that?", **reverse},
        {**asked, "panel": "50 cells", "claim": "50 cells: Does it?", "verdict": "equal"},
        {**asked, "figure": "other"},
    ]
    head, rows = answers.table(claims, figure="corridor")
    assert head == ["panel (margin)", "Does it?", "And that?"]
    assert rows == [
        ["9 cells (± 0.5)", "**yes** 1.23 (1 to 1,500)", "**the reverse** −2 (−3 to −1)"],
        ["50 cells (± 0.5)", "**equal** 1.23 (1 to 1,500)", "–"],
    ]
    assert answers.table(claims, figure="corridor", asking="that")[1] == [
        ["9 cells (± 0.5)", "**the reverse** −2 (−3 to −1)"]
    ]
    with pytest.raises(ValueError, match="no claims about nothing"):
        answers.table(claims, figure="nothing")


def test_runs_that_end_worse_than_they_began():
    curves = np.array([
        [2.0, 9.0, 9.0, 1.0],  # ends below its first point, whatever came between
        [2.0, 1.0, 1.0, 3.0],
        [2.0, 1.0, 1.0, 2.0],  # as it began is not worse
        [2.0, 1.0, 1.0, np.nan],  # diverged
    ])  # fmt: skip
    panel = Panel("error", "", "", 1, None, np.nan, {"q": curves}, {"q": "Q"}, of_errors=True)
    assert measure_named("worsened").of(panel, curves).tolist() == [0.0, 1.0, 0.0, 1.0]
