from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from expectant.cli import app
from expectant.lab.loca_command import adaptation_test, request_for
from expectant.lab.reproduce import read_stored


def test_the_command_prints_rows_and_writes_a_report(tmp_path):
    arguments = ["loca", "--agent", "lookahead", "--backups", "all", "--runs", "2"]
    done = CliRunner().invoke(app, [*arguments, "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["agent"], row["backups"], row["verdict"]) == ("lookahead", "all", "adaptive")
    assert len(row["phase1"]) == len(row["phase2"]) == 2
    assert row["P1"] > 0.93
    assert row["adaptation"] > 0.8
    assert (tmp_path / "report.html").exists()
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])  # again, from the disk
    assert "adaptive" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agent", "lookahed"], "--agent: unknown 'lookahed', did you mean 'lookahead'?"),
        (["--backups", "sean"], "--backups: unknown 'sean', did you mean 'seen'?"),
        (["--quick", "--runs", "3"], "--quick sets the runs"),
    ],
)
def test_bad_input_exits_with_2_and_writes_nothing(arguments, message, tmp_path):
    folder = tmp_path / "out"
    done = CliRunner().invoke(app, ["loca", *arguments, "--out", str(folder)])
    assert done.exit_code == 2
    assert message in done.stderr
    assert not folder.exists()


def test_rows_by_name():
    def rows(*asked):
        request = request_for(*asked)
        return [(cell.panel or cell.experiment, cell.agent_key) for cell in request.cells()]

    assert len(rows()) == len(set(rows())) == 50
    assert rows(["q_learning"]) == [("q_learning", "none")]
    assert rows(["lookahead"], ["seen", "all"]) == [("lookahead", "all"), ("lookahead", "seen")]
    with pytest.raises(ValueError, match="q_learning does not plan"):
        request_for(["q_learning"], ["seen"])
    for cell in request_for().cells():
        assert (cell.agent.epsilon, cell.agent.discount) == (0.1, 0.97)


def test_a_part_of_the_test_is_drawn_again_from_its_folder(tmp_path, monkeypatch):
    request = request_for(["lookahead"], ["all"], runs=1)
    assert request.command() == "expectant loca --agent lookahead --backups all --runs 1"
    small = {"kind": "loca_grid", "rows": 1, "columns": 4, "phase_steps": [600, 300, 300]}
    study = request.study
    shorter = {
        figure: replace(
            experiment,
            steps=1200,
            panels=tuple(replace(panel, domain=small) for panel in experiment.panels),
        )
        for figure, experiment in study.experiments.items()
    }
    request = replace(request, study=replace(study, experiments=shorter))
    rows = adaptation_test(request, tmp_path, 1)
    data = json.loads((tmp_path / "loca.json").read_text())
    assert data["rows"] == rows and len(rows[0]["phase1"]) == 1
    page = (tmp_path / "report.html").read_text()
    assert "Look-ahead" in page and "adaptation at a glance" in page
    monkeypatch.setattr("expectant.lab.reproduce.read_study", lambda *_: request.study)
    again, _ = read_stored(tmp_path)
    assert (again.panels, again.agents, again.figures) == (("lookahead",), ("all",), ("planning",))
