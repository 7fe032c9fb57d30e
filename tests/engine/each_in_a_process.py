"""Run files, each in a process of its own that shares nothing but the imported package and Numba.

Usage: python each_in_a_process.py FILE…; prints, as JSON, how each ended: its status, negative for
a signal, and what it wrote to standard error.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
import traceback

import numba

import expectant  # noqa: F401  once, for all of them

numba.njit(lambda number: number + 1)(1)  # which gets Numba ready, once


def ended(path: str) -> tuple[int, str]:
    with tempfile.TemporaryFile() as written:
        child = os.fork()
        if child == 0:
            os.dup2(written.fileno(), 2)
            status = 0
            try:
                runpy.run_path(path, run_name="__main__")
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stderr.flush()
            os._exit(status)
        _, code = os.waitpid(child, 0)
        written.seek(0)
        return os.waitstatus_to_exitcode(code), written.read().decode()


if __name__ == "__main__":
    print(json.dumps([ended(path) for path in sys.argv[1:]]))
