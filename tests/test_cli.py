from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from expectant.cli import app
from expectant.lab.store.folder import again, place_of

runner = CliRunner()

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


def test_help_teaches():
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    for command in ("reproduce", "readings", "run", "plot", "report", "list", "show", "bench"):
        assert command in result.output
        assert runner.invoke(app, [command, "--help"]).exit_code == 0


def test_run_plot_and_report(tmp_path):
    spec = tmp_path / "tiny.toml"
    spec.write_text(SPEC)
    out = tmp_path / "out"
    result = runner.invoke(app, ["run", str(spec), "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert rows[0]["agent"] == "q_learning"
    assert rows[0]["low"] <= rows[0]["mean_return"] <= rows[0]["high"]
    page = (out / "report.html").read_text()
    assert "<script>alert(1)</script>" not in page
    before = {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}
    assert {"curves.parquet", "spec.toml", "figure.png", "figure.svg", "report.html"} <= set(before)
    assert runner.invoke(app, ["plot", str(out)]).exit_code == 0
    assert runner.invoke(app, ["report", str(out)]).exit_code == 0
    assert {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()} == before
    table = runner.invoke(app, ["run", str(spec), "--out", str(out)])
    assert "mean return per episode" in table.stdout


@pytest.mark.parametrize("command", ["run", "sweep"])
@pytest.mark.parametrize("out", [[], ["--out", "my results"]], ids=["default", "out"])
def test_the_command_on_a_page_makes_it_again(tmp_path, monkeypatch, command, out):
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(SPEC.replace("name =", "# name =").replace("title =", "# title ="))
    assert runner.invoke(app, [command, "tiny.toml", *out]).exit_code == 0
    folder = Path(out[-1] if out else "results/tiny")
    page = folder / "report.html"
    text = page.read_text()
    label, told = re.findall(r"Make it again(.*?):</span><pre><code>(.*?)</code>", text)[0]
    assert label == ", in the working directory in which this page was written"
    before = {path: path.read_bytes() for path in folder.glob("*.[hps]*") if path.is_file()}
    page.unlink()
    program, *words = shlex.split(html.unescape(told))
    assert program == "expectant"
    found = runner.invoke(app, words)
    assert found.exit_code == 0, found.output
    titled = {path: path.read_bytes() for path in folder.glob("*.[hps]*") if path.is_file()}
    if not out:  # a spec without a name goes by its file, and then by its folder
        assert titled == before
    assert {path.name for path in Path("results").glob("*")} == ({"tiny"} if not out else set())


def test_the_command_on_a_page_names_the_place_only_where_it_matters(tmp_path):
    assert place_of(tmp_path) == "" and place_of(Path("results"))
    assert again("sweep", Path("my results")) == (
        "expectant sweep 'my results/spec.toml' --out 'my results'"
    )


def test_reproduce_one_figure(tmp_path):
    out = tmp_path / "paper"
    result = runner.invoke(
        app, ["reproduce", "--figure", "5a", "--quick", "--out", str(out), "--json"]
    )
    assert result.exit_code == 0, result.output
    verdicts = json.loads(result.stdout)
    assert {v["id"] for v in verdicts} == {10, 11, 12, 13, 14, 18, 19, 20, 30, 31}
    assert {v["reading"] for v in verdicts} == {"print", "ours", "code"}
    stored = json.loads((out / "claims.json").read_text())
    keys = ("id", "figure", "reading", "claim", "verdict", "statistic", "low", "high", "rule")
    assert all(set(keys) <= set(entry) for entry in stored)
    assert all("quick" in entry["warning"] for entry in stored)
    assert "quick run" in (out / "report.html").read_text()
    before = {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}
    assert {"figure-5a.png", "figure-5a.svg", "curves.parquet"} <= set(before)
    assert runner.invoke(app, ["report", str(out)]).exit_code == 0
    assert runner.invoke(app, ["plot", str(out)]).exit_code == 0
    assert {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()} == before

    from pyarrow import parquet

    table = parquet.read_table(out / "curves.parquet")
    assert set(table.column_names) >= {
        "figure",
        "reading",
        "agent",
        "run",
        "bin",
        "first_episode",
        "mean_return",
    }
    assert table.num_rows == 3 * 3 * 5 * 40


BAD = [
    (["reproduce", "--figure", "6"], "unknown '6'"),
    (["reproduce", "--quick", "--runs", "3"], "cannot be combined with --runs 3"),
    (["reproduce", "--runs", "0"], "must be a whole number, 1 or more, got 0"),
    (["reproduce", "--threads", "0"], "1 or more, got 0"),
    (["run", "missing.toml"], "missing.toml: there is no such file"),
    (["show", "lookahed"], "unknown part 'lookahed', did you mean 'lookahead'"),
    (["plot", "nowhere"], "there is no folder nowhere"),
    (["report", "nowhere"], "there is no folder nowhere"),
    (["best", "nowhere"], "there is no folder nowhere"),
    (["reproduce", "5a"], "unknown '5a'; for a figure of the paper give --figure 5a\n"),
    (["reproduce", "--figure", "5"], "unknown '5', did you mean '5a' or '5b'?"),
    (["reproduce", "--run", "5"], "(Possible options: --runs)"),
    (["reproduce", "--outt", "here"], "(Possible options: --out)"),
    (["reprodce"], "reprodce"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_exits_with_2_and_writes_nothing(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_is_not_a_spec_but_may_hold_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    for command in ("run", "sweep"):
        found = runner.invoke(app, [command, "mine"])
        assert found.exit_code == 2
        assert "mine: is a folder; give a spec, there is none in it" in found.stderr
    Path("mine/spec.toml").write_text("")
    found = runner.invoke(app, ["sweep", "mine"])
    assert "mine: is a folder; give a spec in it: mine/spec.toml\n" in found.stderr
    Path("mine/study.toml").write_text("")
    found = runner.invoke(app, ["run", "mine"])
    assert "mine: is a folder; `expectant reproduce mine` runs a study\n" in found.stderr


def test_a_bad_spec_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "bad.toml"
    spec.write_text(SPEC.replace("action_step", "acton_step"))
    result = runner.invoke(app, ["run", str(spec)])
    assert result.exit_code == 2
    assert (
        "agents.q_learning: QLearning: unknown option acton_step=0.1, did you mean 'action_step'?"
        in result.stderr
    )
    assert list(tmp_path.iterdir()) == [spec]


def test_results_that_cannot_be_written_exit_with_1(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    spec = tmp_path / "tiny.toml"
    spec.write_text(SPEC)
    result = runner.invoke(app, ["run", str(spec), "--out", str(blocked / "below")])
    assert result.exit_code == 1
    assert "cannot write results" in result.stderr


def test_list_and_show():
    entries = json.loads(runner.invoke(app, ["list", "--json"]).stdout)
    kinds = {entry["kind"] for entry in entries}
    assert {"corridor", "one_hot", "lookahead", "replay", "true_model"} <= kinds
    text = runner.invoke(app, ["list"]).stdout
    assert all(kind in text for kind in kinds)
    shown = runner.invoke(app, ["show", "Lookahead"]).stdout
    tiles = runner.invoke(app, ["show", "tiles"]).stdout
    assert "`maintained=True` keeps" in shown
    assert "(`expectant.features.hashing.collisions` counts" in tiles
    assert not any("``" in each or ":`" in each for each in (text, shown, tiles))
    assert "value_step" in shown and "required" in shown
    assert (
        json.loads(runner.invoke(app, ["show", "lookahead", "--json"]).stdout)["name"]
        == "Lookahead"
    )


def test_module_and_completion():
    """Typer asks which shell it was started from, which may be one without completion."""
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "expectant", "--show-completion", "bash"], capture_output=True, text=True, check=True,
        env=named,
    )  # fmt: skip
    assert "completion()" in done.stdout


def test_a_row_of_the_benchmarks_that_is_unknown_is_refused():
    result = runner.invoke(app, ["bench", "optons"])
    assert result.exit_code == 2
    assert "unknown row 'optons', did you mean 'options'?" in result.output


def test_the_benchmarks_are_found():
    from expectant.bench import benchmark_file

    assert benchmark_file().name == "speed.py"
    assert (benchmark_file().parent / "algorithm1.h").exists()
    assert Path(__file__).parents[1] / "benchmarks" == benchmark_file().parent


def invoke(*words):
    return runner.invoke(app, [str(word) for word in words])


def test_figures_and_page_again_of_a_spec_without_a_name(tmp_path):
    spec = tmp_path / "nameless.toml"
    spec.write_text(
        "episodes = 4\nruns = 2\n[domain]\nkind = 'corridor'\n[features]\nkind = 'one_hot'\n"
        "[agents.plain]\nkind = 'q_learning'\naction_step = 0.1\n"
    )
    out = tmp_path / "out"
    assert invoke("run", spec, "--out", out).exit_code == 0
    for command in ("plot", "report"):
        done = invoke(command, out)
        assert done.exit_code == 0, done.output


def test_parts_are_found_by_the_names_that_agents_have_for_them():
    assert "SeenStates" in invoke("show", "seen").output
    assert '(agents: "seen")' in invoke("list").output
