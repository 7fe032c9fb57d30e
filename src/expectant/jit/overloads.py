"""What Numba compiles in place of verbs, functions and random streams.

The package's own code neither makes arrays nor keeps them, so it is compiled without reference
counts; the user's is compiled with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types as numba_types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import (
    NativeValue,
    make_attribute_wrapper,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)

from expectant.core import dispatch, verbs
from expectant.core.rng import Streams
from expectant.jit.numba_internals import (
    GENERATOR,
    PUBLIC_ONLY,
    generator_at,
    inlined_options,
    load_word,
)

STREAMS = Streams.PASSED


def overload_verb(verb: verbs.Verb[object]) -> None:
    """Let compiled code call a verb: the implementation for the type of its first argument."""
    for ours in (True, False):
        has_counts = verb is verbs.observation or not ours  # it returns an array
        overload(verb, strict=False, jit_options=inlined_options(has_counts))(
            lambda *arguments, ours=ours: _implementation(verb, arguments[0], ours)
        )


def overload_function(plain: Callable[..., Any]) -> None:
    """Let compiled code call a plain function."""
    has_counts = not plain.__module__.startswith("expectant.")
    overload(plain, strict=False, jit_options=inlined_options(has_counts))(lambda *arguments: plain)


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


# --------------------------------------------------------------------------- random streams
#
# Numba unboxes a generator by asking Python for a dozen attributes, which takes as long as many
# steps of a small agent. The generators of a run outlive the call, so compiled code reads their
# addresses from NumPy's C interface (``bitgen_t``) instead.


class StreamsType(numba_types.Type):
    """The type of :class:`expectant.core.rng.Streams` in compiled code."""


@typeof_impl.register(Streams)
def _(streams, context):
    return StreamsType("Streams")  # not a global: its number would change the hash of kernels


@register_model(StreamsType)
class StreamsModel(models.StructModel):
    """One generator after another."""

    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, [(name, GENERATOR) for name in STREAMS])


for _name in STREAMS:
    make_attribute_wrapper(StreamsType, _name, _name)


@unbox(StreamsType)
def _(kind, value, c):
    streams = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    if PUBLIC_ONLY:  # one generator after another, as Numba does it
        failed = cgutils.false_bit
        for name in STREAMS:
            boxed = c.pyapi.object_getattr_string(value, name)
            generator = c.unbox(GENERATOR, boxed)
            c.pyapi.decref(boxed)
            setattr(streams, name, generator.value)
            failed = c.builder.or_(failed, generator.is_error)
        return NativeValue(streams._getvalue(), is_error=failed)
    boxed_address = c.pyapi.object_getattr_string(value, "address")
    failed = cgutils.is_null(c.builder, boxed_address)
    with c.builder.if_else(failed, likely=False) as (otherwise, then):
        with otherwise:
            pass
        with then:
            address = c.unbox(numba_types.uintp, boxed_address).value
            c.pyapi.decref(boxed_address)
            for position, name in enumerate(STREAMS):
                word = load_word(c.builder, address, position)
                setattr(streams, name, generator_at(c.context, c.builder, word))
    return NativeValue(streams._getvalue(), is_error=failed)
