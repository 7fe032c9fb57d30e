"""How a verb finds its implementation: by the type of the part that is its first argument.

By a dictionary in plain Python, at compile time under Numba. Neither knows any part by name, so a
part defined outside the package composes with the rest at full speed.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar, cast

Answer_co = TypeVar("Answer_co", covariant=True)
Part = TypeVar("Part")
Compilable = TypeVar("Compilable", bound=Callable[..., object])


class Verb(Protocol[Answer_co]):
    """A function that dispatches on the type of its first argument.

    What it takes and gives back is said by the function that declares it, for readers.
    """

    __name__: str

    implementations: dict[type, Callable[..., object]]
    fallback: Callable[..., object] | None

    def __call__(self, part: object, *args: object) -> Answer_co: ...
    def register(self, part_type: type) -> Callable[[Compilable], Compilable]: ...


VERBS: list[Verb[object]] = []
FUNCTIONS: list[Callable[..., object]] = []

Interceptor = Callable[[Verb[object], Callable[..., object], object, tuple[object, ...]], object]
_watcher: ContextVar[Interceptor | None] = ContextVar("watcher", default=None)


@contextmanager
def intercept_calls(watcher: Interceptor) -> Iterator[None]:
    """Let a function make every call of a verb, in plain Python, within this context."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def missing_verb(name: str, part_type: type) -> TypeError:
    """The error for a part that lacks a verb it needs."""
    return TypeError(
        f"{part_type.__name__} does not implement the verb '{name}': "
        f"write one with @{name}.register({part_type.__name__})"
    )


def _give_home(part_type: type) -> None:
    """Let a part of the script that is being run be found by name, as compiled code on disk needs.

    ``__main__`` is another module in every process, so its classes cannot be looked up later.
    """
    if part_type.__module__ == "__main__":
        home = sys.modules.setdefault("expectant_main", types.ModuleType("expectant_main"))
        setattr(home, part_type.__qualname__, part_type)
        part_type.__module__ = "expectant_main"


def _check_defaults(written: Callable[..., object], name: str) -> None:
    """Refuse defaults that would be kept from one call to the next; compiled code keeps none."""
    keyword_only = (getattr(written, "__kwdefaults__", None) or {}).values()
    for default in (*(getattr(written, "__defaults__", None) or ()), *keyword_only):
        if isinstance(default, list | dict | set):
            raise TypeError(
                f"{name}: a default must be a number, a tuple or None in code that is compiled, "
                f"got {default!r}: keep what changes in an array of the part"
            )


def _verb(
    stub: Callable[..., Answer_co], fallback: Callable[..., Answer_co] | None
) -> Verb[Answer_co]:
    implementations: dict[type, Callable[..., object]] = {}

    @functools.wraps(stub)
    def dispatch(part: object, *args: object) -> object:
        found = implementations.get(type(part), fallback)
        if found is None and isinstance(part, float | int):
            found = implementations.get(float)
        if found is None:
            raise missing_verb(stub.__name__, type(part))
        watcher = _watcher.get()
        return found(part, *args) if watcher is None else watcher(result, found, part, args)

    def register(part_type: type) -> Callable[[Compilable], Compilable]:
        if part_type is not float:
            if not (issubclass(part_type, tuple) and hasattr(part_type, "_fields")):
                raise TypeError(
                    f"{stub.__name__}.register takes a NamedTuple class, got {part_type!r}: "
                    "compiled code can only dispatch on those"
                )
            _give_home(part_type)

        def decorate(implementation: Compilable) -> Compilable:
            _check_defaults(implementation, f"{stub.__name__} of {part_type.__name__}")
            implementations[part_type] = implementation
            return implementation

        return decorate

    result = cast(Any, dispatch)
    result.implementations = implementations
    result.fallback = fallback
    result.register = register
    return cast(Verb[Answer_co], result)


def _compiled(found: Verb[Answer_co]) -> Verb[Answer_co]:
    VERBS.append(found)
    return found


def verb(stub: Callable[..., Answer_co]) -> Verb[Answer_co]:
    """Declare a verb that every part of its kind must implement."""
    return _compiled(_verb(stub, None))


def optional(stub: Callable[..., Answer_co]) -> Verb[Answer_co]:
    """Declare a verb whose own body serves the parts that do not implement it."""
    return _compiled(_verb(stub, stub))


def plain(stub: Callable[..., Answer_co]) -> Verb[Answer_co]:
    """Declare such a verb for Python alone: no kernel depends on it, and no name of a result."""
    return _verb(stub, stub)


def function(plain: Compilable) -> Compilable:
    """Make a plain function callable from compiled code too (no dispatch)."""
    _check_defaults(plain, getattr(plain, "__name__", repr(plain)))
    FUNCTIONS.append(plain)
    return plain


def unowned(part: Part) -> Part:
    """The part itself; under Numba the same without reference counts, for the present call."""
    return part
