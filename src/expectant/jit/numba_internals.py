"""Where kernels reach into Numba's own workings while it compiles.

Numba keeps what it has compiled for as long as a process lives: verbs and functions by the types
they are called with, helpers that are compiled by ``numba.njit`` by theirs, and those also on disk.
It does not notice that a constant in them has changed since. So kernels make it forget.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

from expectant.core import dispatch
from expectant.jit.overloads import Outermost, without_collecting


def compiler_with(around: Callable[[], Any]) -> type[Outermost]:
    """Numba's compiler, which enters a context whenever it compiles; others wait meanwhile."""

    class Compiling(Outermost):
        def compile_extra(self, function: Any) -> Any:
            with around(), without_collecting():
                return super().compile_extra(function)

    return Compiling


def take_note_of_overloads() -> None:
    """Let :func:`overloads_of` know of all that has been told to Numba by now."""
    cpu_target.typing_context.refresh()


def overloads_of(function: Any) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """What users have told Numba to compile in the place of a function, and with which options."""
    known = cpu_target.typing_context._lookup_global(function)
    for template in getattr(known, "templates", ()):
        implementation = getattr(template, "_overload_func", None)
        if implementation and not implementation.__module__.startswith("expectant."):
            yield implementation, template._jit_options


def forget_overloads() -> None:
    """Make Numba compile all verbs and functions anew when they are next called.

    Those that it has not been told of, as they were defined later, it has not compiled either.
    """
    take_note_of_overloads()
    for known in (*dispatch.VERBS, *dispatch.FUNCTIONS):
        found = cpu_target.typing_context._lookup_global(known)
        for template in getattr(found, "templates", ()):
            template._impl_cache.clear()
            template._compiled_overloads.clear()


@contextmanager
def helpers_anew(things: Iterable[Any]) -> Iterator[None]:
    """Have the helpers among some things compiled anew, from what is in them now.

    What they had compiled before is theirs again afterwards, and theirs alone is what they keep on
    disk: a helper that Python calls too is the same as ever.
    """
    with ExitStack() as stack:
        for thing in things:
            if isinstance(thing, Dispatcher):
                stack.enter_context(_anew(thing))
        yield


@contextmanager
def _anew(helper: Any) -> Iterator[None]:
    compiler = helper._compiler
    kept = helper.overloads, helper._cache, compiler._failed_cache
    fixed = [] if helper._can_compile else [known.signature for known in kept[0].values()]
    ask = helper.get_call_template

    def note(result: Any) -> None:  # without Python's own table of what to call
        helper.overloads[tuple(result.signature.args)] = result

    def with_fixed_signatures(args: Any, kws: Any) -> Any:
        helper._can_compile = True
        try:
            for signature in fixed:
                helper.compile(signature)
        finally:
            helper._can_compile = not fixed
        return ask(args, kws)

    helper.overloads, helper._cache, compiler._failed_cache = OrderedDict(), NullCache(), {}
    helper.add_overload, helper.get_call_template = note, with_fixed_signatures
    try:
        yield
    finally:
        del helper.add_overload, helper.get_call_template
        helper.overloads, helper._cache, compiler._failed_cache = kept
