"""What goes wrong in runs of commands is stored with them, and told every time."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from typer.testing import CliRunner

from expectant.cli import app

SPEC = """
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
"""


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    warnings.simplefilter("ignore", RuntimeWarning)  # plain Python speaks of the overflow


GRID = "[grid]\n'features.size' = [14]\n"


def ran(command: str, tmp_path: Any, *more: str) -> Any:
    path = tmp_path / "wrong.toml"
    path.write_text(SPEC + (GRID if command == "sweep" else ""))
    done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / command), *more])
    assert done.exit_code == 0, done.output
    return done


def check_told(said: str) -> None:
    why = [line for line in said.splitlines() if "is diverging" in line]
    assert len(why) == 1  # of two runs that did
    assert "wild: planning is diverging: Lookahead in Corridor, run 0, episode " in why[0]
    assert "spectral radius of planning" in why[0]
    assert sum("full: " in line and "were evicted" in line for line in said.splitlines()) == 1


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_commands_say_what_went_wrong_also_from_the_store(command, tmp_path):
    check_told(ran(command, tmp_path).stderr)
    again = ran(command, tmp_path)  # nothing is computed
    check_told(again.stderr)
    page = (tmp_path / command / "report.html").read_text()
    assert page.count("planning is diverging: Lookahead in Corridor, run 0") == 1
    assert "entries of models were evicted" in page
    if command != "run":  # what was asked comes first
        assert page.index("<h2>Trials</h2>") < page.index("<h2>What went wrong</h2>")
