"""Runs of environments in processes: the same bits, and every trouble told."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time

import gymnasium
import numpy as np
import outside_worlds
import pytest
from outside_worlds import FailsIn, HallEnv, Troubled

import expectant as ex
from expectant.engine import away, away_pool, away_process, away_work
from expectant.engine.away import Processes
from expectant.engine.job import Job
from expectant.engine.run import Runs
from expectant.lab.cells import Cell
from expectant.lab.engines.tasks import Kernels, Task, run_one

PLANNER = ex.Lookahead(
    0.2, planning_steps=2, model=ex.SparseExpectation(0.2, capacity=2, threshold=0.0)
)
VECTORS = ex.Tiles(2, 2, bounds=[(0, 6), (0, 6)])


@pytest.fixture(scope="module")
def processes():
    """One set for all tests, since to start one takes seconds; nothing is done here."""
    found = Processes()
    found.worth_it = found.here.acquire()
    with pytest.MonkeyPatch.context() as patch:
        for module in (away_pool, away_process):  # pytest writes to the environment
            patch.setattr(module, "surroundings", lambda: (os.getpid(),))
        away_pool.end_idle()
        yield found
        away_pool.end_idle()


def waiting():
    """The numbers of the processes that have nothing to do."""
    return [process.process.pid for process in away_pool._idle]


def errand_for(domain, features=None, agent=PLANNER, episodes=4, keep=False):
    features = features or ex.OneHot()
    return Runs(Job(domain, features, agent, episodes=episodes), False, False, keep)


def not_here(number, control, begun):
    raise AssertionError("done in this process")


def do_away(processes, errand, number=0, local=not_here):
    return processes.run(errand, number, np.zeros(1, np.int64), lambda clock: None, local)


def do_here(errand, number=0):
    return errand.prepare()(number, np.zeros(1, np.int64), lambda clock: None)


def same(first, second):
    """All that a run leaves behind."""
    assert np.array_equal(first.records.returns, second.records.returns)
    assert np.array_equal(first.records.lengths, second.records.lengths)
    assert first[1:4] == second[1:4]
    if first.kept is not None:
        (run, streams), (other, others) = first.kept, second.kept
        assert np.array_equal(run.agent.weights, other.agent.weights)
        assert streams.acting.random() == others.acting.random()
        assert np.array_equal(run.clock, other.clock)


@pytest.mark.parametrize(
    ("domain", "features"),
    [(ex.Gym(HallEnv), None), (ex.Gym(Troubled, trouble="none"), VECTORS), (ex.Gym(HallEnv()), None)],
    ids=["class", "options", "made"],
)  # fmt: skip
def test_a_run_in_a_process_leaves_the_same_behind(processes, domain, features):
    errand = errand_for(domain, features, keep=True)
    found = do_away(processes, errand, 3)
    assert (found.evicted > 0) == (features is VECTORS)  # one state has one successor
    same(do_here(errand, 3), found)


def test_a_diverged_run_says_why_from_there_too(processes):
    errand = errand_for(ex.Gym(HallEnv), agent=ex.QLearning(1e200), episodes=50)
    found = do_away(processes, errand)
    assert (
        found.diverged and "learning is diverging: QLearning in HallEnv, run 0" in found.divergence
    )


def test_what_a_script_registered_is_known_there(processes):
    gymnasium.register("AwayHall-v0", "outside_worlds:HallEnv")
    try:
        errand = errand_for(ex.Gym("AwayHall-v0"))
        same(do_here(errand), do_away(processes, errand))
    finally:
        del gymnasium.registry["AwayHall-v0"]


@pytest.mark.parametrize(
    ("trouble", "kind", "message"),
    [
        (
            "fails",
            ex.WorldError,
            r"Motor: left broke at 2.5 A.*in step of run 0, episode 0, step 3",
        ),
        ("nan", ex.WorldError, r"component 1.*nan.*run 0, episode 0, step 3"),
        ("shape", ValueError, r"must have 2 components.*in step of run 0, episode 0, step 3"),
        ("dies", ChildProcessError, r"its process has ended \(exit status 3\) in run 0"),
    ],
)
def test_trouble_in_a_process_says_where_it_was(processes, trouble, kind, message):
    errand = errand_for(ex.Gym(Troubled, trouble=trouble), VECTORS)
    with pytest.raises(kind, match=message) as caught:
        do_away(processes, errand)
    assert isinstance(caught.value, ex.WorldError)
    if trouble == "dies":
        same(do_here(errand_for(ex.Gym(HallEnv))), do_away(processes, errand_for(ex.Gym(HallEnv))))


def test_an_environment_that_hangs_is_given_up(processes, monkeypatch):
    monkeypatch.setattr(away_process, "HANG_SECONDS", 0.5)
    errand = errand_for(ex.Gym(Troubled, trouble="hangs"), VECTORS)
    with pytest.raises(
        TimeoutError, match=r"Gym\(.*no answer for 0 s in step of run 0, episode 0, step 3; mend"
    ):
        do_away(processes, errand)


def test_a_run_that_is_stopped_is_over_at_once(processes):
    errand = errand_for(ex.Gym(Troubled, trouble="hangs"), VECTORS)
    control = np.zeros(1, np.int64)
    threading.Timer(0.5, control.fill, [1]).start()
    start = time.monotonic()
    assert processes.run(errand, 0, control, lambda clock: None, not_here) is None
    assert time.monotonic() - start < 30.0


def test_a_world_that_a_script_has_changed_stays_here(processes, monkeypatch):
    """Another process would import it as it is in its file."""
    monkeypatch.setattr(outside_worlds, "CELLS", 9)
    errand = errand_for(ex.Gym(HallEnv))
    same(do_here(errand), do_away(processes, errand, local=errand.prepare()))
    with pytest.raises(AssertionError, match="done in this process"):
        do_away(processes, errand)


@pytest.mark.parametrize(
    "environment",
    [lambda: HallEnv(), type("Own", (HallEnv,), {"__module__": "__main__"})],
    ids=["lambda", "main"],
)
def test_what_no_other_process_can_import_stays_here(environment, processes, monkeypatch):
    monkeypatch.setattr(away, "_there", not_here)
    errand = errand_for(ex.Gym(environment))
    same(do_here(errand), do_away(processes, errand, local=errand.prepare()))


def test_what_is_over_within_a_moment_starts_no_process(monkeypatch):
    monkeypatch.setattr(away, "_there", not_here)
    monkeypatch.setattr(away, "MOMENT", 60.0)  # this machine may be busy
    result = ex.run(
        ex.Gym(HallEnv), ex.OneHot(), PLANNER, episodes=3, runs=3, threads=2, compiled=False,
        progress=False,
    )  # fmt: skip
    assert result.returns.shape == (3, 3)
    monkeypatch.setattr(away, "MOMENT", 0.0)
    with pytest.raises(TypeError, match="not_here"):  # which takes other arguments
        ex.run(
            ex.Gym(HallEnv), ex.OneHot(), PLANNER, episodes=3_000, runs=3, threads=2,
            compiled=False, progress=False,
        )  # fmt: skip


def test_sweeps_send_their_runs_away_too(processes):
    cell = Cell(
        experiment="e", reading="", panel="p", agent_key="a", label="a",
        domain=ex.Gym("outside_worlds:Troubled"), features=VECTORS, agent=PLANNER,
        episodes=6, bin=2, runs=1, seed=0,
    )  # fmt: skip
    kernels, control = Kernels(False), np.zeros(1, np.int64)
    away_ran = run_one(Task(cell, "name", 0, 1), 0, kernels, control, {}, processes)
    here_ran = run_one(Task(cell, "name", 0, 1), 0, Kernels(False), control, {})
    assert away_ran is not None and here_ran is not None
    assert np.array_equal(away_ran.values, here_ran.values) and away_ran.evicted > 0
    assert not kernels.known  # nothing was prepared here


def test_runs_here_and_there_are_the_same(monkeypatch):
    monkeypatch.setattr(away, "MOMENT", 0.0)
    one, two = (
        ex.run(
            ex.Gym(HallEnv), ex.OneHot(), PLANNER, episodes=300, runs=4, threads=threads,
            compiled=False, progress=False,
        )
        for threads in (1, 2)
    )  # fmt: skip
    assert waiting()
    assert np.array_equal(one.returns, two.returns)
    assert np.array_equal(one.lengths, two.lengths)


def test_a_failure_there_lets_the_other_runs_finish(monkeypatch):
    """Run 0 is done here while run 1 fails in a process."""
    monkeypatch.setattr(away, "MOMENT", 0.0)
    with pytest.raises(ex.WorldError, match=r"motor broke.*in step of run 1, .*3 of 4 runs") as e:
        ex.run(
            ex.Gym(FailsIn, runs=(1,)), ex.OneHot(), PLANNER, episodes=300, runs=4, threads=2,
            compiled=False, progress=False,
        )  # fmt: skip
    assert isinstance(e.value.__cause__, ex.WorldError)
    assert isinstance(e.value.__cause__.__cause__, away_process.AwayError)
    assert e.value.finished is not None and e.value.finished.numbers == [0, 2, 3]


def test_a_run_that_stands_still_here_is_done_there(processes, monkeypatch):
    """And its place is never given to another: its world may stand still for ever."""
    monkeypatch.setattr(away, "STILL_SECONDS", 0.1)
    own, errand, forever = Processes(), errand_for(ex.Gym(HallEnv)), threading.Event()

    def stuck(number, control, begun):
        begun(np.zeros(3, np.int64))
        forever.wait()

    same(do_here(errand), do_away(own, errand, local=stuck))
    same(do_here(errand, 1), do_away(own, errand, 1))
    forever.set()


def test_a_process_is_kept_for_the_next_call(processes):
    do_away(processes, errand_for(ex.Gym(HallEnv)))
    before = waiting()
    later = Processes()
    later.worth_it = later.here.acquire()
    do_away(later, errand_for(ex.Gym(HallEnv), episodes=3))
    assert before and waiting() == before


def test_a_kept_process_that_was_killed_is_replaced(processes):
    errand = errand_for(ex.Gym(HallEnv))
    do_away(processes, errand)
    before = waiting()
    os.kill(before[-1], signal.SIGKILL)
    same(do_here(errand), do_away(processes, errand))
    assert before[-1] not in waiting()


def test_an_id_that_is_registered_again_is_the_new_one_there_too(processes):
    try:
        for trouble in ("none", "fails"):
            gymnasium.registry.pop("AwayAgain-v0", None)
            gymnasium.register(
                "AwayAgain-v0", "outside_worlds:Troubled", kwargs={"trouble": trouble}
            )
            errand = errand_for(ex.Gym("AwayAgain-v0"), VECTORS)
            if trouble == "none":
                same(do_here(errand), do_away(processes, errand))
        with pytest.raises(RuntimeError, match="Motor"):
            do_away(processes, errand)
    finally:
        del gymnasium.registry["AwayAgain-v0"]


OWN = """
import expectant as ex
from outside_worlds import HallEnv
REWARD = {reward}
class Own(HallEnv):
    def step(self, action):
        seen, _, *rest = super().step(action)
        return seen, REWARD, *rest
@ex.description
class OwnAgent(ex.QLearning):
    def build(self, site):
        assert REWARD
        return super().build(site)
"""


def test_a_module_that_is_written_anew_has_no_stale_process(processes, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # in other processes, too
    file = tmp_path / "away_anew.py"
    file.write_text(OWN.format(reward=-0.5))
    away_anew = importlib.import_module("away_anew")
    before = errand_for(ex.Gym(away_anew.Own), agent=away_anew.OwnAgent(0.1))
    first = do_away(processes, before)
    same(do_here(before), first)
    agent_before = errand_for(ex.Gym(HallEnv), agent=away_anew.OwnAgent(0.1))
    look_before = away_work.look_of(agent_before.job)
    file.write_text(OWN.format(reward=-2.5))
    importlib.reload(away_anew)
    after = errand_for(ex.Gym(away_anew.Own), agent=away_anew.OwnAgent(0.1))
    second = do_away(processes, after)
    same(do_here(after), second)
    assert second.records.returns[0] == -2.5 * second.records.lengths[0]
    agent_after = errand_for(ex.Gym(HallEnv), agent=away_anew.OwnAgent(0.1))
    assert away_work.look_of(agent_after.job) != look_before  # not the world alone
