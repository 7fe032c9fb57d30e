"""Random numbers that no seed reaches: verbs must not draw from what is global."""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from expectant.engine.identity.names_read import Chain, chains_in
from expectant.whose import is_ours

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
