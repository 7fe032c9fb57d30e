"""The table of trials: columns of settings, and problems that every command reports."""

from __future__ import annotations

import warnings
from dataclasses import replace

from experiments.sweeping import TRIAL
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.experiments.runner import settings_columns

CONFIG = """
name = "wrong"
episodes = 12
runs = 2
bin = 4
[domain]
kind = "corridor"
slip = 0.0
[features]
kind = "random_binary"
size = 14
active = 5
[agents.wild]
kind = "lookahead"
preset = "paper"
value_step = 2.0
[agents.full]
kind = "lookahead"
preset = "paper"
value_step = 0.02
model = { kind = "sparse_expectation", step = 0.1, capacity = 2 }
[agents.tame]
kind = "q_learning"
preset = "paper"
action_step = 0.1
[grid]
features.size = [14]
"""


def test_only_settings_that_differ_have_a_column():
    trials = [
        TRIAL,
        replace(TRIAL, agent=ex.QLearning.paper(0.2, epsilon=0.3), domain=ex.Corridor(slip=0.5)),
    ]
    assert settings_columns(trials) == {
        "domain.slip": [0.1, 0.5], "agent.epsilon": [0.1, 0.3], "agent.action_step": [0.1, 0.2],
    }  # fmt: skip
    mixed = [TRIAL, replace(TRIAL, agent=ex.Lookahead.paper(0.5))]
    columns = settings_columns(mixed)
    assert columns["agent.kind"] == ["q_learning", "lookahead"]
    assert columns["agent.value_step"] == [None, 0.5]
    assert settings_columns([TRIAL]) == {}
    frozen = [
        replace(TRIAL, agent=ex.agents.FreezeAfter(ex.Lookahead.paper(step), 10))
        for step in (0.1, 0.2)
    ]  # settings of the agent inside are the agent's, and a fixed step size is its number
    assert settings_columns(frozen) == {"agent.value_step": [0.1, 0.2]}
    total = [TRIAL, replace(TRIAL, agent=ex.QLearning.paper(0.1, step_unit="total"))]
    assert settings_columns(total) == {"agent.action_step.per": ["feature", "total"]}


def check_problems(stderr: str) -> None:
    reasons = [line for line in stderr.splitlines() if "is diverging" in line]
    assert len(reasons) == 1  # of two runs
    assert "planning is diverging: Lookahead in Corridor, run 0, episode " in reasons[0]
    assert "spectral radius of planning" in reasons[0]
    assert sum("full: " in line and "were evicted" in line for line in stderr.splitlines()) == 1


def test_problems_are_reported_also_from_the_store(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    warnings.simplefilter("ignore", RuntimeWarning)  # plain Python warns of the overflow
    path = tmp_path / "wrong.toml"
    path.write_text(CONFIG)
    for _ in range(2):  # the second time nothing is computed
        done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
        check_problems(done.stderr)
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("planning is diverging: Lookahead in Corridor, run 0") == 1
    assert "entries of models were evicted" in page
    assert page.index("<h2>Trials</h2>") < page.index("<h2>What went wrong</h2>")
