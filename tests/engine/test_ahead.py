"""Several loops are compiled by other processes, and nothing depends on their doing it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from ahead_orders import die, fail, no, note, shout, yes

import expectant as ex
from expectant.engine import ahead
from expectant.engine.ahead import Order, compile_ahead
from expectant.engine.job import Job
from expectant.lab.engines.compute import evenly_ordered
from expectant.lab.engines.tasks import Task
from expectant.progress import Overall


def job_of(agent):
    return Job(ex.Corridor(), ex.OneHot(), agent, episodes=5)


@pytest.fixture
def notes(tmp_path, monkeypatch, kernel_cache):
    """A folder for what was ordered, an empty kernel cache, and two cores at least."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("NOTES", str(folder))
    monkeypatch.setattr(ahead, "_processes", lambda: 2)
    return folder


def test_every_composition_is_ordered_once_and_by_two_processes(notes):
    agents = [ex.QLearning(0.1), ex.QLearning(0.2), ex.Lookahead(0.1), ex.Lookahead(0.3)]
    with Overall("ahead", 1.0) as overall:
        compile_ahead([Order(note, job_of(agent), no) for agent in agents], overall)
    left = sorted(path.name.split("-") for path in notes.iterdir())
    assert [agent for agent, _ in left] == ["Lookahead", "QLearning"]
    assert str(os.getpid()) not in {process for _, process in left}


def test_one_alone_is_left_to_whoever_needs_it(notes):
    with Overall("ahead", 1.0) as overall:
        compile_ahead([Order(note, job_of(ex.QLearning(0.1)))], overall)
    assert not list(notes.iterdir())


def test_what_is_compiled_already_is_not_ordered():
    jobs = [job_of(agent) for agent in (ex.QLearning(0.1), ex.Lookahead(0.1))]
    assert ahead._missing([Order(note, job, yes) for job in jobs]) == []
    assert len(ahead._missing([Order(note, job, no) for job in jobs])) == 2


def test_a_process_that_dies_stops_nobody(notes):
    orders = [Order(die, job_of(agent)) for agent in (ex.QLearning(0.1), ex.Lookahead(0.1))]
    with Overall("ahead", 1.0) as overall:
        compile_ahead(orders, overall)


def test_nothing_that_is_printed_is_taken_for_an_answer(notes):
    """Three orders of which each prints, and the second has an error: three answers."""
    jobs = [job_of(agent) for agent in (ex.QLearning(0.1), ex.Lookahead(0.1), ex.Sarsa(0.1))]
    orders = [Order(shout if number != 1 else fail, job) for number, job in enumerate(jobs)]
    sent = b"".join(pickle.dumps(pickle.dumps(order)) for order in orders)
    assert ahead._started().communicate(sent) == (b"...", None)


def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    """And parts that are defined in it are compiled here, since no other process can import them."""
    script = tmp_path / "script.py"
    script.write_text(
        "import expectant as ex\n"
        "from expectant.engine import ahead\n"
        "from expectant.engine.job import Job\n"
        "print('run')\n"
        "@ex.description\n"
        "class Mine(ex.Corridor):\n"
        "    pass\n"
        "sent = [ahead.Order(ahead.compile_loop, Job(Mine(), ex.OneHot(), agent, episodes=5))\n"
        "        for agent in (ex.QLearning(0.1), ex.Lookahead(0.1))]\n"
        "print(ahead._missing(sent))\n"
    )
    environment = {**os.environ, "EXPECTANT_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "run\n[]\n"


def test_any_beginning_of_the_tasks_is_spread_over_all_of_them():
    tasks = [Task(None, str(number), 0, 1) for number in range(100)]  # type: ignore[arg-type]
    order = [int(task.name) for task in evenly_ordered(tasks)]
    assert sorted(order) == list(range(100))
    for size in (10, 25, 50):
        quarters = [
            sum(part * 25 <= place < part * 25 + 25 for place in order[:size]) for part in range(4)
        ]
        assert max(quarters) - min(quarters) <= 3
