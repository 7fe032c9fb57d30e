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
_PLAIN = {type(None), type(...), bool, int, float, complex, str, bytes}
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
_OF_CODE = attrgetter(
    "co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount", "co_exceptiontable",
)  # fmt: skip
_KINDS = (  # flags that decide what code does; Numba clears the others while a profiler runs
    inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
)  # fmt: skip
_OF_MODULES = {
    *vars(types.ModuleType("_")), "__file__", "__cached__", "__builtins__", "__path__",
    "__warningregistry__",
}  # fmt: skip
_OF_CLASSES = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "__orig_bases__",
    "__parameters__", "__abstractmethods__", "_abc_impl", "__dataclass_fields__",
    "__dataclass_params__", "__match_args__", "__firstlineno__", "__static_attributes__",
    "__slotnames__",  # left behind by pickle and copy
}  # fmt: skip
_OF_TUPLES = set(vars(namedtuple("_Empty", "")))

IsKnown = Callable[[Any], bool]


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
    return tuple(type(node) for _, node in tree.items(part) if hasattr(node, "_fields"))


def hash_kernel(function: Any, parts: Iterable[Any], options: Iterable[Any] = ()) -> CodeHash:
    """Hash a function to compile, its part types (and other ``parts``), and all they reach."""
    import llvmlite
    import numba

    from expectant.jit import numba_internals, overloads, reductions

    kinds = list(dict.fromkeys(parts))
    texts = walk((function, *kinds, reductions, overloads, numba_internals))
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


def walk(roots: Iterable[Any], is_known: IsKnown | None = None) -> list[CodeText]:
    """Describe functions, classes and modules, and all they reach that is not known by name."""
    from expectant.jit.numba_internals import refresh_overloads

    refresh_overloads()
    is_known = is_known or is_known_by_name
    texts: dict[int, CodeText] = {}
    waiting = deque(roots)
    while waiting:
        thing = waiting.popleft()
        if id(thing) not in texts:
            refers: list[Any] = []
            contents = _contents(thing, is_known)
            text = "\n".join(
                f"{key} = {_write(value, is_known, refers)}" for key, value in contents
            )
            texts[id(thing)] = CodeText(thing, text, tuple(refers))
            waiting.extend(refers)
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


# --------------------------------------------------------------------------- contents of code


def _contents(thing: Any, is_known: IsKnown) -> Iterator[tuple[str, Any]]:
    """Yield by name all values that decide what a function, class, module or Numba object does."""
    yield type(thing).__name__, name_of(thing)
    if isinstance(thing, types.ModuleType):
        values = {key: item for key, item in vars(thing).items() if key not in _OF_MODULES}
        yield from sorted(values.items())
    elif isinstance(thing, type):
        omitted = _OF_CLASSES
        if issubclass(thing, tuple) and hasattr(thing, "_fields"):
            yield "fields", (thing._fields, getattr(thing, "_field_defaults", {}))
            omitted = _OF_CLASSES | _OF_TUPLES | set(thing._fields)
        elif isinstance(thing, enum.EnumMeta):
            members: dict[str, Any] = dict(thing.__members__)
            yield "members", [(key, member._value_) for key, member in members.items()]
            omitted = members.keys() | {key for key in vars(thing) if key.startswith("_")}
        values = {key: value for key, value in vars(thing).items() if key not in omitted}
        verbs = [verb for verb in dispatch.VERBS if thing in verb.implementations]
        implementations = {name_of(verb): verb.implementations[thing] for verb in verbs}
        yield "bases", thing.__bases__
        yield from sorted(values.items())
        yield from sorted(implementations.items())
    elif not isinstance(thing, types.FunctionType):
        yield from _made_from(thing)
    elif hasattr(thing, "implementations"):  # of a verb: they belong to part types
        yield "fallback", thing.fallback  # type: ignore[attr-defined]
        yield "numbers", thing.implementations.get(float)
    else:
        yield from _function_contents(thing, is_known)


def _function_contents(thing: types.FunctionType, is_known: IsKnown) -> Iterator[tuple[str, Any]]:
    """Yield code, overloads, defaults, closure and globals of a function.

    Of modules and functions that it reads, the attributes follow whose names occur in its code.
    """
    from expectant.jit.numba_internals import overloads_of

    code, closure, values = thing.__code__, thing.__closure__ or (), thing.__globals__
    yield "code", code
    for overload in overloads_of(thing):
        yield "overload", overload
    if thing.__defaults__ or thing.__kwdefaults__:
        yield "defaults", (thing.__defaults__, thing.__kwdefaults__)
    names, global_names = _names_in(code)
    waiting = deque((name, values[name]) for name in sorted(global_names & values.keys()))
    for name, cell in zip(code.co_freevars, closure, strict=True):
        with suppress(ValueError):  # a cell that holds nothing yet
            waiting.append((f"closure {name}", cell.cell_contents))
    seen: set[int] = set()
    while waiting:
        path, owner = waiting.popleft()
        yield path, owner
        is_owner = isinstance(owner, types.ModuleType | types.FunctionType)
        if is_owner and id(owner) not in seen and not (is_known(owner) or owner in dispatch.VERBS):
            seen.add(id(owner))
            read = sorted(names & vars(owner).keys())
            waiting.extend((f"{path}.{name}", vars(owner)[name]) for name in read)


@cache
def _names_in(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """Return all names that code may look up, also by getattr, and those looked up as globals."""
    strings = {constant for constant in code.co_consts if isinstance(constant, str)}
    names = ({*code.co_names} | strings) - _OF_MODULES
    loads = (step for step in dis.get_instructions(code) if step.opname in _GLOBAL_LOADS)
    global_names = {step.argval for step in loads}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= _names_in(inner)[0]
            global_names |= _names_in(inner)[1]
    return frozenset(names), frozenset(global_names)


def _made_from(value: Any) -> list[tuple[str, Any]]:
    """Return the functions and options inside an object of Numba's."""
    members = []
    for path in _OF_NUMBA:
        with suppress(AttributeError):
            members.append((path, attrgetter(path)(value)))
    return members


# ------------------------------------------------------------------------------------------ values


def _write(value: Any, is_known: IsKnown, refers: list[Any], within: tuple[int, ...] = ()) -> str:
    """Return a value with its type as text; code is written as @ and added to ``refers``.

    ``within`` are the ids of what the value is contained in, which it may contain.
    """
    kind, items = type(value), value
    if kind in _PLAIN:
        return f"{kind.__name__} {value!r}"
    is_code = isinstance(value, types.FunctionType | type)
    if (is_code and is_known(value)) or isinstance(value, types.ModuleType):
        root = name_of(value).partition(".")[0]
        library = getattr(sys.modules.get(root), "__version__", "") if root in _BY_VERSION else ""
        return f"{kind.__name__} {name_of(value)} {library}"
    if is_code or (kind.__module__.startswith("numba.") and _made_from(value)):
        refers.append(value)
        return "@"
    if id(value) in within:
        return "itself"
    if kind is dict:
        items = value.items()
    elif kind in (set, frozenset):
        items = sorted(value, key=lambda item: f"{name_of(item)} {_write(item, is_known, [])}")
    elif kind not in (tuple, list):
        items = _items_of(value)
    within = (*within, id(value))
    return (
        f"{kind.__name__} [{', '.join(_write(item, is_known, refers, within) for item in items)}]"
    )


def _items_of(value: Any) -> Iterable[Any]:
    """Return the values that an object consists of."""
    kind = type(value)
    wrapped = next((names for base, names in _WRAPPERS.items() if issubclass(kind, base)), None)
    if kind is types.CodeType:
        constants, flags = value.co_consts, value.co_flags
        if sys.version_info >= (3, 14):
            is_documented = bool(flags & inspect.CO_HAS_DOCSTRING)
        else:  # a def always has a slot for its docstring
            is_documented = bool(flags & inspect.CO_NEWLOCALS) and value.co_name[0] != "<"
        if is_documented and isinstance(constants[0], str):
            constants = (None, *constants[1:])
        items = [repr(_OF_CODE(value)), flags & _KINDS, *constants]
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        order = (array.flags.c_contiguous, array.flags.f_contiguous, array.flags.writeable)
        has_objects = array.dtype.hasobject
        content = array.tolist() if has_objects else hashlib.sha256(array.tobytes()).digest()
        items = [str(array.dtype.descr), array.shape, order, content]
    elif isinstance(value, enum.Enum):
        items = [value._name_, kind]
    elif wrapped is not None:
        items = [getattr(value, name) for name in wrapped]
    elif kind.__module__.startswith(("numba.", "llvmlite.")):  # contents change with use
        items = [_ADDRESS.sub("", str(value))]
    else:
        items = [kind, _reduce(value), getattr(value, "__wrapped__", None)]
    return items


def _reduce(value: Any) -> Any:
    """Return an object as it would be pickled, None if it cannot be."""
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
        return None
    return reduced
