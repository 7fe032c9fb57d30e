from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from expectant.cli import app


def test_the_command_prints_rows_and_writes_a_report(tmp_path):
    arguments = ["loca", "--agent", "lookahead", "--backups", "all", "--runs", "2"]
    done = CliRunner().invoke(app, [*arguments, "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["agent"], row["backups"], row["verdict"]) == ("lookahead", "all", "adaptive")
    assert len(row["phase1"]) == len(row["phase2"]) == 2
    assert row["P1"] > 0.93
    assert row["adaptation"] > 0.8
    assert (tmp_path / "loca.html").exists()
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
