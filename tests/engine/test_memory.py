"""A problem that does not fit into memory is refused, with the reason and a way out."""

from __future__ import annotations

import math
import threading
import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import expectant as ex
from expectant.core.memory import (
    TooLargeError,
    _free_in_control_groups,
    available_memory,
    memory_limit,
)
from expectant.experiments import executors
from expectant.experiments.sweep import Sweep

MIB = 2**20
CAR = ex.MountainCar()
MIDDLING = ex.Tiles(8, 12)  # 8 · 13² = 1,352 features: the model has 3 · 1,352² numbers, 41.9 MiB
AGENT = ex.Lookahead.paper(0.1)


@pytest.fixture
def twenty_gib(monkeypatch):
    monkeypatch.setenv("EXPECTANT_MEMORY", "20GiB")


@contextmanager
def refused(sentence):
    """Refused with a sentence and with next to nothing allocated."""
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError, match=sentence):
            yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * MIB


# ------------------------------------------------------------------------------- every path


def test_a_dense_model_of_a_million_features_is_refused_before_it_is_allocated():
    """Whatever this machine has: 2 · 10¹² numbers are 14.6 TiB."""
    features = ex.RandomBinary(1_000_000, 5)
    sentence = (
        "^Lookahead in Corridor: LinearExpectation needs 14.6 TiB; .* "
        r'are free: use model="sparse" or fewer features \(of tiles: hash_size=\)$'
    )
    with refused(sentence):
        ex.run(ex.Corridor(), features, AGENT, episodes=1, runs=1)


@pytest.mark.parametrize(
    ("domain", "features", "agent", "advice"),
    [
        (ex.Corridor(10**6), ex.OneHot(), ex.QLearning.paper(0.1), "fewer states"),
        (ex.domains.LocaGrid(10**3, 10**3), ex.OneHot(), ex.QLearning.paper(0.1), "fewer states"),
        (
            ex.domains.ExternalDomain(2, 10**9),
            ex.RandomBinary(100, 9),
            ex.QLearning.paper(0.1),
            "fewer features",
        ),
        (
            ex.Corridor(),
            ex.OneHot(),
            AGENT.replace(backups=ex.backups.Replay(10**10)),
            "replay capacity",
        ),
        (
            ex.Corridor(),
            ex.OneHot(),
            AGENT.replace(backups=ex.backups.SeenStates(10**10)),
            "capacity of",
        ),
        (ex.Corridor(), ex.RandomBinary(10**6, 5), AGENT.replace(model="network"), "hidden units"),
    ],
    ids=["corridor", "grid", "features", "replay", "seen", "network"],
)
def test_every_kind_of_component_is_refused(monkeypatch, domain, features, agent, advice):
    monkeypatch.setenv("EXPECTANT_MEMORY", "100 MiB")
    with refused(f"100 MiB are free: use .*{advice}"):
        ex.run(domain, features, agent, episodes=1, runs=1)


def test_a_trial_that_does_not_fit_stops_no_other(twenty_gib, tmp_path):
    sweep = Sweep(
        domain=ex.Corridor(), features=ex.RandomBinary(10, 2), agents={"ahead": AGENT},
        grid={"features.size": [10, 200_000]}, episodes=2, runs=2,
    )  # fmt: skip
    outcome = sweep.run(tmp_path / "sweep", compiled=False, threads=1)
    assert outcome.computed == 1
    [(trial, reason)] = outcome.failed.items()
    assert "200000" in trial
    assert reason.startswith(
        "TooLargeError: Lookahead in Corridor: LinearExpectation needs 596 GiB"
    )


class Hungry(ex.Model):
    """A model that allocates with NumPy alone: so many rows of a million numbers."""

    rows: int

    def build(self, context):
        return (np.zeros((self.rows, 10**6)),)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (10**8, "^Lookahead in Corridor: Unable to allocate 728. TiB .*: use fewer features$"),
        (3_000, "^Lookahead in Corridor: needs 22.4 GiB; 20 GiB are free"),
    ],
)
def test_a_part_of_ones_own_is_measured_when_it_is_built(twenty_gib, rows, sentence):
    with pytest.raises(TooLargeError, match=sentence):
        ex.run(
            ex.Corridor(), ex.OneHot(), ex.Lookahead.paper(0.1, model=Hungry(rows)), episodes=1,
            runs=1, compiled=False,
        )  # fmt: skip


# ------------------------------------------------------------------------ fewer at a time


def test_fewer_threads_where_not_all_fit(monkeypatch, capsys):
    def run(threads):
        return ex.run(
            CAR, MIDDLING, AGENT, steps=5, runs=3, threads=threads, compiled=False, progress=False
        )

    free = run(3).rewards
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("EXPECTANT_MEMORY", "90 MiB")  # for two runs of 42 MiB
    np.testing.assert_array_equal(run(3).rewards, free)
    assert capsys.readouterr().err == (
        "Lookahead in MountainCar: 2 at once instead of 3, because a run needs 41.9 MiB and 90 MiB "
        "are free\n"
    )
    monkeypatch.setenv("EXPECTANT_MEMORY", "41 MiB")
    with pytest.raises(TooLargeError, match=r"needs 41.* MiB; 41 MiB are free"):
        run(1)


def test_runs_that_are_kept_must_fit_together(monkeypatch):
    monkeypatch.setenv("EXPECTANT_MEMORY", "90 MiB")

    def run(runs):
        return ex.run(CAR, MIDDLING, AGENT, steps=1, runs=runs, keep_agents=True, compiled=False)

    sentence = "3 runs need 126 MiB, because keep_agents=True keeps every run.*use keep_agents=F"
    with pytest.raises(TooLargeError, match=sentence):
        run(3)
    assert len(run(2).kept) == 2


def test_runs_of_a_sweep_wait_for_room(monkeypatch, tmp_path):
    monkeypatch.setenv("EXPECTANT_MEMORY", "60 MiB")
    run_one, lock, under_way, most = executors.run_one, threading.Lock(), [0], [0]

    def counted(*arguments):
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        time.sleep(0.05)
        try:
            return run_one(*arguments)
        finally:
            with lock:
                under_way[0] -= 1

    monkeypatch.setattr(executors, "run_one", counted)
    sweep = Sweep(domain=CAR, features=MIDDLING, agents={"ahead": AGENT}, steps=2, runs=4)
    assert sweep.run(tmp_path / "sweep", compiled=False, threads=3).computed == 1
    assert most == [1]


# ------------------------------------------------------------------------------ what is free


@pytest.mark.parametrize(
    ("files", "left"),
    [
        (
            {
                "proc/self/cgroup": "0::/user/setup\n",
                "sys/fs/cgroup/user/setup/memory.max": "max\n",
                "sys/fs/cgroup/user/setup/memory.current": "900000\n",
                "sys/fs/cgroup/user/memory.max": "5000000\n",
                "sys/fs/cgroup/user/memory.current": "4000000\n",
                "sys/fs/cgroup/user/memory.stat": "anon 77\nactive_file 5\ninactive_file 7\n",
            },
            [1_000_012],
        ),
        ({}, []),
    ],
    ids=["Linux", "not Linux"],
)
def test_limits_of_control_groups(tmp_path, files, left):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert list(_free_in_control_groups(tmp_path)) == left
    assert 0 < available_memory() < 2**60


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", math.inf),
        ("1000", 1000),
        ("8GiB", 8 * 2**30),
        ("1.5 MiB", 1_572_864),
        ("2GB", 2 * 10**9),
    ],
)
def test_the_variable_for_systems_that_are_wrong(monkeypatch, text, size):
    monkeypatch.setenv("EXPECTANT_MEMORY", text)
    assert memory_limit(1) == size
