"""Run files, each in a process of its own that shares nothing but the imported package and Numba.

:func:`run_file` does so from a test. What it starts is this file as a program: it imports once what
all of them need, then forks for every order, a line of JSON, and answers in one how that ended.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO, Any, NamedTuple


class Ended(NamedTuple):
    """How a file ended: its ``status``, negative for a signal, and what it wrote."""

    status: int
    output: str
    errors: str


def run_file(path: Path, folder: Path | None = None, strict: bool = False) -> Ended:
    """Run a file as ``python FILE`` would in a folder; any warning is an error if ``strict``."""
    order = {
        "path": str(path), "folder": str(folder or Path.cwd()), "strict": strict,
        "environment": dict(os.environ),
    }  # fmt: skip
    orders, answers = _server()
    orders.write(json.dumps(order) + "\n")
    orders.flush()
    return Ended(*json.loads(answers.readline()))


@functools.cache
def _server() -> tuple[IO[str], IO[str]]:
    """Where orders go to and answers come from; one for each process of the tests."""
    server = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert server.stdin and server.stdout
    atexit.register(server.kill)
    return server.stdin, server.stdout


def _as_program(order: dict[str, Any]) -> int:
    """Do what an order says in this very process, and return its status."""
    import runpy
    import warnings

    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv, sys.path[0] = [order["path"]], str(Path(order["path"]).parent)
    if order["strict"]:
        warnings.simplefilter("error")
    try:
        runpy.run_path(order["path"], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _ended(order: dict[str, Any]) -> Ended:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            status = _as_program(order)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        _, code = os.waitpid(child, 0)
        output.seek(0)
        errors.seek(0)
        return Ended(
            os.waitstatus_to_exitcode(code), output.read().decode(), errors.read().decode()
        )


def _get_ready() -> None:
    """Import and compile, once, what most of them need."""
    import expectant as ex

    with tempfile.TemporaryDirectory() as empty:  # so that it is compiled and not read
        kept = os.environ["EXPECTANT_CACHE_DIR"]
        os.environ["EXPECTANT_CACHE_DIR"] = empty
        ex.run(
            ex.Corridor(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=1, runs=1, progress=False
        )
        os.environ["EXPECTANT_CACHE_DIR"] = kept


if __name__ == "__main__":
    _get_ready()
    for line in sys.stdin:
        print(json.dumps(_ended(json.loads(line))), flush=True)
