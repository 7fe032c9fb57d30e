"""Accounts of code: what a function or a class consists of, and what its names stand for.

An account is a text in which every value has its owner and its name: a function's code, its
defaults by parameter, its closure by variable, its globals by name; a class's attributes; the
verbs of a part type. Other functions and classes in it are references, each with an account of its
own, so that two of them which change places change the whole.
"""

from __future__ import annotations

import enum
import hashlib
import types
from collections import deque, namedtuple
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from expectant import dispatch
from expectant.engine.identity.homes import is_known_by_name, name_of
from expectant.engine.identity.names_read import Chain, chains_in, names_in
from expectant.engine.identity.written import Writer, inside

_OF_MODULES = {*vars(types.ModuleType("_")), "__file__", "__cached__", "__builtins__", "__path__"}
_OF_CLASSES = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "__orig_bases__",
    "__parameters__", "__abstractmethods__", "_abc_impl", "__dataclass_fields__",
    "__dataclass_params__", "__match_args__", "__firstlineno__", "__static_attributes__",
    "__slotnames__",  # left behind by whoever has pickled or copied one
}  # fmt: skip
_OF_NAMED_TUPLES = _OF_CLASSES | set(vars(namedtuple("_", "")))


class Account(NamedTuple):
    """What one thing says of itself; ``refers`` are the things that an @ in the text is for."""

    thing: Any
    text: str
    refers: tuple[Any, ...]

    def differs(self, other: Account) -> bool:
        """Whether the same thing has changed since, or a name in it stands for another thing."""
        return self.text != other.text or [*map(id, self.refers)] != [*map(id, other.refers)]


def accounts(roots: Iterable[Any]) -> list[Account]:
    """The accounts of some functions, classes or modules and of all that they can reach."""
    found: dict[int, Account] = {}
    waiting = deque(roots)
    while waiting:
        thing = waiting.popleft()
        if id(thing) not in found:
            found[id(thing)] = account = _account(thing)
            waiting.extend(account.refers)
    return list(found.values())


def digest(found: list[Account]) -> str:
    """A hash of accounts and of who refers to whom among them."""
    numbers = {id(account.thing): number for number, account in enumerate(found)}
    total = hashlib.sha256()
    for account in found:
        refers = [numbers[id(thing)] for thing in account.refers]
        total.update(f"{account.text}\n{refers}\n".encode())
    return total.hexdigest()


def _account(thing: Any) -> Account:
    writer = Writer()
    if isinstance(thing, types.ModuleType):
        lines = _module(thing, writer)
    elif isinstance(thing, type):
        lines = _class(thing, writer)
    elif isinstance(thing, types.FunctionType):
        lines = _verb(thing, writer) if _is_verb(thing) else _function(thing, writer)
    else:
        lines = _compiled(thing, writer)
    return Account(thing, "\n".join(lines), tuple(writer.refers))


def _module(thing: types.ModuleType, writer: Writer) -> Iterator[str]:
    yield f"module {thing.__name__}"
    for name, value in sorted(vars(thing).items()):
        if name not in _OF_MODULES:
            yield f"{name} = {writer.value(value)}"


def _compiled(thing: Any, writer: Writer) -> Iterator[str]:
    """An object of Numba's: a function with the options that it is compiled with."""
    yield f"compiled {type(thing).__qualname__}"
    for path, value in inside(thing):
        yield f"{path} = {writer.value(value)}"


def _is_verb(value: Any) -> bool:
    return hasattr(value, "implementations")


def _verb(thing: Any, writer: Writer) -> Iterator[str]:
    """A verb's own body; its implementations belong to the part types."""
    yield f"verb {name_of(thing)}"
    yield f"fallback = {writer.value(thing.fallback)}"
    yield f"numbers = {writer.value(thing.implementations.get(float))}"


def _function(thing: types.FunctionType, writer: Writer) -> Iterator[str]:
    from expectant.engine.compile.inside_numba import overloads_of

    code = thing.__code__
    yield f"function {name_of(thing)}"
    yield writer.code(code)
    for implementation, options in overloads_of(thing):
        yield f"overload = {writer.value(implementation)} with {writer.value(options)}"
    for kind, name, value in _bindings(thing):
        yield f"{kind} {name} = {writer.value(value)}"
        if _has_attributes(value):
            yield from _attributes(code, name, value, writer)


def _bindings(thing: types.FunctionType) -> Iterator[tuple[str, str, Any]]:
    """Everything that a name in a function stands for, before it is called."""
    code, defaults = thing.__code__, thing.__defaults__ or ()
    last = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    yield from (("default", *pair) for pair in zip(last, defaults, strict=True))
    yield from (("keyword", *pair) for pair in sorted((thing.__kwdefaults__ or {}).items()))
    for name, cell in zip(code.co_freevars, thing.__closure__ or (), strict=True):
        with suppress(ValueError):  # one that holds nothing yet
            yield "closure", name, cell.cell_contents
    for name in sorted((names_in(code) - _OF_MODULES) & thing.__globals__.keys()):
        yield "global", name, thing.__globals__[name]


def _attributes(code: types.CodeType, name: str, owner: Any, writer: Writer) -> Iterator[str]:
    """What is read from a module, or from a function that has attributes.

    Where it is not clear what is read, it is everything that has one of the names in the code.
    """
    found: dict[Chain, Any] = {}
    for chain in [chain for chain in chains_in(code) if chain[0] == name] or [(name,)]:
        value, depth = owner, 1
        while depth < len(chain) and _has_attributes(value) and chain[depth] in vars(value):
            value, depth = vars(value)[chain[depth]], depth + 1
            found[chain[:depth]] = value
        if depth == len(chain) and _has_attributes(value):
            for other in (names_in(code) & vars(value).keys()) - _OF_MODULES:
                found[*chain, "*", other] = vars(value)[other]
    for chain, value in sorted(found.items()):
        yield f"{'.'.join(chain)} = {writer.value(value)}"


def _has_attributes(value: Any) -> bool:
    """Whether something is a module or a function whose attributes may stand for anything."""
    if not isinstance(value, types.ModuleType | types.FunctionType) or is_known_by_name(value):
        return False
    return bool(vars(value)) and not _is_verb(value)


def _class(thing: Any, writer: Writer) -> Iterator[str]:
    yield f"class {name_of(thing)} of {writer.value(thing.__bases__)}"
    left_out = _OF_CLASSES
    if issubclass(thing, tuple) and hasattr(thing, "_fields"):
        yield f"fields {thing._fields} = {writer.value(getattr(thing, '_field_defaults', {}))}"
        left_out = _OF_NAMED_TUPLES | set(thing._fields)
    elif isinstance(thing, enum.EnumMeta):
        members: dict[str, Any] = dict(thing.__members__)
        for name, member in members.items():
            yield f"member {name} = {writer.value(member._value_)}"
        left_out = members.keys() | {name for name in vars(thing) if name.startswith("_")}
    for name, value in sorted(vars(thing).items()):
        if name not in left_out:
            yield f"{name} = {writer.value(value)}"
    for verb in sorted(dispatch.VERBS, key=name_of):
        if thing in verb.implementations:
            yield f"verb {name_of(verb)} = {writer.value(verb.implementations[thing])}"
