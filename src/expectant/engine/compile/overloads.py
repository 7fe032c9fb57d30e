"""What Numba is told about verbs and functions: which code stands for them, and how to compile it.

A verb is chosen by part type while a kernel is compiled. In a *checked* kernel every index is
compared with the length of its array, in all the verbs and functions that it calls too: a function
passes on to those it calls whether it was compiled so.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from numba.core import types as numba_types
from numba.core.errors import TypingError
from numba.core.targetconfig import ConfigStack
from numba.extending import overload

from expectant import dispatch, verbs
from expectant.engine.compile.borrow import borrowed
from expectant.engine.compile.inlined import Inlined

KERNEL_OPTIONS = {"nogil": True, "error_model": "numpy"}
_OPTIONS = {"forceinline": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def checking() -> bool:
    """Whether the function that is being compiled has its indices checked."""
    flags = ConfigStack.top_or_none()
    return flags is not None and bool(flags.boundscheck)


def overload_verb(verb: verbs.Verb[object]) -> None:
    """Let compiled code call a verb.

    The package's own code neither makes arrays nor keeps them, so it is compiled without any
    reference counting; other people's may do as it likes.
    """
    for checked in (False, True):
        for ours in (True, False):
            counted = verb is verbs.observation or not ours  # it returns an array
            overload(verb, strict=False, jit_options=_options(counted, checked))(
                lambda *arguments, ours=ours, checked=checked: (
                    _implementation(verb, arguments[0], ours) if checking() == checked else None
                )
            )


def overload_function(plain: Callable[..., Any]) -> None:
    """Let compiled code call a plain function."""
    counted = not plain.__module__.startswith("expectant.")
    for checked in (False, True):
        overload(plain, strict=False, jit_options=_options(counted, checked))(
            lambda *arguments, checked=checked: plain if checking() == checked else None
        )


def with_borrowed(entry: Any) -> Any:
    """The same function, with parts whose arrays are not counted once it is compiled."""
    names = {**entry.__globals__, "borrowed": borrowed}
    return types.FunctionType(entry.__code__, names, entry.__name__)


def _options(counted: bool, checked: bool) -> dict[str, Any]:
    options = {**_OPTIONS, "_nrt": counted, "boundscheck": checked}
    return options if counted else {**options, "pipeline_class": Inlined}


def _implementation(
    verb: verbs.Verb[object], part_type: Any, ours: bool
) -> Callable[..., Any] | None:
    """What a verb means for a part type, if that code is (or is not) the package's own."""
    number = isinstance(part_type, numba_types.Float | numba_types.Integer)
    part_class: Any = float if number else getattr(part_type, "instance_class", None)
    found = verb.implementations.get(part_class, verb.fallback)
    if found is None:
        raise TypingError(str(dispatch.missing_verb(verb.__name__, part_class or type(part_type))))
    return found if found.__module__.startswith("expectant.") == ours else None
