"""Whose code an error came from, for people who see a sentence and no traceback."""

from __future__ import annotations

import functools
import os
import site
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from expectant.engine.result import Result


class EnvError(ValueError, RuntimeError):
    """An environment that has failed, or that has answered something wrong: where, in a sentence.

    ``finished`` is the Result of the other runs of ``ex.run``; None where none has finished.
    """

    finished: Result | None = None


class EnvTimeout(EnvError, TimeoutError):
    """An environment that does not answer."""


class EnvCrash(EnvError, ChildProcessError):
    """An environment that has ended the process that it ran in."""


@functools.cache
def _homes() -> tuple[str, tuple[str, ...]]:
    """The folder of the package, and those of all libraries."""
    paths = [*site.getsitepackages(), *(sysconfig.get_path(n) for n in ("stdlib", "purelib"))]
    return str(Path(__file__).parents[1]) + os.sep, tuple(path + os.sep for path in paths)


def describe_error(error: BaseException) -> str:
    """An error in one line: its kind, what it says and, if it is a user's own, file and line."""
    if isinstance(error, EnvError):  # which says all of that itself
        return str(error)
    text, place = f"{type(error).__name__}: {error}", user_location(error)
    return text if place is None or place in text else f"{text} ({place})"


def user_location(error: BaseException) -> str | None:
    """Return file and line of the innermost user code that the package has called.

    The error itself may have been raised further in, by a library or by the package. Code without
    a file, such as a cell of some notebooks, counts where there is no other.
    """
    package, libraries = _homes()
    found, without_file, called, trace = None, None, False, error.__traceback__
    while trace is not None:
        frame, file = trace.tb_frame, trace.tb_frame.f_code.co_filename
        place = f"{file}, line {trace.tb_lineno}"
        if file.startswith(package):
            called = True
        elif file.startswith("<"):  # generated code of the package's own classes has no file
            module = str(frame.f_globals.get("__name__")).partition(".")[0]
            if called and module != "expectant" and not file.startswith("<frozen"):
                without_file = place
        elif called and not file.startswith(libraries) and not file.endswith((".pyx", ".pxd")):
            found = place
        trace = trace.tb_next
    return found or without_file


def is_builtin(thing: Any) -> bool:
    """Whether a class or function is the package's own."""
    return str(thing.__module__).partition(".")[0] == "expectant"
