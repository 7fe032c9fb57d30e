"""Compiling several loops at once, in processes, before any of them is needed.

Numba compiles one function at a time in a process. What another process compiles comes back
through the cache on disk, so nothing is lost if it fails or is stopped: whoever needs the loop
compiles it, and is told what is wrong with it. The processes are not forks, which threads do not
survive, and do not run the user's script again.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from expectant.core import tree
from expectant.core.memory import TooLargeError, available_memory, given_memory
from expectant.engine.job import Job, cores, loop_for, loop_is_compiled
from expectant.progress import Overall, Silent

BYTES = 2**30  # that a process takes to compile, at most
LOOK_SECONDS = 0.2
START = (
    "import json, sys\n"
    "sys.path[:] = json.loads(sys.argv[1])\n"
    "from expectant.engine.ahead import compile_what_comes\n"
    "compile_what_comes()"
)


class Order(NamedTuple):
    """Something to be compiled: functions of a module that do it for a job and tell if it is done.

    What a run needs beside its loop is an order of its own.
    """

    compile: Callable[[Job], object]
    job: Job
    is_there: Callable[[Job], bool] = loop_is_compiled


def compile_loop(job: Job) -> None:
    """Leave the loop for a job in the cache."""
    loop_for(job, True, "", Silent())


def compile_ahead(orders: Sequence[Order], overall: Overall) -> None:
    """Have orders compiled by several processes, where there are several to be compiled."""
    size = _processes()
    wanted = _missing(orders) if size > 1 else []
    if len(wanted) > 1:
        _distribute(wanted, min(size, len(wanted)), overall)


def _processes() -> int:
    """How many processes may compile: one for every core, if they fit into memory."""
    free = given_memory() or available_memory()
    return min(cores(), free // BYTES)


def _missing(orders: Sequence[Order]) -> list[bytes]:
    """The orders that are not in the cache, one for every composition, ready to be sent.

    Only modules can be imported by another process: what is defined in the script that is run, or
    in a notebook, is left out, and so is what does not fit into memory.
    """
    found: dict[Any, bytes] = {}
    for order in orders:
        try:
            kind = (order.compile, tree.structure(order.job.prepare(0)[0]))
            if kind not in found and not order.is_there(order.job):
                sent = pickle.dumps(order)
                if b"__main__" not in sent:
                    found[kind] = sent
        except (TooLargeError, pickle.PicklingError, AttributeError, TypeError, ValueError):
            continue
    return list(found.values())


def _distribute(wanted: Sequence[bytes], size: int, overall: Overall) -> None:
    """Send every order to whichever process is idle, and wait for all of them."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    for sent in wanted:
        waiting.put(sent)
    done = threading.Semaphore(0)
    crew = [_started() for _ in range(size)]
    threads = [
        threading.Thread(target=_serve, args=(process, waiting, done), daemon=True)
        for process in crew
    ]
    finished = 0
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            finished += done.acquire(timeout=LOOK_SECONDS)
            overall.show(
                f"compiling {len(wanted)} loops in {size} processes (once, then cached), "
                f"{finished} done",
                overall.done,
            )
    finally:
        for process in crew:
            process.kill()
            process.wait()


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", START, json.dumps(sys.path)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def _serve(
    process: subprocess.Popen[bytes],
    waiting: queue.SimpleQueue[bytes],
    done: threading.Semaphore,
) -> None:
    """Give one process an order after the other, until there are none or it is no more."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        while True:
            try:
                sent = waiting.get_nowait()
                pickle.dump(sent, process.stdin)
                process.stdin.flush()
            except (queue.Empty, OSError):
                return
            if not process.stdout.read(1):
                return
            done.release()


def compile_what_comes() -> None:
    """What such a process does: compile what comes in, and say after each that it is over."""
    answers = os.dup(1)
    os.dup2(2, 1)  # nothing that a module prints is taken for an answer
    while True:
        try:
            sent = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        with suppress(Exception):  # whoever needs it will be told
            order = pickle.loads(sent)
            order.compile(order.job)
        os.write(answers, b".")
