from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import time
import tracemalloc
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from faults import unreadable
from pyarrow import parquet
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.lab.engines.compute import Shard
from expectant.lab.engines.tasks import Ran
from expectant.lab.specs.spec import parse_spec, parse_toml
from expectant.lab.store.cell_tables import cell_table, read_cells
from expectant.lab.store.folder import opened
from expectant.lab.store.store import Block, Store, StoreError
from expectant.lab.store.timings import Session
from expectant.lab.sweep import Outcome, Sweep, run_sweep
from expectant.lab.sweep_command import parse_shard
from lab.sweeps.sweeping import results, spec, start

STEPS = [0.05, 0.1, 0.2]


def sweep(folder, steps=STEPS, text=None, **options):
    text = text or spec(steps)
    return run_sweep(parse_spec(text, "tiny.toml"), text, folder, compiled=False, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with the finished sweep; only to be looked at."""
    folder = tmp_path_factory.mktemp("whole")
    outcome = sweep(folder)
    assert (outcome.found, outcome.computed, outcome.failed) == (0, 9, {})
    return folder


@pytest.mark.parametrize(
    ("runs", "seconds", "said"), [(30, 85.0, "0.37"), (30, 8.5, "6"), (996, 103.5, "10"), (4_000, 103.5, "40")]
)  # fmt: skip
def test_a_slow_rate_is_not_none_at_all(whole, runs, seconds, said):
    work = sweep(whole).work
    outcome = Outcome(whole, work, Session(1, seconds=seconds, compiling=3.5, runs=runs))
    first = f"{seconds} s, 3.5 s of it compiling or loading; {said} runs/s, "
    assert outcome.text().splitlines()[1].startswith(first)


def test_all_blocks_are_one_table(whole):
    rows = parquet.read_table(whole / "blocks").to_pydict()
    assert list(rows) == ["cell", "run", "bin", "first", "value", "length", "diverged"]
    assert len(rows["cell"]) == 3 * 22 * 2
    assert len(set(zip(rows["cell"], rows["run"], rows["bin"], strict=True))) == 3 * 22 * 2
    direct = ex.run(
        ex.Corridor(cells=3), ex.OneHot(), ex.QLearning(0.1), episodes=10, runs=22, compiled=False, progress=False
    )  # fmt: skip
    for run in (0, 9, 10, 21):
        (value,) = (
            value
            for cell, r, b, value in zip(
                rows["cell"], rows["run"], rows["bin"], rows["value"], strict=True
            )
            if (cell, r, b) == ("plain action_step=0.1", run, 1)
        )
        assert value == direct.returns[run, 5:].mean()


def test_every_file_says_where_it_comes_from(whole):
    for path in (whole / "blocks").iterdir():
        facts = json.loads(parquet.read_metadata(path).metadata[b"expectant"])
        assert len(facts["spec"]) == 20 and facts["seed"] == 0
        assert {"python", "expectant", "numpy", "numba", "commit"} <= set(facts)
        assert facts["agent"]["kind"] == "q_learning" and facts["episodes"] == 10


def test_one_row_per_cell(whole):
    table = read_cells(whole)
    assert table.column_names == [
        "cell", "hash", "panel", "agent", "base_panel", "base_agent", "label", "agent.action_step", "runs", "diverged", "divergence", "evicted", "mean", "values",
    ]  # fmt: skip
    assert table["agent.action_step"].to_pylist() == STEPS
    direct = ex.run(
        ex.Corridor(cells=3), ex.OneHot(), ex.QLearning(0.2), episodes=10, runs=22, compiled=False, progress=False
    )  # fmt: skip
    np.testing.assert_allclose(table["values"].to_pylist()[2], direct.returns.mean(axis=1))
    assert table["mean"].to_pylist()[2] == pytest.approx(direct.returns.mean())
    with pytest.raises(FileNotFoundError, match="expectant run"):
        read_cells(whole / "nowhere")


def test_shards_make_the_same_bytes_as_the_whole(tmp_path, whole):
    counts = [sweep(tmp_path, shard=Shard(n, 4)).computed for n in (4, 1, 3, 2)]
    assert sum(counts) == 9 and max(counts) - min(counts) <= 1
    assert not (tmp_path / "cells.parquet").exists()
    assert sweep(tmp_path).computed == 0
    assert results(tmp_path) == results(whole)


def test_threads_do_not_change_a_byte(tmp_path, whole):
    sweep(tmp_path, threads=5)
    assert results(tmp_path) == results(whole)


def test_more_runs_are_added(tmp_path):
    text = spec(STEPS)
    sweep(tmp_path, text=text)
    more = sweep(tmp_path, text=text.replace("runs = 22", "runs = 27"))
    assert (more.found, more.computed) == (9, 3)
    rows = parquet.read_table(tmp_path / "blocks").to_pydict()
    runs = [
        r
        for c, r, b in zip(rows["cell"], rows["run"], rows["bin"], strict=True)
        if b == 0 and c.endswith("=0.2")
    ]
    assert sorted(runs) == list(range(27))
    fewer = sweep(tmp_path, text=text.replace("runs = 22", "runs = 12"))
    assert fewer.computed == 0
    assert read_cells(tmp_path)["runs"].to_pylist() == [12, 12, 12]


def test_a_changed_spec_keeps_what_it_still_asks_for(tmp_path, capsys):
    sweep(tmp_path)
    other = sweep(tmp_path, [0.1, 0.2, 0.3])
    assert (other.found, other.computed) == (6, 3)
    assert "1 cells in" in capsys.readouterr().err
    cells = set(parquet.read_table(tmp_path / "blocks")["cell"].to_pylist())
    assert cells == {f"plain action_step={step}" for step in (0.1, 0.2, 0.3)}
    aside = sorted(path.name for path in (tmp_path / "set-aside").iterdir())
    assert len(aside) == 4 and "cells.parquet" in aside
    back = sweep(tmp_path)
    assert (back.found, back.computed) == (9, 0)
    assert "1 cells that were set aside are asked for again" in capsys.readouterr().err


def test_a_cell_that_goes_by_another_id_now(tmp_path):
    sweep(tmp_path)
    text = spec(STEPS).replace("agents.plain", "agents.other")
    renamed = sweep(tmp_path, text=text)
    assert (renamed.found, renamed.computed) == (9, 0)
    cells = set(parquet.read_table(tmp_path / "blocks")["cell"].to_pylist())
    assert cells == {f"other action_step={step}" for step in STEPS}


def test_equal_cells_are_computed_once(tmp_path):
    text = spec(STEPS) + '[agents.also]\nkind = "q_learning"\naction_step = 0.1\n'
    outcome = sweep(tmp_path, text=text)
    assert outcome.computed == 9
    table = outcome.table()
    rows = dict(zip(table["cell"].to_pylist(), table["values"].to_pylist(), strict=True))
    assert rows["also"] == rows["plain action_step=0.1"] and len(rows["also"]) == 22
    stored = set(parquet.read_table(tmp_path / "blocks")["cell"].to_pylist())
    assert stored == {"also", "plain action_step=0.05", "plain action_step=0.2"}


def test_damaged_blocks_are_computed_again(tmp_path, whole):
    sweep(tmp_path)
    one, two, *_ = sorted((tmp_path / "blocks").iterdir())
    one.write_bytes(one.read_bytes()[:-30])
    two.write_bytes(b"")
    assert sweep(tmp_path).computed == 2
    assert results(tmp_path) == results(whole)


def test_damage_in_the_middle_of_a_block_is_found_and_repaired(tmp_path, whole, capsys):
    sweep(tmp_path)
    path = sorted((tmp_path / "blocks").iterdir())[4]
    content = bytearray(path.read_bytes())
    content[300] ^= 1  # in the values, far from the end that says what is in the file
    path.write_bytes(content)
    again = sweep(tmp_path)
    assert (again.found, again.computed) == (8, 1)
    assert "1 blocks in" in capsys.readouterr().err
    assert results(tmp_path) == results(whole)
    assert sweep(tmp_path).computed == 0 and "blocks in" not in capsys.readouterr().err


def test_swapped_blocks_are_computed_again(tmp_path, whole):
    sweep(tmp_path)
    folder = tmp_path / "blocks"
    names = sorted({path.name[:20] for path in folder.iterdir()})
    swap(folder / f"{names[0]}-00000-0010.parquet", folder / f"{names[1]}-00000-0010.parquet")
    swap(folder / f"{names[2]}-00000-0010.parquet", folder / f"{names[2]}-00010-0010.parquet")
    assert sweep(tmp_path).computed == 4
    assert results(tmp_path) == results(whole)


def swap(one, other):
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def test_a_shard_leaves_the_damaged_blocks_of_others_alone(tmp_path):
    sweep(tmp_path)
    paths = sorted((tmp_path / "blocks").iterdir())
    for path in paths:
        path.write_bytes(b"damaged")
    assert sweep(tmp_path, shard=Shard(1, 3)).computed == 3
    assert sum(path.read_bytes() == b"damaged" for path in paths) == 6


def test_blocks_and_specs_that_cannot_be_read_are_left_alone(tmp_path, whole, monkeypatch):
    sweep(tmp_path)
    before = results(tmp_path)
    block = next((tmp_path / "blocks").iterdir())
    for path in (block, tmp_path / "spec.toml"):
        with unreadable(monkeypatch, path, errno.EACCES), pytest.raises(StoreError, match=f"cannot read .*{path.name}: Permission denied"):  # fmt: skip
            sweep(tmp_path)
        assert results(tmp_path) == before
    path = tmp_path / "cells.parquet"
    with unreadable(monkeypatch, path, errno.EIO), pytest.raises(StoreError, match="Input/output"):
        read_cells(tmp_path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"cells\.parquet: is damaged; run `expectant run` again"):
        read_cells(tmp_path)


def test_steps_lengths_and_divergence(tmp_path):
    text = 'record = ["return", "length"]\n' + spec([0.1, 1e200])
    warnings.simplefilter("ignore", RuntimeWarning)  # plain Python speaks of the overflow
    outcome = sweep(tmp_path / "a", text=text)
    assert outcome.failed == {}  # divergence is a result
    rows = parquet.read_table(tmp_path / "a" / "blocks").to_pydict()
    direct = ex.run(
        ex.Corridor(cells=3), ex.OneHot(), ex.QLearning(0.1), episodes=10, runs=1, compiled=False, progress=False
    )  # fmt: skip
    found = dict(
        zip(zip(rows["cell"], rows["run"], rows["bin"], strict=True), rows["length"], strict=True)
    )
    assert found["plain action_step=0.1", 0, 0] == direct.lengths[0, :5].mean()
    table = read_cells(tmp_path / "a")
    assert table["diverged"].to_pylist() == [0, 22]
    assert np.isnan(table["mean"].to_pylist()[1])
    text = spec([0.1]).replace("episodes = 10", "steps = 25\nbins = 5").replace("bin = 5\n[", "[")
    table = sweep(tmp_path / "b", text=text).table()
    direct = ex.run(
        ex.Corridor(cells=3), ex.OneHot(), ex.QLearning(0.1), steps=25, bins=5, runs=22, compiled=False, progress=False
    )  # fmt: skip
    np.testing.assert_array_equal(table["values"].to_pylist()[0], direct.rewards.mean(axis=1))


# --------------------------------------------------------------------------------------- faults


@pytest.fixture
def broken(monkeypatch):
    """Runs of one setting raise while the switch is on."""
    from expectant.lab.engines import on_threads
    from expectant.lab.engines import tasks as work

    switch = {"on": True}

    def run_one(task, *rest):
        if switch["on"] and task.cell.agent.action_step == 0.1:
            raise ZeroDivisionError("no luck")
        return work.run_one(task, *rest)

    monkeypatch.setattr(on_threads, "run_one", run_one)
    return switch


def test_a_cell_that_fails_is_named_and_the_others_finish(tmp_path, whole, broken, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    path = tmp_path / "tiny.toml"
    path.write_text(spec(STEPS))
    arguments = ["run", str(path), "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "failed: plain action_step=0.1: ZeroDivisionError: no luck" in result.stderr
    data = json.loads(result.stdout)
    assert list(data["failed"]) == ["plain action_step=0.1"]
    told = data["failed"]["plain action_step=0.1"]
    assert re.fullmatch(r"ZeroDivisionError: no luck \(\S+test_sweep.py, line \d+\)", told)
    assert data["blocks_computed"] == 6
    broken["on"] = False
    again = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert (again["blocks_found"], again["blocks_computed"], again["failed"]) == (6, 3, {})
    assert results(tmp_path / "out") == results(whole)


def test_evictions_are_told_of_a_run_that_has_ended(monkeypatch):
    from expectant.lab.engines import tasks as work

    told = []
    monkeypatch.setattr(work, "tell_of_evictions", lambda *given: told.append(given))
    task: Any = SimpleNamespace(name="n", cell=SimpleNamespace(job="job", domain=ex.Corridor()))
    for ran in (SimpleNamespace(evicted=3), None):  # and one that was stopped
        monkeypatch.setattr(work, "run_task", lambda *given, ran=ran: ran)
        assert work.run_one(task, 5, work.Kernels(False), np.zeros(1, np.int64), {}) is ran
    assert told == [("job", 5, 3)]


def test_whoever_watches_is_told_while_runs_are_under_way(monkeypatch):
    from expectant.lab.engines import on_threads as module
    from expectant.lab.engines.tasks import Kernels, Task

    monkeypatch.setattr("expectant.engine.workers.HEAD_START", 0.0)
    (cell, *_), seen = parse_spec(spec([0.1]), "x").cells(), []
    engine = module.threads_engine(1, Kernels(False))
    done = list(engine(iter([Task(cell, "n", 0, 3)]), lambda cell, ways: seen.append(cell)))
    assert len(done) == 1 and seen and all(each is cell for each in seen)


def test_parts_that_do_not_go_together_fail_alone(tmp_path, monkeypatch):
    build = ex.QLearning.build

    def picky(self, setting):
        if self.action_step == 0.1:
            raise ValueError("QLearning: not this one")
        return build(self, setting)

    monkeypatch.setattr(ex.QLearning, "build", picky)
    outcome = sweep(tmp_path)
    assert outcome.computed == 6
    assert list(outcome.failed) == ["plain action_step=0.1"]
    assert "ValueError: QLearning: not this one (" in outcome.failed["plain action_step=0.1"]
    assert read_cells(tmp_path)["runs"].to_pylist() == [22, 0, 22]


def test_one_process_at_a_time(tmp_path):
    text = spec(STEPS)
    data = parse_toml(text, "")
    with opened(tmp_path, text, data):
        with pytest.raises(StoreError, match=f"is in use by process {os.getpid()} on"):
            sweep(tmp_path)
        assert list(tmp_path.glob("blocks/*")) == []
    with opened(tmp_path, text, data, Shard(1, 2)):
        assert sweep(tmp_path, shard=Shard(2, 2)).computed == 4
        with pytest.raises(StoreError, match=r"shard 1/2 of .* is in use by process"):
            sweep(tmp_path, shard=Shard(1, 2))
        with pytest.raises(StoreError, match="is in use by"):
            sweep(tmp_path)
        with pytest.raises(StoreError, match="in use by shards of another spec"):
            sweep(tmp_path, [0.7], shard=Shard(2, 2))
    assert sweep(tmp_path).computed == 5


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch, whole):
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 5:  # the spec, the kind of folder, and three blocks
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        StoreError, match="No space left on device; make room, then the same command"
    ):
        sweep(tmp_path)
    monkeypatch.undo()
    assert not list((tmp_path / "blocks").glob(".*"))
    again = sweep(tmp_path)
    assert (again.found, again.computed) == (3, 6)
    assert results(tmp_path) == results(whole)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write results to"):
        sweep(tmp_path / "file" / "below")


KILLING = """
import os, signal, sys, time
from pathlib import Path

import matplotlib, numba, numpy, pyarrow.parquet
from expectant.lab.sweep_command import run_file

def there():
    return len(list(folder.glob("blocks/*.parquet")))

path, folder, chance = Path(sys.argv[1]), Path(sys.argv[2]), numpy.random.default_rng(5)
for _ in range(20):
    before, child = there(), os.fork()
    if child == 0:
        run_file(path, folder, threads=2, engine="threads", address=None, shard=None, search=None, trials=1)
        os._exit(0)
    while there() == before and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.002)
    time.sleep(0.1 * chance.random())
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "it was over before it could be killed"
print(there())
"""


def test_killed_twenty_times_and_started_again_gives_the_same_bytes(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(spec([round(0.002 * n, 3) for n in range(1, 61)], episodes=20))
    undisturbed = start(path, tmp_path / "a")
    done = subprocess.run(
        [sys.executable, "-c", KILLING, path, tmp_path / "b"], capture_output=True, text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 20 <= int(done.stdout) < 180
    for process in (undisturbed, start(path, tmp_path / "b")):
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert results(tmp_path / "a") == results(tmp_path / "b")
    rows = parquet.read_table(tmp_path / "b" / "blocks", columns=["cell", "run", "bin"]).to_pydict()
    points = list(zip(rows["cell"], rows["run"], rows["bin"], strict=True))
    assert len(points) == len(set(points)) == 60 * 22 * 4


# ------------------------------------------------------------------------- scale and the command


def test_memory_does_not_grow_with_the_curves(tmp_path, monkeypatch):
    """The curves of a cell take 9 MB here, which must not add up."""

    def long(*arguments):
        return Ran(np.zeros(50_000), np.empty(0), False, 0.1, 0.1, 1)

    monkeypatch.setattr("expectant.lab.engines.on_threads.run_one", long)

    def peak(cells: int) -> int:
        steps = [round(0.001 * n, 3) for n in range(1, cells + 1)]
        tracemalloc.start()
        sweep(tmp_path / str(cells), steps)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1)
    assert peak(24) - peak(4) < 20_000_000


def test_many_cells_are_read_in_seconds(tmp_path):
    text = spec([round(0.0001 * n, 4) for n in range(1, 301)]).replace("runs = 22", "runs = 10")
    experiment = parse_spec(text, "tiny.toml")
    from expectant.lab.engines.compute import Work

    work = Work(experiment.cells(), Store(tmp_path))
    block = Block(np.ones((10, 2)), np.zeros(10, bool))
    for name, cell in zip(work.names, work.cells, strict=True):
        work.store.save(name, 0, block, cell)
    start_time = time.perf_counter()
    table = cell_table(work)
    took = time.perf_counter() - start_time
    assert table.num_rows == 300 and table["runs"].to_pylist() == [10] * 300
    assert took < 2.0  # so that ten thousand cells take seconds


def test_show_says_what_a_spec_means(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    path = tmp_path / "tiny.toml"
    path.write_text(spec(STEPS))
    text = CliRunner().invoke(app, ["show", str(path)]).stdout
    assert "tiny: 3 cells, 66 runs of 10 episodes, 9 blocks" in text
    assert "varied: agents.plain.action_step = 0.05, 0.1, 0.2" in text
    assert "time: about 1 s" in text and "disk: about 0.0 MB" in text
    data = json.loads(CliRunner().invoke(app, ["show", str(path), "--json"]).stdout)
    assert data["ids"][0] == "plain action_step=0.05" and data["compositions"] == 1
    outcome = sweep(tmp_path / "out")
    size = sum(p.stat().st_size for p in (outcome.folder / "blocks").iterdir())
    assert data["bytes"] == pytest.approx(size, rel=0.3)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--shard", "0/3"], "--shard: must be i/n with i from 1 to n, got '0/3'"),
        (["--shard", "4/3"], "--shard: must be i/n"),
        (["--shard", "x"], "--shard: must be i/n"),
        (["--engine", "rey"], "--engine: unknown 'rey', did you mean 'ray'"),
        (["--address", "auto"], "--address: is for --engine ray, got 'auto'"),
        (["--search", "grid"], "--search: must be optuna, got 'grid'"),
        (["--search", "optuna", "--shard", "1/2"], "--shard: a search has no parts"),
        (["--trials", "0"], "1 or more, got 0"),
        (["--threads", "0"], "1 or more, got 0"),
    ],
)
def test_bad_options_exit_with_2_and_write_nothing(tmp_path, more, message):
    path = tmp_path / "tiny.toml"
    path.write_text(spec(STEPS))
    result = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out"), *more])
    assert result.exit_code == 2 and message in result.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_a_shard_is_two_numbers():
    assert parse_shard("3/100") == Shard(3, 100)
    assert [Shard(2, 3).has(n) for n in range(4)] == [False, True, False, False]


def test_the_time_in_the_loop_is_measured(tmp_path):
    outcome = sweep(tmp_path, threads=2)
    session = outcome.session
    assert session.runs == 66 and 0 < session.inside <= session.seconds * 2
    assert 0 < session.busy < 1 and 0 < session.processor_busy < 1
    stored = json.loads((tmp_path / "timings.json").read_text())
    assert len(stored["cells"]) == 3 and stored["sessions"][0]["runs"] == 66
    assert Session(2, seconds=11.0, compiling=1.0, inside=18.0).busy == 0.9
    blocks, times, _ = outcome.text().splitlines()
    assert blocks == "3 cells: 9 blocks computed, 0 were there, 0 cells failed"
    assert times.startswith(f"{session.seconds:.1f} s, ") and " runs/s, " in times


def test_a_sweep_from_python(tmp_path):
    grid = {"agents.plain.action_step": STEPS}
    made = Sweep(
        name="tiny", domain=ex.Corridor(cells=3), features=ex.OneHot(), episodes=10, runs=22, bin=5,
        agents={"plain": {"kind": "q_learning"}}, grid=grid,
    )  # fmt: skip
    outcome = made.run(tmp_path, threads=2, compiled=False)
    assert outcome.table()["cell"].to_pylist() == [f"plain action_step={step}" for step in STEPS]
    again = Sweep.from_toml(tmp_path / "spec.toml")
    assert again.cells() == made.cells()
