"""Random numbers that no seed reaches: verbs must not draw from what is global."""

from __future__ import annotations

import dis
import random
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from expectant.whose import is_ours

_IN_BETWEEN = {"PUSH_NULL", "EXTENDED_ARG", "CACHE", "PRECALL"}
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}

Chain = tuple[str, ...]

_GLOBAL = (random, np.random)
_SOURCES = (random.Random, np.random.RandomState, np.random.Generator)


def drawn_from(verb: Callable[..., Any]) -> str:
    """The name by which a verb, or a function that it calls, draws from what is global, or ""."""
    waiting: list[Any] = [verb]
    seen = set[Any]()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function in seen or is_ours(function):
            continue
        seen.add(function)
        for chain in sorted(chains_in(function.__code__)):
            found = _value_of(chain, function.__globals__)
            if _draws(found):
                return ".".join(chain)
            waiting.append(getattr(found, "py_func", found))
    return ""


@cache
def chains_in(code: types.CodeType) -> frozenset[Chain]:
    """Every name that code looks up with the attributes read right from it: ("a", "b") for a.b."""
    found: set[Chain] = set()
    chain: Chain = ()
    for instruction in dis.get_instructions(code):
        if chain and instruction.opname in _ATTRIBUTES:
            chain = (*chain, instruction.argval)
        elif instruction.opname not in _IN_BETWEEN:
            found.add(chain)
            chain = (instruction.argval,) if instruction.opname in _LOADS else ()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= chains_in(constant)
    return frozenset(found - {()})


def _value_of(chain: Chain, names: dict[str, Any]) -> Any:
    """What a name and attributes of modules stand for, up to a module that draws."""
    found = names.get(chain[0])
    for attribute in chain[1:]:
        if not isinstance(found, types.ModuleType) or found in _GLOBAL:
            break
        found = getattr(found, attribute, None)
    return found


def _draws(found: Any) -> bool:
    if isinstance(found, types.ModuleType):
        return found in _GLOBAL
    return isinstance(found, _SOURCES) or isinstance(getattr(found, "__self__", None), _SOURCES)
