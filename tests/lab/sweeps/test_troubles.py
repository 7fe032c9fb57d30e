"""What goes wrong in runs of commands is stored with them, and told every time."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.lab.cells import Cell
from expectant.lab.engines import tasks
from expectant.lab.records import Record

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
value_step = 2.0
[agents.full]
kind = "lookahead"
value_step = 0.02
model = { kind = "sparse_expectation", step = 0.1, capacity = 2 }
[agents.tame]
kind = "q_learning"
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
    if command == "run":
        assert "evicted" in again.stdout
    else:  # what was asked comes first
        assert page.index("<h2>Cells</h2>") < page.index("<h2>What went wrong</h2>")


def cell(agent: Any, **options: Any) -> Cell:
    return Cell(
        experiment="x", panel="", reading="", agent_key="a", label="a", agent=agent, runs=12,
        domain=ex.Corridor(slip=0.0), features=ex.RandomBinary(14, 5), episodes=12, bin=4, seed=0,
        **options,
    )  # fmt: skip


def one(task: tasks.Task, number: int, kernels: tasks.Kernels | None = None) -> tasks.Ran:
    kernels, control = kernels or tasks.Kernels(False), np.zeros(1, np.int64)
    found = tasks.run_task(task, kernels, number, control, lambda clock: None)
    assert found is not None
    return found


def test_a_run_with_looks_counts_what_it_evicts_and_says_why_it_diverges():
    agent = ex.Lookahead(0.02, model=ex.SparseExpectation(0.1, capacity=2))
    plain = tasks.Task(cell(agent), "n", 0, 10)
    looked = plain._replace(cell=replace(plain.cell, record=Record("value_error", 4)))
    assert one(looked, 0).evicted == one(plain, 0).evicted > 0
    wild = looked._replace(cell=replace(looked.cell, agent=ex.Lookahead(2.0, 0.1)))
    assert one(wild, 0).divergence.startswith("planning is diverging: Lookahead in Corridor")
