"""Values in writing: by their contents alone, the same in every process.

There are no addresses, file paths, line numbers, comments, docstrings or orders of sets in it.
Functions and classes are references (@), whose contents are somebody else's to write.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import numpy as np

from expectant.engine.identity.homes import is_known_by_name, name_of, version_of

_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
_ADDRESS = re.compile(r"(0x|#)[0-9a-f]+")  # in what Numba's types are called

# what Numba's objects keep of the functions they were made from, and how they compile them
_INSIDE = (
    "py_func", "_pyfunc", "_defn", "_dispatcher", "gufunc_builder.py_func", "signature",
    "kernel_ir.func_id.func", "targetoptions", "options", "locals",
)  # fmt: skip
_WRAPPERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.cached_property: ("func",),
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinFunctionType: ("__module__", "__qualname__", "__self__"),
    np.ufunc: ("__name__",),
}


def inside(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object of Numba's was made from."""
    if type(value).__module__.startswith("numba."):
        for path in _INSIDE:
            try:
                yield path, attrgetter(path)(value)
            except AttributeError:
                continue


def is_reference(value: Any) -> bool:
    """Whether something is written as a reference: it has names that stand for other things."""
    return isinstance(value, types.FunctionType | type) or any(True for _ in inside(value))


class Writer:
    """Writes values; ``refers`` are the things that references are to, in their order."""

    def __init__(self) -> None:
        self.refers: list[Any] = []
        self._within: set[int] = set()  # what is being written, and may contain itself

    def value(self, value: Any) -> str:
        """Any value; its type is always part of it."""
        kind = type(value)
        if kind in _PLAIN:
            return f"{kind.__name__} {value!r}"
        named = isinstance(value, types.FunctionType | type) and is_known_by_name(value)
        if named or isinstance(value, types.ModuleType):
            return f"{kind.__name__} {name_of(value)} {version_of(value)}"
        if is_reference(value):
            self.refers.append(value)
            return "@"
        if id(value) in self._within:
            return "itself"
        self._within.add(id(value))
        try:
            return f"{kind.__name__} {self._writing(kind)(value)}"
        finally:
            self._within.remove(id(value))

    def code(self, code: types.CodeType) -> str:
        """All of a code object that decides what it does."""
        constants = code.co_consts
        if _has_docstring(code):
            constants = (None, *constants[1:])
        return repr(
            (
                code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars,
                code.co_cellvars, code.co_argcount, code.co_posonlyargcount,
                code.co_kwonlyargcount, code.co_flags, code.co_exceptiontable,
            )
        ) + self.value(constants)  # fmt: skip

    def _writing(self, kind: type) -> Callable[[Any], str]:
        """How values of a type are written."""
        exact: dict[type, Callable[[Any], str]] = {
            tuple: self._items,
            list: self._items,
            dict: lambda value: self._items(value.items()),
            set: lambda value: self._items(sorted(value, key=_alone)),
            frozenset: lambda value: self._items(sorted(value, key=_alone)),
            types.CodeType: self.code,
            np.ndarray: self._array,
        }
        if kind in exact:
            return exact[kind]
        if issubclass(kind, np.generic):
            return lambda value: self._array(np.asarray(value))
        if issubclass(kind, enum.Enum):
            return lambda value: f"{value._name_} of {self.value(kind)}"
        for wrapper, names in _WRAPPERS.items():
            if issubclass(kind, wrapper):
                return lambda value: self._items(getattr(value, name) for name in names)
        library = kind.__module__.partition(".")[0]
        if library == "numba":  # their objects keep what they are asked, so contents would change
            return lambda value: _ADDRESS.sub("", str(value))
        return str if library == "llvmlite" else self._reduced

    def _items(self, values: Any) -> str:
        return f"[{', '.join(map(self.value, values))}]"

    def _array(self, value: np.ndarray) -> str:
        if value.dtype.hasobject:
            return self.value(value.tolist())
        order = (value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable)
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return f"{value.dtype.descr} {value.shape} {order} {content}"

    def _reduced(self, value: Any) -> str:
        """Any other object, as it would be pickled; by its type alone if it cannot be."""
        try:
            reduced = value.__reduce_ex__(4)
            if isinstance(reduced, tuple):
                reduced = [*reduced[:3], *(list(items or ()) for items in reduced[3:5])]
        except Exception:  # whatever its parts raise
            reduced = None
        return self._items([type(value), reduced, getattr(value, "__wrapped__", None)])


def _has_docstring(code: types.CodeType) -> bool:
    """Whether the first constant is one; before Python 3.14 a def always has a place for it."""
    if not (code.co_consts and isinstance(code.co_consts[0], str)):
        return False
    if sys.version_info >= (3, 14):
        return bool(code.co_flags & inspect.CO_HAS_DOCSTRING)
    return bool(code.co_flags & inspect.CO_NEWLOCALS) and not code.co_name.startswith("<")


def _alone(value: Any) -> tuple[str, list[str]]:
    """A value apart from all others, for putting a set in order."""
    writer = Writer()
    return writer.value(value), [name_of(thing) for thing in writer.refers]
