"""Parts without reference counts.

Every access to an array that a kernel owns a share of costs an atomic count. Inside one call the
caller holds all arrays anyway, so the kernel works on *borrowed* ones, which nobody counts.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.core.types.npytypes import NumPyRandomGeneratorType
from numba.extending import intrinsic


def _without_owner(context, builder, kind, given):
    if isinstance(kind, types.BaseTuple):
        items = [
            _without_owner(context, builder, item, builder.extract_value(given, position))
            for position, item in enumerate(kind)
        ]
        return context.make_tuple(builder, kind, items)
    if isinstance(kind, types.Array):
        struct = context.make_array(kind)(context, builder, given)
    elif isinstance(kind, NumPyRandomGeneratorType):
        struct = cgutils.create_struct_proxy(kind)(context, builder, given)
    else:
        return given
    struct.meminfo = cgutils.get_null_value(struct.meminfo.type)
    struct.parent = cgutils.get_null_value(struct.parent.type)
    return struct._getvalue()


@intrinsic
def borrowed(typing_context, part):
    """The same part, its arrays and generators not counted; for use within one call only."""

    def codegen(context, builder, signature, arguments):
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return part(part), codegen
