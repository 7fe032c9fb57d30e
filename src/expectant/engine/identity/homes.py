"""Where code comes from: what it is called, and whether a version says all there is to say."""

from __future__ import annotations

import os
import sys
import types
from functools import cache
from typing import Any

from expectant.descriptions import Description

_BY_VERSION = {"numpy", "numba", "llvmlite", "scipy"}


def home(value: Any) -> str:
    """The module that a function or class was made in, or that it is."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", None))


def name_of(value: Any) -> str:
    """What a module, function or class is called everywhere."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    return f"{home(value)}.{getattr(value, '__qualname__', '')}"


def version_of(value: Any) -> str:
    """The version of the library that something is from; none if Python's or anybody else's."""
    root = home(value).partition(".")[0]
    return str(getattr(sys.modules.get(root), "__version__", "")) if root in _BY_VERSION else ""


def is_known_by_name(value: Any) -> bool:
    """Whether its name and a version say all about it: code of Python, of NumPy and the like.

    So are our own descriptions, which check and write down what users ask for.
    """
    if isinstance(value, type) and issubclass(value, Description):
        return value.__module__.startswith("expectant.")
    return _settled_root(home(value).partition(".")[0])


@cache
def _settled_root(root: str) -> bool:
    if root not in sys.stdlib_module_names:
        return root in _BY_VERSION
    file = getattr(sys.modules.get(root), "__file__", None)  # a user's may have such a name too
    return file is None or file.startswith(os.path.dirname(os.__file__))
