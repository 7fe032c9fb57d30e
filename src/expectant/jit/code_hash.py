"""Hashes of code, so that neither a stale kernel nor a stale result is ever used.

A hash covers everything that functions and classes can reach: their code, defaults, closures, the
values of the globals they read, class attributes, and the verbs of part types. It contains no
address, file path, line number, comment or docstring and no order of a set, so it is the same in
every process and wherever the code is installed.

Every function, class and module is described by a text in which other functions and classes are
references (@), each with a text of its own: two that change places change the whole.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import inspect
import os
import platform
import re
import sys
import types
from collections import deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant import version
from expectant.core import dispatch, tree
from expectant.core.config import Config

_BY_VERSION = {"numpy", "numba", "llvmlite", "scipy", "gymnasium"}
_PLUMBING = tuple(f"expectant.{name}." for name in ("engine", "experiments", "report", "cli"))
_COMPILED = ("expectant.jit.", "expectant.engine.probe")
_GLOBAL_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")
_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
_ADDRESS = re.compile(r"(0x|#)[0-9a-f]+")  # in the names of Numba's types
_OF_NUMBA = (  # attributes of Numba's objects: the functions they compile, and with which options
    "py_func", "_pyfunc", "_defn", "_dispatcher", "gufunc_builder.py_func", "signature",
    "kernel_ir.func_id.func", "targetoptions", "options", "locals",
)  # fmt: skip
_WRAPPERS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    cached_property: ("func",),
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinFunctionType: ("__module__", "__qualname__", "__self__"),
    np.ufunc: ("__name__",),
}
_OF_MODULES = {*vars(types.ModuleType("_")), "__file__", "__cached__", "__builtins__", "__path__"}
_OF_CLASSES = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "__orig_bases__",
    "__parameters__", "__abstractmethods__", "_abc_impl", "__dataclass_fields__",
    "__dataclass_params__", "__match_args__", "__firstlineno__", "__static_attributes__",
    "__slotnames__",  # left behind by pickle and copy
}  # fmt: skip

Known = Callable[[Any], bool]


_Empty = namedtuple("_Empty", "")  # a class that is garbage loses its vars()


class CodeHash(NamedTuple):
    """A hash, ``name``, and the ``texts`` it was computed from."""

    name: str
    texts: list[CodeText]


class CodeText(NamedTuple):
    """A function, class or module as text, and the things that each @ in it refers to."""

    thing: Any
    text: str
    refers: tuple[Any, ...]

    def differs(self, other: CodeText) -> bool:
        """True if the thing has changed, or a name in it stands for another thing."""
        return self.text != other.text or [*map(id, self.refers)] != [*map(id, other.refers)]


def part_types(part: Any) -> tuple[type, ...]:
    """Return the NamedTuple classes in a part, its own first."""
    return tuple(type(node) for _, node in tree.nodes(part) if hasattr(node, "_fields"))


def hash_kernel(function: Any, parts: Iterable[Any], options: Iterable[Any] = ()) -> CodeHash:
    """Hash a function to compile, its part types (and other ``parts``), and all they reach."""
    import llvmlite
    import numba

    from expectant.jit import numba_internals, overloads, reductions, rng

    kinds = list(dict.fromkeys(parts))
    texts = walk((function, *kinds, reductions, rng, overloads, numba_internals))
    libraries = [f"{module.__name__} {module.__version__}" for module in (numba, llvmlite, np)]
    versions = [platform.python_version(), f"expectant {version.VERSION}", *libraries]
    text = "\n".join([*versions, *map(repr, options), str(len(kinds)), digest(texts)])
    return CodeHash(hashlib.sha256(text.encode()).hexdigest()[:24], texts)


def hash_own_code(things: Iterable[Any]) -> str:
    """Hash the user's own part of some functions and classes.

    This package and installed ones count by name only; where a verb of a part type of this package
    has an implementation of the user's, that implementation counts.
    """
    roots: dict[str, Any] = {}
    for thing in dict.fromkeys(things):
        if is_own(thing):
            roots[name_of(thing)] = thing
        for verb in dispatch.VERBS:
            if is_own(verb.implementations.get(thing)):
                roots[f"{name_of(verb)} of {name_of(thing)}"] = verb.implementations[thing]
    texts = walk([roots[name] for name in sorted(roots)], lambda thing: not is_own(thing))
    return hashlib.sha256(f"{sorted(roots)}{digest(texts)}".encode()).hexdigest()[:24]


def walk(roots: Iterable[Any], known: Known | None = None) -> list[CodeText]:
    """Describe functions, classes and modules, and all they reach that is not ``known`` by name."""
    from expectant.jit.numba_internals import refresh_overloads

    refresh_overloads()
    texts: dict[int, CodeText] = {}
    waiting = deque(roots)
    while waiting:
        thing = waiting.popleft()
        if id(thing) not in texts:
            texts[id(thing)] = text = _describe(thing, known or is_known_by_name)
            waiting.extend(text.refers)
    return list(texts.values())


def digest(texts: list[CodeText]) -> str:
    """Hash texts and the references between them."""
    numbers = {id(text.thing): number for number, text in enumerate(texts)}
    total = hashlib.sha256()
    for text in texts:
        refers = [numbers[id(thing)] for thing in text.refers]
        total.update(f"{text.text}\n{refers}\n".encode())
    return total.hexdigest()


# ------------------------------------------------------------------------------ where code is from


def name_of(value: Any) -> str:
    """Return the full name of a module, function or class."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    return f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', '')}"


def is_known_by_name(value: Any) -> bool:
    """True if an object is identified by qualified name and version rather than by content.

    These are code of Python and NumPy, our configs, and functions of ours that compiled code does
    not call: they have state, such as the kernels of this process.
    """
    module = str(getattr(value, "__module__", ""))
    if isinstance(value, type) and issubclass(value, Config):
        return module.startswith("expectant.")
    if module.startswith(_PLUMBING) and not module.startswith(_COMPILED):
        return value not in dispatch.FUNCTIONS and not hasattr(value, "_fields")
    return _is_library(name_of(value).partition(".")[0])


def _version_of(name: str) -> str:
    root = name.partition(".")[0]
    return str(getattr(sys.modules.get(root), "__version__", "")) if root in _BY_VERSION else ""


def is_own(value: Any) -> bool:
    """True for a function or class of the user's: neither of a library nor of this package."""
    root = name_of(value).partition(".")[0]
    return not (root in ("expectant", "None") or _is_library(root) or is_installed(root))


@cache
def _is_library(root: str) -> bool:
    if root not in sys.stdlib_module_names:
        return root in _BY_VERSION
    file = getattr(sys.modules.get(root), "__file__", None)  # users may have modules of such names
    return file is None or file.startswith(os.path.dirname(os.__file__))


def is_installed(module: str) -> bool:
    """True if a module's file is in a folder of installed packages."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


# ----------------------------------------------------------------- functions, classes and modules


def _describe(thing: Any, known: Known) -> CodeText:
    writer = _Writer(known)
    if isinstance(thing, types.ModuleType):
        values = {name: item for name, item in vars(thing).items() if name not in _OF_MODULES}
        lines = writer.lines(f"module {thing.__name__}", sorted(values.items()))
    elif isinstance(thing, type):
        lines = _describe_class(thing, writer)
    elif not isinstance(thing, types.FunctionType):  # an object of Numba's
        lines = writer.lines(f"compiled {type(thing).__qualname__}", _made_from(thing))
    elif hasattr(thing, "implementations"):  # a verb, whose implementations belong to part types
        bodies = {"fallback": thing.fallback, "numbers": thing.implementations.get(float)}  # type: ignore[attr-defined]
        lines = writer.lines(f"verb {name_of(thing)}", bodies.items())
    else:
        lines = _describe_function(thing, writer)
    return CodeText(thing, "\n".join(lines), tuple(writer.refers))


def _describe_class(thing: Any, writer: _Writer) -> Iterator[str]:
    yield f"class {name_of(thing)} of {writer.write(thing.__bases__)}"
    omitted = _OF_CLASSES
    if issubclass(thing, tuple) and hasattr(thing, "_fields"):
        yield f"fields {thing._fields} = {writer.write(getattr(thing, '_field_defaults', {}))}"
        omitted = _OF_CLASSES | set(vars(_Empty)) | set(thing._fields)
    elif isinstance(thing, enum.EnumMeta):
        members: dict[str, Any] = dict(thing.__members__)
        yield from writer.lines("members", ((name, each._value_) for name, each in members.items()))
        omitted = members.keys() | {name for name in vars(thing) if name.startswith("_")}
    values = {name: value for name, value in vars(thing).items() if name not in omitted}
    yield from writer.lines("attributes", sorted(values.items()))
    verbs = [verb for verb in dispatch.VERBS if thing in verb.implementations]
    implementations = {name_of(verb): verb.implementations[thing] for verb in verbs}
    yield from writer.lines("verbs", sorted(implementations.items()))


def _describe_function(thing: types.FunctionType, writer: _Writer) -> Iterator[str]:
    from expectant.jit.numba_internals import overloads_of

    names = _names_in(thing.__code__) - _OF_MODULES
    yield f"function {name_of(thing)}"
    yield writer.write_code(thing.__code__)
    for overload in overloads_of(thing):
        yield f"overload = {writer.write(overload)}"
    for name, value in _bindings(thing):
        yield f"{name} = {writer.write(value)}"
        yield from _describe_attributes(name, value, names, writer, set())


def _names_in(code: types.CodeType) -> set[str]:
    """Return all names that code may look up, those in inner functions and for getattr included."""
    strings = (constant for constant in code.co_consts if isinstance(constant, str))
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return {*code.co_names, *strings}.union(*map(_names_in, inner))


@cache
def _globals_in(code: types.CodeType) -> frozenset[str]:
    """Return the names that code looks up as globals, in inner functions too."""
    loads = (step for step in dis.get_instructions(code) if step.opname in _GLOBAL_LOADS)
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return frozenset(step.argval for step in loads).union(*map(_globals_in, inner))


def _bindings(thing: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the values that names in a function are bound to before it is called."""
    code, defaults = thing.__code__, thing.__defaults__ or ()
    last = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    for name, value in (*zip(last, defaults, strict=True), *(thing.__kwdefaults__ or {}).items()):
        yield f"default {name}", value
    for name, cell in zip(code.co_freevars, thing.__closure__ or (), strict=True):
        with suppress(ValueError):  # a cell that holds nothing yet
            yield f"closure {name}", cell.cell_contents
    for name in sorted(_globals_in(code) & thing.__globals__.keys()):
        yield f"global {name}", thing.__globals__[name]


def _describe_attributes(
    path: str, owner: Any, names: set[str], writer: _Writer, seen: set[int]
) -> Iterator[str]:
    """Yield the attributes of a module or function whose names occur in code that reads it."""
    if not isinstance(owner, types.ModuleType | types.FunctionType) or id(owner) in seen:
        return
    if writer.known(owner) or owner in dispatch.VERBS:
        return
    seen.add(id(owner))
    for name in sorted(names & vars(owner).keys()):
        value = vars(owner)[name]
        yield f"{path}.{name} = {writer.write(value)}"
        yield from _describe_attributes(f"{path}.{name}", value, names, writer, seen)


# ------------------------------------------------------------------------------------------ values


def _made_from(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the functions and options inside an object of Numba's."""
    if type(value).__module__.startswith("numba."):
        for path in _OF_NUMBA:
            with suppress(AttributeError):
                yield path, attrgetter(path)(value)


class _Writer:
    """Write values by their contents; ``refers`` collects what references are to, in order."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.refers: list[Any] = []
        self._within: set[int] = set()  # what is being written, and may contain itself

    def write(self, value: Any) -> str:
        """Return a value with its type as text."""
        kind = type(value)
        if kind in _PLAIN:
            return f"{kind.__name__} {value!r}"
        is_code = isinstance(value, types.FunctionType | type)
        if (is_code and self.known(value)) or isinstance(value, types.ModuleType):
            return f"{kind.__name__} {name_of(value)} {_version_of(name_of(value))}"
        if is_code or any(True for _ in _made_from(value)):
            self.refers.append(value)
            return "@"
        if id(value) in self._within:
            return "itself"
        self._within.add(id(value))
        try:
            return f"{kind.__name__} {self._write_contents(kind, value)}"
        finally:
            self._within.remove(id(value))

    def lines(self, title: str, values: Iterable[tuple[str, Any]]) -> Iterator[str]:
        """Yield a title and named values, a line each."""
        yield title
        yield from (f"{name} = {self.write(value)}" for name, value in values)

    def write_code(self, code: types.CodeType) -> str:
        """Return all of a code object that decides what it does."""
        constants = code.co_consts
        if _has_docstring(code):
            constants = (None, *constants[1:])
        return repr(
            (
                code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars,
                code.co_cellvars, code.co_argcount, code.co_posonlyargcount,
                code.co_kwonlyargcount, code.co_flags, code.co_exceptiontable,
            )
        ) + self.write(constants)  # fmt: skip

    def _write_contents(self, kind: type, value: Any) -> str:
        wrapped = next((names for each, names in _WRAPPERS.items() if issubclass(kind, each)), None)
        if kind in (tuple, list):
            text = self._write_items(value)
        elif kind is dict:
            text = self._write_items(value.items())
        elif kind in (set, frozenset):
            text = self._write_items(sorted(value, key=self._order))
        elif kind is types.CodeType:
            text = self.write_code(value)
        elif isinstance(value, np.ndarray | np.generic):
            text = self._write_array(np.asarray(value))
        elif isinstance(value, enum.Enum):
            text = f"{value._name_} of {self.write(kind)}"
        elif wrapped is not None:
            text = self._write_items(getattr(value, name) for name in wrapped)
        elif kind.__module__.startswith(("numba.", "llvmlite.")):  # contents change with use
            text = _ADDRESS.sub("", str(value))
        else:
            text = self._write_reduced(value)
        return text

    def _write_items(self, values: Any) -> str:
        return f"[{', '.join(map(self.write, values))}]"

    def _order(self, member: Any) -> str:
        return f"{name_of(member)} {_Writer(self.known).write(member)}"

    def _write_array(self, value: np.ndarray) -> str:
        if value.dtype.hasobject:
            return self.write(value.tolist())
        order = (value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable)
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return f"{value.dtype.descr} {value.shape} {order} {content}"

    def _write_reduced(self, value: Any) -> str:
        """Return any other object as it would be pickled, or its type if it cannot be."""
        try:
            reduced = value.__reduce_ex__(4)
            if isinstance(reduced, tuple):
                reduced = [*reduced[:3], *(list(items or ()) for items in reduced[3:5])]
                if len(reduced) > 2 and isinstance(reduced[2], dict):
                    reduced[2] = {
                        name: item
                        for name, item in reduced[2].items()  # a cached property appears on use
                        if not isinstance(getattr(type(value), name, None), cached_property)
                    } or None
        except Exception:  # whatever its parts raise
            reduced = None
        return self._write_items([type(value), reduced, getattr(value, "__wrapped__", None)])


def _has_docstring(code: types.CodeType) -> bool:
    """True if the first constant is a docstring; before Python 3.14 a def always has a slot."""
    if not (code.co_consts and isinstance(code.co_consts[0], str)):
        return False
    if sys.version_info >= (3, 14):
        return bool(code.co_flags & inspect.CO_HAS_DOCSTRING)
    return bool(code.co_flags & inspect.CO_NEWLOCALS) and not code.co_name.startswith("<")
