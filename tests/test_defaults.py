"""What is taken where nobody says anything: a default that changes gives everybody other numbers.

The list is beside this file. Whoever changes a default on purpose says so in the changelog and takes
over the line that the test shows.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import expectant as ex
from expectant import cli
from expectant.descriptions import KINDS
from expectant.engine.job import Job
from expectant.lab.cells import Cell
from expectant.lab.engines.tasks import Done, Ran
from expectant.lab.request import Request
from expectant.lab.specs.spec import Experiment
from expectant.lab.study import Study

LIST = Path(__file__).parent / "defaults.txt"


def test_defaults_are_as_they_were():
    known = LIST.read_text(encoding="utf-8").splitlines()
    assert list(_found()) == known


def _modules() -> list[ModuleType]:
    names = [info.name for info in pkgutil.walk_packages(ex.__path__, "expectant.")]
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


def _found() -> Iterator[str]:
    _modules()  # some of which have descriptions of their own
    for kind, described in sorted(KINDS.items()):
        if described.__module__.startswith("expectant."):
            yield f"{kind}: {_fields(described)}"
    for kept in (Job, Cell, Request, Study, Experiment):
        yield f"{kept.__name__}: {_fields(kept)}"
    for named in (Done, Ran):
        yield f"{named.__name__}: {named._field_defaults}"
    for name in sorted(ex.__all__):
        yield from _public(name, getattr(ex, name))
    for command in cli.app.registered_commands:
        if command.callback is not None:
            yield f"expectant {command.callback.__name__}: {_arguments(command.callback)}"


def _public(name: str, value: object) -> Iterator[str]:
    """The defaults of a function, of a class's methods, and of the functions of a module."""
    if inspect.ismodule(value):
        for inner in sorted(getattr(value, "__all__", ())):
            called = getattr(value, inner)
            if inspect.isfunction(called) and (given := _arguments(called)):
                yield f"{name}.{inner}: {given}"
    elif inspect.isfunction(value):
        yield f"{name}: {_arguments(value)}"
    elif inspect.isclass(value) and not issubclass(value, ex.Description):
        for inner, method in sorted(vars(value).items()):
            if not inner.startswith("_") and inspect.isfunction(method):
                yield f"{name}.{inner}: {_arguments(method)}"


def _fields(described: type) -> str:
    fields = dataclasses.fields(described)
    return ", ".join(f"{f.name}={f.default!r}" for f in fields if _given(f.default))


def _given(default: Any) -> bool:
    return default is not dataclasses.MISSING and not callable(default)


def _arguments(called: Callable[..., Any]) -> str:
    found = []
    for name, parameter in inspect.signature(called).parameters.items():
        default = getattr(parameter.default, "default", parameter.default)  # of an option of typer
        if default is not inspect.Parameter.empty and _given(default):
            found.append(f"{name}={default!r}")
    return ", ".join(found)


@pytest.mark.parametrize(("argument", "fewest"), [("trust", 6), ("checked", 5)])
def test_nothing_is_trusted_nor_slowed_by_checks_unless_somebody_says_so(argument, fewest):
    asking = 0
    for module in _modules():
        for called in vars(module).values():
            if inspect.isfunction(called) and called.__module__ == module.__name__:
                found = inspect.signature(called).parameters.get(argument)
                if found is not None and found.default is not inspect.Parameter.empty:
                    asking += 1
                    default = getattr(found.default, "default", found.default)
                    assert default in (False, ()), f"{module.__name__}.{called.__name__}"
    assert asking >= fewest
