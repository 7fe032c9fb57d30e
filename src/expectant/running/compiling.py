"""Compiled kernels, kept on disk under the fingerprint of everything they were made from."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from expectant import verbs
from expectant.running.fingerprint import fingerprint, part_types
from expectant.running.loop import simulate

KEEP_DAYS = 60

_OPTIONS = {"forceinline": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_KERNEL = '''"""Made by expectant; may be deleted at any time."""
import numba

from expectant.running.compiling import relocated
from {module} import {name}

kernel = numba.njit(cache=True, nogil=True, error_model="numpy")(relocated({name}, __file__))
'''

_registered: set[int] = set()
_kernels: dict[str, Callable[..., Any]] = {}
_compiled: dict[tuple[Any, str], Any] = {}
_lock = threading.Lock()


def cache_directory() -> Path:
    """Where kernels are kept: $EXPECTANT_CACHE_DIR, or the user's cache directory."""
    given = os.environ.get("EXPECTANT_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "expectant"


def _implementation(verb: verbs.Verb, part_type: Any, ours: bool) -> Callable[..., Any] | None:
    """What a verb means for a part type, if that code is (or is not) the package's own."""
    from numba.core.errors import TypingError

    part_class: Any = getattr(part_type, "instance_class", None)
    found = verb.implementations.get(part_class, verb.fallback)
    if found is None:
        raise TypingError(str(verbs.missing(verb.__name__, part_class or type(part_type))))
    return found if found.__module__.startswith("expectant.") == ours else None


def register_overloads() -> None:
    """Tell Numba about every verb and function declared so far.

    The package's own code neither makes arrays nor keeps them, so it is compiled without any
    reference counting; other people's may do as it likes.
    """
    from numba.extending import overload

    from expectant.running import compiled_lanes

    if not _registered:
        compiled_lanes.install()
        _registered.add(id(compiled_lanes))
    for verb in verbs.VERBS:
        if id(verb) not in _registered:
            _registered.add(id(verb))
            for ours in (True, False):
                counted = verb is verbs.observation or not ours  # it returns an array
                overload(verb, strict=False, jit_options={**_OPTIONS, "_nrt": counted})(
                    lambda *arguments, verb=verb, ours=ours: _implementation(
                        verb, arguments[0], ours
                    )
                )
    for plain in verbs.FUNCTIONS:
        if id(plain) not in _registered:
            _registered.add(id(plain))
            counted = not plain.__module__.startswith("expectant.")
            overload(plain, strict=False, jit_options={**_OPTIONS, "_nrt": counted})(
                lambda *arguments, plain=plain: plain
            )


def kernel_for(part: Any, entry: Callable[..., Any] = simulate) -> Callable[..., Any]:
    """A function compiled for the types in a part, by default the loop for a run.

    It is compiled when it is first called, if it is not on the disk yet. ``entry`` is a module's
    own function that borrows its arguments.
    """
    name, bindings = fingerprint(entry, part_types(part))
    with _lock:
        if name not in _kernels:
            register_overloads()
            _forget_changed(bindings)
            text = _KERNEL.format(module=entry.__module__, name=entry.__name__)
            _kernels[name] = _load(_kernel_file(name, text), name)
        return _kernels[name]


def entry_point(kernel: Any, *arguments: Any) -> Callable[..., Any]:
    """The compiled code for arguments of these very types, which it does not look at again.

    Calling a kernel itself makes Numba look up the type of every array in every part, which costs
    several times what it takes to pass them.
    """
    types_of = tuple(kernel.typeof_pyval(argument) for argument in arguments)
    return kernel.overloads[types_of].entry_point


def _forget_changed(bindings: dict[tuple[Any, str], Any]) -> None:
    """Make Numba compile verbs and functions anew if any has changed since it last did.

    Numba keeps the first version of every function it compiles in a process. Where a verb has been
    implemented again, or a name in a function stands for something else by now, that would be
    stale, and would then be written to the disk as if it were not.
    """
    changed = any(key in _compiled and _compiled[key] is not now for key, now in bindings.items())
    if changed:
        from numba.core.registry import cpu_target

        context = cpu_target.typing_context
        context.refresh()
        for known in (*verbs.VERBS, *verbs.FUNCTIONS):
            for template in context.resolve_value_type(known).templates:
                template._impl_cache.clear()
                template._compiled_overloads.clear()
        _compiled.clear()
    _compiled.update(bindings)


def _kernel_file(name: str, text: str) -> Path:
    """A source file of its own for every kernel, beside which Numba keeps the compiled code."""
    for directory in (cache_directory(), Path(tempfile.gettempdir()) / "expectant-cache"):
        folder = directory / name
        path = folder / "kernel.py"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                _forget_old(directory)
                scratch = folder / f"kernel-{os.getpid()}.tmp"
                scratch.write_text(text)
                os.replace(scratch, path)
            return path
        except OSError:
            continue
    raise OSError(
        f"cannot write compiled kernels to {cache_directory()}: "
        "set EXPECTANT_CACHE_DIR to a folder that can be written"
    )


def _forget_old(directory: Path) -> None:
    """Remove kernels that nobody has made or loaded for a long time."""
    import shutil

    oldest = time.time() - KEEP_DAYS * 86400
    for folder in directory.iterdir():
        if (folder / "kernel.py").exists() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def relocated(function: Any, path: str) -> Any:
    """The same function as if it had been written in another file (where Numba then caches)."""
    from expectant.running.borrow import borrowed

    code = function.__code__.replace(co_filename=path)
    names = {**function.__globals__, "borrowed": borrowed}
    return types.FunctionType(code, names, function.__name__)


def _load(path: Path, name: str) -> Callable[..., Any]:
    os.utime(path.parent)
    module_name = f"expectant_kernel_{name}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the kernel {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return module.kernel
