"""How Numba compiles verbs and functions that only ever become part of a kernel.

Numba would make each of them ready to be called: optimize it together with all that it calls, and
turn that into machine code. Of a kernel's functions only the outermost is ever called; the others
are inlined and optimized there once more. So theirs are left as they come, which takes a third off
the time that a kernel needs to compile, and changes nothing in what it computes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


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
