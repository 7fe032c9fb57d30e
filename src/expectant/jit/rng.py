"""The generators of a run in compiled code, passed as one address.

Numba takes a generator apart by asking Python for a dozen attributes, which takes as long as many
steps of a small agent, for each of them again. A run's own are known to live as long as the call,
so compiled code reads where they are from NumPy's own interface for C (``bitgen_t``).
"""

from __future__ import annotations

from llvmlite import ir
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

NAMES = Streams.PASSED
# the fields of NumPy's bitgen_t, in order, by Numba's names for them
BITGEN = ("state", "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double")
_WORD = ir.IntType(64)


class StreamsType(types.Type):
    """The type of :class:`expectant.core.rng.Streams` in compiled code."""

    def __init__(self) -> None:
        super().__init__("Streams")


@typeof_impl.register(Streams)
def _(streams, context):
    return StreamsType()  # one and the same to Numba; kept here it would number our kernels anew


@register_model(StreamsType)
class StreamsModel(models.StructModel):
    """One generator after another."""

    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, [(name, types.npy_rng) for name in NAMES])


for _name in NAMES:
    make_attribute_wrapper(StreamsType, _name, _name)


def _word(builder, address, position):
    pointer = builder.inttoptr(address, _WORD.as_pointer())
    return builder.load(builder.gep(pointer, [ir.Constant(ir.IntType(32), position)]))


def _generator(context, builder, address):
    """What Numba calls a generator, unowned, from the address of its ``bitgen_t``."""
    bits = cgutils.create_struct_proxy(types.npy_bitgen)(context, builder)
    for position, name in enumerate(BITGEN):
        setattr(bits, name, _word(builder, address, position))
    bits.state_address = bits.state
    rng = cgutils.create_struct_proxy(types.npy_rng)(context, builder)
    rng.bit_generator = bits._getvalue()
    rng.meminfo = cgutils.get_null_value(rng.meminfo.type)
    rng.parent = cgutils.get_null_value(rng.parent.type)
    return rng._getvalue()


@unbox(StreamsType)
def _(kind, given, c):
    found = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    held = c.pyapi.object_getattr_string(given, "address")
    failed = cgutils.is_null(c.builder, held)
    with c.builder.if_else(failed, likely=False) as (otherwise, then):
        with otherwise:
            pass
        with then:
            address = c.unbox(types.uintp, held).value
            c.pyapi.decref(held)
            for position, name in enumerate(NAMES):
                rng = _generator(c.context, c.builder, _word(c.builder, address, position))
                setattr(found, name, rng)
    return NativeValue(found._getvalue(), is_error=failed)
