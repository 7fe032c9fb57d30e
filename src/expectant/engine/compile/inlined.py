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
from numba.core.environment import lookup_environment


class _NotCalled:
    """Stands for what makes machine code, where nothing is to be called."""

    def set_env(self, name: str, environment: Any) -> None:
        """The kernel will set it."""


class _Library(JITCodeLibrary):
    """The code of a function and of all that it calls, to be linked into a kernel's."""

    codegen = _NotCalled()

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Left to the kernel."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # there is none


class Inlined(Compiler):
    """Numba's compiler, for functions that are inlined into whatever calls them."""

    def compile_extra(self, function: Any) -> Any:
        library = _Library(self.state.targetctx.codegen(), function.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        return super().compile_extra(function)


def bind_environments(result: Any) -> None:
    """Give the functions within a kernel what they have outside of it, now that it is compiled."""
    codegen = result.library.codegen
    for variable in result.library._final_module.global_variables:
        environment = lookup_environment(variable.name)
        if environment is not None:
            codegen.set_env(variable.name, environment)


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
