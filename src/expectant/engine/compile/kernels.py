"""Getting a function ready to be called: compiled and with progress, or as it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from expectant.engine.compile.numba_errors import error_explained
from expectant.progress import Reporter

Kernel = Callable[..., int]


def use_compiled(compiled: bool | None) -> bool:
    """Whether to compile: as asked for, else as Numba's own switch says."""
    said = os.environ.get("NUMBA_DISABLE_JIT", "0")
    if compiled and said not in ("", "0"):
        raise ValueError(
            f"compiled=True: NUMBA_DISABLE_JIT={said} in the environment switches compiling off, "
            "remove it, or leave compiled away"
        )
    return said in ("", "0") if compiled is None else compiled


def compiled_for(
    entry: Kernel, arguments: tuple[Any, ...], name: str, show: Reporter, checked: bool = False
) -> Kernel:
    """An entry function, compiled by calling it once with such arguments; the first is a run."""
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    from expectant.engine.compile.compiling import kernel_for
    from expectant.engine.compile.kernel_cache import has_kernel

    kernel = kernel_for(arguments[0], entry, checked)
    with show.compiling(name, cached=has_kernel(kernel, arguments)):
        try:
            kernel(*arguments)
        except (NumbaError, UnsupportedBytecodeError) as error:  # of two kinds
            raise error_explained(error) from error
    return kernel


def entry_point(kernel: Any, *arguments: Any) -> Kernel:
    """The compiled code for arguments of these very types, which it does not look at again.

    Calling a kernel itself makes Numba look up the type of every array in every part, which costs
    several times what it takes to pass them, and as long as ten episodes of a small run.
    """
    types_of = tuple(kernel.typeof_pyval(argument) for argument in arguments)
    entry: Kernel = kernel.overloads[types_of].entry_point
    return entry


def is_compiled(entry: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Whether an entry function need not be compiled any more for such arguments."""
    from expectant.engine.compile.compiling import kernel_for
    from expectant.engine.compile.kernel_cache import has_kernel

    return has_kernel(kernel_for(arguments[0], entry), arguments)
