from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import expectant as ex
from expectant.experiments.compute import blocks, compute
from expectant.experiments.results import panels_of, read_curves, write_curves
from expectant.experiments.spec import Cell
from expectant.experiments.store import Block, Store, StoreError, cell_hash

CELL = Cell(
    "e", "", "text", "q", "Q", ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), 40, 25, 10, 0, 1000
)  # fmt: skip


def test_blocks_cover_all_runs_once():
    assert list(blocks(25)) == [(0, 10), (10, 10), (20, 5)]


def test_the_hash_follows_what_decides_the_numbers():
    same = replace(
        CELL, experiment="f", panel="p", reading="code", agent_key="k", label="l", runs=3
    )
    assert cell_hash(same) == cell_hash(CELL)
    for changes in (
        {"agent": ex.QLearning(0.2)}, {"domain": ex.Corridor(slip=0.2)}, {"episodes": 41},
        {"features": ex.RandomBinary(9, 1)}, {"seed": 1}, {"bin": 5}, {"step_limit": 10},
    ):  # fmt: skip
        assert cell_hash(replace(CELL, **changes)) != cell_hash(CELL)


def test_computed_once_and_then_loaded(tmp_path, monkeypatch):
    store = Store(tmp_path)
    (first,) = compute([CELL], store)
    assert first.shape == (25, 4)
    direct = ex.run(CELL.domain, CELL.features, CELL.agent, episodes=40, runs=25, step_limit=1000)
    np.testing.assert_array_equal(first, ex.analysis.learning_curve(direct.returns, 10))

    def forbidden(*arguments, **keywords):
        raise AssertionError("computed again")

    monkeypatch.setattr("expectant.experiments.compute.run", forbidden)
    again, fewer = compute([CELL, replace(CELL, runs=20, label="other")], store)
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(fewer, first[:20])


def test_broken_files_are_computed_again(tmp_path):
    store = Store(tmp_path)
    (first,) = compute([CELL], store)
    files = sorted(store.folder.iterdir())
    assert len(files) == 3
    files[0].write_bytes(files[0].read_bytes()[:50])
    files[1].write_bytes(b"something else")
    (again,) = compute([CELL], store)
    np.testing.assert_array_equal(again, first)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write results to"):
        Store(tmp_path / "file").save("x", 0, Block(np.zeros((1, 1)), np.zeros(1, bool)), CELL)


def test_curves_go_through_the_file(tmp_path):
    curve = np.random.default_rng(0).normal(size=(25, 4))
    curve[3, 2:] = np.nan
    panels = panels_of([CELL], [curve])
    assert panels[0].optimum == pytest.approx(13.924, abs=1e-3)
    write_curves(tmp_path / "c.parquet", panels, {"seed": 7})
    (again,), facts = read_curves(tmp_path / "c.parquet", [CELL])
    np.testing.assert_array_equal(again, curve)
    assert facts == {"seed": 7}
    with pytest.raises(ValueError, match="holds no curve of 'other'"):
        read_curves(tmp_path / "c.parquet", [replace(CELL, agent_key="other")])


def test_killed_at_random_moments_and_started_again_gives_the_same_bytes(tmp_path):
    command = [sys.executable, "-m", "expectant", "reproduce", "--figure", "5a", "--runs", "40"]

    def start(folder):
        return subprocess.Popen(
            [*command, "--out", str(folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ.copy(),
        )  # fmt: skip

    undisturbed = start(tmp_path / "a")
    assert undisturbed.wait(timeout=240) == 0
    chance = random.Random(3)
    for _ in range(4):
        process = start(tmp_path / "b")
        time.sleep(1.0 + 2.5 * chance.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start(tmp_path / "b").wait(timeout=240) == 0
    for name in ("curves.parquet", "claims.json", "report.html", "figure-5a.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    names = [sorted(p.name for p in (tmp_path / x / "blocks").glob("*.parquet")) for x in "ab"]
    assert names[0] == names[1]
