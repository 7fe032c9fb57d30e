"""Whose code an error came from, for people who see a sentence and no traceback."""

from __future__ import annotations

import os
import site
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from expectant.engine.result import Result

PACKAGE = str(Path(__file__).parent) + os.sep
LIBRARIES = tuple(
    {*site.getsitepackages(), *(sysconfig.get_path(name) for name in ("stdlib", "purelib"))}
)


class WorldError(ValueError, RuntimeError):
    """An environment that has failed, or that has answered something wrong: where, in a sentence.

    ``finished`` is the Result of the other runs of ``ex.run``; None where none has finished.
    """

    finished: Result | None = None


class WorldHangs(WorldError, TimeoutError):
    """An environment that does not answer."""


class WorldCrashed(WorldError, ChildProcessError):
    """An environment that has ended the process that it ran in."""


def told(error: BaseException) -> str:
    """An error in one line: its kind, what it says and, if it is a user's own, file and line."""
    if isinstance(error, WorldError):  # which says all of that itself
        return str(error)
    text, place = f"{type(error).__name__}: {error}", own_place(error)
    return text if place is None or place in text else f"{text} ({place})"


def own_place(error: BaseException) -> str | None:
    """File and line of a user's code that was called by ours and failed; None if ours did."""
    found, called, trace = None, False, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(PACKAGE):
            found, called = None, True
        elif called and not file.startswith(("<", *LIBRARIES)):
            found = f"{file}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


def is_ours(thing: Any) -> bool:
    """Whether a class or function is the package's own."""
    return str(thing.__module__).partition(".")[0] == "expectant"
