"""A stranger's file names a module that lies beside it: reading never runs it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.engine import learner_file as saving
from expectant.experiments.best import best
from expectant.experiments.config_file import parse_config, read_config
from expectant.experiments.sweep import run_sweep
from expectant.experiments.sweep_results import read_folder
from expectant.experiments.toml_tables import ConfigError

PLANTED = """
from pathlib import Path

Path("marker").touch()

import gymnasium
import expectant as ex


class PlantedWalk(ex.Corridor):
    pass


class PlantedTable(ex.OneHot):
    pass


class PlantedReplay(ex.backups.Replay):
    pass


if "Planted-v0" not in gymnasium.registry:
    gymnasium.register("Planted-v0", entry_point="gymnasium.envs.toy_text:FrozenLakeEnv")
"""

SPEC = """
name = "tiny"
episodes = 4
runs = 2
[domain]
kind = "corridor"
cells = 3
[features]
kind = "one_hot"
[agents.plain]
kind = "q_learning"
grid = { action_step = [0.1, 0.2] }
"""

REFUSED = "which would be imported and run; pass trust=True (command line: --trust) if you trust it"


@pytest.fixture
def planted(tmp_path, monkeypatch) -> Any:
    """A working directory with the module in it; what it leaves behind in the process is undone."""
    from expectant.core.config import KINDS

    (tmp_path / "planted.py").write_text(PLANTED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    known = dict(KINDS)
    yield tmp_path / "marker"
    sys.modules.pop("planted", None)
    KINDS.clear()
    KINDS.update(known)


def saved_with(path: Path, **changes: Any) -> Path:
    """A learner's file that names other parts than it was saved with."""
    agent = ex.Lookahead.paper(0.1, 0.1, backups=ex.backups.Replay(5))
    learner = ex.Learner(agent, ex.OneHot(), 2, states=3, compiled=False)
    learner.start(0)
    learner.save(path)
    facts, arrays = saving.read(path)
    for key, change in changes.items():
        facts[key] = change(facts[key])
    saving.write_arrays(path, facts, arrays)
    return path


def test_a_learners_file(planted):
    changes = {"backups": {"kind": "planted:PlantedReplay", "capacity": 5}}
    path = saved_with(Path("learner.npz"), agent=lambda table: {**table, **changes})
    with pytest.raises(ValueError, match=r"learner\.npz") as caught:
        ex.Learner.load(path, compiled=False)
    assert f"names the class 'planted:PlantedReplay', {REFUSED}" in str(caught.value)
    assert not planted.exists() and "planted" not in sys.modules
    ex.Learner.load(path, compiled=False, trust=True).predict(1)
    assert planted.exists()
    planted.unlink()
    ex.Learner.load(path, compiled=False)  # by now it is imported, so nothing more is run
    assert not planted.exists()


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Path:
    """The folder of a finished sweep; only to be copied."""
    folder = tmp_path_factory.mktemp("swept")
    run_sweep(parse_config(SPEC, "tiny.toml"), SPEC, folder, compiled=False)
    return folder


COMMANDS = ["best results", "report results", "show results/config.toml"]


@pytest.mark.parametrize(("text", "named"), [
    (SPEC.replace('"corridor"', '"planted:PlantedWalk"'), "domain: kind: names the class 'planted:PlantedWalk'"),
    (SPEC + '[[panels]]\nname = "other"\ndomain = { kind = "planted:PlantedWalk" }\n', "panels.domain: kind: names the class"),
    (SPEC + '[grid]\ndomain.kind = ["corridor", "planted:PlantedWalk"]\n', "grid.domain: kind: names the class"),
    (SPEC.replace('"corridor"\ncells = 3', '"gym"\nenvironment = "planted:Planted-v0"'), "domain: Gym: names the module 'planted'"),
])  # fmt: skip
def test_a_results_folder(planted, swept, text, named):
    shutil.copytree(swept, "results")
    Path("results/config.toml").write_text(text)
    for command in COMMANDS:
        found = CliRunner().invoke(app, command.split())
        assert found.exit_code == 2, found.output
        assert named in found.stderr and REFUSED in found.stderr
        assert not planted.exists()
    read_config(Path("results/config.toml"), trust=True)
    assert planted.exists()


def test_a_spec_that_is_run_is_trusted(planted):
    text = SPEC.replace('"corridor"', '"planted:PlantedWalk"')
    Path("own.toml").write_text(text)
    found = CliRunner().invoke(app, ["run", "own.toml", "--out", "results"])
    assert found.exit_code == 0, found.output
    assert read_folder(Path("results")).experiment.name == "tiny"  # by now it is imported
    sys.modules.pop("planted")
    with pytest.raises(ConfigError, match="'planted:PlantedWalk', which would be imported"):
        best(Path("results"))


def test_nothing_in_the_working_directory_stands_in_for_a_library(planted, monkeypatch):
    """An environment by its plain id looks for no modules there."""
    before = list(sys.path)
    ex.Gym("FrozenLake-v1").make().close()
    ex.Domain.from_dict({"kind": "gym", "environment": "FrozenLake-v1"})
    assert sys.path == before
