"""What Numba is told about verbs and functions: which code stands for them, and how to compile it.

A verb is chosen by part type while a kernel is compiled.

Every access to an array that a kernel owns a share of costs an atomic count. Inside one call the
caller holds all arrays anyway, so the kernel works on *unowned* ones, which nobody counts.

Numba would make each function ready to be called: optimize it together with all that it calls, and
turn that into machine code. Of a kernel's functions only the outermost is ever called; the others
are inlined and optimized there once more. So theirs are left as they come, which takes a third off
the time that a kernel needs to compile, and changes nothing in what it computes.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import types as numba_types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import TypingError
from numba.core.types.npytypes import NumPyRandomGeneratorType
from numba.extending import intrinsic, overload

from expectant.core import dispatch, verbs

KERNEL_OPTIONS = {"nogil": True, "error_model": "numpy"}
_OPTIONS = {"forceinline": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _without_owner(context, builder, kind, given):
    if isinstance(kind, numba_types.BaseTuple):
        items = [
            _without_owner(context, builder, item, builder.extract_value(given, position))
            for position, item in enumerate(kind)
        ]
        return context.make_tuple(builder, kind, items)
    if isinstance(kind, numba_types.Array):
        struct = context.make_array(kind)(context, builder, given)
    elif isinstance(kind, NumPyRandomGeneratorType):
        struct = cgutils.create_struct_proxy(kind)(context, builder, given)
    else:
        return given
    struct.meminfo = cgutils.get_null_value(struct.meminfo.type)
    struct.parent = cgutils.get_null_value(struct.parent.type)
    return struct._getvalue()


@intrinsic
def unowned(typing_context, part):
    """The same part, its arrays and generators not counted; for use within one call only."""

    def codegen(context, builder, signature, arguments):
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return part(part), codegen


class _NotCalled:
    """Stands for what makes machine code, where nothing is to be called.

    An environment holds Python's objects, which the package's own code does not use.
    """

    def set_env(self, name: str, environment: Any) -> None:
        """There is no code that would look for it."""


class _PlainLibrary(JITCodeLibrary):
    """The code of a function and of all that it calls, to be linked into a kernel's."""

    codegen = _NotCalled()

    def _optimize_final_module(self) -> None:
        """Left to the kernel."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # there is none


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel, optimized twice: what is in it comes as it was written."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        super()._optimize_final_module()


class _CompilerInto(Compiler):
    """Numba's compiler, with a library of another kind to put the code into."""

    library_class = JITCodeLibrary

    def compile_extra(self, function: Any) -> Any:
        library = self.library_class(self.state.targetctx.codegen(), function.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        return super().compile_extra(function)


class Inlined(_CompilerInto):
    """A compiler for functions that are inlined into whatever calls them."""

    library_class = _PlainLibrary


class Outermost(_CompilerInto):
    """A compiler for the functions that such are inlined into."""

    library_class = _KernelLibrary


@contextmanager
def without_collecting() -> Iterator[None]:
    """Keep Python from looking for garbage among what a compiler is at work on."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def overload_verb(verb: verbs.Verb[object]) -> None:
    """Let compiled code call a verb.

    The package's own code neither makes arrays nor keeps them, so it is compiled without any
    reference counting; other people's may do as it likes.
    """
    for ours in (True, False):
        counted = verb is verbs.observation or not ours  # it returns an array
        overload(verb, strict=False, jit_options=_options(counted))(
            lambda *arguments, ours=ours: _implementation(verb, arguments[0], ours)
        )


def overload_function(plain: Callable[..., Any]) -> None:
    """Let compiled code call a plain function."""
    counted = not plain.__module__.startswith("expectant.")
    overload(plain, strict=False, jit_options=_options(counted))(lambda *arguments: plain)


def with_unowned(entry: Any) -> Any:
    """The same function, with parts whose arrays are not counted once it is compiled."""
    names = {**entry.__globals__, "unowned": unowned}
    return types.FunctionType(entry.__code__, names, entry.__name__)


def _options(counted: bool) -> dict[str, Any]:
    options = {**_OPTIONS, "_nrt": counted}
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
