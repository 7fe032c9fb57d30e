from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from experiments.sweeping import TRIAL, config_text, results, start
from pyarrow import parquet
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.core.files import StoreError
from expectant.experiments.config_file import parse_config
from expectant.experiments.runner import read_trials, settings_columns
from expectant.experiments.store import lock_folder
from expectant.experiments.sweep import run_sweep
from expectant.experiments.trials import Shard

STEPS = [0.05, 0.1, 0.2]


def sweep(folder, steps=STEPS, text=None, **options):
    text = text or config_text(steps)
    return run_sweep(parse_config(text, "tiny.toml"), text, folder, compiled=False, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with the finished sweep; only to be looked at."""
    folder = tmp_path_factory.mktemp("whole")
    outcome = sweep(folder)
    assert (outcome.found, outcome.computed, outcome.failed) == (0, 9, {})
    return folder


def test_batches_and_trials_are_tables_of_the_runs(whole):
    rows = parquet.read_table(whole / "runs").to_pydict()
    assert list(rows) == ["trial", "hash", "run", "bin", "first", "value", "diverged"]
    points = zip(rows["trial"], rows["run"], rows["bin"], strict=True)
    values = dict(zip(points, rows["value"], strict=True))
    assert len(rows["trial"]) == len(values) == 3 * 22 * 2
    direct = ex.run(
        ex.Corridor(cells=3), ex.OneHot(), ex.QLearning.paper(0.2), episodes=10, runs=22, compiled=False, progress=False
    )  # fmt: skip
    for run in (0, 9, 10, 21):
        assert values["plain action_step=0.2", run, 1] == direct.returns[run, 5:].mean()
    table = read_trials(whole)
    assert table["agent.action_step"].to_pylist() == STEPS
    np.testing.assert_allclose(table["values"].to_pylist()[2], direct.returns.mean(axis=1))
    assert table["mean"].to_pylist()[2] == pytest.approx(direct.returns.mean())


def test_shards_make_the_same_bytes_as_the_whole(tmp_path, whole):
    counts = [sweep(tmp_path, shard=Shard(n, 4)).computed for n in (4, 1, 3, 2)]
    assert sum(counts) == 9 and max(counts) - min(counts) <= 1
    assert not (tmp_path / "trials.parquet").exists()
    assert sweep(tmp_path).computed == 0
    assert results(tmp_path) == results(whole)


def test_a_changed_config_keeps_the_runs_it_still_asks_for(tmp_path):
    sweep(tmp_path)
    other = sweep(tmp_path, [0.1, 0.2, 0.3])
    assert (other.found, other.computed) == (6, 3)
    assert read_trials(tmp_path)["agent.action_step"].to_pylist() == [0.1, 0.2, 0.3]
    renamed = sweep(tmp_path, text=config_text(STEPS).replace("agents.plain", "agents.other"))
    assert (renamed.found, renamed.computed) == (9, 0)  # batches are found by what they are of
    assert read_trials(tmp_path)["trial"].to_pylist() == [f"other action_step={x}" for x in STEPS]
    for runs, computed in ((27, 3), (12, 0)):
        text = config_text(STEPS).replace("runs = 22", f"runs = {runs}")
        assert sweep(tmp_path, text=text).computed == computed
        assert read_trials(tmp_path)["runs"].to_pylist() == [runs] * 3


def test_equal_trials_are_computed_once(tmp_path):
    also = '[agents.also]\nkind = "q_learning"\npreset = "paper"\naction_step = 0.1\n'
    outcome = sweep(tmp_path, text=config_text(STEPS) + also)
    assert outcome.computed == 9
    table = outcome.table()
    rows = dict(zip(table["trial"].to_pylist(), table["values"].to_pylist(), strict=True))
    assert rows["also"] == rows["plain action_step=0.1"] and len(rows["also"]) == 22


def test_damaged_and_exchanged_batches_are_computed_again(tmp_path, whole, capsys):
    sweep(tmp_path)
    one, two, three, four, five, *_ = sorted((tmp_path / "runs").iterdir())
    one.write_bytes(one.read_bytes()[:-30])
    two.write_bytes(b"")
    content = bytearray(three.read_bytes())
    content[300] ^= 1  # in the values, far from the end that says what is in the file
    three.write_bytes(content)
    four.write_bytes(five.read_bytes())
    again = sweep(tmp_path)
    assert (again.found, again.computed) == (5, 4)
    assert "4 batches in" in capsys.readouterr().err
    assert results(tmp_path) == results(whole)


def test_results_of_other_versions_are_computed_again(tmp_path, monkeypatch, capsys):
    """As after an upgrade of NumPy, or of this package."""
    sweep(tmp_path)
    before = results(tmp_path)
    monkeypatch.setattr("expectant.experiments.trials.package_code", lambda: "another")
    again = sweep(tmp_path)
    assert (again.found, again.computed) == (0, 9)
    assert "runs of 3 trials" in capsys.readouterr().err
    assert {*before} <= {*results(tmp_path)}  # those before are kept


def test_steps_and_divergence(tmp_path):
    warnings.simplefilter("ignore", RuntimeWarning)  # plain Python warns of the overflow
    outcome = sweep(tmp_path / "a", [0.1, 1e200])
    assert outcome.failed == {}  # divergence is a result
    table = read_trials(tmp_path / "a")
    assert table["diverged"].to_pylist() == [0, 22]
    assert np.isnan(table["mean"].to_pylist()[1])
    text = config_text([0.1]).replace("episodes = 10", "steps = 25").replace("bin = 5", "bins = 5")
    table = sweep(tmp_path / "b", text=text).table()
    direct = ex.run(
        ex.Corridor(cells=3), ex.OneHot(), ex.QLearning.paper(0.1), steps=25, bins=5, runs=22, compiled=False, progress=False
    )  # fmt: skip
    np.testing.assert_array_equal(table["values"].to_pylist()[0], direct.rewards.mean(axis=1))


def test_only_settings_that_differ_have_a_column():
    other = replace(TRIAL, agent=ex.QLearning.paper(0.2), domain=ex.Corridor(slip=0.5))
    columns = {"domain.slip": [0.1, 0.5], "agent.action_step": [0.1, 0.2]}
    assert settings_columns([TRIAL, other]) == columns
    columns = settings_columns([TRIAL, replace(TRIAL, agent=ex.Lookahead.paper(0.5))])
    assert columns["agent.kind"] == ["q_learning", "lookahead"]
    assert columns["agent.value_step"] == [None, 0.5]
    agents = [ex.agents.FreezeAfter(ex.Lookahead.paper(step), 10) for step in (0.1, 0.2)]
    columns = settings_columns([replace(TRIAL, agent=agent) for agent in agents])
    assert columns == {"agent.value_step": [0.1, 0.2]}  # settings of the agent inside
    total = replace(TRIAL, agent=ex.QLearning.paper(0.1, step_unit="total"))
    assert settings_columns([TRIAL, total]) == {"agent.action_step.per": ["feature", "total"]}


WRONG = """
name = "wrong"
episodes = 12
runs = 2
bin = 4
domain = { kind = "corridor", slip = 0.0 }
features = { kind = "random_binary", size = 14, active = 5, grid = { size = [14] } }
agents.wild = { kind = "lookahead", preset = "paper", value_step = 2.0 }
agents.tame = { kind = "q_learning", preset = "paper", action_step = 0.1 }
[agents.full]
kind = "lookahead"
preset = "paper"
value_step = 0.02
model = { kind = "sparse_expectation", step = 0.1, capacity = 2 }
"""


def test_problems_are_reported_also_from_the_store(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    warnings.simplefilter("ignore", RuntimeWarning)  # plain Python warns of the overflow
    path = tmp_path / "wrong.toml"
    path.write_text(WRONG)
    for _ in range(2):  # the second time nothing is computed
        done = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
        (reason,) = [line for line in done.stderr.splitlines() if "is diverging" in line]
        assert "planning is diverging: Lookahead in Corridor, run 0, episode " in reason
        assert done.stderr.count("were evicted") == 1
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("planning is diverging: Lookahead in Corridor, run 0") == 1
    assert "entries of models were evicted" in page


# --------------------------------------------------------------------------------------- faults


@pytest.fixture
def broken(monkeypatch):
    """Runs of one setting raise while the switch is on."""
    from expectant.experiments import executors

    switch, plain = {"on": True}, executors.run_one

    def run_one(task, *rest):
        if switch["on"] and task.trial.agent.action_step.step == 0.1:
            raise ZeroDivisionError("no luck")
        return plain(task, *rest)

    monkeypatch.setattr(executors, "run_one", run_one)
    return switch


def test_a_trial_that_fails_is_named_and_the_others_finish(tmp_path, whole, broken, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    path = tmp_path / "tiny.toml"
    path.write_text(config_text(STEPS))
    arguments = ["run", str(path), "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "failed: plain action_step=0.1: ZeroDivisionError: no luck" in result.stderr
    data = json.loads(result.stdout)
    assert list(data["failed"]) == ["plain action_step=0.1"]
    told = data["failed"]["plain action_step=0.1"]
    assert re.fullmatch(r"ZeroDivisionError: no luck \(\S+test_sweep.py, line \d+\)", told)
    assert data["batches_computed"] == 6
    broken["on"] = False
    again = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert (again["batches_found"], again["batches_computed"], again["failed"]) == (6, 3, {})
    assert results(tmp_path / "out") == results(whole)


def test_one_process_at_a_time(tmp_path):
    text = config_text(STEPS)
    with lock_folder(tmp_path, text):
        with pytest.raises(StoreError, match="is in use by another process"):
            sweep(tmp_path)
        assert list(tmp_path.glob("runs/*")) == []
    with lock_folder(tmp_path, text, Shard(1, 2)):
        assert sweep(tmp_path, shard=Shard(2, 2)).computed == 4
        with pytest.raises(StoreError, match=r"shard 1/2 of .* is in use by another process"):
            sweep(tmp_path, shard=Shard(1, 2))
        with pytest.raises(StoreError, match="is in use by shards; wait"):
            sweep(tmp_path)
        with pytest.raises(StoreError, match="in use by shards of another config"):
            sweep(tmp_path, [0.7], shard=Shard(2, 2))
    assert sweep(tmp_path).computed == 5


KILLING = """
import os, signal, sys, time
from pathlib import Path

import matplotlib, numba, numpy, pyarrow.parquet
from expectant.experiments.sweep import run_file

def there():
    return len(list(folder.glob("runs/*.parquet")))

path, folder, chance = Path(sys.argv[1]), Path(sys.argv[2]), numpy.random.default_rng(5)
for _ in range(4):
    before, child = there(), os.fork()
    if child == 0:
        run_file(path, folder, threads=2)
        os._exit(0)
    while there() == before and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.002)
    time.sleep(0.1 * chance.random())
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "it was over before it could be killed"
print(there())
"""


def test_killed_often_and_started_again_gives_the_same_bytes(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(config_text([round(0.002 * n, 3) for n in range(1, 17)], episodes=20))
    undisturbed = start(path, tmp_path / "a")
    done = subprocess.run(
        [sys.executable, "-c", KILLING, path, tmp_path / "b"], capture_output=True, text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 4 <= int(done.stdout) < 48
    for process in (undisturbed, start(path, tmp_path / "b")):
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert results(tmp_path / "a") == results(tmp_path / "b")
    rows = parquet.read_table(tmp_path / "b" / "runs", columns=["trial", "run", "bin"]).to_pydict()
    points = list(zip(rows["trial"], rows["run"], rows["bin"], strict=True))
    assert len(points) == len(set(points)) == 16 * 22 * 4
