"""Which names a piece of code reads, and which attributes of them."""

from __future__ import annotations

import dis
import types
from functools import cache

_IN_BETWEEN = {"PUSH_NULL", "EXTENDED_ARG", "CACHE", "PRECALL"}
_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}

Chain = tuple[str, ...]


def names_in(code: types.CodeType) -> set[str]:
    """All names that code may look up: in it, in functions inside it, and as texts for getattr."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
        elif isinstance(constant, str):
            names.add(constant)
    return names


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
