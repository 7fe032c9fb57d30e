"""Step sizes over a grid under every set: what is tried, picked, and said of the printed ones."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.lab import parameters as module
from expectant.lab.parameters import HEAD, cases, choice_rows, choose_parameters, parameter_study
from expectant.lab.step_grid import COARSE, GRID, at_edge, settings_from
from expectant.lab.study import the_paper

PAPER = the_paper()


def test_the_printed_setting_comes_first_and_no_setting_twice():
    one = list(settings_from(ex.QLearning(0.02), 5))
    assert one == [{"action_step": 0.02}, *({"action_step": step} for step in GRID)]
    two = list(settings_from(ex.Lookahead(0.01, 0.1), 5))
    assert two[0] == {"value_step": 0.01, "model_step": 0.1} and len(two) == len(GRID) ** 2
    assert len({tuple(setting.values()) for setting in two}) == len(two)
    true = list(settings_from(ex.QPlanning(0.1, model="true"), 5))  # a given model has no step size
    assert len(true) == len(GRID) and set(true[0]) == {"action_step"}
    three = list(settings_from(ex.CachedPolicy(0.01, 0.001, 0.01), 5))
    assert set(three[0]) == {"value_step", "policy_step", "model_step"}
    assert len(three) == len(COARSE) ** 2 * (len(COARSE) + 1)  # a policy's step may be 1


def test_the_largest_step_is_the_one_that_removes_an_error_at_once():
    def largest(agent: Any, ones: int) -> float:
        return max(setting["action_step"] for setting in settings_from(agent, ones))

    once, twice = ex.QLearning(0.1), ex.QLearning(0.1, doubled_steps=True)
    assert [largest(once, 1), largest(twice, 1)] == [1.0, 0.5]
    assert [largest(once, 2), largest(once, 3), largest(twice, 5)] == [0.5, 0.3, 0.3]


def test_beyond_a_step_that_overshoots_nothing_better_is_looked_for():
    settings = [*settings_from(ex.QLearning(0.1), 1)]
    edges = {step: at_edge({"action_step": step}, settings, ex.QLearning(0.1), 1) for step in GRID}
    assert [step for step, edge in edges.items() if edge] == [GRID[0]]
    assert at_edge({"action_step": 1.0}, settings, ex.QLearning(0.1), 1) == []
    policy = [{"policy_step": step} for step in (0.3, 0.1, 1.0)]
    assert at_edge(policy[2], policy, ex.CachedPolicy(0.01, 0.001, 0.01), 1) == ["policy_step"]
    assert at_edge(policy[0], policy, ex.CachedPolicy(0.01, 0.001, 0.01), 1) == []
    coarse = [{"action_step": step} for step in (0.1, 0.01)]  # ends before it overshoots
    assert at_edge(coarse[0], coarse, ex.QLearning(0.1), 1) == ["action_step"]


def test_cases_are_the_figures_agents_under_every_set_and_no_longer_than_the_sources_study():
    found = cases(PAPER, ["1", "4b"], 3)
    assert {case.named_set for case in found} == set(PAPER.sets)
    assert len(found) == 3 * (2 + 4)
    assert {(c.cell.experiment, c.cell.episodes) for c in found} == {("1", 500), ("4b", 1000)}
    assert {case.cell.seed for case in found} == {3}
    assert (found[0].margin, found[-1].margin) == (0.05, 0.2)
    second = found[0].with_settings(1, 9)
    assert (
        vars(second.agent)["action_step"] == found[0].settings[1]["action_step"]
        and second.runs == 9
    )


def distance(agent: Any) -> float:
    """How far an agent's step sizes are from 0.03, in decades."""
    names = ("value_step", "action_step", "policy_step", "model_step")
    steps = [getattr(agent, name) for name in names if hasattr(agent, name)]
    return sum(abs(math.log10(step / 0.03)) for step in steps)


@pytest.fixture
def computed(monkeypatch):
    """Returns that fall with the distance and vary from run to run, alike for all settings.

    Steps of 0.3 diverge. The titles of what is computed are noted.
    """
    asked: list[str] = []

    def curves(cells: Any, store: Any, *, threads: Any, title: str) -> list[np.ndarray]:
        asked.append(title)
        return [
            np.full((cell.runs, cell.points), np.nan)
            if getattr(cell.agent, "action_step", 0.0) == 0.3
            else np.arange(cell.runs)[:, None] - np.full(cell.points, distance(cell.agent))
            for cell in cells
        ]

    monkeypatch.setattr(module, "compute", curves)
    return asked


def test_the_best_is_found_and_the_printed_is_held_against_it(computed, tmp_path):
    found = parameter_study(PAPER, tmp_path, ["5a", "5b"], runs=4, fresh=6)
    assert computed == ["step sizes", "fresh runs", "every agent at its best"]
    choices = {(one["set"], one["figure"], one["agent"]): one for one in found["choices"]}
    assert len(choices) == 3 * 7
    q = choices["ours", "5a", "q_learning"]
    assert (q["printed"], q["best"]) == ({"action_step": 0.001}, {"action_step": 0.03})
    behind = round(math.log10(0.001 / 0.03), 4)
    assert q["behind"] == [behind] * 3 and q["verdict"] == "does not hold"  # runs are paired
    assert (q["best_return"], q["printed_return"]) == (6.5, round(6.5 + behind, 4))  # runs 4 to 9
    assert (q["rank"], q["tried"], q["diverged"], q["at_edge"]) == (5, 6, 1, [])
    ahead = choices["code", "5a", "lookahead"]
    assert ahead["best"] == {"value_step": 0.03, "model_step": 0.03}
    assert [one["verdict"] for one in found["verdicts"]] == ["does not hold"] * 3
    assert [one["reading"] for one in found["verdicts"]] == list(PAPER.sets)
    assert {one["id"] for one in found["at_best"]} >= {10, 13, 17}
    (fall,) = [one for one in found["at_best"] if (one["id"], one["reading"]) == (10, "ours")]
    assert (fall["runs"], fall["effect"]) == (6, 6.5)  # runs 4 to 9 too: others picked the best
    rows = choice_rows(found)
    assert all(len(row) == len(HEAD) for row in rows)
    assert rows[0][3:6] == ["α_q 0.001", "α_q 0.03", "6.50"]
    assert parameter_study(PAPER, tmp_path, ["4b", "ablation-21"], runs=4, fresh=6)["at_best"] == []


def test_a_printed_setting_that_is_the_best_is_said_to_be(monkeypatch, tmp_path):
    def flat(cells: Any, store: Any, **options: Any) -> list[np.ndarray]:
        return [np.arange(cell.runs)[:, None] + np.zeros(cell.points) for cell in cells]

    monkeypatch.setattr(module, "compute", flat)
    found = parameter_study(PAPER, tmp_path, ["1"], runs=4, fresh=6)
    assert {one["verdict"] for one in found["choices"]} == {"holds"}
    assert all(one["best"] == one["printed"] for one in found["choices"])  # of equal ones the first
    assert [one["verdict"] for one in found["verdicts"]] == ["holds"] * 3
    assert {one["rank"] for one in found["choices"]} == {1}  # none is better


def test_bins_count_no_lower_than_for_claims(monkeypatch, tmp_path):
    """One run in two that is stuck at once makes a setting bad, not worse than all others."""

    def curves(cells: Any, store: Any, **options: Any) -> list[np.ndarray]:
        found = [np.zeros((cell.runs, cell.points)) for cell in cells]
        for cell, curve in zip(cells, found, strict=True):
            if cell.agent.action_step == 0.03:
                curve[:] = np.where(np.arange(cell.runs) % 2, 100.0, -1e6)[:, None]
        return found

    monkeypatch.setattr(module, "compute", curves)
    (case, *_) = cases(PAPER, ["5a"], 0)
    assert -100.0 < case.floor < 0.0
    (choice,) = choose_parameters([case], tmp_path, None, runs=4, fresh=6)
    assert (choice.settings, choice.rank) == ({"action_step": 0.03}, 2)
    assert choice.means == (0.0, pytest.approx((100.0 + case.floor) / 2))


def test_the_command_writes_and_shows_it(computed, tmp_path):
    out = ["--out", str(tmp_path)]
    done = CliRunner().invoke(app, ["readings", "--parameters", "--figure", "1", *out])
    assert done.exit_code == 0, done.output
    assert "claim 22 under code" in done.stdout and "best of the grid" in done.stdout
    assert f"also in {tmp_path / 'parameters.json'}" in done.stdout.replace("\n", "")
    stored = json.loads((tmp_path / "parameters.json").read_text())
    assert stored["runs"] == 30 and len(stored["choices"]) == 6
    judged = json.loads((tmp_path / "claims.json").read_text())
    assert [(one["id"], one["reading"]) for one in judged] == [(22, name) for name in PAPER.sets]
    both = CliRunner().invoke(app, ["readings", "--parameters", "--joint"])
    assert both.exit_code == 2 and "--joint and --parameters" in both.stderr
