"""Commands from end to end: what they write and print, their exit status, bad input."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from expectant.cli import app
from expectant.experiments.study import configure_study, packaged_studies, read_study

SPEC = """
name = "tiny"
title = "Tiny <b>title</b>"
episodes = 60
runs = 3
bin = 20
[domain]
kind = "corridor"
switch_every = 20
[features]
kind = "one_hot"
[agents.q_learning]
kind = "q_learning"
label = "Q <script>alert(1)</script>"
action_step = 0.1
"""
GRID = "[grid]\n'agents.q_learning.action_step' = [0.1, 0.5]\n"
LOCA = read_study(packaged_studies()["loca"])


def invoke(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_help_lists_the_commands_in_groups():
    text = invoke("--help").output
    groups = ["The paper", "Your environment", "Experiments", "Inspect"]
    assert sorted(groups, key=text.index) == groups
    commands = ("reproduce", "try", "watch", "run", "best", "report", "list", "show", "bench")
    assert {name for name in commands if invoke(name, "--help").exit_code == 0} == set(commands)
    assert not any("<bool>" in invoke(name, "--help").output for name in commands)


def test_an_experiment_and_its_report_again(tmp_path):
    spec, out = tmp_path / "tiny.toml", tmp_path / "out"
    spec.write_text(SPEC)
    result = invoke("run", spec, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    assert row["agent"] == "q_learning" and row["low"] <= row["mean_return"] <= row["high"]
    assert "<script>alert(1)</script>" not in (out / "report.html").read_text()
    before = files_in(out)
    assert {"curves.parquet", "config.toml", "figure.png", "figure.svg", "report.html"} <= set(
        before
    )
    again = invoke("report", out)
    assert again.exit_code == 0 and "figure.png" in again.stdout and "report.html" in again.stdout
    assert files_in(out) == before
    assert "mean return per episode" in invoke("run", spec, "--out", out).stdout


def test_a_config_with_a_grid_is_a_sweep_and_is_resumed(tmp_path):
    spec, out = tmp_path / "tiny.toml", tmp_path / "out"
    spec.write_text(SPEC + GRID)
    for shard in ("1/2", "2/2"):
        part = json.loads(invoke("run", spec, "--out", out, "--shard", shard, "--json").stdout)
        assert part["batches_computed"] == 1 and part["page"] is None
    whole = invoke("run", spec, "--out", out, "--json")
    assert whole.exit_code == 0, whole.output
    data = json.loads(whole.stdout)
    assert (data["trials"], data["batches_found"], data["batches_computed"]) == (2, 2, 0)
    assert Path(data["page"]).exists() and (out / "trials.parquet").exists()
    assert invoke("best", out, "--json").exit_code == 0
    assert "report.html" in invoke("report", out).stdout


@pytest.mark.parametrize("more", ["", GRID], ids=["experiment", "sweep"])
@pytest.mark.parametrize("out", [[], ["--out", "my results"]], ids=["default", "out"])
def test_the_command_on_a_page_makes_it_again(tmp_path, monkeypatch, more, out):
    monkeypatch.chdir(tmp_path)
    spec = SPEC.replace("name =", "# name =").replace("title =", "# title =")
    Path("tiny.toml").write_text(spec + more)
    assert invoke("run", "tiny.toml", *out).exit_code == 0
    folder = Path(out[-1] if out else "results/tiny")
    page = folder / "report.html"
    (told,) = re.findall(r"Make it again:</span><pre><code>(.*?)</code>", page.read_text())
    page.unlink()
    program, *words = shlex.split(html.unescape(told))
    assert program == "expectant" and invoke(*words).exit_code == 0 and page.exists()
    assert {path.name for path in Path("results").glob("*")} == ({"tiny"} if not out else set())


def test_reproduce_one_figure(tmp_path):
    out = tmp_path / "paper"
    result = invoke("reproduce", "--figure", "5a", "--quick", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    verdicts = json.loads(result.stdout)
    assert {v["id"] for v in verdicts} == {10, 11, 12, 13, 14, 18, 19, 20, 30, 31}
    assert {v["interpretation"] for v in verdicts} == {"literal", "preferred", "authors"}
    stored = json.loads((out / "claims.json").read_text())
    assert all({"verdict", "effect", "low", "high", "rule"} <= set(entry) for entry in stored)
    assert all("quick" in entry["warning"] for entry in stored)
    assert "quick run" in (out / "report.html").read_text()
    before = files_in(out)
    assert {"figure-5a.png", "figure-5a.svg", "curves.parquet"} <= set(before)
    assert invoke("report", out).exit_code == 0
    assert files_in(out) == before

    from pyarrow import parquet

    assert parquet.read_table(out / "curves.parquet").num_rows == 3 * 3 * 5 * 40


BAD: list[tuple[list[str], str]] = [
    (["reproduce", "--figure", "6"], "unknown '6'"),
    (["reproduce", "--quick", "--runs", "3"], "cannot be combined with --runs 3"),
    (["reproduce", "--runs", "0"], "--runs: must be a whole number, 1 or more, got 0"),
    (["reproduce", "--runs", "x"], "--runs: must be a whole number, 1 or more, got 'x'"),
    (["watch", "--frames", "2.5"], "--frames: must be a whole number, 2 or more, got 2.5"),
    (["try", "CartPole-v1", "--minutes", "0"], "--minutes: must be a finite number, 0.01 or more"),
    (["reproduce", "--seed", str(2**128)], "at most"),
    (["reproduce", "5a"], "study: unknown '5a'"),
    (["reproduce", "--figure", "5"], "unknown '5', did you mean '5a' or '5b'?"),
    (["reproduce", "--run", "5"], "--runs"),
    (["reproduce", "--outt", "here"], "(Possible options: --out)"),
    (["reprodce"], "Did you mean 'reproduce'?"),
    (["reproduce", "--agent", "lookahead"], "--agent: only `expectant reproduce loca`"),
    (["reproduce", "loca", "--agent", "lookahed"], "unknown 'lookahed', did you mean 'lookahead'?"),
    (["reproduce", "loca", "--backups", "sean"], "--backups: unknown 'sean', did you mean 'seen'?"),
    (["run", "missing.toml"], "missing.toml: there is no such file"),
    (["run", "parameter-study", "--shard", "3/2"], "--shard: must be i/n with i from 1 to n"),
    (["show", "lookahed"], "unknown name 'lookahed', did you mean 'lookahead'"),
    (["report", "nowhere"], "there is no folder nowhere"),
    (["best", "nowhere"], "there is no folder nowhere"),
    (["bench", "optons"], "unknown row 'optons', did you mean 'options'?"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_exits_with_2_and_writes_nothing(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_results_that_cannot_be_written_exit_with_1(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "tiny.toml").write_text(SPEC)
    result = invoke("run", tmp_path / "tiny.toml", "--out", tmp_path / "file" / "below")
    assert result.exit_code == 1 and "cannot write results" in result.stderr


def test_a_trial_that_fails_exits_with_1(monkeypatch):
    from expectant.experiments.runner import TrialError

    def failed(*_: Any, **__: Any) -> None:
        raise TrialError("loca/q_learning: out of luck")

    monkeypatch.setattr("expectant.experiments.reproduce.reproduce", failed)
    done = invoke("reproduce", "loca", "--quick")
    assert done.exit_code == 1 and "expectant: loca/q_learning: out of luck" in done.stderr


def test_list_and_show_components_and_studies():
    entries = json.loads(invoke("list", "--json").stdout)
    kinds = {entry["kind"] for entry in entries}
    assert {"corridor", "one_hot", "lookahead", "replay", "true_model", "loca"} <= kinds
    text, shown = invoke("list").stdout, invoke("show", "Lookahead").stdout
    assert all(kind in text for kind in kinds)
    assert "value_step" in shown and "``" not in text + shown and ":`" not in text + shown
    assert json.loads(invoke("show", "lookahead", "--json").stdout)["name"] == "Lookahead"
    assert "SeenStates" in invoke("show", "seen").output and '("seen")' in text
    assert "(Algorithm 1)" in text and len(shown.splitlines()) < 75
    assert invoke("show", "Algorithm 1").stdout == shown
    assert "figures: planning, q_learning, published" in invoke("show", "loca").stdout


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "expectant", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("expectant ")


def test_rows_of_the_adaptation_test(tmp_path, monkeypatch):
    """The study `loca` in a small grid: rows are printed, and stored in loca.json."""
    asked = configure_study(LOCA, (), ["lookahead"], ["all"], runs=1)
    assert asked.command() == "expectant reproduce loca --agent lookahead --backups all --runs 1"
    small = {"kind": "loca_grid", "rows": 1, "columns": 4, "phase_steps": [600, 300, 300]}
    shorter = {
        figure: replace(
            experiment, steps=1200, panels=tuple(replace(p, domain=small) for p in experiment.panels)
        )
        for figure, experiment in LOCA.experiments.items()
    }  # fmt: skip
    monkeypatch.setattr(
        "expectant.experiments.study.read_study",
        lambda *_, **__: replace(LOCA, experiments=shorter),
    )
    words = ["reproduce", "loca", "--agent", "lookahead", "--backups", "all", "--runs", "1"]
    done = invoke(*words, "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert [(row["agent"], row["backups"], len(row["phase1"])) for row in rows] == [
        ("lookahead", "all", 1)
    ]
    assert json.loads((tmp_path / "loca.json").read_text())["rows"] == rows
    assert "Adaptation: " in (tmp_path / "report.html").read_text()
    assert "Local-change adaptation test" in invoke(*words, "--out", tmp_path).stdout
