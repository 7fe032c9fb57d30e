"""Errors that users meet, missing optional packages, and the user's line that caused an error."""

from __future__ import annotations

import functools
import os
import site
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from expectant.engine.result import Result

__all__ = ["EnvError", "PartError"]

EXTRAS = {  # import names of the packages of every optional dependency in pyproject.toml
    "cli": ("typer", "rich"),
    "experiments": ("pyarrow", "filelock"),
    "report": ("matplotlib", "jinja2"),
    "gym": ("gymnasium",),
    "optuna": ("optuna",),
    "ray": ("ray",),
}


class PartError(ValueError):
    """A part, usually a user's own, violates the contract of one of its verbs."""


class EnvError(ValueError, RuntimeError):
    """An external environment failed or returned something invalid.

    ``finished`` is the Result of the other runs of ``ex.run``; None if none has finished.
    """

    finished: Result | None = None


class EnvTimeout(EnvError, TimeoutError):
    """An environment did not answer in time."""


class EnvCrash(EnvError, ChildProcessError):
    """An environment terminated the process that it ran in."""


class MissingExtra(ImportError):
    """An optional package is not installed."""


def missing_packages(extra: str) -> list[str]:
    """Return the packages of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def require_extra(purpose: str, *extras: str) -> None:
    """Raise :class:`MissingExtra` with the command that installs what ``purpose`` needs."""
    absent = {extra: modules for extra in extras if (modules := missing_packages(extra))}
    if absent:
        names = " and ".join(module for modules in absent.values() for module in modules)
        raise MissingExtra(f"{purpose} needs {names}: pip install 'expectant[{','.join(absent)}]'")


def describe_error(error: BaseException) -> str:
    """Return type and message in one line, with file and line if user code raised the error."""
    if isinstance(error, EnvError):  # its message has the location already
        return str(error)
    text, location = f"{type(error).__name__}: {error}", user_location(error)
    return text if location is None or location in text else f"{text} ({location})"


def user_location(error: BaseException) -> str | None:
    """Return file and line of the innermost user code that the package called, if any.

    The error itself may have been raised further in, by a library or by the package. Code without
    a file, such as a notebook cell, counts only if there is no other.
    """
    package, libraries = _code_folders()
    in_file, without_file, called_by_package = None, None, False
    trace = error.__traceback__
    while trace is not None:
        frame, file = trace.tb_frame, trace.tb_frame.f_code.co_filename
        location = f"{file}, line {trace.tb_lineno}"
        if file.startswith(package):
            called_by_package = True
        elif file.startswith("<"):  # generated code of the package's own classes has no file
            module = str(frame.f_globals.get("__name__")).partition(".")[0]
            if called_by_package and module != "expectant" and not file.startswith("<frozen"):
                without_file = location
        elif called_by_package and not file.startswith(libraries) and not _is_cython(file):
            in_file = location
        trace = trace.tb_next
    return in_file or without_file


def _is_cython(file: str) -> bool:
    return file.endswith((".pyx", ".pxd"))


@functools.cache
def _code_folders() -> tuple[str, tuple[str, ...]]:
    """Return the folder of the package and those of all libraries."""
    paths = [*site.getsitepackages(), *(sysconfig.get_path(n) for n in ("stdlib", "purelib"))]
    return str(Path(__file__).parents[1]) + os.sep, tuple(path + os.sep for path in paths)
