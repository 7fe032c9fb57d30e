"""Kernels: functions compiled for the types in a part, found again by the hash of their code."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from expectant.core import dispatch
from expectant.engine.loop import simulate
from expectant.engine.progress import Reporter
from expectant.jit.code_hash import CodeText, hash_kernel, part_types
from expectant.jit.errors import explain_error

Kernel = Callable[..., int]

_registered: set[int] = set()
_kernels: dict[str, Callable[..., Any]] = {}
_compiled: dict[int, CodeText] = {}
_compiled_with: list[list[tuple[str, str]]] = []
_lock = threading.Lock()


def use_compiled(compiled: bool | None) -> bool:
    """Return ``compiled``, or if it is None, False if NUMBA_DISABLE_JIT is set."""
    switch = os.environ.get("NUMBA_DISABLE_JIT", "0")
    if compiled and switch not in ("", "0"):
        raise ValueError(
            f"compiled=True: NUMBA_DISABLE_JIT={switch} in the environment switches compiling off, "
            "remove it, or leave compiled away"
        )
    return switch in ("", "0") if compiled is None else compiled


def compile_for(
    entry: Kernel,
    arguments: tuple[Any, ...],
    name: str,
    show: Reporter,
    *,
    fixed_types: bool = False,
) -> Kernel:
    """Compile an entry function by calling it with such arguments, the first of which is a part.

    If all its arguments will have ``fixed_types``, the result does not check them: passing another
    type is undefined behaviour.
    """
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    from expectant.jit.numba_internals import entry_point, has_kernel

    kernel = kernel_for(arguments[0], entry)
    with show.compilation(name, cached=has_kernel(kernel, arguments)):
        try:
            kernel(*arguments)
        except (NumbaError, UnsupportedBytecodeError) as error:  # of two kinds
            raise explain_error(error) from error
    return entry_point(kernel, arguments) if fixed_types else kernel


def is_compiled(entry: Kernel, arguments: tuple[Any, ...]) -> bool:
    """True if an entry function is compiled for such arguments, in memory or on disk."""
    from expectant.jit.numba_internals import has_kernel

    return has_kernel(kernel_for(arguments[0], entry), arguments)


def kernel_for(part: Any, entry: Callable[..., Any] = simulate) -> Callable[..., Any]:
    """Return a function compiled for the types in a part, by default the loop for a run.

    It is loaded from disk or compiled when it is first called. ``entry`` is a function of a module
    that takes its arguments through ``unowned``.
    """
    from expectant.jit.cache import KernelCache
    from expectant.jit.numba_internals import attach_cache, make_kernel, settings

    kinds, kernel = part_types(part), None
    name = hash_kernel(entry, kinds, settings()).name

    def use_present_code() -> None:
        present, switches = hash_kernel(entry, kinds, settings()), settings()
        if present.name != name and kernel is not None:  # changed since the kernel was asked for
            _kernels.pop(name, None)
            attach_cache(kernel, KernelCache.open(present.name))
        register_overloads()
        _forget_changed(present.texts, switches)

    with _lock:
        if name not in _kernels:
            kernel = make_kernel(entry, use_present_code)
            attach_cache(kernel, KernelCache.open(name))
            _kernels[name] = kernel
        return _kernels[name]


def register_overloads() -> None:
    """Tell Numba about every verb and function declared so far."""
    from expectant.jit import overloads, reductions

    if not _registered:
        reductions.install()
        _registered.add(id(reductions))
    for verb in dispatch.VERBS:
        if id(verb) not in _registered:
            _registered.add(id(verb))
            overloads.overload_verb(verb)
    for plain in dispatch.FUNCTIONS:
        if id(plain) not in _registered:
            _registered.add(id(plain))
            overloads.overload_function(plain)


def _forget_changed(texts: list[CodeText], settings: list[tuple[str, str]]) -> None:
    """Make Numba compile code anew if any has changed since it last did.

    Numba keeps the first version of every function it compiles in a process; a kernel made from it
    would be stale, and would be written to disk as if it were not.
    """
    from expectant.jit.numba_internals import forget_overloads, recompile_helpers, refresh_overloads

    refresh_overloads()
    before = ((text, _compiled.get(id(text.thing))) for text in texts)
    changed = any(old is not None and new.differs(old) for new, old in before)
    if changed or _compiled_with not in ([], [settings]):
        forget_overloads([*dispatch.VERBS, *dispatch.FUNCTIONS])
        _compiled.clear()
    _compiled_with[:] = [settings]
    _compiled.update({id(text.thing): text for text in texts})
    recompile_helpers(text.thing for text in texts)
