"""One interpretation changed at a time: what that does to the number of each claim."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from loading import module_at

from expectant.analysis.panel import Panel
from expectant.experiments.claims import Claim
from expectant.experiments.clauses import Clause
from expectant.experiments.metrics import METRICS
from expectant.experiments.study import StudyConfig, read_study

PAPER = read_study()
module = module_at(Path(__file__).parents[2] / "benchmarks" / "vary_details.py")
find_differences, mark_what_matters = module.find_differences, module.mark_what_matters


def noise(shift: float = 0.0, own: float = 0.0, runs: int = 40) -> Panel:
    """Returns of 3 bins that vary from run to run by 10, the same in all panels, and by ``own``."""
    shared = np.random.default_rng(0).normal(0.0, 10.0, (runs, 1))
    rng = np.random.default_rng(1)
    curve = shared + shift + rng.normal(0.0, own, (runs, 3))
    return Panel("5a", "", "", 50, None, 0.0, {"q": curve}, {"q": "Q"})


def marked(parts: list[dict[str, Any]]) -> list[bool]:
    """Tell which of the differences of one claim under one change matter."""
    mark_what_matters([{"interpretation": "", "moved": {1: parts}}])
    return [part["matters"] for part in parts]


def test_differences_between_interpretations_are_paired():
    clauses = (
        Clause(metric=METRICS["last"], of=("q",), margin=10.0),
        Clause(metric=METRICS["mean"], of=("q",), low=5.0, margin=0.5),
    )
    claim = Claim(1, "5a", "", clauses=clauses)
    parts = find_differences(claim, [noise(2.0, 0.1)], [noise(0.0)])
    mean, last = parts  # the part that moved the most margins comes first
    assert (mean["part"], mean["margin"]) == ("return of Q", 0.5)  # whatever the claim's reference
    assert mean["difference"] == pytest.approx(2.0, abs=0.1)
    assert mean["high"] - mean["low"] < 0.2  # each by itself is known to give or take 3
    assert marked(parts) == [True, False] and mean["clear"] and last["clear"]
    (same,) = find_differences(Claim(1, "5a", "", clauses=clauses[:1]), [noise()], [noise()])
    assert (same["difference"], same["low"], same["high"], same["p"]) == (0.0, 0.0, 0.0, 1.0)
    elsewhere = Claim(1, "5a", "", clauses=(replace(clauses[0], figure="3"),))
    assert find_differences(elsewhere, [noise()], [noise()]) == []


def test_what_matters_is_corrected_for_being_one_of_many():
    """An interval that is beyond the margin by itself is not, as one of a hundred."""
    clause = Clause(metric=METRICS["mean"], of=("q",), margin=0.5)
    claim = Claim(1, "5a", "", clauses=(clause,))
    panels = [noise(shift, 3.0) for shift in (0.0, 1.3, 50.0)]
    none, close, far = (find_differences(claim, [panel], [noise()])[0] for panel in panels)
    assert close["low"] > 0.5 > none["low"]
    assert marked([close])[0] and close["p"] < 0.05  # as its interval says
    assert marked([far, close]) == [True, True]
    assert marked([far, close, *[dict(none) for _ in range(1000)]]) == [True] + [False] * 1001


def test_what_moves_is_found_for_every_variant(monkeypatch, tmp_path):
    """Curves that depend on one option alone: only that variant moves, and only its agent's."""

    def compute(trials: Any, store: Any, **options: Any) -> Any:
        curves = [
            np.full(
                (trial.runs, trial.firsts.size), float(trial.agent.interpretation.ties == "first")
            )
            + np.arange(trial.runs)[:, None]
            if trial.agent_key == "q_learning"
            else np.zeros((trial.runs, trial.firsts.size))
            for trial in trials
        ]
        return SimpleNamespace(curves=lambda: curves)

    monkeypatch.setattr(module, "compute", compute)
    rows = module.vary_details(StudyConfig(PAPER, ("5a",), runs=4), tmp_path)
    stored = json.loads((tmp_path / "interpretations.json").read_text())
    assert [row["changed"] for row in stored] == [row["changed"] for row in rows]
    found = {(row["interpretation"], row["detail"], row["choice"]): row for row in rows}
    assert found["literal", None, None]["moved"] == {} and found["literal", None, None]["runs"] == 4
    moved = found["literal", "ties", "the first"]["moved"]
    assert {id for id, parts in moved.items() if any(part["difference"] for part in parts)} == {
        10, 12, 14, 19, 20, 31,
    }  # fmt: skip
    (fall,) = moved[10]  # paired: runs alone vary by 1.3
    assert (fall["difference"], fall["low"], fall["high"]) == (1.0, 1.0, 1.0)
    still = found["literal", "replay capacity", "all"]["moved"]
    assert not any(part["difference"] for parts in still.values() for part in parts)


def test_numbers_that_move_by_more_than_the_margin_are_marked():
    base: dict[str, Any] = {"interpretation": "text", "detail": None, "choice": None, "moved": {}}
    moved = {1: [{"matters": True}], 3: [{"matters": False}]}
    variant = {"detail": "k", "choice": "3", "moved": moved}
    table = module.dependence_table([
        {**base, "verdicts": {1: "holds", 2: "does not hold", 3: "unclear"}},
        {**base, **variant, "verdicts": {1: "unclear", 3: "unclear"}},
    ])  # fmt: skip
    lines = table.split("\n\n")[1].splitlines()[1:]
    assert [line.split() for line in lines] == [
        ["text", "as", "it", "is", "+", "−", "?"],
        ["text", "k", "3", "?*", "?"],
    ]
