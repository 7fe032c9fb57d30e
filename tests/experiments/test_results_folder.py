"""Folders of results say of what kind they are, and commands name the right one for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from expectant.cli import app
from expectant.experiments.store import KIND, kind_of, mark_folder

SPEC = """
episodes = 4
runs = 2
bin = 2
step_limit = 50
domain = { kind = "corridor", cells = 3 }
features = { kind = "one_hot" }
agents.plain = { kind = "q_learning", action_step = 0.1 }
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SPEC)


def call(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, words)])
    return done.exit_code, done.stderr


@pytest.mark.parametrize(("kind", "command"), [("sweep", "run"), ("study", "reproduce")])
def test_a_folder_of_results_is_no_spec_and_the_right_command_is_named(here, kind, command):
    mark_folder(Path("out"), kind)
    assert kind_of(Path("out")) == kind
    status, said = call("run", "out")
    assert status == 2 and f"out: has results of `expectant {command}`" in said


def test_the_last_command_decides_what_a_folder_is(here):
    mark_folder(Path("out"), "try")
    status, said = call("best", "out")
    assert status == 2 and "has results of `expectant try`" in said
    assert call("run", "small.toml", "--out", "out")[0] == 0
    assert kind_of(Path("out")) == "run" and call("best", "out")[0] == 0


def test_a_folder_of_an_earlier_version_is_refused_and_left_alone(here):
    assert call("run", "small.toml", "--out", "out")[0] == 0
    (Path("out") / KIND).write_text(json.dumps({"kind": "sweep"}))  # as earlier versions wrote it
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    for command in (["run", "small.toml", "--out", "out"], ["best", "out"], ["report", "out"]):
        status, said = call(*command)
        assert status == 2 and len(said.splitlines()) == 1
        assert "was written by another version of expectant; nothing in it was changed" in said
    assert before == {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
