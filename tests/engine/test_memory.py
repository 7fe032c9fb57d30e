"""What does not fit into memory is refused before anything is built, on every path."""

from __future__ import annotations

import threading
import time
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import expectant as ex
from expectant.engine.job import Job
from expectant.engine.memory import limits as memory
from expectant.engine.memory.available import free_memory, given_memory
from expectant.engine.memory.demand import Demand, demand_of
from expectant.engine.memory.refusal import TooLargeError, _with_features, size_in_words
from expectant.lab.engines import on_threads, tasks
from expectant.lab.sweep import Sweep
from expectant.seeds import streams_of

MIB = 2**20
BOUNDS = [(-3.0, 3.0)] * 4
HUGE = ex.Tiles(8, 10, bounds=BOUNDS)  # 8 · 11⁴ = 117,128 features
CART_POLE = ex.Gym("CartPole-v1")
CAR = ex.MountainCar()
MIDDLING = ex.Tiles(8, 12)  # 8 · 13² = 1,352 features: the model has 3 · 1,352² numbers, 41.9 MiB
SENTENCE = (
    r"Lookahead in CartPole-v1: needs 204 GiB a run, 204 GiB of it for the linear model \(A·d² numbers: 2 "
    r"actions, 117,128 features\); 20 GiB are free: use fewer features \(up to 36,000 fit: fewer "
    r"tiles, or hash_size=\) or model=\"sparse\"$"
)


@pytest.fixture
def twenty_gib(monkeypatch):
    monkeypatch.setenv("EXPECTANT_MEMORY", "20GiB")
    return CART_POLE.actions  # a world is made to find out, once


@contextmanager
def refused(sentence):
    """Refused with a sentence, within a second, and with next to nothing allocated."""
    start = time.perf_counter()
    tracemalloc.start()
    with pytest.raises(TooLargeError, match=sentence):
        yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MIB
    assert time.perf_counter() - start < 1.0


# ------------------------------------------------------------------------------- every path


def test_run_refuses(twenty_gib):
    with refused("^" + SENTENCE):
        ex.run(CART_POLE, HUGE, ex.Lookahead(0.1), episodes=1, runs=1)


def test_what_is_named_instead_fits(twenty_gib):
    agent = ex.Lookahead(0.1)
    for features, smaller in (
        (HUGE, agent.replace(model="sparse")),
        (ex.Tiles(8, 10, bounds=BOUNDS, hash_size=4096), agent),
    ):
        ex.run(CART_POLE, features, smaller, steps=5, runs=1, compiled=False)
    few = ex.LinearExpectation().estimate_memory(
        Job(CAR, ex.Tiles(2, 3), agent, episodes=1).site(None, None, streams_of(0, 0))
    )
    assert not few[0].instead  # of 32 features lists would be no smaller


def test_of_fewer_features_fewer_are_active_where_they_are_dense():
    def active(features, size):
        site = Job(CAR, features, ex.QLearning(0.1), episodes=1).site(None, None, None)
        return _with_features(site, size).shape.active

    assert [active(ex.Fourier(3), size) for size in (16, 5, 1)] == [16, 5, 1]  # all of 4²
    assert [active(ex.Tiles(5, 1), size) for size in (20, 10, 5)] == [5, 5, 5]  # a quarter of 5·2²
    assert [active(ex.Tiles(2, 1, hash_size=6), size) for size in (6, 4, 2)] == [2, 2, 1]


def test_a_learner_refuses_at_its_first_observation(twenty_gib):
    learner = ex.Learner(ex.Lookahead(0.1), HUGE, n_actions=2)
    with refused("^" + SENTENCE.replace("CartPole-v1", "Outside")):
        learner.start(np.zeros(4))


def test_diagnostics_refuse(twenty_gib):
    features = ex.RandomBinary(200_000, 5)
    large = "Lookahead in Corridor: needs 596 GiB a run, .* use fewer features .*size of RandomB"
    with refused(large):
        ex.diagnostics.decision_nanoseconds(ex.Corridor(), features, ex.Lookahead(0.1))
    with refused("596 GiB of it for exact answers for 9 states of 200,000 features"):
        ex.diagnostics.errors_over_time(
            ex.Corridor(), features, ex.QLearning(0.1), episodes=1, every=1
        )


def test_watching_refuses(twenty_gib, tmp_path):
    features = ex.Tiles(8, 2000)
    import matplotlib.animation  # noqa: F401

    sentence = "looking at 1,600 states .* use fewer features or a smaller lattice$"
    with refused(sentence):
        ex.watch(CAR, features, ex.QLearning(0.1), tmp_path / "x.html", episodes=1)
    assert list(tmp_path.iterdir()) == []


def test_a_cell_that_does_not_fit_stops_no_other(twenty_gib, tmp_path):
    sweep = Sweep(
        domain=ex.Corridor(),
        features=ex.RandomBinary(10, 2),
        agents={"ahead": ex.Lookahead(0.1)},
        grid={"features.size": [10, 200_000]},
        episodes=2,
        runs=2,
    )
    outcome = sweep.run(tmp_path / "sweep", compiled=False, threads=1)
    assert outcome.computed == 1
    [(cell, reason)] = outcome.failed.items()
    assert "200000" in cell
    assert reason.startswith("TooLargeError: Lookahead in Corridor: needs 596 GiB a run")


def test_what_fits_is_run(monkeypatch):
    monkeypatch.setenv("EXPECTANT_MEMORY", "43 MiB")
    arguments = (CAR, MIDDLING, ex.Lookahead(0.1))
    result = ex.run(*arguments, steps=2, runs=1, compiled=False, progress=False)
    assert result.rewards.size == 2
    monkeypatch.setenv("EXPECTANT_MEMORY", "41 MiB")
    with pytest.raises(TooLargeError, match=r"needs 41.9 MiB a run.* 41 MiB are free"):
        ex.run(*arguments, steps=2, runs=1, compiled=False, progress=False)


# ------------------------------------------------------------------------ fewer at a time


def test_fewer_threads_where_not_all_fit(monkeypatch, capsys):
    def run(threads):
        return ex.run(
            CAR, MIDDLING, ex.Lookahead(0.1), steps=5, runs=3, threads=threads, compiled=False,
            progress=False,
        )  # fmt: skip

    free = run(3).rewards
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("EXPECTANT_MEMORY", "90 MiB")  # for two runs of 42 MiB
    used = []

    def on_threads(work, numbers, threads, control, look):
        used.append(threads)
        return [work(number) for number in numbers]

    monkeypatch.setattr("expectant.engine.run.on_threads", on_threads)
    np.testing.assert_array_equal(run(3).rewards, free)
    assert used == [2]
    assert capsys.readouterr().err == (
        "Lookahead in MountainCar: 2 at once instead of 3, because a run needs 41.9 MiB and 90 MiB "
        "are free\n"
    )


def test_runs_that_are_kept_must_fit_together(monkeypatch):
    monkeypatch.setenv("EXPECTANT_MEMORY", "90 MiB")

    def run(runs):
        agent = ex.Lookahead(0.1)
        return ex.run(CAR, MIDDLING, agent, steps=1, runs=runs, keep_agents=True, compiled=False)

    sentence = (
        "needs 41.9 MiB a run and 126 MiB in all because keep_agents=True keeps every run.*"
        r"use keep_agents=False or fewer runs \(runs=2\) or fewer features \(up to 1,100 fit"
    )
    with pytest.raises(TooLargeError, match=sentence):
        run(3)
    assert len(run(2).kept) == 2


def test_results_must_fit_too(monkeypatch):
    monkeypatch.setenv("EXPECTANT_MEMORY", "90 MiB")
    sentence = (
        "needs 15.3 MiB a run and 305 MiB in all, 15.3 MiB of it for the records of 1,000,000 "
        r"episodes; 90 MiB are free: use fewer runs \(runs=3\) or fewer episodes$"
    )
    with pytest.raises(TooLargeError, match=sentence):
        ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=1_000_000, runs=10)


def test_runs_of_a_sweep_wait_for_room(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("EXPECTANT_MEMORY", "60 MiB")
    run_one, lock, under_way, most = tasks.run_one, threading.Lock(), [0], [0]

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

    monkeypatch.setattr(on_threads, "run_one", counted)
    sweep = Sweep(
        domain=CAR, features=MIDDLING, agents={"ahead": ex.Lookahead(0.1)}, steps=2, runs=4
    )
    assert sweep.run(tmp_path / "sweep", compiled=False, threads=3).computed == 1
    assert most == [1]
    assert capsys.readouterr().err.count("waits for other runs to end") == 1


# ------------------------------------------------------------------------- parts of one's own


@ex.description
class Hungry(ex.Model):
    """A model that does not say what it needs."""

    def build(self, site):
        return np.zeros((10**7, 10**7))


def test_a_part_that_does_not_say_is_named_when_it_cannot_be_built():
    sentence = r"^Hungry: could not be built, unable to allocate 728. TiB .*: make it smaller$"
    agent = ex.Lookahead(0.1, model=Hungry())
    with pytest.raises(TooLargeError, match=sentence):
        ex.run(ex.Corridor(), ex.OneHot(), agent, episodes=1, runs=1, compiled=False)


def test_a_job_is_asked_once():
    asked = []

    @ex.description
    class Asked(ex.QLearning):
        def estimate_memory(self, site):
            asked.append(site)
            return super().estimate_memory(site)

    job = Job(ex.Corridor(), ex.OneHot(), Asked(0.1), episodes=3, step_limit=10)
    for number in range(3):
        job.prepare(number)
    assert len(asked) == 1


def test_demands_are_added_up():
    demand = Demand((), once=1_000, each=100, building=10, kept=1)
    assert demand.alone == 1_110
    assert demand.peak(2, 5) == 1_000 + 2 * 110 + 3 * 1 + 5
    assert demand.peak(2, 5, keep=True) == 1_000 + 2 * 110 + 3 * 100 + 5


def test_what_a_run_is_built_with_is_counted_while_it_is_built():
    """Peaks of building, as Python traces them, are within what was said."""
    table = ex.FiniteMDP(np.full((40, 3, 41), 1 / 41), np.zeros((40, 3)))
    network = ex.NetworkExpectation(hidden=40)
    for domain, features, agent in (
        (ex.Outside(2, 20_000), ex.RandomBinary(100, 9), ex.QLearning(0.1)),
        (ex.LocaGrid(60, 60), ex.RandomBinary(20, 2), ex.QLearning(0.1)),
        (ex.Corridor(5_000, switch_every=2), ex.RandomBinary(20, 2), ex.QLearning(0.1)),
        (table, ex.RandomBinary(300, 9), ex.Lookahead(0.1, model="exact")),
        (table, ex.RandomBinary(300, 9), ex.Lookahead(0.1, model="exact_episodic")),
        (table, ex.RandomBinary(9_000, 9), ex.Lookahead(0.1, model=network)),
        (table, ex.RandomBinary(600, 9), ex.Lookahead(0.1, maintained=True)),
    ):
        job = Job(domain, features, agent, episodes=1, step_limit=10)
        said = demand_of(job).alone
        tracemalloc.start()
        job.prepare(0)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 0.7 * said < peak + 100_000 < 1.1 * said + 200_000


# ------------------------------------------------------------------------------ what is free


def plant(root: Path, files: dict[str, str]) -> Path:
    """Files as Linux has them, below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(root=root))
    return root / "proc"


MEMINFO = "MemTotal:       16000 kB\nMemFree:        3000 kB\nMemAvailable:    8000 kB\n"
SECOND = "30 24 0:26 / {root}/cg rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
FIRST = (
    "31 24 0:27 / {root}/cpu rw - cgroup cgroup rw,cpu\n"
    "32 24 0:28 / {root}/cg rw - cgroup cgroup rw,memory\n"
)


def test_what_the_machine_has_available(tmp_path):
    assert free_memory(plant(tmp_path, {"proc/meminfo": MEMINFO})) == 8000 * 1024


def test_a_group_of_the_second_version_with_its_cached_files(tmp_path):
    proc = plant(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/user/job\n",
            "proc/self/mountinfo": SECOND,
            "cg/user/job/memory.max": "max\n",
            "cg/user/job/memory.current": "900000\n",
            "cg/user/memory.max": "5000000\n",
            "cg/user/memory.current": "4000000\n",
            "cg/user/memory.stat": "anon 77\nactive_file 500000\ninactive_file 700000\n",
        },
    )
    assert free_memory(proc) == 5_000_000 - (4_000_000 - 1_200_000)


def test_a_group_of_the_first_version(tmp_path):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/abc\n0::/\n",
        "proc/self/mountinfo": FIRST,
        "cg/memory.limit_in_bytes": "9223372036854771712\n",
        "cg/memory.usage_in_bytes": "123456\n",
        "cg/docker/abc/memory.limit_in_bytes": "3000000\n",
        "cg/docker/abc/memory.usage_in_bytes": "2500000\n",
        "cg/docker/abc/memory.stat": "inactive_file 1\ntotal_inactive_file 100000\n",
    }
    assert free_memory(plant(tmp_path, files)) == 600_000


def test_a_container_that_sees_only_its_own_group(tmp_path):
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "4:memory:/docker/abc\n",
        "proc/self/mountinfo": FIRST.replace("0:28 /", "0:28 /docker/abc"),
        "cg/memory.limit_in_bytes": "1000000\n",
        "cg/memory.usage_in_bytes": "1500000\n",
    }
    assert free_memory(plant(tmp_path, files)) == 0


def test_without_linux_it_is_the_whole_machine_or_nothing(tmp_path, monkeypatch):
    pages = {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.sysconf", lambda name: pages[name])
    assert free_memory(tmp_path) == 40_960

    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr("os.sysconf", unknown)
    assert free_memory(tmp_path) is None
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    assert memory.free_for(2**60) == float("inf")


def test_what_is_free_is_asked_where_it_may_matter(monkeypatch):
    monkeypatch.delenv("EXPECTANT_MEMORY", raising=False)
    monkeypatch.setattr(memory, "free_memory", lambda: 12_345)
    assert memory.free_for(32 * 2**20 + 1) == 12_345
    assert memory.free_for(32 * 2**20) == float("inf")
    monkeypatch.setenv("EXPECTANT_MEMORY", "77")
    assert memory.free_for(1) == memory.free_for(2**60) == 77


def test_this_machine_says_something():
    free = free_memory()
    assert free is None or 0 < free < 2**60


@pytest.mark.parametrize(
    ("text", "size"),
    [("", None), ("1000", 1000), ("8GiB", 8 * 2**30), ("1.5 MiB", 1_572_864), ("2GB", 2 * 10**9)],
)
def test_the_variable_for_systems_that_are_wrong(monkeypatch, text, size):
    monkeypatch.setenv("EXPECTANT_MEMORY", text)
    assert given_memory() == size


@pytest.mark.parametrize("text", ["much", "8 apples", "1.2.3 GiB", "-1"])
def test_a_variable_that_means_nothing(monkeypatch, text):
    monkeypatch.setenv("EXPECTANT_MEMORY", text)
    with pytest.raises(ValueError, match=rf"^EXPECTANT_MEMORY: must be .* got '{text}'$"):
        given_memory()


@pytest.mark.parametrize(
    ("size", "words"),
    [(12, "12 bytes"), (1536, "1.5 KiB"), (21 * 2**30, "21 GiB"), (2**80, "1,073,741,824 PiB")],
)
def test_sizes_in_words(size, words):
    assert size_in_words(size) == words


def test_what_every_run_holds_by_hand():
    """Two states of three indices and a place, five numbers besides; returns, lengths and rewards."""
    agent = ex.QLearning(0.1)
    job = Job(ex.Corridor(cells=5), ex.RandomBinary(8, 3), agent, episodes=7)
    found = {need.what: need.bytes for need in demand_of(job).needs}
    assert found["the present state"] == 8 * (2 * (3 + 1) + 5)
    assert found["the records of 7 episodes"] == 8 * 2 * 7
