"""Single dispatch of verbs on the type of the part that is their first argument.

Plain Python looks the implementation up in a dictionary, Numba at compile time. Neither knows any
part by name, so a part defined outside the package composes with the rest at full speed.
"""

from __future__ import annotations

import functools
import inspect
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
    """A function that dispatches on the type of its first argument."""

    __name__: str

    implementations: dict[type, Callable[..., object]]
    fallback: Callable[..., object] | None

    def __call__(self, part: object, *args: object) -> Answer_co: ...
    def register(self, part_type: type) -> Callable[[Compilable], Compilable]: ...


VERBS: list[Verb[object]] = []  # those that compiled code calls
FUNCTIONS: list[Callable[..., object]] = []

Interceptor = Callable[[Verb[object], Callable[..., object], object, tuple[object, ...]], object]
_interceptor: ContextVar[Interceptor | None] = ContextVar("interceptor", default=None)


@contextmanager
def intercept_calls(interceptor: Interceptor) -> Iterator[None]:
    """Let ``interceptor`` make every call of a verb in plain Python within this context."""
    token = _interceptor.set(interceptor)
    try:
        yield
    finally:
        _interceptor.reset(token)


def verb(stub: Callable[..., Answer_co]) -> Verb[Answer_co]:
    """Declare a verb that every part of its kind must implement."""
    return _make_verb(stub, None)


def optional(stub: Callable[..., Answer_co]) -> Verb[Answer_co]:
    """Declare a verb with a default: its own body serves parts that do not implement it."""
    return _make_verb(stub, stub)


def function(plain: Compilable) -> Compilable:
    """Make a plain function callable from compiled code too (no dispatch)."""
    _check_defaults(plain, getattr(plain, "__name__", repr(plain)))
    FUNCTIONS.append(plain)
    return plain


def delegate(part_type: Any, field: str, *verbs: Verb[object]) -> None:
    """Implement verbs of a part type by calling them on the part in one of its fields."""
    for verb in verbs:
        verb.register(part_type)(_make_delegate(part_type._fields.index(field), field, verb))


def unowned(part: Part) -> Part:
    """Return the part; under Numba the same without reference counts, for the present call."""
    return part


def missing_verb(name: str, part_type: type) -> TypeError:
    """Return the error for a part that lacks a required verb."""
    return TypeError(
        f"{part_type.__name__} does not implement the verb '{name}': "
        f"write one with @{name}.register({part_type.__name__})"
    )


def _make_verb(
    stub: Callable[..., Answer_co], fallback: Callable[..., Answer_co] | None
) -> Verb[Answer_co]:
    implementations: dict[type, Callable[..., object]] = {}

    @functools.wraps(stub)
    def dispatch(part: object, *args: object) -> object:
        implementation = implementations.get(type(part), fallback)
        if implementation is None and isinstance(part, float | int):
            implementation = implementations.get(float)
        if implementation is None:
            raise missing_verb(stub.__name__, type(part))
        interceptor = _interceptor.get()
        if interceptor is not None:
            return interceptor(result, implementation, part, args)
        return implementation(part, *args)

    def register(part_type: type) -> Callable[[Compilable], Compilable]:
        if part_type is not float:
            if not (issubclass(part_type, tuple) and hasattr(part_type, "_fields")):
                raise TypeError(
                    f"{stub.__name__}.register takes a NamedTuple class, got {part_type!r}: "
                    "compiled code can only dispatch on those"
                )
            _make_importable(part_type)

        def decorate(implementation: Compilable) -> Compilable:
            _check_defaults(implementation, f"{stub.__name__} of {part_type.__name__}")
            implementations[part_type] = implementation
            return implementation

        return decorate

    result = cast(Any, dispatch)
    result.implementations = implementations
    result.fallback = fallback
    result.register = register
    VERBS.append(result)
    return cast(Verb[Answer_co], result)


def _make_importable(part_type: type) -> None:
    """Give a class of the running script a module by which cached compiled code can find it.

    ``__main__`` is another module in every process.
    """
    if part_type.__module__ == "__main__":
        module = sys.modules.setdefault("expectant_main", types.ModuleType("expectant_main"))
        setattr(module, part_type.__qualname__, part_type)
        part_type.__module__ = "expectant_main"


def _check_defaults(implementation: Callable[..., object], name: str) -> None:
    """Refuse mutable defaults: compiled code does not keep them between calls."""
    keyword_only = (getattr(implementation, "__kwdefaults__", None) or {}).values()
    for default in (*(getattr(implementation, "__defaults__", None) or ()), *keyword_only):
        if isinstance(default, list | dict | set):
            raise TypeError(
                f"{name}: a default must be a number, a tuple or None in code that is compiled, "
                f"got {default!r}: keep what changes in an array of the part"
            )


def _make_delegate(position: int, field: str, verb: Verb[object]) -> Callable[..., object]:
    if verb.__name__ == "grow":  # returns a changed copy of the part
        return lambda part: part._replace(**{field: verb(part[position])})
    # written out, because *arguments would be packed into a tuple, which is slower once compiled
    names = ", ".join([*inspect.signature(verb).parameters][1:])
    values = {"verb": verb, "position": position, "__name__": __name__}
    delegate: Callable[..., object] = eval(
        f"lambda part, {names}: verb(part[position], {names})", values
    )
    return delegate
