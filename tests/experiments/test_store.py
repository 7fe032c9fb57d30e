from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.sweeping import TRIAL, config_text
from faults import unreadable
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.core.files import StoreError
from expectant.experiments.curves import group_panels, read_curves, read_facts, write_curves
from expectant.experiments.runner import TrialError, compute
from expectant.experiments.store import KIND, FinishedRun, Store, mark_folder
from expectant.experiments.trials import trial_hash


def test_the_hash_follows_what_decides_the_numbers():
    same = replace(
        TRIAL, experiment="f", panel="p", interpretation="authors", agent_key="k", label="l", runs=3
    )
    assert trial_hash(same) == trial_hash(TRIAL)
    for changes in (
        {"agent": ex.QLearning.paper(0.2)}, {"domain": ex.Corridor(slip=0.2)}, {"episodes": 41},
        {"features": ex.RandomBinary(9, 1)}, {"seed": 1}, {"bin": 5}, {"step_limit": 10},
        {"curve": "length"}, {"episodes": 0, "steps": 40},
    ):  # fmt: skip
        assert trial_hash(replace(TRIAL, **changes)) != trial_hash(TRIAL)
    own = replace(TRIAL, step_limit=None)  # the corridor has none of its own, so it is 10,000
    assert trial_hash(own) == trial_hash(replace(TRIAL, step_limit=10_000)) != trial_hash(TRIAL)


def test_computed_once_and_then_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    store = Store(tmp_path)
    (first,) = compute([TRIAL], store).curves()
    assert first.shape == (25, 4)
    direct = ex.run(
        TRIAL.domain, TRIAL.features, TRIAL.agent, episodes=40, runs=25, step_limit=1000
    )
    np.testing.assert_array_equal(first, ex.analysis.learning_curve(direct.returns, 10))

    def forbidden(*arguments, **keywords):
        raise AssertionError("computed again")

    monkeypatch.setattr("expectant.experiments.executors.run_one", forbidden)
    again, fewer = compute([TRIAL, replace(TRIAL, runs=20, label="other")], store).curves()
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(fewer, first[:20])
    with pytest.raises(TrialError, match="text/q: AssertionError: computed again"):
        compute([replace(TRIAL, runs=30)], store)


def test_curves_go_through_the_file(tmp_path):
    path, curve = tmp_path / "c.parquet", np.random.default_rng(0).normal(size=(25, 4))
    curve[3, 2:] = np.nan
    panels = group_panels([TRIAL], [curve])
    assert panels[0].optimum == pytest.approx(13.924, abs=1e-3)
    write_curves(path, panels, [TRIAL], {"seed": 7})
    np.testing.assert_array_equal(read_curves(path, [TRIAL], "")[0], curve)
    assert read_facts(path)["seed"] == 7
    with pytest.raises(ValueError, match="holds no curve of 'other'"):
        read_curves(path, [replace(TRIAL, agent_key="other")], "")
    content = bytearray(path.read_bytes())
    content[content.index(curve.tobytes()[:8])] ^= 1
    path.write_bytes(content)
    for read in (lambda: read_curves(path, [TRIAL], ""), lambda: read_facts(path)):
        with pytest.raises(ValueError, match=r"c\.parquet: is damaged; run the command that wrote"):
            read()


def test_a_batch_goes_through_its_file_and_is_left_alone_if_unreadable(tmp_path, monkeypatch):
    store, curves = Store(tmp_path), np.random.default_rng(0).normal(size=(3, 4))
    curves[1, 2:] = np.nan
    reasons = "", "planning is diverging: ε", ""
    runs = list(map(FinishedRun, curves, (False, True, False), (0, 3, 10**12), reasons))
    store.save("name", 5, runs, TRIAL)
    batch = store.load("name", range(5, 8))
    assert batch is not None and batch.metadata["versions"]["numpy"] == np.__version__
    for loaded, run in zip(batch.runs, runs, strict=True):
        np.testing.assert_array_equal(loaded.curve, run.curve)
        assert loaded[1:] == run[1:]
    mark_folder(tmp_path)
    assert store.batches == Store(tmp_path).batches == {"name": {range(5, 8)}}
    assert store.load("name", range(3)) is None
    path = store.path("name", range(5, 8))
    before = path.read_bytes()
    for number in (errno.EACCES, errno.EIO):
        with unreadable(monkeypatch, path, number), pytest.raises(StoreError, match="left as it"):
            store.load("name", range(5, 8))
    assert path.read_bytes() == before


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(config_text([0.1]))


def call(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, words)])
    return done.exit_code, done.stderr


def test_the_last_command_decides_what_a_folder_is(here):
    for kind, command in (("study", "reproduce"), ("try", "try")):
        mark_folder(Path("out"), kind)
        status, said = call("best", "out")
        assert status == 2 and f"has results of `expectant {command}`" in said
        assert call("run", "out")[0] == 2
    assert call("run", "small.toml", "--out", "out")[0] == 0
    assert (
        json.loads(Path("out", KIND).read_text())["kind"] == "sweep" and call("best", "out")[0] == 0
    )


def test_a_folder_of_an_earlier_version_is_refused_and_left_alone(here):
    assert call("run", "small.toml", "--out", "out")[0] == 0
    (Path("out") / KIND).write_text(json.dumps({"kind": "sweep"}))  # as earlier versions wrote it
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    for command in (["run", "small.toml", "--out", "out"], ["best", "out"], ["report", "out"]):
        status, said = call(*command)
        assert status == 2 and len(said.splitlines()) == 1
        assert "was written by another version of expectant; nothing in it was changed" in said
    assert before == {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
