"""Folders of results say of what kind they are, and commands name the right one for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from expectant.cli import app
from expectant.lab.store.cell_tables import CELLS, read_cells
from expectant.lab.store.folder_layout import KIND, kind_of, mark
from expectant.lab.store.tables import write_table

SPEC = """
episodes = 4
runs = 2
bin = 2
step_limit = 50
domain = { kind = "corridor", cells = 3 }
features = { kind = "one_hot" }
agents.plain = { kind = "q_learning", action_step = 0.1 }
"""
MADE = {
    "run": ["run", "small.toml", "--out"],
    "sweep": ["run", "grid.toml", "--out"],
    "study": ["reproduce", "mine", "--out"],
}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A function that makes a folder of a kind of results, by its command."""
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SPEC)
    Path("grid.toml").write_text(SPEC + "[grid]\n'agents.plain.action_step' = [0.1, 0.5]\n")
    Path("mine").mkdir()
    Path("mine/study.toml").write_text('title = "Mine"\n')
    Path("mine/small.toml").write_text(SPEC)

    def make(kind: str) -> Path:
        folder = Path(f"of-{kind}")
        if kind in MADE:
            done = CliRunner().invoke(app, [*MADE[kind], str(folder)])
            assert done.exit_code == 0, done.output
        else:
            mark(folder, kind)
            (folder / "spec.toml").write_text(SPEC)
        return folder

    return make


def refused(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


RIGHT = {
    "run": "`expectant run of-run/spec.toml --out of-run` goes on with it, `expectant report of-run`",
    "sweep": "`expectant run of-sweep/spec.toml --out of-sweep` goes on with it",
    "study": "`expectant reproduce mine --out of-study` goes on with it",
    "try": "`expectant run of-try/spec.toml` goes on from it",
}


@pytest.mark.parametrize("kind", list(RIGHT))
def test_a_folder_of_results_is_no_spec_and_the_right_command_is_named(made, kind):
    folder = made(kind)
    assert kind_of(folder) == kind == json.loads((folder / KIND).read_text())["kind"]
    for command in ("run", "show"):
        said = refused(command, folder)
        assert f"{folder}: has results of `expectant " in said and RIGHT[kind] in said
    if kind in MADE:
        (folder / KIND).unlink()  # as folders were before
        assert kind_of(folder) == kind


def test_pages_and_choices_are_made_of_the_folders_that_have_what_they_need(made):
    runs, sweep, study = map(made, MADE)
    for folder in (runs, sweep, study):
        done = CliRunner().invoke(app, ["report", str(folder)])
        assert done.exit_code == 0, done.output
    assert "has results of `expectant reproduce`" in refused("best", study)
    assert CliRunner().invoke(app, ["best", str(sweep)]).exit_code == 0
    for command in ("report", "best"):
        assert "has results of `expectant try`" in refused(command, made("try"))
        assert "mine: is no folder of results" in refused(command, "mine")
    Path("of-try/spec.toml").unlink()
    assert "has results of `expectant try`: a page" in refused("report", "of-try")


def test_a_sweep_of_an_earlier_layout_is_refused_and_left_alone(made):
    folder = made("sweep")
    table = read_cells(folder).drop_columns(["base_agent", "base_panel"])
    write_table(table, folder / CELLS)
    (folder / KIND).unlink()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for command in (
        ["run", "small.toml", "--out", folder],
        ["run", folder],
        ["best", folder],
        ["report", folder],
    ):
        said = refused(*command)
        assert "was written by an earlier version, in another layout; nothing in it was" in said
        assert "`expectant run of-sweep/spec.toml --out` and another folder" in said
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = CliRunner().invoke(app, ["run", "of-sweep/spec.toml", "--out", "anew"])
    assert done.exit_code == 0 and kind_of(Path("anew")) == "sweep"


def test_what_is_not_a_mark_is_none(made):
    folder = made("sweep")
    for text in ("{", "[]", '{"kind": "other"}', '{"kind": ["run"]}'):
        (folder / KIND).write_text(text)
        assert kind_of(folder) == "sweep"
