from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loading import module_at

import expectant as ex
from expectant.analysis.panel import Panel
from expectant.experiments.claims import judge_claims
from expectant.experiments.runner import compute
from expectant.experiments.store import Store
from expectant.experiments.study import StudyConfig, read_study

PAPER = read_study()
FIGURES, read, figure = PAPER.figures, PAPER.experiment, PAPER.experiments.__getitem__


def configure(figures=FIGURES, **options):
    return StudyConfig(PAPER, figures, **options)


def agents(name, interpretation="literal"):
    return {trial.agent_key: trial for trial in read(name, interpretation).trials()}


def test_figures_have_the_papers_parameters():
    one = agents("1")
    fits: Any = {"interpretation": ex.Interpretation(replayed_fits="planning_steps")}
    assert one["q_learning"].agent == ex.QLearning.paper(0.3, **fits)
    assert one["q_planning_expectation"].agent == ex.QPlanning.paper(
        0.3, 0.3, planning_steps=20, **fits
    )
    three = agents("3")
    assert three["q_planning_true"].agent == ex.QPlanning.paper(
        0.01, model="true", planning_steps=20, **fits
    )
    assert three["q_learning"].features == ex.RandomBinary(14, 5)
    assert three["q_learning"].domain.slip == pytest.approx(1 / 3)
    plain = three["q_learning"]
    assert (plain.runs, plain.episodes, plain.bin) == (10, 20_000, 500)
    assert [p.name for p in figure("4a").panels] == ["slip 0", "slip 0.1", "slip 0.3"]
    four = agents("4b")
    assert [getattr(c.agent, "planning_steps", 0) for c in four.values()] == [0, 1, 5, 20]
    assert four["q_learning"].domain == ex.Corridor(slip=0.3, switch_every=10_000)
    five = agents("5b", "preferred")
    options: Any = {"planning_steps": 5, **fits}
    assert five["lookahead"].agent == ex.Lookahead.paper(0.01, 0.1, **options)
    assert five["cached_values"].agent == ex.CachedValues.paper(0.01, 0.01, 0.001, **options)
    assert five["cached_policy"].agent == ex.CachedPolicy.paper(0.01, 0.001, 0.01, **options)
    assert five["q_learning"].agent == ex.QLearning.paper(0.001, **fits)


def test_every_detail_changes_something():
    script = module_at(Path(__file__).parents[2] / "benchmarks" / "vary_details.py")
    for variant in script.list_variants(PAPER):
        if variant.detail is None:
            continue
        changed = [trial.identity() for trial in variant.trials(configure())]
        base = [
            trial.identity()
            for name in FIGURES
            if variant.detail.concerns(name)
            for trial in read(name, variant.interpretation).trials()
        ]
        assert [x["agent"] for x in changed] != [x["agent"] for x in base] or [
            (x["domain"], x["features"]) for x in changed
        ] != [(x["domain"], x["features"]) for x in base], variant.name


def test_the_commands_recompute_the_same_config():
    assert configure().command() == "expectant reproduce"
    assert configure(quick=True).command("3") == "expectant reproduce --figure 3 --quick"
    config = configure(("5a", "5b"), seed=3, runs=7)
    assert config.command() == "expectant reproduce --figure 5a --figure 5b --runs 7 --seed 3"
    assert "quick" in configure(quick=True).warning
    assert {trial.runs for trial in configure(quick=True).trials} == {5}
    assert {trial.runs for trial in configure(("5a",)).trials} == {PAPER.claim_runs["5a"]}
    assert {trial.runs for trial in config.trials} == {7}
    assert {trial.seed for trial in config.trials} == {3}


def test_a_decision_is_cheap_with_maintained_weights():
    """Claim 18 has two answers: the printed form is dear, the one that keeps its weights is not."""
    empty = np.zeros((2, 40))
    panel = Panel("5a", "", "preferred", 50, None, 0.0, {"q": empty}, {"q": "Q"})
    found = {
        one.id: one for one in judge_claims(PAPER.claims, [panel]) if one.figure == "discussion"
    }
    assert {id: one.verdict for id, one in found.items()} == {18: "holds", 30: "does not hold"}
    assert found[30].effect == 1.0  # 8 · 5 reads like cached action values, however many features


def test_known_levels_of_the_figures(tmp_path):
    """Figure 1 near −0.29 and −0.93, figure 3 near 6.2 and 4, with fewer runs than the paper."""
    trials = [trial for name in ("1", "3") for trial in figure(name).trials()]
    trials = [
        replace(c, runs=4, episodes=8000) if c.experiment == "3" else replace(c, runs=40)
        for c in trials
    ]
    curves = compute(trials, Store(tmp_path)).curves()
    late = {
        (c.experiment, c.agent_key): float(np.mean(x[:, -x.shape[1] // 4 :]))
        for c, x in zip(trials, curves, strict=True)
    }
    assert late["1", "q_learning"] == pytest.approx(-0.29, abs=0.07)
    assert late["1", "q_planning_expectation"] == pytest.approx(-0.93, abs=0.07)
    assert late["3", "q_learning"] == pytest.approx(6.1, abs=0.8)
    assert late["3", "q_planning_true"] == pytest.approx(6.25, abs=0.5)
    assert late["3", "q_planning_expectation"] < 5.2
