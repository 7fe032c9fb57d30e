"""Threads and worker processes: the same bits, every trouble told, everything stopped as one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import ahead_orders
import gymnasium
import hall_env
import numpy as np
import pytest
from building import per_feature
from hall_env import FailsIn, HallEnv, Troubled

import expectant as ex
from expectant.engine import workers
from expectant.engine.driver import new_control
from expectant.engine.progress import Silent
from expectant.engine.run import Runs
from expectant.engine.setup import Setup, load_loop
from expectant.engine.workers import CompileOrder, compile_ahead, run_in_worker, run_on_threads
from expectant.jit.compile import kernel_for

PLANNER = ex.Lookahead.paper(
    0.2,
    planning_steps=2,
    model=ex.models.SparseExpectation(per_feature(0.2), capacity=2, threshold=0.0),
)
VECTORS = ex.Tiles(2, 2, bounds=[(0, 6), (0, 6)])


# ------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("threads", [1, 3, 200])
def test_every_item_is_done_once(threads):
    batches = run_on_threads(lambda number: number**2, range(5, 105), threads, new_control())
    ended = [each for batch in batches for each in batch]
    assert sorted(item for item, _ in ended) == list(range(5, 105))
    assert all(future.result() == item**2 for item, future in ended)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_leaving_stops_everything(error):
    control, begun = new_control(), []

    def work(number):
        begun.append(number)
        while not control[0]:  # as a loop does
            time.sleep(0.001)

    def leave():
        for _ in run_on_threads(work, range(50), 2, control):
            raise error

    with pytest.raises(error):
        leave()
    assert control[0] == 1 and len(begun) <= 2


# ---------------------------------------------------------------------- types that stay


def job_with(agent, features=None):
    return Setup(ex.Corridor(), features or ex.OneHot(), agent, episodes=20, step_limit=50, seed=3)


def test_code_that_does_not_ask_for_types_gives_the_same_run():
    setup = job_with(ex.QLearning.paper(0.1))
    loop = load_loop(setup, True, "test", Silent())
    assert not hasattr(loop, "overloads")  # the compiled code itself
    found = []
    for kernel in (loop, kernel_for(setup.build(0)[0])):
        run, streams = setup.build(7)
        kernel(run, setup.budget(), streams, new_control())
        draws = [rng.random() for rng in streams.by_name().values()]
        found.append((run.returns, run.agent.weights, draws))
    for mine, other in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, other)


# ----------------------------------------------------------------------------- processes


def source_for(domain, features=None, agent=PLANNER, episodes=4, keep=False):
    setup = Setup(domain, features or ex.OneHot(), agent, episodes=episodes)
    return Runs(setup, False, keep)


def not_here(number, control, begun):
    raise AssertionError("done in this process")


def run_there(source, number=0, control=None, on_start=lambda clock: None):
    control = new_control() if control is None else control
    return run_in_worker(source, number, control, on_start, not_here)


def run_here(source, number=0):
    return source.prepare()(number, new_control(), lambda clock: None)


def same(first, second):
    """All that a run leaves behind."""
    assert np.array_equal(first.returns, second.returns)
    assert np.array_equal(first.lengths, second.lengths)
    assert first[3:6] == second[3:6]
    if first.kept is not None:
        (run, streams), (other, others) = first.kept, second.kept
        assert np.array_equal(run.agent.weights, other.agent.weights)
        assert streams.acting.random() == others.acting.random()


@pytest.mark.parametrize(
    ("domain", "features"),
    [
        (ex.Gym(HallEnv), None),
        (ex.Gym(Troubled, trouble="none"), VECTORS),
        (ex.Gym(HallEnv()), None),
        (ex.Gym(lambda: gymnasium.wrappers.TimeLimit(HallEnv(), 4)), None),
        (ex.Gym(type("Own", (HallEnv,), {"__module__": "__main__"})), None),
    ],
    ids=["class", "options", "made", "lambda", "main"],
)
def test_a_run_in_a_worker_leaves_the_same_behind(domain, features):
    source = source_for(domain, features, keep=True)
    found = run_there(source, 3)
    assert (found.evicted > 0) == (features is VECTORS)  # one state has one successor
    same(run_here(source, 3), found)


@pytest.mark.parametrize(
    ("trouble", "kind", "message"),
    [
        ("fails", ex.EnvError, r"Motor: left broke at 2.5 A.*run 0, episode 0, step 3"),
        ("shape", ValueError, r"must have 2 components.*in step of run 0, episode 0, step 3"),
        ("dies", ChildProcessError, r"its process has ended \(EXIT\(3\)\) in run 0"),
        ("hangs", TimeoutError, r"no answer in run 0, episode 0, after step 2 for 0 s"),
    ],
)
def test_trouble_in_a_worker_names_the_run(trouble, kind, message, monkeypatch):
    if trouble == "hangs":
        monkeypatch.setattr(workers, "HANG_SECONDS", 0.5)
    source = source_for(ex.Gym(Troubled, trouble=trouble), VECTORS)
    with pytest.raises(kind, match=message) as caught:
        run_there(source)
    assert isinstance(caught.value, ex.EnvError)
    if trouble == "dies":
        same(run_here(source_for(ex.Gym(HallEnv))), run_there(source_for(ex.Gym(HallEnv))))


def test_a_run_that_is_stopped_is_over_at_once():
    source, control = source_for(ex.Gym(Troubled, trouble="hangs"), VECTORS), new_control()
    since = list[float]()

    def on_start(clock):
        since.append(time.monotonic())
        threading.Timer(0.3, control.fill, [1]).start()

    assert run_there(source, control=control, on_start=on_start) is None
    assert time.monotonic() - since[0] < 10.0


def test_an_environment_that_a_script_has_changed_stays_here(monkeypatch):
    """A worker would import it as it is in its file, and has done so before."""
    run_there(source_for(ex.Gym(HallEnv)))
    monkeypatch.setattr(hall_env, "CELLS", 9)
    with pytest.raises(AssertionError, match="done in this process"):
        run_there(source_for(ex.Gym(HallEnv)))


def run_gym(environment, threads, **options):
    return ex.run(
        ex.Gym(environment), ex.OneHot(), ex.QLearning.paper(0.1), episodes=20, runs=4, threads=threads,
        compiled=False, progress=False, **options,
    )  # fmt: skip


def test_a_crash_lets_the_other_runs_finish():
    with pytest.raises(ex.EnvError, match=r"ended .* in run 1, .*3 of 4 runs") as caught:
        run_gym(lambda: FailsIn((1,), True), 2)
    assert caught.value.finished is not None
    assert caught.value.finished.numbers == [0, 2, 3]


SCRIPT = """
import sys
import numpy as np
import expectant as ex
from hall_env import HallEnv
print("script")
GAIN, episode = 2.0, None  # a global with the name of an attribute
class Mine(HallEnv):
    def step(self, action):
        seen, reward, *rest = super().step(action)
        if len(sys.argv) > 1 and self.episode == 200:
            print("slow", flush=True)
        return seen, GAIN * reward, *rest
def run(threads, episodes):
    return ex.run(ex.Gym(Mine), ex.OneHot(), ex.QLearning(0.1), episodes=episodes, runs=4,
                  threads=threads, compiled=False, progress=False).returns
if len(sys.argv) > 1:
    run(2, 10**6)
else:
    print(np.array_equal(run(1, 50), run(2, 50)))
"""


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    script = folder / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(Path(hall_env.__file__).parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, script, *arguments], env={**os.environ, "PYTHONPATH": path}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def test_an_environment_of_a_script_runs_in_workers_without_a_guard(tmp_path):
    output, errors = start(tmp_path).communicate(timeout=120)
    assert output == "script\nTrue\n", errors


def test_an_interruption_stops_the_workers_too(tmp_path):
    """Ctrl-C reaches every process of the terminal; one traceback is shown."""
    script = start(tmp_path, "forever")
    assert script.stdout is not None
    assert "slow\n" in iter(script.stdout.readline, "")
    os.killpg(script.pid, signal.SIGINT)
    began = time.monotonic()
    _, errors = script.communicate(timeout=60)
    assert time.monotonic() - began < 10.0
    assert errors.count("KeyboardInterrupt") == 1, errors


# ------------------------------------------------------------------------ compiling ahead


def test_every_composition_is_compiled_once_here_or_in_another_process(
    tmp_path, monkeypatch, kernel_cache
):
    monkeypatch.setenv("NOTES", str(tmp_path))
    monkeypatch.setenv("HERE", str(os.getpid()))
    monkeypatch.setattr(workers, "core_count", lambda: 2)
    agents = [
        ex.QLearning.paper(0.1),
        ex.QLearning.paper(0.2),
        ex.Lookahead.paper(0.1),
        ex.Lookahead.paper(0.3),
    ]
    setups = [job_with(agent) for agent in agents]
    compile_ahead([CompileOrder(ahead_orders.note, setups[0], ahead_orders.no)], Silent())
    compile_ahead(
        [CompileOrder(ahead_orders.note, setup, ahead_orders.yes) for setup in setups], Silent()
    )
    assert not list(tmp_path.iterdir())  # one alone, or what is there, is not ordered
    compile_ahead(
        [CompileOrder(ahead_orders.die, setup, ahead_orders.no) for setup in setups], Silent()
    )
    compile_ahead(
        [CompileOrder(ahead_orders.note, setup, ahead_orders.no) for setup in setups], Silent()
    )
    left = sorted(path.name.split("-") for path in tmp_path.iterdir())
    assert [agent for agent, _ in left] == ["Lookahead", "QLearning"]
    assert left[0][1] == str(os.getpid())  # the larger one
