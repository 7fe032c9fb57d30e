"""Arguments that a function does not have: a hint instead of a bare error."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from expectant.core.config import hint

Given = ParamSpec("Given")
Found = TypeVar("Found")


def hinting(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """The same function, which says what an argument that it does not have may be meant to be."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        for name, given in kwargs.items():
            if name not in known:
                said = f"{function.__name__}: unknown argument {name}={given!r}"
                raise TypeError(said + hint(name, known))
        return function(*args, **kwargs)

    return called
