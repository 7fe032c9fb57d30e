"""`expectant readings STUDY`: of any study that leaves something open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from expectant.cli import app
from expectant.lab.study import JointKeys, ParameterKeys, read_study

SPEC = """
episodes = 8
runs = 3
bin = 2
step_limit = 50
domain = { kind = "corridor", cells = 3 }
features = { kind = "one_hot" }
[agents.plain]
kind = "q_learning"
action_step = 0.1
"""
CLAIMS = """
[[claims]]
id = 1
figure = "small"
claim = "Something is earned."
clauses = [{ measure = "mean", of = ["plain"] }]
"""
READINGS = """
[[readings]]
name = "step size"
question = "Which?"
options = [
    { name = "small", sets = ["ours"], changes.agents.action_step = 0.1 },
    { name = "large", sets = ["theirs"], changes.agents.action_step = 0.5 },
]
"""
JOINT = '[joint]\nfigures = ["small"]\nclaims = [1]\n'
PARAMETERS = "[parameters]\nclaim = 1\nepisodes = 8\nruns = 2\nmargin = 0.5\nat_best = ['small']\n"


def a_study(folder: Path, more: str = "", readings: str = READINGS, spec: str = SPEC) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(f'sets = ["ours", "theirs"]\n{more}')
    (folder / "small.toml").write_text(spec)
    (folder / "claims.toml").write_text(CLAIMS)
    if readings:
        (folder / "readings.toml").write_text(readings)
    return folder


def invoke(*words: object) -> str:
    done = CliRunner().invoke(app, ["readings", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*words: object) -> str:
    done = CliRunner().invoke(app, ["readings", *map(str, words)])
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_one_reading_at_a_time_of_a_study_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_study(tmp_path / "mine")
    rows = json.loads(invoke("mine", "--json"))
    assert [(row["set"], row["option"]) for row in rows] == [
        ("ours", None), ("ours", "large"), ("theirs", None), ("theirs", "small"),
    ]  # fmt: skip
    there, back = rows[1]["moved"]["1"][0], rows[3]["moved"]["1"][0]
    assert there["difference"] == pytest.approx(-back["difference"]) and there["difference"]
    assert json.loads(Path("results/mine-readings/readings.json").read_text()) == rows


def test_all_readings_at_once_and_step_sizes_where_a_study_says_what_they_need(tmp_path):
    folder = a_study(tmp_path / "mine", JOINT + PARAMETERS)
    out = ["--out", tmp_path / "found", "--runs", 2, "--json"]
    joint = json.loads(invoke(folder, "--joint", *out))
    assert (joint["combinations"], joint["published"]["claims"]) == (2, [1])
    found = json.loads(invoke(folder, "--parameters", *out))
    assert {(one["set"], one["figure"]) for one in found["choices"]} == {
        ("ours", "small"), ("theirs", "small"),
    }  # fmt: skip
    assert [one["id"] for one in found["verdicts"]] == [1, 1] and found["at_best"]
    assert {one["margin"] for one in found["choices"]} == {0.5}


def test_what_is_missing_is_said_and_nothing_is_written(tmp_path):
    folder, out = a_study(tmp_path / "mine"), tmp_path / "found"
    assert "mine: its study.toml has no table [joint]" in refused(folder, "--joint", "--out", out)
    said = refused(folder, "--parameters", "--out", out)
    assert "mine: its study.toml has no table [parameters]" in said
    assert "cart-pole: has no readings.toml" in refused("cart-pole", "--out", out)
    one = READINGS.replace('["ours"]', '["ours", "theirs"]').replace('["theirs"]', "[]")
    single = a_study(tmp_path / "single", "", one.replace('{ name = "large"', "# {"))
    assert "has a second option to change to" in refused(single, "--out", out)
    (folder / "claims.toml").unlink()
    assert "mine: has no claims.toml" in refused(folder, "--out", out)
    by_steps = SPEC.replace("episodes = 8", "steps = 80").replace("bin = 2", "bins = 4")
    other = a_study(tmp_path / "other", PARAMETERS, spec=by_steps)
    assert "figure small is run by steps" in refused(other, "--parameters", "--out", out)
    none = READINGS.replace('name = "step size"', 'name = "x"').replace("action_step", "model_step")
    idle = a_study(tmp_path / "idle", JOINT, none)
    assert "none of its readings makes a difference" in refused(idle, "--joint", "--out", out)
    assert not out.exists()


def test_options_that_would_have_no_effect_are_refused():
    assert "--figure: the study says which" in refused("--joint", "--figure", "5a")
    assert "--combinations 3: is for --joint alone" in refused("--combinations", 3)


@pytest.mark.parametrize(("wrong", "said"), [
    (JOINT.replace("small", "smal"), "joint.figures: no figure 'smal', did you mean 'small'?"),
    (JOINT.replace("[1]", "[2]"), "joint.claims: no claim '2' (known: 1)"),
    (JOINT + "runs = 3\n", "joint.runs: unknown key"),
    (JOINT + "step_limit = 0\n", "joint.step_limit: must be a whole number, 1 or more"),
    (PARAMETERS.replace("claim = 1", ""), "parameters.claim: is missing"),
    (PARAMETERS.replace("runs = 2", "runs = 0"), "parameters.runs: must be"),
    (PARAMETERS.replace("'small'", "'larg'"), "parameters.at_best: no figure 'larg'"),
    (PARAMETERS + "margins = { large = 1.0 }\n", "parameters.margins: no figure 'large'"),
])  # fmt: skip
def test_mistakes_in_what_a_study_says_are_named(tmp_path, wrong, said):
    assert f"study.toml: {said}" in refused(a_study(tmp_path, wrong))


def test_what_a_study_says_is_read(tmp_path):
    found = read_study(a_study(tmp_path, JOINT + "step_limit = 9\n" + PARAMETERS))
    assert found.joint == JointKeys(("small",), (1,), 9)
    assert found.parameters == ParameterKeys(1, 8, 2, 0.5, {}, ("small",))
