"""The only module that uses private names of Numba.

They make compiling a third faster, keep kernels on disk, avoid reference counts and make Numba
forget code that has changed since it was compiled. If a later Numba lacks one of them, everything
here falls back to the public interface, with one warning: the same numbers, compiled more slowly
and again by every process.
"""

from __future__ import annotations

import gc
import importlib
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic, models, register_model

GENERATOR = numba.typeof(np.random.default_rng(0))  # the type of NumPy's generators
BITGEN = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")  # as in bitgen_t
_WORD = ir.IntType(64)
_PRIVATE: dict[str, dict[str, tuple[str, ...]]] = {  # module: names: attributes
    "numba.core.caching": {"NullCache": ("load_overload", "save_overload")},
    "numba.core.codegen": {
        "JITCodeLibrary": (
            "_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals",
            "_ensure_finalized", "enable_object_caching", "get_pointer_to_function",
        )
    },
    "numba.core.compiler": {
        "Compiler": ("compile_extra",), "CompileResult": ("_reduce", "_rebuild"),
    },
    "numba.core.config": {"reload_config": ()},
    "numba.core.dispatcher": {"Dispatcher": ("typeof_pyval",)},
    "numba.core.registry": {"cpu_target": ("typing_context", "target_context")},
    "numba.core.serialize": {"dumps": ()},
    "numba.core.types": {"npy_bitgen": ()},
    "numba.core.cpu": {"CPUTargetOptions": ("_nrt", "forceinline", "no_cfunc_wrapper")},
    "numba.core.typing.context": {"BaseContext": ("_lookup_global", "refresh")},
}  # fmt: skip
_SETTINGS = (
    "BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "DISABLE_INTEL_SVML",
    "CPU_NAME", "CPU_FEATURES", "DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "DEBUG_NRT", "USING_SVML", "ENABLE_PROFILING",
    "DEBUG_ARRAY_OPT_RUNTIME", "PARFOR_MAX_TUPLE_SIZE",
)  # fmt: skip


def _find_private() -> tuple[dict[str, Any], str]:
    """Return the private names by their last component, or the first that is missing."""
    names = {}
    for module, members in _PRIVATE.items():
        for name, attributes in members.items():
            try:
                names[name] = getattr(importlib.import_module(module), name)
            except (ImportError, AttributeError):
                return {}, f"{module}.{name}"
            for attribute in attributes:
                if not hasattr(names[name], attribute):
                    return {}, f"{module}.{name}.{attribute}"
    return names, ""


_names, MISSING = _find_private()
if MISSING:
    warnings.warn(
        f"Numba {numba.__version__} has no {MISSING}: every process compiles its kernels anew, "
        "and more slowly; the numbers are the same",
        stacklevel=2,
    )
PUBLIC_ONLY = bool(MISSING)


def set_up_compiler() -> None:
    """Load what every compilation needs, which takes a second."""
    if not PUBLIC_ONLY:
        _names["cpu_target"].target_context.refresh()


def settings() -> list[tuple[str, str]]:
    """Read the settings of Numba that change the code it makes from the environment."""
    from numba.core import config

    if not PUBLIC_ONLY:
        config.reload_config()
    return [(name, repr(getattr(config, name, None))) for name in _SETTINGS]


# --------------------------------------------------------------------------------- compilers

_JITCodeLibrary: Any = _names.get("JITCodeLibrary", object)
_NumbaCompiler: Any = _names.get("Compiler", object)


class _NoEngine:
    """Stands in for the engine that runs machine code; inlined functions are never called."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _InlinedLibrary(_JITCodeLibrary):
    """Code that is linked into a kernel; the kernel alone is optimized and made executable."""

    codegen = _NoEngine()

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _InlinedCompiler(_NumbaCompiler):
    def compile_extra(self, function: Any) -> Any:
        library = _InlinedLibrary(self.state.targetctx.codegen(), function.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        return super().compile_extra(function)


def inlined_options(has_counts: bool) -> dict[str, Any]:
    """Options for functions that kernels call, with or without reference counts."""
    if PUBLIC_ONLY:
        return {"error_model": "numpy"}
    options = {"error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True}
    if has_counts:
        return {**options, "_nrt": True}
    return {**options, "_nrt": False, "pipeline_class": _InlinedCompiler}


class _WholePartModel(models.TupleModel):
    """A part that is one argument: Numba passes every field of every array by itself.

    Functions that kernels call are inlined, so this changes only how much there is to compile.
    """

    def get_argument_type(self) -> Any:
        return self.get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        return value


def _part_model(manager: Any, kind: Any) -> Any:
    """Return the model of the package's own parts, or Numba's for all other tuples."""
    is_own = kind.instance_class.__module__.startswith("expectant.") and not PUBLIC_ONLY
    return (_WholePartModel if is_own else models.TupleModel)(manager, kind)


register_model(types.NamedTuple)(_part_model)


class _KernelCompiler(_NumbaCompiler):
    def compile_extra(self, function: Any) -> Any:
        function.prepare()
        was_enabled = gc.isenabled()
        gc.disable()  # it takes 8 % of the time
        try:
            return super().compile_extra(function)
        finally:
            if was_enabled:
                gc.enable()


def make_kernel(entry: Any, prepare: Callable[[], None]) -> Any:
    """Return an entry function that is compiled when it is called, after calling ``prepare``.

    In it ``unowned`` is the compiled one.
    """
    names = {**entry.__globals__, "unowned": unowned}
    function: Any = FunctionType(entry.__code__, names, entry.__name__)
    function.prepare = prepare
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if PUBLIC_ONLY:
        prepare()
        return numba.njit(**options)(function)
    options |= {"no_cfunc_wrapper": True, "pipeline_class": _KernelCompiler}
    return numba.njit(**options)(function)


# ------------------------------------------------------------------- arrays and generators


@intrinsic
def unowned(typing_context, part):
    """Return the part without reference counts on arrays and generators, for use in one call."""

    def codegen(context, builder, signature, arguments):
        if PUBLIC_ONLY:
            context.nrt.incref(builder, signature.args[0], arguments[0])
            return arguments[0]
        return _remove_owner(context, builder, signature.args[0], arguments[0])

    return part(part), codegen


def _remove_owner(context, builder, kind, value):
    if isinstance(kind, types.BaseTuple):
        items = [
            _remove_owner(context, builder, item, builder.extract_value(value, position))
            for position, item in enumerate(kind)
        ]
        return context.make_tuple(builder, kind, items)
    if isinstance(kind, types.Array):
        struct = context.make_array(kind)(context, builder, value)
    elif kind == GENERATOR:
        struct = cgutils.create_struct_proxy(kind)(context, builder, value)
    else:
        return value
    struct.meminfo = cgutils.get_null_value(struct.meminfo.type)
    struct.parent = cgutils.get_null_value(struct.parent.type)
    return struct._getvalue()


def load_word(builder, address, position):
    """Load a word from an array of words at an address."""
    pointer = builder.inttoptr(address, _WORD.as_pointer())
    return builder.load(builder.gep(pointer, [ir.Constant(ir.IntType(32), position)]))


def generator_at(context, builder, address):
    """Make Numba's struct of a generator, without owner, from the address of its ``bitgen_t``."""
    bits = cgutils.create_struct_proxy(_names["npy_bitgen"])(context, builder)
    for position, name in enumerate(BITGEN):
        setattr(bits, name, load_word(builder, address, position))
    bits.state_address = bits.state
    rng = cgutils.create_struct_proxy(GENERATOR)(context, builder)
    rng.bit_generator = bits._getvalue()
    rng.meminfo = cgutils.get_null_value(rng.meminfo.type)
    rng.parent = cgutils.get_null_value(rng.parent.type)
    return rng._getvalue()


# ------------------------------------------------------------------------ compiled kernels


def entry_point(kernel: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the compiled code for arguments of these very types, which it does not check.

    Calling the kernel itself makes Numba look up the type of every array in every part, which
    takes as long as ten episodes of a small run.
    """
    if PUBLIC_ONLY:
        return kernel
    entry: Callable[..., Any] = kernel.overloads[_signature(kernel, arguments)].entry_point
    return entry


def attach_cache(kernel: Any, cache: Any) -> None:
    """Let a kernel load and save its compiled code; None: it is kept in memory only."""
    if not PUBLIC_ONLY:
        kernel._cache = _names["NullCache"]() if cache is None else cache


def _signature(kernel: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    typeof = numba.typeof if PUBLIC_ONLY else kernel.typeof_pyval
    return tuple(typeof(argument) for argument in arguments)


def has_kernel(kernel: Any, arguments: tuple[Any, ...]) -> bool:
    """True if a kernel is compiled for such arguments, in memory or on disk."""
    signature = _signature(kernel, arguments)
    path = getattr(getattr(kernel, "_cache", None), "kernel_path", None)
    is_kept = path is not None and path(signature, kernel.targetctx.codegen()).exists()
    return is_kept or signature in kernel.overloads


def serialize(compiled: Any) -> bytes:
    """Return the compiled code of a kernel as bytes."""
    if compiled.library.has_dynamic_globals or not all(part.can_cache for part in compiled.lifted):
        raise ValueError("it uses ctypes pointers, large global arrays or lifted code")
    content: bytes = _names["dumps"](compiled._reduce())
    return content


def deserialize(content: bytes, target_context: Any) -> Any:
    """Return compiled code from bytes, which are trusted: see :mod:`expectant.jit.cache`."""
    return _names["CompileResult"]._rebuild(target_context, *pickle.loads(content))


# ---------------------------------------------------------------------------- changed code


def overloads_of(function: Any) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """Yield what users have told Numba to compile in place of a function, with its options."""
    if PUBLIC_ONLY:
        return
    resolved = _names["cpu_target"].typing_context._lookup_global(function)
    for template in getattr(resolved, "templates", ()):
        implementation = getattr(template, "_overload_func", None)
        if implementation and not implementation.__module__.startswith("expectant."):
            yield implementation, template._jit_options


def refresh_overloads() -> None:
    """Let :func:`overloads_of` see every overload that has been declared by now."""
    if not PUBLIC_ONLY:
        _names["cpu_target"].typing_context.refresh()


def forget_overloads(functions: Iterable[Any]) -> None:
    """Make Numba compile overloaded functions anew when they are next called."""
    if PUBLIC_ONLY:
        raise RuntimeError(
            "code has changed since it was compiled in this process, and this version of Numba "
            "cannot compile it again: restart Python"
        )
    refresh_overloads()
    for function in functions:
        resolved = _names["cpu_target"].typing_context._lookup_global(function)
        for template in getattr(resolved, "templates", ()):
            template._impl_cache.clear()
            template._compiled_overloads.clear()


def recompile_helpers(things: Iterable[Any]) -> None:
    """Compile the ``numba.njit`` helpers among some things anew, from what is in them now.

    Numba keeps the first version of a helper, in memory and on disk, and does not notice that a
    constant in it has changed.
    """
    for thing in things:
        if isinstance(thing, Dispatcher):
            thing.recompile()
