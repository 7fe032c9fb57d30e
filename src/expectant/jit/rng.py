"""The generators of a run in compiled code, passed as one address.

Numba unboxes a generator by asking Python for a dozen attributes, which takes as long as many steps
of a small agent. The generators of a run outlive the call, so compiled code reads their addresses
from NumPy's C interface (``bitgen_t``) instead.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import (
    NativeValue,
    make_attribute_wrapper,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from expectant.core.rng import Streams
from expectant.jit.numba_internals import GENERATOR, PUBLIC_ONLY, generator_at, load_word

NAMES = Streams.PASSED


class StreamsType(types.Type):
    """The type of :class:`expectant.core.rng.Streams` in compiled code."""

    def __init__(self) -> None:
        super().__init__("Streams")


@typeof_impl.register(Streams)
def _(streams, context):
    return StreamsType()  # not a global: its number would be part of the hash of every kernel


@register_model(StreamsType)
class StreamsModel(models.StructModel):
    """One generator after another."""

    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, [(name, GENERATOR) for name in NAMES])


for _name in NAMES:
    make_attribute_wrapper(StreamsType, _name, _name)


@unbox(StreamsType)
def _(kind, value, c):
    streams = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    if PUBLIC_ONLY:
        return _unbox_each(streams, value, c)
    boxed_address = c.pyapi.object_getattr_string(value, "address")
    failed = cgutils.is_null(c.builder, boxed_address)
    with c.builder.if_else(failed, likely=False) as (otherwise, then):
        with otherwise:
            pass
        with then:
            address = c.unbox(types.uintp, boxed_address).value
            c.pyapi.decref(boxed_address)
            for position, name in enumerate(NAMES):
                word = load_word(c.builder, address, position)
                setattr(streams, name, generator_at(c.context, c.builder, word))
    return NativeValue(streams._getvalue(), is_error=failed)


def _unbox_each(streams, value, c):
    """Unbox one generator after another, as Numba does it."""
    failed = cgutils.false_bit
    for name in NAMES:
        boxed = c.pyapi.object_getattr_string(value, name)
        generator = c.unbox(GENERATOR, boxed)
        c.pyapi.decref(boxed)
        setattr(streams, name, generator.value)
        failed = c.builder.or_(failed, generator.is_error)
    return NativeValue(streams._getvalue(), is_error=failed)
