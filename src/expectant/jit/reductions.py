"""Vector code for the sums of :mod:`expectant.core.reductions`, in the same order of operations."""

from __future__ import annotations

import inspect
from contextlib import contextmanager

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, overload, type_callable

from expectant.core import reductions as lanes

_LANES = lanes.LANES
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), _LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * _LANES)


class _Array:
    """An array argument while code is being emitted."""

    def __init__(self, context, builder, array_type, argument) -> None:
        self.builder = builder
        struct = context.make_array(array_type)(context, builder, argument)
        self.data = struct.data
        self.shape = cgutils.unpack_tuple(builder, struct.shape)

    def element(self, position):
        return self.builder.load(self.builder.gep(self.data, [position]))

    def block(self, position):
        return self.builder.load(self._lanes_at(position), align=8)

    def store_block(self, block, position):
        self.builder.store(block, self._lanes_at(position), align=8)

    def _lanes_at(self, position):
        pointer = self.builder.gep(self.data, [position])
        return self.builder.bitcast(pointer, _VECTOR.as_pointer())


def _fold(builder, vector):
    """Add the upper half of the lanes to the lower one until a single number is left."""
    lanes_left = _LANES
    while lanes_left > 1:
        half = lanes_left // 2
        kind = ir.VectorType(ir.IntType(32), half)
        nothing = ir.Constant(vector.type, ir.Undefined)
        lower = ir.Constant(kind, list(range(half)))
        upper = ir.Constant(kind, list(range(half, lanes_left)))
        vector = builder.fadd(
            builder.shuffle_vector(vector, nothing, lower),
            builder.shuffle_vector(vector, nothing, upper),
        )
        lanes_left = half
    return builder.extract_element(vector, ir.IntType(32)(0))


def _splat(builder, number):
    single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
    return builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), mask)


@contextmanager
def _combined_blocks(builder, rows, action, active, values, width):
    """Loop over Σ_j x_j rows[action, j], eight lanes at a time; yield (position, sums)."""
    base = builder.mul(builder.mul(action, rows.shape[1]), width)
    combined = cgutils.alloca_once(builder, _VECTOR)
    with _blocks(builder, width) as position:
        builder.store(_ZEROS, combined)
        offset = builder.add(base, position)
        with cgutils.for_range(builder, active.shape[0], intp=_WORD) as loop:
            row = builder.mul(active.element(loop.index), width)
            block = rows.block(builder.add(offset, row))
            if values is not None:
                block = builder.fmul(_splat(builder, values.element(loop.index)), block)
            builder.store(builder.fadd(builder.load(combined), block), combined)
        yield position, builder.load(combined)


@contextmanager
def _blocks(builder, width):
    """Loop over the positions of blocks of lanes."""
    blocks = cgutils.for_range_slice(builder, _WORD(0), width, _WORD(_LANES), intp=_WORD)
    with blocks as (position, _):
        yield position


def _unpack(context, builder, signature, arguments):
    """Return the arguments of a function, with arrays ready to be indexed."""
    return [
        _Array(context, builder, kind, argument) if isinstance(kind, types.Array) else argument
        for kind, argument in zip(signature.args, arguments, strict=True)
    ]


def _add_product(builder, total, block, weights):
    builder.store(builder.fadd(builder.load(total), builder.fmul(block, weights)), total)


def _dot_weighted_rows(builder, rows, action, active, values, weights):
    total = cgutils.alloca_once_value(builder, _ZEROS)
    blocks = _combined_blocks(builder, rows, action, active, values, weights.shape[0])
    with blocks as (position, combined):
        _add_product(builder, total, combined, weights.block(position))
    return _fold(builder, builder.load(total))


def _dot_rows(builder, rows, action, active, weights):
    return _dot_weighted_rows(builder, rows, action, active, None, weights)


def _sum_weighted_rows(builder, total, rows, action, active, values):
    blocks = _combined_blocks(builder, rows, action, active, values, total.shape[0])
    with blocks as (position, combined):
        total.store_block(combined, position)


def _sum_rows(builder, total, rows, action, active):
    _sum_weighted_rows(builder, total, rows, action, active, None)


def _add_to_row(builder, rows, action, row, amount, added):
    width, factor = added.shape[0], _splat(builder, amount)
    base = builder.mul(builder.add(builder.mul(action, rows.shape[1]), row), width)
    with _blocks(builder, width) as position:
        place = builder.add(base, position)
        product = builder.fmul(factor, added.block(position))
        rows.store_block(builder.fadd(rows.block(place), product), place)


def _dot_row(builder, rows, row, weights):
    base = builder.mul(row, weights.shape[0])
    total = cgutils.alloca_once_value(builder, _ZEROS)
    with _blocks(builder, weights.shape[0]) as position:
        block = rows.block(builder.add(base, position))
        _add_product(builder, total, block, weights.block(position))
    return _fold(builder, builder.load(total))


def _dot_listed(builder, values, indices, row, weights):
    base = builder.mul(row, values.shape[1])
    total = cgutils.alloca_once_value(builder, _ZEROS)
    with _blocks(builder, values.shape[1]) as position:
        start = builder.add(base, position)
        listed = _gather(builder, indices, start, weights)
        _add_product(builder, total, values.block(start), listed)
    return _fold(builder, builder.load(total))


def _gather(builder, indices, start, weights):
    """Load the weights that eight indices in a row stand for."""
    listed = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(_LANES):
        place = indices.element(builder.add(start, _WORD(lane)))
        place = place if place.type == _WORD else builder.sext(place, _WORD)
        listed = builder.insert_element(listed, weights.element(place), ir.IntType(32)(lane))
    return listed


_EMITTERS = {
    lanes.dot_rows: _dot_rows,
    lanes.dot_weighted_rows: _dot_weighted_rows,
    lanes.sum_rows: _sum_rows,
    lanes.sum_weighted_rows: _sum_weighted_rows,
    lanes.add_to_row: _add_to_row,
    lanes.dot_row: _dot_row,
    lanes.dot_listed: _dot_listed,
}


def install() -> None:
    """Let compiled code find the vector versions under the plain names; they check no bounds."""
    for plain, emit in _EMITTERS.items():
        _install(plain, emit)


def _install(plain, emit) -> None:
    plain_signature = inspect.signature(plain)
    returned = types.float64 if plain_signature.return_annotation == "float" else types.void

    def find_signature(*kinds):
        is_exact = types.Array | types.Float
        return returned(*(k if isinstance(k, is_exact) else types.int64 for k in kinds))

    find_signature.pysig = plain_signature  # type: ignore[attr-defined]
    type_callable(emit)(lambda typing_context: find_signature)

    @lower_builtin(emit, types.VarArg(types.Any))
    def _lower(context, builder, signature, arguments):
        result = emit(builder, *_unpack(context, builder, signature, arguments))
        return context.get_dummy_value() if result is None else result

    # as a function of its own it is optimised on its own, which makes the loop 4 % faster
    names = ", ".join(plain_signature.parameters)
    implementation = eval(f"lambda {names}: emit({names})", {"emit": emit})
    overload(plain, strict=False)(lambda *arguments: implementation)
