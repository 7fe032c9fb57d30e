"""Code that Numba compiles in place of verbs and functions, chosen by part type.

The package's own code neither makes arrays nor keeps them, so it is compiled without reference
counts; the user's is compiled with them.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from numba import types as numba_types
from numba.core.errors import TypingError
from numba.extending import overload

from expectant.core import dispatch, verbs
from expectant.jit.numba_internals import inlined_options, unowned


def overload_verb(verb: verbs.Verb[object]) -> None:
    """Let compiled code call a verb."""
    for ours in (True, False):
        has_counts = verb is verbs.observation or not ours  # it returns an array
        overload(verb, strict=False, jit_options=inlined_options(has_counts))(
            lambda *arguments, ours=ours: _implementation(verb, arguments[0], ours)
        )


def overload_function(plain: Callable[..., Any]) -> None:
    """Let compiled code call a plain function."""
    has_counts = not plain.__module__.startswith("expectant.")
    overload(plain, strict=False, jit_options=inlined_options(has_counts))(lambda *arguments: plain)


def with_unowned(entry: Any) -> Any:
    """Return a function in which ``unowned`` is the compiled one."""
    names = {**entry.__globals__, "unowned": unowned}
    return types.FunctionType(entry.__code__, names, entry.__name__)


def _implementation(
    verb: verbs.Verb[object], part_type: Any, ours: bool
) -> Callable[..., Any] | None:
    """Return the implementation for a part type if it is (or is not) the package's own."""
    is_number = isinstance(part_type, numba_types.Float | numba_types.Integer)
    part_class: Any = float if is_number else getattr(part_type, "instance_class", None)
    implementation = verb.implementations.get(part_class, verb.fallback)
    if implementation is None:
        raise TypingError(str(dispatch.missing_verb(verb.__name__, part_class or type(part_type))))
    return implementation if implementation.__module__.startswith("expectant.") == ours else None
