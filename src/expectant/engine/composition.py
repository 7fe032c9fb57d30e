"""Which runs share a compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np


def composition(part: Any) -> Any:
    """The types in a part, down to those of arrays: what a kernel is compiled for."""
    if isinstance(part, tuple):
        return (type(part), *(composition(item) for item in part))
    if isinstance(part, np.ndarray):
        flags = part.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return part.dtype.str, part.ndim, layout, flags.writeable, flags.aligned
    return type(part)
