"""A hash of all the code that a kernel is compiled from, so that no stale kernel is ever used.

Numba's own cache looks only at the file of the outermost function. The fingerprint follows every
function, constant and part type that a kernel can reach, the user's own parts included.
"""

from __future__ import annotations

import hashlib
import platform
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from expectant import verbs

_SETTLED = {"numpy", "numba", "llvmlite", "math", "builtins", "scipy", "typing"}


def part_types(part: Any) -> Iterator[type]:
    """The NamedTuple classes in a part, itself first."""
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        yield type(part)
        for item in part:
            yield from part_types(item)


def _code(code: types.CodeType) -> Iterator[str]:
    yield f"{code.co_code!r} {code.co_names} {code.co_varnames} {code.co_cellvars}"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            yield repr(constant)


def _names(code: types.CodeType) -> set[str]:
    nested = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*(_names(c) for c in nested))


def _version(module: str) -> str:
    import importlib

    return f"{module} {getattr(importlib.import_module(module), '__version__', '')}"


class _Walk:
    """Visit everything reachable once.

    ``lines`` describes it independently of the process; ``bindings`` says what the names in every
    function, and the verbs of every part type, stand for at present in this process.
    """

    def __init__(self) -> None:
        self.bindings: dict[tuple[Any, str], Any] = {}
        self.seen: set[int] = set()
        self.alive: list[Any] = []  # ids stay unique only while their objects live
        self.lines: set[str] = set()

    def visit(self, thing: Any) -> None:
        if id(thing) in self.seen:
            return
        self.seen.add(id(thing))
        self.alive.append(thing)
        if hasattr(thing, "py_func"):  # a function that Numba compiles
            thing = thing.py_func
        if isinstance(thing, types.FunctionType):
            self._function(thing)
        elif isinstance(thing, type):
            self._type(thing)
        elif isinstance(thing, np.ndarray):
            self.lines.add(f"array {thing.dtype} {thing.shape} {thing.tobytes()!r}")
        elif isinstance(thing, bool | int | float | complex | str | bytes | type(None)):
            self.lines.add(f"constant {thing!r}")
        elif isinstance(thing, tuple | list | frozenset | set | dict):
            self.lines.add(f"container {thing!r}")
        elif not isinstance(thing, types.ModuleType | types.BuiltinFunctionType | np.ufunc):
            self.lines.add(f"object {type(thing).__qualname__}")

    def _function(self, thing: types.FunctionType) -> None:
        module = str(thing.__module__)
        if module.partition(".")[0] in _SETTLED:
            return
        if hasattr(thing, "implementations"):  # a verb: its implementations go by part type
            self.visit(getattr(thing, "fallback", None))
            return
        self.lines.add(f"function {module}.{thing.__qualname__} " + " ".join(_code(thing.__code__)))
        self.bindings[thing, "__code__"] = thing.__code__
        for default in thing.__defaults__ or ():
            self.visit(default)
        for cell in thing.__closure__ or ():
            self.visit(cell.cell_contents)
        names = _names(thing.__code__)
        for name in names & set(thing.__globals__):
            found = thing.__globals__[name]
            self.lines.add(f"global {module}.{name} {type(found).__qualname__}")
            self.bindings[thing, name] = found
            self._value(found, names)

    def _value(self, found: Any, names: set[str]) -> None:
        self.visit(found)
        if isinstance(found, types.ModuleType) and found.__name__.split(".")[0] not in _SETTLED:
            for name in names & set(vars(found)):
                self._value(vars(found)[name], names)

    def _type(self, thing: type) -> None:
        fields = getattr(thing, "_fields", ())
        self.lines.add(f"type {thing.__module__}.{thing.__qualname__} {fields}")
        for verb in verbs.VERBS:
            if thing in verb.implementations:
                self.lines.add(f"verb {verb.__name__} of {thing.__qualname__}")
                self.bindings[thing, verb.__name__] = verb.implementations[thing]
                self.visit(verb.implementations[thing])


class Fingerprint(NamedTuple):
    """``name`` is the hash; ``bindings`` map (function or part type, name) to an object."""

    name: str
    bindings: dict[tuple[Any, str], Any]


def fingerprint(function: Any, parts: Iterable[type]) -> Fingerprint:
    """The hash of a kernel's function and of the part types it will be called with."""
    walk = _Walk()
    walk.visit(function)
    for part in parts:
        walk.visit(part)
    versions = [platform.python_version(), _version("numba"), _version("numpy")]
    text = "\n".join(versions + sorted(walk.lines))
    return Fingerprint(hashlib.sha256(text.encode()).hexdigest()[:24], walk.bindings)
