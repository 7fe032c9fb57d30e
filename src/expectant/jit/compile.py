"""Kernels: functions compiled for the types in a part, found again by the hash of their code."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from expectant.core import dispatch
from expectant.engine.loop import simulate
from expectant.engine.progress import Reporter
from expectant.jit.code_hash import Account, Fingerprint, fingerprint, part_types
from expectant.jit.errors import explain_error

Kernel = Callable[..., int]

# the settings of Numba that change the code it makes
_SWITCHES = (
    "BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "DISABLE_INTEL_SVML",
    "CPU_NAME", "CPU_FEATURES", "DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "DEBUG_NRT", "USING_SVML", "ENABLE_PROFILING",
    "DEBUG_ARRAY_OPT_RUNTIME", "PARFOR_MAX_TUPLE_SIZE",
)  # fmt: skip

_registered: set[int] = set()
_kernels: dict[str, Callable[..., Any]] = {}
_compiled: dict[int, Account] = {}
_compiled_with: list[tuple[Any, ...]] = []
_lock = threading.Lock()


def use_compiled(compiled: bool | None) -> bool:
    """Whether to compile: as asked for, else as Numba's own switch says."""
    said = os.environ.get("NUMBA_DISABLE_JIT", "0")
    if compiled and said not in ("", "0"):
        raise ValueError(
            f"compiled=True: NUMBA_DISABLE_JIT={said} in the environment switches compiling off, "
            "remove it, or leave compiled away"
        )
    return said in ("", "0") if compiled is None else compiled


def compile_for(entry: Kernel, arguments: tuple[Any, ...], name: str, show: Reporter) -> Kernel:
    """An entry function, compiled by calling it once with such arguments; the first is a run."""
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    from expectant.jit.cache import has_kernel

    kernel = kernel_for(arguments[0], entry)
    with show.compilation(name, cached=has_kernel(kernel, arguments)):
        try:
            kernel(*arguments)
        except (NumbaError, UnsupportedBytecodeError) as error:  # of two kinds
            raise explain_error(error) from error
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
    from expectant.jit.cache import has_kernel

    return has_kernel(kernel_for(arguments[0], entry), arguments)


def register_overloads() -> None:
    """Tell Numba about every verb and function declared so far."""
    from expectant.jit import overloads
    from expectant.jit import reductions as compiled_lanes
    from expectant.jit import rng as compiled_streams

    if not _registered:
        compiled_lanes.install()
        _registered.update((id(compiled_lanes), id(compiled_streams)))
    for verb in dispatch.VERBS:
        if id(verb) not in _registered:
            _registered.add(id(verb))
            overloads.overload_verb(verb)
    for plain in dispatch.FUNCTIONS:
        if id(plain) not in _registered:
            _registered.add(id(plain))
            overloads.overload_function(plain)


def kernel_for(part: Any, entry: Callable[..., Any] = simulate) -> Callable[..., Any]:
    """A function compiled for the types in a part, by default the loop for a run.

    It is compiled when it is first called, if it is not on the disk yet. ``entry`` is a module's
    own function that borrows its arguments.
    """
    kinds = part_types(part)

    def made_from() -> Fingerprint:
        return fingerprint(entry, kinds, _switches())

    name = made_from().name
    with _lock:
        if name not in _kernels:
            _kernels[name] = _kernel(entry, name, made_from)
        return _kernels[name]


def _switches() -> list[tuple[str, str]]:
    from numba.core import config

    config.reload_config()
    return [(name, repr(getattr(config, name, None))) for name in _SWITCHES]


def _kernel(entry: Callable[..., Any], name: str, made_from: Callable[[], Fingerprint]) -> Any:
    import numba

    from expectant.jit.cache import keep_on_disk
    from expectant.jit.numba_internals import compiler_with, helpers_anew
    from expectant.jit.overloads import KERNEL_OPTIONS, with_unowned

    @contextmanager
    def as_it_is_now() -> Iterator[None]:
        now = made_from()
        if now.name != name:  # keep it under the name of the code that it is compiled from
            _kernels.pop(name, None)
            keep_on_disk(kernel, now.name)
        _forget_changed(now.accounts, switches)
        with helpers_anew(account.thing for account in now.accounts):
            yield

    switches = tuple(_switches())
    register_overloads()
    kernel = numba.njit(**KERNEL_OPTIONS, pipeline_class=compiler_with(as_it_is_now))(
        with_unowned(entry)
    )
    keep_on_disk(kernel, name)
    return kernel


def _forget_changed(found: list[Account], switches: tuple[Any, ...]) -> None:
    """Make Numba compile verbs and functions anew if any has changed since it last did.

    Numba keeps the first version of every function it compiles in a process. Where a verb has been
    implemented again, or a name in a function stands for something else by now, that would be
    stale, and would then be written to the disk as if it were not.
    """
    known = ((account, _compiled.get(id(account.thing))) for account in found)
    changed = any(before is not None and now.differs(before) for now, before in known)
    if changed or _compiled_with != [switches]:
        from expectant.jit.numba_internals import forget_overloads

        forget_overloads()
        _compiled.clear()
        _compiled_with[:] = [switches]
    _compiled.update({id(account.thing): account for account in found})
